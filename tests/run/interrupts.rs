//! Signals, closed pipes, and what is left behind: nothing.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Gate, Reply, Server};

/// Whether a process with exactly these arguments is there.
pub fn running(command: &str) -> bool {
    let wanted: Vec<&str> = command.split(' ').collect();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { return false };
        let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
        words.len() == wanted.len()
            && words.iter().zip(&wanted).all(|(word, wanted)| *word == wanted.as_bytes())
    })
}

/// Waits until that process is there; fails when the program ends before it.
pub fn wait_for_process(child: &mut Child, command: &str) {
    let begun = Instant::now();
    while !running(command) {
        if let Some(status) = child.try_wait().unwrap() {
            let (mut out, mut err) = (String::new(), String::new());
            child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
            child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            panic!("ended with {status} before `{command}` ran:\n{out}\n{err}");
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "`{command}` never ran");
        // A look at every process is not free: the pause keeps the wait from starving what is waited for.
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// LionSR/TeXRA#5942
#[test]
fn a_signal_ends_the_run_its_command_and_leaves_a_session_that_goes_on() {
    for (name, seconds) in [("-INT", "88.125"), ("-TERM", "88.25")] {
        let server = Server::start([
            Reply::sse(chat::calls(&[(
                "a",
                "bash",
                json!({ "command": format!("touch started; sleep {seconds}") }),
            )])),
            Reply::sse(chat::says("went on")),
        ]);
        let place = Place::with(&server);
        let mut child = place.start("go", &["--approval", "full"]);
        let sleeping = format!("sleep {seconds}");
        wait_for_process(&mut child, &sleeping);
        signal(&child, name);
        let ended = Ended::of(child.wait_with_output().unwrap());
        ended.exits(5);
        assert!(!running(&sleeping));
        assert_eq!(ended.of_type("stopped")[0]["reason"], "cancelled");
        assert_eq!(ended.of_type("tool_use")[0]["status"], "cancelled");
        place.run("again", &["--continue"]).exits(0);
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_signal_ends_a_call_that_waits_for_the_model() {
    let gate = Gate::default();
    let server = Server::start([Reply::sse([chat::text("thinking")]).wait(&gate)]);
    let place = Place::with(&server);
    let child = place.start("go", &[]);
    server.wait_for(1);
    signal(&child, "-INT");
    let ended = Ended::of(child.wait_with_output().unwrap());
    gate.open();
    ended.exits(5);
}

/// RyderFreeman4Logos/cli-sub-agent#1557, vercel-labs/agent-browser#144
#[test]
fn a_closed_standard_output_ends_the_run_quietly_and_keeps_the_session() {
    let server = Server::answering(|_, _| Reply::sse(chat::calls(&[("", "read", json!({ "path": "f" }))])));
    let place = Place::with(&server);
    place.write("f", "x");
    let mut child = place.start("go", &["--model-calls", "5000"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let session: Value = serde_json::from_str(&line).unwrap();
    drop(out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{err}");
    assert!(!err.contains("panic"), "{err}");
    let shown = place.crystal(&["sessions", "show", session["session"].as_str().unwrap()]);
    shown.exits(0);
}

#[test]
fn help_into_a_closed_pipe_is_quiet() {
    let place = Place::new();
    let mut child = place.command(&["run", "--help"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert!(ended.err.is_empty(), "{}", ended.err);
}
