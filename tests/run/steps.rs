//! Batches of calls, and failures around a run.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::Place;
use crate::support::server::{Reply, Server};

#[test]
fn results_stand_in_the_models_order_whatever_ran_together() {
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a", "grep", json!({ "pattern": "x" })),
            ("b", "read", json!({ "path": "f" })),
            ("c", "write", json!({ "path": "g", "contents": "made" })),
            ("d", "read", json!({ "path": "g" })),
        ])),
        Reply::sse(chat::says("done")),
    ]);
    let place = Place::with(&server);
    place.write("f", "x\n");
    let ended = place.run("go", &["--approval", "edit"]);
    ended.exits(0);
    let names: Vec<_> =
        ended.of_type("tool_use").iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["grep", "read", "write", "read"]);
    assert!(
        ended.of_type("tool_use")[3]["output"].as_str().unwrap().contains("made"),
        "the read came after the write"
    );
}

/// earendil-works/pi#2327, google-gemini/gemini-cli#26731
#[test]
fn two_edits_of_one_file_in_one_message_both_land() {
    let numbers: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a", "edit", json!({ "path": "n", "old_string": "\n50\n", "new_string": "\nFIFTY\n" })),
            ("b", "edit", json!({ "path": "n", "old_string": "\n75\n", "new_string": "\nSEVENTY-FIVE\n" })),
        ])),
        Reply::sse(chat::says("done")),
    ]);
    let place = Place::with(&server);
    place.write("n", &numbers);
    place.run("go", &["--approval", "edit"]).exits(0);
    let text = place.read("n").unwrap();
    assert!(text.contains("FIFTY") && text.contains("SEVENTY-FIVE") && text.lines().count() == 100);
}

#[test]
fn a_home_that_cannot_be_written_is_one_sentence_and_exit_1() {
    let server = Server::start([]);
    let place = Place::with(&server);
    // A file where the directory should be stops root as well.
    place.write_home("sessions", "in the way");
    let ended = place.run("go", &[]);
    ended.exits(1);
    assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    assert!(ended.err.contains("sessions"), "{}", ended.err);
    assert!(server.requests().is_empty());
}

#[test]
fn a_workspace_that_is_not_there_is_one_sentence_and_exit_1() {
    let place = Place::new();
    let ended = place.crystal(&["run", "--provider", "offline", "-w", "nowhere", "go"]);
    ended.exits(1);
    assert!(ended.err.contains("nowhere"), "{}", ended.err);
}
