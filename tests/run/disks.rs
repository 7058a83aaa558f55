//! A full disk, a read-only home, a workspace that cannot be read or goes away: one clear sentence, the right exit code,
//! nothing lost, and a session that goes on when the cause is gone.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

const RUN: &[&str] = &["run", "--provider", "mock", "--workspace-trust", "assume", "--approval", "edit"];

/// The user that tests run as who must not be root; it owns nothing.
const NOBODY: u32 = 65_534;

fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

/// The program where no file may grow beyond so many KiB: what a full disk looks like to it.
fn with_room(place: &Place, kib: u64, args: &[&str]) -> Ended {
    let plain = place.command(args);
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit -f {kib}; exec \"$0\" \"$@\"")]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(place.workspace()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ended::of(command.output().unwrap())
}

/// The program as a user whom permissions bind.
fn as_nobody(place: &Place, args: &[&str]) -> Ended {
    let mut command = place.command(args);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    Ended::of(command.output().unwrap())
}

/// Gives a place to that user.
fn hand_over(place: &Place) {
    if rustix::process::geteuid().is_root() {
        let top = place.user().parent().unwrap().to_owned();
        each(&top, &mut |path| chown(path, Some(NOBODY), Some(NOBODY)).unwrap());
    }
}

fn each(path: &Path, act: &mut dyn FnMut(&Path)) {
    act(path);
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            each(&entry.unwrap().path(), act);
        }
    }
}

/// Permissions of a path while this lives; the ones from before come back with its end, so that the place can go away.
struct Closed(PathBuf, u32);

impl Closed {
    fn to(path: PathBuf, mode: u32) -> Self {
        let before = path.metadata().unwrap().permissions().mode();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        Self(path, before)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        std::fs::set_permissions(&self.0, std::fs::Permissions::from_mode(self.1)).unwrap();
    }
}

/// One line on standard error that holds these words, nothing on standard output, and this exit code.
#[track_caller]
fn one_sentence(ended: &Ended, code: i32, words: &[&str]) {
    ended.exits(code);
    assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    for word in words {
        assert!(ended.err.contains(word), "{word}: {}", ended.err);
    }
}

fn contents(messages: &Value, role: &str) -> Vec<String> {
    let all = messages.as_array().unwrap().iter().filter(|message| message["role"] == role);
    all.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// AUTO-MAS-Project/AUTO-MAS#303
#[test]
fn a_disk_that_fills_up_stops_the_turn_and_the_session_goes_on_when_there_is_room() {
    let server = Server::start([
        Reply::sse(chat::calls(&[("a", "read", json!({ "path": "small" }))])),
        Reply::sse(chat::calls(&[
            ("b", "read", json!({ "path": "large" })),
            ("c", "write", json!({ "path": "new", "contents": "new" })),
        ])),
        Reply::sse(chat::says("went on")),
        Reply::sse(chat::says("and on")),
    ]);
    let place = Place::with(&server);
    place.write("small", "a small file\n");
    place.write("large", &"a line of a large file\n".repeat(4000));
    let ended = with_room(&place, 48, &args(&["look"]));
    let session = place.sessions()[0].clone();
    let id = session.file_stem().unwrap().to_str().unwrap().to_owned();
    one_sentence(&ended, 1, &["cannot save", session.to_str().unwrap(), "larger", "--resume", &id]);
    assert_eq!(server.requests().len(), 2, "nothing is asked that could not be recorded");
    assert!(place.read("new").is_none(), "nothing is done that could not be recorded");
    let before = std::fs::read(&session).unwrap();
    assert!(!before.is_empty() && before.ends_with(b"\n"));

    // The turn is still open: it goes on without a task.
    let on = place.crystal(&args(&["--resume", &id]));
    on.exits(0);
    assert!(on.out.contains("went on"), "{}", on.out);
    assert!(std::fs::read(&session).unwrap().starts_with(&before), "what was saved is untouched");
    let messages = server.requests()[2].json()["messages"].clone();
    let results = contents(&messages, "tool");
    assert!(results[0].contains("a small file") && results.len() == 3, "{results:?}");
    assert!(results[1].contains("interrupted") && results[2].contains("interrupted"), "{results:?}");
    place.crystal(&args(&["--continue", "again"])).exits(0);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_disk_that_is_full_from_the_start_leaves_nothing_behind_and_calls_nobody() {
    let server = Server::start([Reply::sse(chat::says("hi"))]);
    let place = Place::with(&server);
    let ended = with_room(&place, 0, &args(&["go"]));
    one_sentence(&ended, 1, &["cannot save", "sessions"]);
    assert!(server.requests().is_empty() && place.sessions().is_empty());
    let left: Vec<_> = std::fs::read_dir(place.home().join("sessions")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    place.crystal(&args(&["go"])).exits(0);
}

#[test]
fn a_new_turn_that_cannot_be_saved_is_not_begun() {
    let server = Server::start([Reply::sse(chat::says("one")), Reply::sse(chat::says("two"))]);
    let place = Place::with(&server);
    place.crystal(&args(&["first"])).exits(0);
    let session = place.sessions()[0].clone();
    let before = std::fs::read(&session).unwrap();
    // Less than the file has already: no byte fits.
    let ended = with_room(&place, 1, &args(&["--continue", "second"]));
    one_sentence(&ended, 1, &["cannot save", "--resume"]);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(std::fs::read(&session).unwrap(), before);
    place.crystal(&args(&["--continue", "third"])).exits(0);
    let messages = server.requests()[1].json()["messages"].clone();
    assert_eq!(contents(&messages, "user"), ["first", "third"]);
}

#[test]
fn a_file_that_does_not_fit_keeps_its_old_contents_and_the_model_is_told() {
    let server = Server::start([
        Reply::sse(chat::calls(&[(
            "a",
            "edit",
            json!({ "path": "large", "old_string": "first", "new_string": "changed" }),
        )])),
        Reply::sse(chat::says("the disk is full")),
    ]);
    let place = Place::with(&server);
    let text = format!("first\n{}", "filling\n".repeat(20_000));
    place.write("large", &text);
    let ended = with_room(&place, 64, &args(&["--format", "json", "go"]));
    ended.exits(0);
    let tool = ended.of_type("tool_use")[0].clone();
    assert_eq!(tool["status"], "failed");
    assert!(tool["output"].as_str().unwrap().contains("nothing was written"), "{tool}");
    assert_eq!(place.read("large").unwrap(), text);
    assert_eq!(std::fs::read_dir(place.workspace()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn standard_output_that_cannot_be_written_is_said() {
    let server = Server::start([Reply::sse(chat::says("hello"))]);
    let place = Place::with(&server);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&args(&["go"]));
    let ended = Ended::of(command.stdout(full).output().unwrap());
    one_sentence(&ended, 5, &["standard output", "No space"]);
    place.crystal(&["sessions", "show", "last"]).exits(0);
}

#[test]
fn a_home_that_may_not_be_written_is_exit_1_and_nothing_is_sent() {
    let server = Server::answering(|_, _| Reply::sse(chat::says("hi")));
    let place = Place::with(&server);
    hand_over(&place);
    {
        let _closed = Closed::to(place.home(), 0o555);
        let ended = as_nobody(&place, &args(&["go"]));
        one_sentence(&ended, 1, &["sessions", "permission denied"]);
        assert!(server.requests().is_empty());
    }
    as_nobody(&place, &args(&["go"])).exits(0);
    let session = place.sessions()[0].clone();
    let before = std::fs::read(&session).unwrap();
    {
        let _file = Closed::to(session.clone(), 0o444);
        let ended = as_nobody(&place, &args(&["--continue", "more"]));
        one_sentence(&ended, 1, &["cannot open", session.to_str().unwrap(), "permission denied"]);
        let _dir = Closed::to(place.home().join("sessions"), 0o555);
        let ended = as_nobody(&place, &args(&["more"]));
        one_sentence(&ended, 1, &["sessions", "permission denied"]);
        assert_eq!(
            as_nobody(&place, &["sessions", "show", "last"]).code,
            Some(0),
            "reading needs no writing"
        );
    }
    assert_eq!(std::fs::read(&session).unwrap(), before);
    as_nobody(&place, &args(&["--continue", "more"])).exits(0);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn logs_that_cannot_be_written_are_no_reason_to_say_anything() {
    let server = Server::start([Reply::sse(chat::says("hi"))]);
    let place = Place::with(&server);
    place.write_home("logs", "a file where the directory should be");
    let ended = place.crystal(&args(&["go"]));
    ended.exits(0);
    assert!(ended.err.is_empty(), "{}", ended.err);
}

#[test]
fn a_workspace_that_may_not_be_read_is_exit_1_and_nothing_is_sent() {
    let server = Server::start([Reply::sse(chat::says("hi"))]);
    let place = Place::with(&server);
    hand_over(&place);
    let workspace = place.workspace();
    let dir = workspace.to_str().unwrap().to_owned();
    {
        let _closed = Closed::to(workspace.clone(), 0o000);
        let mut command = place.command(&args(&["-w", &dir, "go"]));
        command.current_dir(place.user());
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let ended = Ended::of(command.output().unwrap());
        one_sentence(&ended, 1, &["workspace", &dir, "ermission denied"]);
        assert!(server.requests().is_empty() && place.sessions().is_empty());
    }
    as_nobody(&place, &args(&["go"])).exits(0);
}

#[test]
fn files_that_may_not_be_read_are_told_to_the_model_by_name() {
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a", "read", json!({ "path": "secret.txt" })),
            ("b", "grep", json!({ "pattern": "word" })),
            ("c", "write", json!({ "path": "shut/new.txt", "contents": "x" })),
        ])),
        Reply::sse(chat::says("I may not")),
    ]);
    let place = Place::with(&server);
    place.write("secret.txt", "word\n");
    place.write("open.txt", "word\n");
    place.write("shut/old.txt", "word\n");
    hand_over(&place);
    let _file = Closed::to(place.workspace().join("secret.txt"), 0o000);
    let _dir = Closed::to(place.workspace().join("shut"), 0o555);
    let ended = as_nobody(&place, &args(&["--format", "json", "go"]));
    ended.exits(0);
    let tools = ended.of_type("tool_use");
    let output = |at: usize| tools[at]["output"].as_str().unwrap().to_owned();
    assert!(output(0).contains("secret.txt") && output(0).contains("permission denied"), "{}", output(0));
    assert!(output(1).contains("open.txt"), "{}", output(1));
    assert!(output(2).contains("permission denied"), "{}", output(2));
}

#[test]
fn a_workspace_that_goes_away_stops_the_turn_which_goes_on_when_it_is_back() {
    let gone: Arc<Mutex<Option<(PathBuf, PathBuf)>>> = Arc::default();
    let server = Server::answering({
        let gone = Arc::clone(&gone);
        move |_, index| match index {
            0 => {
                let (from, to) = gone.lock().unwrap().take().unwrap();
                std::fs::rename(from, to).unwrap();
                Reply::sse(chat::calls(&[
                    ("a", "read", json!({ "path": "f" })),
                    ("b", "write", json!({ "path": "g", "contents": "x" })),
                ]))
            }
            _ => Reply::sse(chat::says("back again")),
        }
    });
    let place = Place::with(&server);
    place.write("f", "x\n");
    let aside = place.user().join("aside");
    *gone.lock().unwrap() = Some((place.workspace(), aside.clone()));
    let ended = place.crystal(&args(&["go"]));
    one_sentence(
        &ended,
        1,
        &["workspace", place.workspace().to_str().unwrap(), "no longer there", "--resume"],
    );
    assert_eq!(server.requests().len(), 1);
    assert!(!place.workspace().exists() && !aside.join("g").exists(), "nothing was made in its place");
    std::fs::rename(&aside, place.workspace()).unwrap();
    let on = place.crystal(&args(&["--continue"]));
    on.exits(0);
    assert!(on.out.contains("back again"), "{}", on.out);
    assert_eq!(contents(&server.requests()[1].json()["messages"], "tool").len(), 2);
}
