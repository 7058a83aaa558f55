//! A task from start to end.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::Place;
use crate::support::server::{Reply, Server};

#[test]
fn a_task_is_read_done_and_reported() {
    let server = Server::start([
        Reply::sse(chat::calls(&[("a1", "read", json!({ "path": "notes.txt" }))])),
        Reply::sse(chat::calls(&[(
            "a2",
            "edit",
            json!({ "path": "notes.txt", "old_string": "old", "new_string": "new" }),
        )])),
        Reply::sse(chat::says("I changed one word.")),
    ]);
    let place = Place::with(&server);
    place.write("notes.txt", "an old note\n");
    let ended = place.run("Make it new", &["--approval", "edit"]);
    ended.exits(0);
    assert_eq!(place.read("notes.txt").unwrap(), "an new note\n");
    let result = ended.result();
    assert_eq!(result["text"], "I changed one word.");
    assert_eq!(result["exit"], 0);
    assert_eq!(result["usage"]["input"], 300);
    let tools = ended.of_type("tool_use");
    assert_eq!(tools.len(), 2);
    assert!(tools.iter().all(|tool| tool["status"] == "completed"), "{tools:?}");
    let kinds: Vec<_> = ended.lines().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds.first().unwrap(), "session");
    assert_eq!(kinds.iter().filter(|kind| *kind == "step_start").count(), 3);
    assert_eq!(kinds.iter().filter(|kind| *kind == "step_finish").count(), 3);
    for line in ended.lines() {
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
        assert_eq!(line["session"], result["session"]);
    }
}

#[test]
fn every_request_repeats_the_conversation_byte_for_byte_and_pairs_every_call() {
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a1", "read", json!({ "path": "a" })),
            ("a2", "read", json!({ "path": "b" })),
        ])),
        Reply::sse(chat::calls(&[("a3", "read", json!({ "path": "a" }))])),
        Reply::sse(chat::says("done")),
    ]);
    let place = Place::with(&server);
    place.write("a", "A\n");
    place.write("b", "B\n");
    place.run("look", &[]).exits(0);
    let bodies: Vec<_> = server.requests().iter().map(|request| request.json()).collect();
    assert_eq!(bodies.len(), 3);
    for pair in bodies.windows(2) {
        let (before, after) =
            (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        assert_eq!(before[..], after[..before.len()], "an earlier message changed");
        assert_eq!(pair[0]["tools"], pair[1]["tools"]);
    }
    let roles: Vec<_> = bodies[2]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]);
    let messages = bodies[2]["messages"].as_array().unwrap();
    assert_eq!(messages[2]["tool_calls"][0]["id"], messages[3]["tool_call_id"]);
    assert_eq!(messages[2]["tool_calls"][1]["id"], messages[4]["tool_call_id"]);
}

#[test]
fn plan_mode_offers_nothing_that_writes_and_runs_nothing_that_does() {
    let server = Server::start([
        Reply::sse(chat::calls(&[("a1", "bash", json!({ "command": "touch x" }))])),
        Reply::sse(chat::says("a plan")),
    ]);
    let place = Place::with(&server);
    let ended = place.run("plan it", &["--plan", "--approval", "full"]);
    ended.exits(0);
    assert!(place.read("x").is_none());
    let first = server.requests()[0].json();
    let names: Vec<_> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"read".to_owned()) && !names.contains(&"bash".to_owned()), "{names:?}");
    assert_eq!(ended.of_type("tool_use")[0]["status"], "failed");
}
