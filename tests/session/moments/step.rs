//! PreStep: what one step may do.

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
async fn tools_are_narrowed_for_one_step_and_one_that_is_called_all_the_same_runs() {
    let server = Server::start([calls("write", json!({ "path": "out", "contents": "x" })), says("done")]);
    let narrow = json!({ "tools": ["read", "grep", "nonsense"], "tool_choice": "required" });
    let mut live = Setup::new(server).script(once("acme", "PreStep", replace(narrow))).open().await;
    live.say("Hi").await;
    assert_eq!(live.tools(0), ["read", "grep"]);
    assert_eq!(live.body(0)["tool_choice"], "required");
    assert!(live.tools(1).contains(&"write".to_owned()));
    assert_eq!(live.body(1)["tool_choice"], Value::Null);
    assert_eq!(live.place.read("out").as_deref(), Some("x"));
    let rebuilt = live.rebuilt(1, 1).request;
    assert_eq!(rebuilt.tools.len(), 2);
    assert_eq!(rebuilt.tool_choice, crystal::model::request::ToolChoice::Required);
}

#[tokio::test]
async fn a_named_tool_choice_reaches_the_wire() {
    let server = Server::start([says("done")]);
    let choice = replace(json!({ "tool_choice": { "name": "read" } }));
    let mut live = Setup::new(server).script(once("acme", "PreStep", choice)).open().await;
    live.say("Hi").await;
    assert_eq!(live.body(0)["tool_choice"], json!({ "type": "function", "function": { "name": "read" } }));
}

#[tokio::test]
async fn a_step_knows_how_many_are_left_and_they_can_be_lowered_but_not_raised() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let script = {
        let seen = Arc::clone(&seen);
        acts("acme", "PreStep", move |offer| {
            let step = &offer.arguments[0];
            seen.lock().unwrap().push(json!([step["step"], step["steps_remaining"], step["max_steps"]]));
            match step["step"].as_u64() {
                Some(1) => replace(json!({ "steps_remaining": 9 })),
                Some(2) => replace(json!({ "steps_remaining": 2 })),
                _ => Value::Null,
            }
        })
    };
    let server = Server::answering(|_, _| calls("read", json!({ "path": "a" })));
    let setup = Setup::new(server).file("a", "A\n").set("model-calls", "7");
    let mut live = setup.script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!(*seen.lock().unwrap(), [json!([1, 7, 7]), json!([2, 6, 7]), json!([3, 1, 3])]);
    assert_eq!(outcome.ending.stop, StopReason::Budget);
    assert_eq!(outcome.model_calls, 3);
    assert_eq!(live.server.requests().len(), 3);
    let message = outcome.ending.message.unwrap();
    assert!(message.contains("3 model calls") && message.contains("PreStep"), "{message}");
}

#[tokio::test]
async fn without_a_limit_the_remaining_steps_are_null_and_can_be_limited() {
    let seen = Arc::new(Mutex::new(Value::Bool(true)));
    let script = {
        let seen = Arc::clone(&seen);
        acts("acme", "PreStep", move |offer| {
            *seen.lock().unwrap() = offer.arguments[0]["max_steps"].clone();
            match offer.arguments[0]["step"].as_u64() {
                Some(1) => replace(json!({ "steps_remaining": 1 })),
                _ => Value::Null,
            }
        })
    };
    let server = Server::answering(|_, _| calls("read", json!({ "path": "a" })));
    let mut live = Setup::new(server).set("model-calls", "unlimited").script(script).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!(*seen.lock().unwrap(), Value::Null);
    assert_eq!((outcome.ending.stop, outcome.model_calls), (StopReason::Budget, 1));
}

#[tokio::test]
async fn stop_as_tool_finished_completes_and_makes_no_call() {
    let server = Server::start([Reply::sse(vec![
        chat::text("Looking."),
        chat::call(0, "a1", "read", &json!({ "path": "a" })),
        chat::finish("tool_calls"),
        chat::usage(10, 1),
        chat::DONE.to_owned(),
    ])]);
    let stop = acts("acme", "PreStep", |offer| match offer.arguments[0]["step"].as_u64() {
        Some(2) => replace(json!({ "stop": { "reason": "tool-finished" } })),
        _ => Value::Null,
    });
    let mut live = Setup::new(server).file("a", "A\n").script(stop).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Completed);
    assert_eq!((outcome.model_calls, outcome.text.as_deref()), (1, Some("Looking.")));
    assert_eq!(live.server.requests().len(), 1);
    assert_eq!(live.heard.statuses(), [Status::Completed]);
}

#[tokio::test]
async fn stop_as_cancelled_fails_with_the_words_of_the_handler() {
    let stop = replace(json!({ "stop": { "reason": "cancelled", "message": "enough" } }));
    let mut live =
        Setup::new(Server::start([])).script(Script::new("acme").gives("PreStep", stop)).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.ending.fault), (StopReason::Failed, Fault::Model));
    let message = outcome.ending.message.unwrap();
    assert_eq!(message, "runtime \"crystal/main\" was stopped by a PreStep hook: enough");
    assert_eq!((live.server.requests().len(), outcome.model_calls), (0, 0));
}

#[tokio::test]
async fn a_loop_that_a_handler_ends_still_owes_the_output_schema() {
    let stop = || {
        acts("acme", "PreStep", |offer| match offer.arguments[0]["step"].as_u64() {
            Some(2) => replace(json!({ "stop": { "reason": "tool-finished" } })),
            _ => Value::Null,
        })
    };
    for (said, stop_reason) in [("{\"n\": 1}", StopReason::Completed), ("hm", StopReason::Failed)] {
        let server = Server::start([Reply::sse(vec![
            chat::text(said),
            chat::call(0, "a1", "read", &json!({ "path": "a" })),
            chat::finish("tool_calls"),
            chat::DONE.to_owned(),
        ])]);
        let setup = Setup::new(server)
            .file("a", "A\n")
            .file("schema.json", "{\"type\":\"object\",\"required\":[\"n\"]}");
        let schema = setup.workspace().join("schema.json").to_string_lossy().into_owned();
        let mut live = setup.set("output-schema", schema).script(stop()).open().await;
        let outcome = live.say("Hi").await;
        assert_eq!(outcome.ending.stop, stop_reason, "{:?}", outcome.ending);
        assert_eq!(outcome.ending.fault == Fault::Limit, stop_reason == StopReason::Failed);
    }
}
