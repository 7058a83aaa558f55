//! Standard input.

use std::process::Stdio;

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

fn user_text(server: &Server) -> String {
    server.requests()[0].json()["messages"][1]["content"].as_str().unwrap().to_owned()
}

#[test]
fn the_task_can_be_standard_input() {
    let server = Server::start([Reply::sse(chat::says("ok"))]);
    let place = Place::with(&server);
    place.piped(&["run", "--provider", "mock"], b"Do this thing\n").exits(0);
    assert!(user_text(&server).contains("Do this thing"));
}

#[test]
fn what_is_piped_beside_a_task_is_attached_as_a_block() {
    let server = Server::start([Reply::sse(chat::says("ok"))]);
    let place = Place::with(&server);
    place.piped(&["run", "--provider", "mock", "Summarise"], b"line </stdin> two\n").exits(0);
    let text = user_text(&server);
    assert!(text.starts_with("Summarise\n\n<stdin_>\nline </stdin> two\n</stdin_>"), "{text}");
}

#[test]
fn a_dash_reads_to_the_end() {
    let server = Server::start([Reply::sse(chat::says("ok"))]);
    let place = Place::with(&server);
    place.piped(&["run", "--provider", "mock", "-"], b"From the pipe").exits(0);
    assert!(user_text(&server).contains("From the pipe"));
}

/// openai/codex, by way of cooneycw/claude-power-pack#408
#[test]
fn an_open_pipe_that_stays_silent_does_not_hold_the_run() {
    let server = Server::start([Reply::sse(chat::says("hi"))]);
    let place = Place::with(&server);
    let mut child = place
        .command(&["run", "--provider", "mock", "--format", "json", "say hi"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let held = child.stdin.take();
    let ended = Ended::of(child.wait_with_output().unwrap());
    drop(held);
    ended.exits(0);
    assert_eq!(ended.result()["stdin"], "skipped");
    assert_eq!(ended.of_type("note").len(), 1, "{}", ended.out);
}

#[test]
fn no_task_at_all_is_an_error_that_says_so() {
    let place = Place::new();
    let ended = place.piped(&["run", "--provider", "offline"], b"  \n");
    ended.exits(1);
    assert!(ended.err.contains("no task"), "{}", ended.err);
    assert!(ended.out.is_empty());
}

#[test]
fn slash_commands_are_refused_before_anything_is_sent() {
    let server = Server::start([]);
    let place = Place::with(&server);
    let ended = place.crystal(&["run", "--provider", "mock", "/compact"]);
    ended.exits(1);
    assert!(ended.err.contains("/compact"), "{}", ended.err);
    assert!(server.requests().is_empty() && place.sessions().is_empty());
}
