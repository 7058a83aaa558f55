//! The program itself, in a home and a workspace of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::Server;

/// A fresh home and a fresh workspace; both go away with it.
pub struct Place {
    dir: TempDir,
}

/// How a run ended.
pub struct Ended {
    /// The exit code; none for a process that a signal ended.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Place {
    /// A home without any file and an empty workspace.
    pub fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.workspace()).unwrap();
        std::fs::create_dir(place.dir.path().join("user")).unwrap();
        place
    }
    /// A place whose home names `server` as the provider `mock` with the model `m-1`.
    pub fn with(server: &Server) -> Self {
        let place = Self::new();
        place.provider(&server.base_uri(), json!({ "contextWindow": 100_000 }));
        place
    }
    /// Names a server at `uri` as the provider `mock` and gives its model `m-1` those fields.
    pub fn provider(&self, uri: &str, model: Value) {
        self.write_home(
            "providers.json",
            &json!({ "mock": {
                "protocol": "openai", "baseUri": uri, "apiKey": "sk-mock-key", "models": { "m-1": model },
                "timeouts": { "connect": 5, "firstByte": 20, "idle": 20 },
            } })
            .to_string(),
        );
    }
    /// Names a server at `uri` as the provider `mock` with the model `m-1` and those fields beside.
    pub fn provider_with(&self, uri: &str, fields: Value) {
        let mut entry = json!({
            "protocol": "openai", "baseUri": uri, "apiKey": "sk-mock-key",
            "models": { "m-1": { "contextWindow": 100_000 } },
        });
        entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.write_home("providers.json", &json!({ "mock": entry }).to_string());
    }
    /// Crystal's home.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("user/.crystal")
    }
    /// The user's home.
    pub fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }
    /// The workspace.
    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("work")
    }
    /// Writes a file of the home.
    pub fn write_home(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    /// The text of a file of the workspace; none when it is not there.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace().join(name)).ok()
    }
    /// The program with these arguments, in this place and with nothing of the caller's environment but the path.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crystal"));
        command.args(args).current_dir(self.workspace()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.user()).env("NO_PROXY", "127.0.0.1,localhost").env("SHLVL", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
    /// Runs the program to its end.
    pub fn crystal(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }
    /// `crystal run` on the mock provider, trusted, in JSON.
    pub fn run(&self, task: &str, more: &[&str]) -> Ended {
        self.crystal(&run_args(task, more))
    }
    /// Starts `crystal run` like [`Place::run`] and does not wait.
    pub fn start(&self, task: &str, more: &[&str]) -> Child {
        self.command(&run_args(task, more)).spawn().unwrap()
    }
    /// Runs the program with something on its standard input.
    pub fn piped(&self, args: &[&str], input: &[u8]) -> Ended {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that does not read its input closes the pipe early.
        let _ = stdin.write_all(input);
        drop(stdin);
        Ended::of(child.wait_with_output().unwrap())
    }
    /// The session files, newest last.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let Ok(dir) = std::fs::read_dir(self.home().join("sessions")) else { return Vec::new() };
        let mut found: Vec<PathBuf> =
            dir.map(|entry| entry.unwrap().path()).filter(|path| is_session(path)).collect();
        found.sort();
        found
    }
}

fn is_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") && !name.ends_with(".trace.jsonl")
}

fn run_args<'a>(task: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", "--provider", "mock", "--workspace-trust", "assume", "--format", "json"];
    args.extend(more);
    args.push(task);
    args
}

impl Ended {
    /// Reads the ended process.
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
    /// Standard output as JSON lines; panics unless all of it is that.
    pub fn lines(&self) -> Vec<Value> {
        assert!(self.out.is_empty() || self.out.ends_with('\n'), "the last line has no end: {:?}", self.out);
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }
    /// The lines of one type.
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["type"] == kind).collect()
    }
    /// The last line, which must be the result.
    pub fn result(&self) -> Value {
        let line = self
            .lines()
            .pop()
            .unwrap_or_else(|| panic!("nothing on standard output; standard error: {}", self.err));
        assert_eq!(line["type"], "result", "{line}");
        line
    }
    /// Asserts the exit code, showing everything when it is another.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "out:\n{}\nerr:\n{}", self.out, self.err);
        self
    }
}
