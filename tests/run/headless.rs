//! Pipes, files and terminals around a run: nothing coloured, nothing panics, nothing keeps running.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::run::interrupts::{running, wait_for_process};
use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

/// A terminal: our end and the program's.
fn terminal() -> (std::fs::File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = rustix::fs::open(
        name,
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY,
        rustix::fs::Mode::empty(),
    );
    (ours.into(), theirs.unwrap())
}

/// Reads a terminal to its end, which Linux tells by an error.
fn read_terminal(mut ours: std::fs::File) -> String {
    let mut bytes = Vec::new();
    let _ = ours.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// A run with something on every stream: text, a tool, a denied call, a note about an unknown field.
fn noisy() -> (Server, Place) {
    let server = Server::answering(|request, _| {
        let body = request.json();
        match body["messages"].as_array().unwrap().last().unwrap()["role"].as_str() {
            Some("tool") => Reply::sse(chat::says("I was \u{1b}[31mnot allowed")),
            _ => Reply::sse(chat::calls(&[
                ("a", "read", json!({ "path": "f" })),
                ("b", "write", json!({ "path": "g", "contents": "x" })),
            ])),
        }
    });
    let place = Place::with(&server);
    place.write("f", "\u{1b}[1mbold\u{1b}[0m\n");
    place.write_home("config.json", "{ \"future\": 1 }");
    (server, place)
}

const RUN: &[&str] = &["run", "--provider", "mock", "--stream", "go"];

/// aws/agentcore-cli#1391, kucherenko/jscpd#893
#[test]
fn files_and_pipes_get_no_escape_sequence() {
    let (_server, place) = noisy();
    let (out, err) = (place.user().join("out"), place.user().join("err"));
    let mut command = place.command(RUN);
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let status = command.env("TERM", "xterm-256color").env("CLICOLOR_FORCE", "1").status().unwrap();
    assert_eq!(status.code(), Some(4));
    for path in [out, err] {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.is_empty() && !text.contains('\u{1b}'), "{}: {text:?}", path.display());
    }
    for wrong in [&["run", "--no-such-option"][..], &["--help"], &["run", "--help"], &["config", "show"]] {
        let ended = place.crystal(wrong);
        assert!(!ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'), "{wrong:?}");
    }
}

#[test]
fn a_terminal_on_standard_error_alone_colours_nothing_else() {
    let (_server, place) = noisy();
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "xterm")] {
        let (ours, theirs) = terminal();
        let mut command = place.command(RUN);
        command.env(name, value).stderr(theirs);
        let child = command.spawn().unwrap();
        // The command holds a copy of the program's end.
        drop(command);
        let said = std::thread::spawn(move || read_terminal(ours));
        let ended = Ended::of(child.wait_with_output().unwrap());
        ended.exits(4);
        assert!(!ended.out.contains('\u{1b}') && ended.out.contains("not allowed"), "{:?}", ended.out);
        let said = said.join().unwrap();
        assert!(
            said.contains("future") && (value == "xterm" || !said.contains('\u{1b}')),
            "{name}={value}: {said:?}"
        );
    }
}

#[test]
fn a_terminal_that_takes_no_colour_gets_none() {
    let (_server, place) = noisy();
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for args in [RUN, &["run", "--help"], &["run", "--no-such-option"]] {
            let (ours, theirs) = terminal();
            let mut command = place.command(args);
            command.env(name, value).stderr(theirs.try_clone().unwrap()).stdout(theirs);
            let mut child = command.spawn().unwrap();
            drop(command);
            let said = read_terminal(ours);
            child.wait().unwrap();
            assert!(!said.is_empty() && !said.contains('\u{1b}'), "{name}={value} {args:?}: {said:?}");
        }
    }
}

/// RyderFreeman4Logos/cli-sub-agent#1557, LionSR/TeXRA#5942
#[test]
fn a_reader_that_goes_ends_a_running_command_with_its_children() {
    let script = "sleep 91.125 & sleep 91.25";
    let server = Server::start([
        Reply::sse(chat::calls(&[("a", "bash", json!({ "command": script }))])),
        Reply::sse(chat::says("went on")),
    ]);
    let place = Place::with(&server);
    let mut child = place.start("go", &["--approval", "full"]);
    wait_for_process(&mut child, "sleep 91.125");
    wait_for_process(&mut child, "sleep 91.25");
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{err}");
    assert!(err.is_empty(), "a reader that had enough is told nothing: {err}");
    assert!(!running("sleep 91.125") && !running("sleep 91.25"));
    place.run("again", &["--continue"]).exits(0);
    let messages = server.requests()[1].json()["messages"].clone();
    assert!(messages.as_array().unwrap().iter().any(|message| message["role"] == "tool"), "{messages}");
}

/// vercel-labs/agent-browser#144
#[test]
fn head_of_a_long_answer_is_quiet_in_every_format() {
    let words = "a long answer, and longer still; ".repeat(20_000);
    for format in ["text", "json", "final"] {
        let server = Server::start([Reply::sse(chat::says(&words))]);
        let place = Place::with(&server);
        let mut shell = Command::new("bash");
        let program = place.command(&[]);
        shell.args(["-c", "set -o pipefail; \"$0\" run --provider mock --format \"$1\" go | head -c 1"]);
        shell.arg(program.get_program()).arg(format).current_dir(place.workspace()).env_clear();
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        let ended = Ended::of(shell.output().unwrap());
        assert_eq!(ended.out.len(), 1, "{format}");
        assert!(ended.err.is_empty(), "{format}: {}", ended.err);
        ended.exits(5);
        place.crystal(&["sessions", "show", "last"]).exits(0);
    }
}

#[test]
fn every_listing_into_a_closed_pipe_is_quiet() {
    let server = Server::start([Reply::sse(chat::says("hi"))]);
    let place = Place::with(&server);
    place.run("go", &[]).exits(0);
    for args in [
        &["completions", "bash"][..],
        &["completions", "zsh"],
        &["completions", "man"],
        &["--help"],
        &["version"],
        &["--version"],
        &["sessions", "list"],
        &["sessions", "show", "last"],
        &["sessions", "export", "last"],
        &["config", "show"],
        &["keys", "list"],
    ] {
        let mut child = place.command(args).spawn().unwrap();
        drop(child.stdout.take());
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert!(ended.err.is_empty(), "{args:?}: {}", ended.err);
        assert!(ended.code.is_some(), "{args:?} was ended by a signal");
    }
}

/// dirge-code/dirge#523, AltimateAI/altimate-code#936
#[test]
fn a_question_and_a_command_are_both_answered_at_once() {
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a", "question", json!({ "questions": [{ "question": "Sure?", "options": ["Yes", "No"] }] })),
            ("b", "bash", json!({ "command": "touch y" })),
            ("c", "write", json!({ "path": "z", "contents": "z" })),
            ("d", "bash", json!({ "command": "curl http://127.0.0.1:1/" })),
        ])),
        Reply::sse(chat::says("then not")),
    ]);
    let place = Place::with(&server);
    let ended = place.run("go", &[]);
    ended.exits(4);
    let tools = ended.of_type("tool_use");
    let states: Vec<&str> = tools.iter().map(|tool| tool["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["failed", "denied", "denied", "denied"]);
    let stopped = ended.of_type("stopped")[0].clone();
    assert_eq!(stopped["reason"], "completed");
    let message = stopped["message"].as_str().unwrap();
    for words in ["touch y", "--approval full", "write z", "--approval edit", "curl", "no option", "question"]
    {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(ended.of_type("error").is_empty());
}

#[test]
fn what_was_denied_is_said_on_standard_error_of_the_other_formats() {
    let call = || Reply::sse(chat::calls(&[("a", "write", json!({ "path": "z", "contents": "z" }))]));
    for format in ["text", "final"] {
        let server = Server::start([call(), Reply::sse(chat::says("then not"))]);
        let place = Place::with(&server);
        let ended = place.crystal(&["run", "--provider", "mock", "--format", format, "go"]);
        ended.exits(4);
        assert!(ended.out.ends_with("then not\n"), "{}", ended.out);
        let last = ended.err.lines().last().unwrap();
        for words in ["write z", "--approval edit", "--workspace-trust assume"] {
            assert!(last.contains(words), "{words}: {last}");
        }
    }
}
