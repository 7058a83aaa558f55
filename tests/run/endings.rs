//! Each ending: its exit code, its last line, its sentence.

use serde_json::{Value, json};

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

fn ending(replies: Vec<Reply>) -> (Ended, Server) {
    let server = Server::start(replies);
    let ended = Place::with(&server).run("go", &[]);
    (ended, server)
}

#[track_caller]
fn stopped(ended: &Ended, exit: i32, reason: &str) -> String {
    ended.exits(exit);
    let lines = ended.of_type("stopped");
    assert_eq!(lines.len(), 1, "{}", ended.out);
    assert_eq!(lines[0]["reason"], reason);
    assert_eq!(ended.result()["exit"], exit);
    lines[0]["message"].as_str().unwrap_or_default().to_owned()
}

/// anthropics/claude-code#79500, google-gemini/gemini-cli#6125
#[test]
fn a_refused_key_is_exit_2_with_the_way_out_on_standard_error_only() {
    let reply = || Reply::json(401, &json!({ "error": { "message": "bad key", "type": "auth" } }));
    let (ended, _server) = ending(vec![reply()]);
    let message = stopped(&ended, 2, "failed");
    assert!(
        message.contains("401") && message.contains("bad key") && message.contains("crystal keys set mock"),
        "{message}"
    );
    assert!(!message.contains("sk-mock-key"));
    assert_eq!(ended.of_type("error").len(), 1);

    let server = Server::start([reply()]);
    let place = Place::with(&server);
    let text = place.crystal(&["run", "--provider", "mock", "go"]);
    text.exits(2);
    assert!(text.out.is_empty(), "{}", text.out);
    assert!(text.err.contains("bad key"));
}

#[test]
fn an_answer_cut_by_the_output_limit_is_exit_3() {
    let (ended, _server) =
        ending(vec![Reply::sse([chat::text("half an ans"), chat::finish("length"), chat::DONE.into()])]);
    let message = stopped(&ended, 3, "truncated");
    assert!(message.contains("output limit"), "{message}");
    assert_eq!(ended.result()["text"], "half an ans");
}

#[test]
fn a_content_filter_is_exit_2() {
    let (ended, _server) =
        ending(vec![Reply::sse([chat::text("I"), chat::finish("content_filter"), chat::DONE.into()])]);
    stopped(&ended, 2, "filtered");
}

#[test]
fn a_context_overflow_is_exit_3() {
    let body = json!({ "error": { "message": "This model's maximum context length is 10 tokens", "code": "context_length_exceeded" } });
    let (ended, server) = ending(vec![Reply::json(400, &body)]);
    stopped(&ended, 3, "overflow");
    assert_eq!(server.requests().len(), 1);
}

/// defilantech/LLMKube#935
#[test]
fn an_empty_answer_is_asked_for_once_more_and_then_said() {
    let empty = || Reply::sse([chat::finish("stop"), chat::DONE.into()]);
    let (ended, server) = ending(vec![empty(), empty()]);
    let message = stopped(&ended, 2, "failed");
    assert!(message.contains("empty answer"), "{message}");
    assert_eq!(server.requests().len(), 2);
    let (ended, _server) = ending(vec![empty(), Reply::sse(chat::says("there"))]);
    ended.exits(0);
    assert_eq!(ended.result()["text"], "there");
}

/// endolith/open-interpreter#291, shiaho777/web-to-app#748
#[test]
fn what_a_broken_attempt_streamed_is_not_kept_twice() {
    let server = Server::start([
        Reply::sse([chat::text("Hello wor")]).reset(),
        Reply::sse([chat::text("Hello world!"), chat::finish("stop"), chat::DONE.into()]),
    ]);
    let place = Place::with(&server);
    let ended = place.run("go", &["--stream"]);
    ended.exits(0);
    assert_eq!(ended.result()["text"], "Hello world!");
    assert_eq!(ended.of_type("retry").len(), 1);
    let texts: Vec<Value> = ended.of_type("text");
    assert_eq!(texts.len(), 1);
    let stored = std::fs::read_to_string(&place.sessions()[0]).unwrap();
    assert_eq!(stored.matches("Hello wor").count(), 1, "{stored}");
}

#[test]
fn a_server_that_is_not_there_is_exit_2_and_names_the_address() {
    let place = Place::new();
    place.provider("http://127.0.0.1:1/v1", json!({ "contextWindow": 1000 }));
    let ended = place.run("go", &[]);
    ended.exits(2);
    assert!(
        ended.of_type("stopped")[0]["message"].as_str().unwrap().contains("127.0.0.1:1"),
        "{}",
        ended.out
    );
}

#[test]
fn a_second_turn_after_a_failure_sends_a_sound_history() {
    let server = Server::start([
        Reply::json(400, &json!({ "error": { "message": "no" } })),
        Reply::sse(chat::says("fine")),
    ]);
    let place = Place::with(&server);
    place.run("first", &[]).exits(2);
    place.run("second", &["--continue"]).exits(0);
    let messages = server.requests()[1].json()["messages"].clone();
    assert!(messages.as_array().unwrap().iter().all(|message| !message["content"].is_null()), "{messages}");
}
