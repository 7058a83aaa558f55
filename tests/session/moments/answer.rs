//! Moments of an answer, before it is committed.

use std::sync::{Arc, Mutex};

use crystal::hook::turn::StopReason;
use crystal::session::report::Status;
use crystal::session::turn::Fault;
use serde_json::{Value, json};

use crate::hook::script::{Script, replace};
use crate::support::chat;
use crate::support::server::{Reply, Server};
use crate::support::session::{Setup, acts, calls, once, says};

#[tokio::test]
async fn model_response_sees_the_candidate_before_it_is_stored() {
    let seen = Arc::new(Mutex::new(Value::Null));
    let script = {
        let seen = Arc::clone(&seen);
        acts("acme", "model_response", move |offer| {
            *seen.lock().unwrap() = offer.arguments[0].clone();
            json!({ "items": [] })
        })
    };
    let mut live = Setup::new(Server::start([says("hello")])).script(script).open().await;
    live.say("Hi").await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!((&seen["purpose"], &seen["finish_reason"]), (&json!("work"), &json!("stop")));
    assert_eq!(seen["items"][0]["text"], "hello");
    assert_eq!(seen["usage"]["input"], 100);
    assert_eq!(live.texts("assistant"), ["hello"], "its reply changes nothing");
}

#[tokio::test]
async fn post_llm_response_replaces_what_is_stored_shown_and_sent_next() {
    let server = Server::start([says("the secret is 7"), says("bye")]);
    let script = acts("acme", "PostLLMResponse", |offer| {
        let mut response = offer.arguments[0]["response"].clone();
        if response["items"][0]["text"] == "the secret is 7" {
            response["items"][0]["text"] = "I do not know".into();
        }
        replace(json!({ "response": response }))
    });
    let mut live = Setup::new(server).script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.text.as_deref(), Some("I do not know"));
    assert_eq!(*live.heard.texts.lock().unwrap(), ["I do not know"]);
    live.say("And?").await;
    assert_eq!(live.messages(1)[2]["content"], "I do not know");
    assert_eq!(live.texts("assistant"), ["I do not know", "bye"]);
}

#[tokio::test]
async fn post_llm_response_is_told_what_was_really_sent() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let script = {
        let seen = Arc::clone(&seen);
        acts("acme", "PostLLMResponse", move |offer| {
            let items = &offer.list.as_ref().unwrap().items;
            seen.lock().unwrap().extend(items.iter().map(|item| item.text().unwrap().to_string()));
            Value::Null
        })
    };
    let sent = json!([{ "id": "x1", "kind": "user", "text": "Say hello." }]);
    let server = Server::start([says("hello")]);
    let mut live = Setup::new(server).script(once("raw", "rebuild_model", sent)).script(script).open().await;
    live.say("Hi").await;
    assert_eq!(*seen.lock().unwrap(), ["Say hello."]);
}

#[tokio::test]
async fn calls_that_a_handler_adds_run_under_ids_of_the_host() {
    let server = Server::start([says("nothing to do"), says("done")]);
    // Both new items come under ids that the host would give out next, and one call id stands twice.
    let read = |id: &str, path: &str| {
        let call = json!({ "id": "c00000001", "name": "read", "arguments": { "path": path } });
        json!({ "id": id, "kind": "tool_call", "tool_call": call })
    };
    let items = json!([{ "id": "x1", "kind": "assistant", "text": "Let me look." }, read("i4", "a"), read("i5", "b")]);
    let script = once("acme", "PostLLMResponse", replace(json!({ "response": { "items": items } })));
    let mut live = Setup::new(server).file("a", "A\n").file("b", "B\n").script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.tool_calls), (StopReason::Completed, 2));
    let outputs = live.heard.outputs();
    assert!(outputs[0].contains('A') && outputs[1].contains('B'), "{outputs:?}");
    let messages = live.messages(1);
    let roles: Vec<_> = messages.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    let sent: Vec<_> = messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
    assert_ne!(sent[0], sent[1]);
    assert_eq!([sent[0], sent[1]], [&messages[3]["tool_call_id"], &messages[4]["tool_call_id"]]);
    let stored = live.stored();
    let mut ids: Vec<_> = stored.items.iter().map(|item| item.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), stored.items.len(), "every stored id occurs once");
    assert!(stored.notices.is_empty(), "{:?}", stored.notices);
}

#[tokio::test]
async fn a_call_that_a_handler_rewrites_in_the_answer_keeps_its_id() {
    let server = Server::start([calls("read", json!({ "path": "a" })), says("done")]);
    let script = acts("acme", "PostLLMResponse", |offer| {
        let mut response = offer.arguments[0]["response"].clone();
        if response["items"][0]["kind"] == "tool_call" {
            response["items"][0]["tool_call"]["id"] = "mine".into();
            response["items"][0]["tool_call"]["arguments"]["path"] = "b".into();
        }
        replace(json!({ "response": response }))
    });
    let mut live = Setup::new(server).file("a", "A\n").file("b", "B\n").script(script).open().await;
    live.say("Hi").await;
    assert!(live.heard.outputs()[0].contains('B'));
    let messages = live.messages(1);
    assert_eq!(messages[2]["tool_calls"][0]["id"], "a1");
    assert_eq!(messages[3]["tool_call_id"], "a1");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{\"path\":\"b\"}");
}

#[tokio::test]
async fn a_handler_that_takes_the_calls_out_ends_the_loop() {
    let server = Server::start([Reply::sse(vec![
        chat::text("I would write now."),
        chat::call(0, "a1", "write", &json!({ "path": "out", "contents": "x" })),
        chat::finish("tool_calls"),
        chat::DONE.to_owned(),
    ])]);
    let script = acts("acme", "PostLLMResponse", |offer| {
        let mut response = offer.arguments[0]["response"].clone();
        response["items"].as_array_mut().unwrap().retain(|item| item["kind"] == "assistant");
        replace(json!({ "response": response }))
    });
    let mut live = Setup::new(server).script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.tool_calls), (StopReason::Completed, 0));
    assert_eq!(live.place.read("out"), None);
}

#[tokio::test]
async fn a_correction_keeps_the_draft_runs_none_of_its_calls_and_is_what_the_model_reads() {
    let server = Server::start([
        Reply::sse(vec![
            chat::text("I write it."),
            chat::call(0, "a1", "write", &json!({ "path": "out", "contents": "x" })),
            chat::finish("tool_calls"),
            chat::DONE.to_owned(),
        ]),
        says("I did not."),
    ]);
    let script = once("acme", "PostLLMResponse", replace(json!({ "correction": "Write nothing." })));
    let mut live = Setup::new(server).script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Completed);
    assert_eq!((outcome.text.as_deref(), outcome.tool_calls), (Some("I did not."), 0));
    let said: Vec<_> = live.messages(1)[1..]
        .iter()
        .map(|message| (message["role"].clone(), message["content"].clone()))
        .collect();
    let pair = |role: &str, text: &str| (json!(role), json!(text));
    assert_eq!(said, [pair("user", "Hi"), pair("assistant", "I write it."), pair("user", "Write nothing.")]);
    assert_eq!(live.place.read("out"), None);
    assert_eq!(live.heard.notes(), ["Plugin 'Acme' sent the answer back: Write nothing."]);
}

#[tokio::test]
async fn after_two_corrections_the_turn_fails_at_its_limit() {
    let server = Server::answering(|_, number| says(&format!("draft {number}")));
    let script = Script::new("acme").gives("PostLLMResponse", replace(json!({ "correction": "Better." })));
    let mut live = Setup::new(server).script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.ending.fault), (StopReason::Failed, Fault::Limit));
    assert_eq!(outcome.model_calls, 3);
    let message = outcome.ending.message.unwrap();
    assert_eq!(message, "plugin 'Acme' still refused the answer after 2 corrections: Better.");
    assert_eq!(live.texts("assistant"), ["draft 0", "draft 1"]);
}

#[tokio::test]
async fn a_correction_of_a_call_alone_leaves_a_conversation_that_providers_take() {
    let server = Server::start([calls("write", json!({ "path": "out", "contents": "x" })), says("ok")]);
    let script = once("acme", "PostLLMResponse", replace(json!({ "correction": "No." })));
    let mut live = Setup::new(server).script(script).open().await;
    live.say("Hi").await;
    assert_eq!(live.messages(1)[1..], [json!({ "role": "user", "content": "Hi\n\nNo." })]);
    assert_eq!(live.heard.statuses(), Vec::<Status>::new());
}
