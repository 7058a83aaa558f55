//! What runs, what is denied, and what the exit code says of it.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

fn with_call(place: &Place, server: &Server, more: &[&str]) -> Ended {
    place.provider(&server.base_uri(), json!({ "contextWindow": 100_000 }));
    place.run("go", more)
}

fn calling(name: &str, arguments: serde_json::Value) -> Server {
    Server::start([
        Reply::sse(chat::calls(&[("a", name, arguments)])),
        Reply::sse(chat::says("I could not.")),
    ])
}

/// anthropics/claude-code#76867, anthropics/claude-code#90578
#[test]
fn a_denied_write_shows_in_the_exit_code_and_writes_nothing() {
    let server = calling("write", json!({ "path": "a.txt", "contents": "x" }));
    let place = Place::new();
    let ended = with_call(&place, &server, &[]);
    ended.exits(4);
    assert!(place.read("a.txt").is_none());
    let tool = &ended.of_type("tool_use")[0];
    assert_eq!(tool["status"], "denied");
    assert!(tool["output"].as_str().unwrap().contains("a.txt"), "{tool}");
    assert_eq!(ended.result()["text"], "I could not.");
}

#[test]
fn edit_mode_lets_workspace_files_pass_and_nothing_else() {
    let server = calling("write", json!({ "path": "a.txt", "contents": "x" }));
    let place = Place::new();
    with_call(&place, &server, &["--approval", "edit"]).exits(0);
    assert_eq!(place.read("a.txt").unwrap(), "x");
    let server = calling("bash", json!({ "command": "touch y" }));
    with_call(&place, &server, &["--approval", "edit"]).exits(4);
    assert!(place.read("y").is_none());
    let outside = place.user().join("out.txt");
    let server = calling("write", json!({ "path": outside.to_str().unwrap(), "contents": "x" }));
    with_call(&place, &server, &["--approval", "edit"]).exits(4);
    assert!(!outside.exists());
}

#[test]
fn full_mode_runs_commands_bounded_by_the_workspace_and_no_others() {
    let server = calling("bash", json!({ "command": "printf done > y" }));
    let place = Place::new();
    with_call(&place, &server, &["--approval", "full"]).exits(0);
    assert_eq!(place.read("y").unwrap(), "done");
    let outside = place.user().join("out.txt");
    let server = calling("bash", json!({ "command": format!("echo x > {}", outside.display()) }));
    with_call(&place, &server, &["--approval", "full"]).exits(4);
    assert!(!outside.exists());
}

#[test]
fn an_untrusted_workspace_is_restricted_and_says_so() {
    let server = calling("bash", json!({ "command": "touch y" }));
    let place = Place::new();
    place.provider(&server.base_uri(), json!({ "contextWindow": 1000 }));
    let ended = place.crystal(&["run", "--provider", "mock", "--format", "json", "--approval", "full", "go"]);
    ended.exits(4);
    assert!(place.read("y").is_none());
    assert!(
        ended.of_type("note").iter().any(|note| note["text"].as_str().unwrap().contains("trust")),
        "{}",
        ended.out
    );
}

#[test]
fn trust_can_be_required() {
    let server = Server::start([]);
    let place = Place::with(&server);
    let ended = place.crystal(&["run", "--provider", "mock", "--workspace-trust", "require", "go"]);
    ended.exits(4);
    assert!(server.requests().is_empty());
    assert!(ended.err.contains("trust"), "{}", ended.err);
}

#[test]
fn rule_files_and_git_always_ask() {
    for path in ["AGENTS.md", ".git/hooks/post-commit", ".crystal/plugins/x/init.lua"] {
        let server = calling("write", json!({ "path": path, "contents": "x" }));
        let place = Place::new();
        with_call(&place, &server, &["--approval", "full"]).exits(4);
        assert!(place.read(path).is_none(), "{path}");
    }
}

#[test]
fn the_home_and_credentials_stay_closed_in_every_mode() {
    let place = Place::new();
    let keys = place.home().join("credentials.json");
    place.write_home("credentials.json", "{\"x\": {\"apiKey\": \"sk-secret-1\"}}");
    for path in
        [keys.to_str().unwrap().to_owned(), "~/.crystal/credentials.json".into(), "~/.ssh/id_rsa".into()]
    {
        let server = calling("read", json!({ "path": path }));
        let ended = with_call(&place, &server, &["--approval", "full"]);
        assert!(!ended.out.contains("sk-secret-1"), "{path}");
        assert_ne!(ended.of_type("tool_use")[0]["status"], "completed", "{path}");
    }
}

/// dirge-code/dirge#523, AltimateAI/altimate-code#936, anthropics/claude-code#50728
#[test]
fn a_question_is_dismissed_and_no_option_is_picked() {
    let server =
        calling("question", json!({ "questions": [{ "question": "Delete it?", "options": ["Yes", "No"] }] }));
    let place = Place::new();
    let ended = with_call(&place, &server, &["--approval", "full"]);
    ended.exits(4);
    let output = ended.of_type("tool_use")[0]["output"].as_str().unwrap().to_owned();
    assert!(output.to_lowercase().contains("nobody"), "{output}");
}

#[test]
fn modes_that_need_a_reviewer_are_refused() {
    let server = Server::start([]);
    let place = Place::with(&server);
    for mode in ["review", "audit"] {
        let ended = place.crystal(&["run", "--provider", "mock", "--approval", mode, "go"]);
        ended.exits(1);
        assert!(ended.err.contains(mode), "{}", ended.err);
    }
}

/// anthropics/claude-code#49874
#[test]
fn a_denied_command_names_the_part_that_caused_it() {
    let server = calling("bash", json!({ "command": "ls && curl http://127.0.0.1:1/x" }));
    let place = Place::new();
    let ended = with_call(&place, &server, &["--approval", "full"]);
    ended.exits(4);
    let output = ended.of_type("tool_use")[0]["output"].as_str().unwrap().to_owned();
    assert!(output.contains("curl"), "{output}");
}
