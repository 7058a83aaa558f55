//! A workspace with neighbours, and one way to ask how a command is judged in it.

use std::path::Path;

use crystal::approval::classify::{Scene, classify};
use crystal::approval::judgement::Judgement;
use crystal::fence::Fence;
use crystal::model::judgement::{Authority, Risk};
use serde_json::{Map, Value, json};

/// A user's home directory with a project in it, and a directory outside both.
pub struct World {
    pub dir: tempfile::TempDir,
    pub fence: Fence,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for path in [
            "user/.ssh",
            "user/.crystal",
            "user/project/src",
            "user/project/data",
            "user/project/.git",
            "user/project-other",
            "outside",
        ] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        for path in [
            "user/.ssh/id_rsa",
            "user/notes.txt",
            "user/project/f",
            "user/project/a.txt",
            "user/project/b.txt",
            "user/project/src/main.rs",
            "user/project/src/lib.rs",
            "user/project/data/sample.txt",
            "user/project/AGENTS.md",
            "user/project/.git/config",
            "user/project-other/s.txt",
            "outside/s.txt",
        ] {
            std::fs::write(at(path), "one\n").unwrap();
        }
        std::fs::write(at("user/project/.git/config"), "[core]\n\tbare = false\n").unwrap();
        std::os::unix::fs::symlink(at("outside"), at("user/project/link")).unwrap();
        let fence =
            Fence::new(&at("user/project"), &at("user/.crystal")).unwrap().with_user_home(&at("user"));
        Self { dir, fence }
    }
    pub fn root(&self) -> &Path {
        self.fence.root()
    }
    pub fn call(&self, tool: &str, arguments: Value) -> Judgement {
        let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
        classify(tool, &arguments, &Scene { fence: &self.fence, skills: &[] })
    }
    pub fn bash(&self, command: &str) -> Judgement {
        self.call("bash", json!({ "command": command }))
    }
}

/// A careful operator's rating of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rating {
    /// Only looks, only in the workspace: runs in every mode.
    Reads,
    /// Changes the workspace at most: runs in full mode.
    Writes,
    /// Looks outside the workspace.
    ReadsOutside,
    /// May change files outside.
    WritesOutside,
    /// Talks to another machine.
    Network,
    /// Asked in every mode.
    Privileged,
    /// Asked every time.
    Forbidden,
    /// Cannot be told, so the worst.
    Unknown,
    /// Writes `.git`, `.crystal` or a rule file: always asked.
    Control,
}

pub fn rating(call: &Judgement) -> Rating {
    let (risk, authority) = (call.classification.risk, call.classification.authority);
    if call.classification.summary.contains("could not be analysed") && risk == Risk::Privileged {
        return Rating::Unknown;
    }
    if call.always_ask.is_some() {
        return Rating::Control;
    }
    match (risk, authority) {
        (Risk::Forbidden, _) => Rating::Forbidden,
        (Risk::Privileged, _) => Rating::Privileged,
        (Risk::Read, Authority::Workspace) => Rating::Reads,
        (Risk::Write, Authority::Workspace) => Rating::Writes,
        (_, Authority::Network) => Rating::Network,
        (Risk::Read, _) => Rating::ReadsOutside,
        (Risk::Write, _) => Rating::WritesOutside,
    }
}

/// Checks a list of commands against one rating, naming all that differ.
pub fn check(expected: Rating, commands: &[&str]) {
    let world = World::new();
    let wrong: Vec<String> = commands
        .iter()
        .map(|command| (command, world.bash(command)))
        .filter(|(_, call)| rating(call) != expected)
        .map(|(command, call)| format!("{command:?} is {:?}: {}", rating(&call), call.classification.summary))
        .collect();
    assert!(wrong.is_empty(), "expected {expected:?}:\n{}", wrong.join("\n"));
}

/// Checks that none of the commands would run by itself in default mode.
pub fn asks(commands: &[&str]) {
    let world = World::new();
    for command in commands {
        let call = world.bash(command);
        assert!(rating(&call) != Rating::Reads, "{command:?} passes as a read: {:?}", call.parts);
    }
}
