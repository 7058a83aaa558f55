//! Sessions that go on.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Gate, Reply, Server};

#[test]
fn a_session_goes_on_with_everything_that_was_said() {
    let server =
        Server::start([Reply::sse(chat::says("the answer is 7")), Reply::sse(chat::says("still 7"))]);
    let place = Place::with(&server);
    let first = place.run("think of a number", &[]);
    first.exits(0);
    let id = first.result()["session"].as_str().unwrap().to_owned();
    let second = place.run("which one", &["--resume", &id]);
    second.exits(0);
    assert_eq!(second.result()["session"], id.as_str());
    let messages = server.requests()[1].json()["messages"].clone();
    let texts: Vec<_> = messages.as_array().unwrap()[1..]
        .iter()
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["think of a number", "the answer is 7", "which one"]);
    assert_eq!(place.sessions().len(), 1);
}

#[test]
fn continue_takes_the_newest_session_of_this_workspace() {
    let server = Server::start([Reply::sse(chat::says("one")), Reply::sse(chat::says("two"))]);
    let place = Place::with(&server);
    place.run("first", &[]).exits(0);
    place.run("second", &["--continue"]).exits(0);
    assert_eq!(place.sessions().len(), 1);
    let elsewhere = Place::new();
    let ended = elsewhere.run("third", &["--continue"]);
    ended.exits(1);
}

/// earendil-works/pi#4189, aaif-goose/goose#1624, anthropics/claude-code#3003
#[test]
fn a_killed_turn_goes_on_without_a_task_and_with_every_call_answered() {
    let server = Server::start([
        Reply::sse(chat::calls(&[("a", "bash", json!({ "command": "sleep 66.5" }))])),
        Reply::sse(chat::says("picked up")),
    ]);
    let place = Place::with(&server);
    let mut child = place.start("go", &["--approval", "full"]);
    crate::run::interrupts::wait_for_process(&mut child, "sleep 66.5");
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = place.crystal(&[
        "run",
        "--provider",
        "mock",
        "--format",
        "json",
        "--continue",
        "--workspace-trust",
        "assume",
    ]);
    ended.exits(0);
    assert_eq!(ended.result()["text"], "picked up");
    let messages = server.requests()[1].json()["messages"].clone();
    let last = messages.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "tool");
    assert!(last["content"].as_str().unwrap().contains("interrupted"), "{last}");
    let done = place.crystal(&["run", "--provider", "mock", "--continue", "--workspace-trust", "assume"]);
    done.exits(1);
    assert!(done.err.contains("no turn"), "{}", done.err);
    let _ = std::process::Command::new("pkill").args(["-f", "^sleep 66.5$"]).status();
}

/// earendil-works/pi#9596
#[test]
fn two_runs_cannot_write_one_session() {
    let gate = Gate::default();
    let server = Server::start([
        Reply::sse(chat::says("zero")),
        Reply::sse([chat::text("one")]).wait(&gate).send(chat::finish("stop")).send(chat::DONE),
    ]);
    let place = Place::with(&server);
    place.run("start", &[]).exits(0);
    let first = place.start("ONE", &["--continue"]);
    server.wait_for(2);
    let second = place.run("TWO", &["--continue"]);
    second.exits(1);
    assert!(second.err.contains("open in another process"), "{}", second.err);
    gate.open();
    Ended::of(first.wait_with_output().unwrap()).exits(0);
    let stored = std::fs::read_to_string(&place.sessions()[0]).unwrap();
    assert!(stored.contains("ONE") && !stored.contains("TWO"));
}

#[test]
fn a_session_that_is_not_there_is_named() {
    let place = Place::new();
    place.provider("http://127.0.0.1:1", json!({ "contextWindow": 1000 }));
    let ended = place.run("go", &["--resume", "20200101-nothing"]);
    ended.exits(1);
    assert!(ended.err.contains("20200101-nothing"), "{}", ended.err);
}
