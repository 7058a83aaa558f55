//! How a turn ends, and who hears of it.

use std::sync::{Arc, Mutex};

use crystal::hook::turn::StopReason;
use serde_json::{Value, json};

use crate::hook::script::{Script, replace};
use crate::support::chat;
use crate::support::server::{Reply, Server};
use crate::support::session::{Log, Setup, abort, acts, calls, recorder, says};

type Seen = Arc<Mutex<Vec<Value>>>;

/// Remembers what a moment is about.
fn watch(moment: &'static str, seen: &Seen) -> Script {
    let seen = Arc::clone(seen);
    acts("watch", moment, move |offer| {
        seen.lock().unwrap().push(offer.arguments[0].clone());
        Value::Null
    })
}

fn error(status: u16, error: Value) -> Reply {
    Reply::json(status, &json!({ "error": error }))
}

#[tokio::test]
async fn turn_finished_says_why_for_every_ending() {
    let cut =
        |reason: &str| Reply::sse(vec![chat::text("half"), chat::finish(reason), chat::DONE.to_owned()]);
    let stop = || Script::new("acme");
    let cases: Vec<(&str, Reply, Script)> = vec![
        ("completed", says("hi"), stop()),
        ("completed", says("hi"), stop().gives("PreSchedule", replace(json!({ "triggered": [] })))),
        ("failed", error(400, json!({ "message": "no" })), stop()),
        ("budget", calls("read", json!({ "path": "a" })), stop()),
        ("overflow", error(400, json!({ "message": "too long", "code": "context_length_exceeded" })), stop()),
        ("truncated", cut("length"), stop()),
        ("filtered", cut("content_filter"), stop()),
        ("aborted", says("hi"), stop().gives("TurnStart", abort("no"))),
        ("aborted", says("hi"), stop().gives("PreRuntime", abort("no"))),
    ];
    for (reason, reply, script) in cases {
        let seen = Seen::default();
        let server = Server::answering(move |_, _| reply.clone());
        let mut live = Setup::new(server)
            .set("model-calls", "2")
            .script(script)
            .script(watch("turn_finished", &seen))
            .open()
            .await;
        let outcome = live.say("Hi").await;
        assert_eq!(outcome.ending.stop.as_str(), reason, "{:?}", outcome.ending);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 1);
        assert_eq!((&seen[0]["stop_reason"], &seen[0]["text"]), (&json!(reason), &json!("Hi")));
        let stored: Vec<_> = live.records("turn_end").iter().map(|end| end["stop_reason"].clone()).collect();
        assert_eq!(stored, [reason]);
    }
}

#[tokio::test]
async fn turn_finished_hears_of_a_cancel_and_of_time_that_is_up() {
    let seen = Seen::default();
    let server = Server::answering(|_, _| Reply::sse([chat::text("well")]).hold());
    let mut live = Setup::new(server).script(watch("turn_finished", &seen)).open().await;
    let cancel = live.cancel.clone();
    let wait = {
        let server = &live.server;
        let session = &mut live.session;
        let input = crystal::session::turn::Input { text: "Hi".into(), images: Vec::new() };
        let turn = session.turn(input, &cancel);
        let stop = async {
            while server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        tokio::join!(turn, stop).0
    };
    assert_eq!(wait.ending.stop, StopReason::Cancelled);
    assert_eq!(seen.lock().unwrap()[0]["stop_reason"], "cancelled");

    let seen = Seen::default();
    let server = Server::answering(|_, _| Reply::sse([chat::text("well")]).hold());
    let mut live = Setup::new(server).set("duration", "1").script(watch("turn_finished", &seen)).open().await;
    assert_eq!(live.say("Hi").await.ending.stop, StopReason::Budget);
    assert_eq!(seen.lock().unwrap()[0]["stop_reason"], "budget");
}

#[tokio::test]
async fn a_turn_start_that_aborts_runs_nothing_and_says_why() {
    let log = Log::default();
    let mut live = Setup::new(Server::start([]))
        .script(Script::new("acme").gives("TurnStart", abort("closed for today")))
        .script(recorder(&log))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Aborted);
    let message = outcome.ending.message.unwrap();
    assert_eq!(message, "plugin 'Acme' ended the turn: closed for today");
    assert_eq!(*live.heard.errors.lock().unwrap(), [message]);
    assert_eq!(log.lines()[2..], ["user_message", "turn_started", "turn_finished"]);
    assert_eq!(live.texts("user"), ["Hi"], "what the operator said stays");
    assert!(live.server.requests().is_empty());
}

#[tokio::test]
async fn a_runtime_that_is_aborted_is_skipped_and_its_end_is_told() {
    let (after, stop) = (Seen::default(), Seen::default());
    let log = Log::default();
    let mut live = Setup::new(Server::start([]))
        .script(Script::new("acme").gives("PreRuntime", abort("not this one")))
        .script(watch("PostRuntime", &after))
        .script(watch("TurnStop", &stop))
        .script(recorder(&log))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Aborted);
    let result = after.lock().unwrap()[0]["result"].clone();
    assert_eq!((&result["status"], &result["runtime_id"]), (&json!("skipped"), &json!("crystal/main")));
    assert_eq!(result["turn_id"], "t1");
    assert!(result["error"]["message"].as_str().unwrap().contains("not this one"));
    assert_eq!(stop.lock().unwrap()[0]["runtime_results"][0]["status"], "skipped");
    assert_eq!(log.count("prompt"), 0);
}

#[tokio::test]
async fn a_schedule_of_nothing_completes_without_a_call() {
    let log = Log::default();
    let mut live = Setup::new(Server::start([]))
        .script(Script::new("acme").gives("PreSchedule", replace(json!({ "triggered": [] }))))
        .script(recorder(&log))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.text, outcome.model_calls), (StopReason::Completed, None, 0));
    assert_eq!(log.lines()[5..], ["PreSchedule", "TurnStop", "turn_finished"]);
}

#[tokio::test]
async fn post_runtime_rewrites_the_output_that_the_caller_gets() {
    let stop = Seen::default();
    let mut live = Setup::new(Server::start([says("raw"), says("raw"), says("raw")]))
        .script(acts("acme", "PostRuntime", |offer| {
            let turn = offer.arguments[0]["result"]["turn_id"].clone();
            let output = match turn.as_str() {
                Some("t1") => json!("polished"),
                Some("t2") => json!({ "n": 1 }),
                _ => json!(null),
            };
            replace(json!({ "result": { "output": output, "usage": offer.arguments[0]["result"]["usage"] } }))
        }))
        .script(watch("TurnStop", &stop))
        .open()
        .await;
    assert_eq!(live.say("Hi").await.text.as_deref(), Some("polished"));
    assert_eq!(live.say("Hi").await.text.as_deref(), Some("{\"n\":1}"));
    assert_eq!(live.say("Hi").await.text, None);
    assert_eq!(stop.lock().unwrap()[0]["runtime_results"][0]["output"], "polished");
    assert_eq!(live.texts("assistant"), ["raw", "raw", "raw"], "the transcript stays the model's");
    assert_eq!(*live.heard.texts.lock().unwrap(), ["raw", "polished", "raw", "{\"n\":1}", "raw"]);
}

#[tokio::test]
async fn post_runtime_rewrites_the_status() {
    let fail =
        json!({ "result": { "status": "failed", "error": { "code": "style", "message": "too long" } } });
    let mut live = Setup::new(Server::start([says("hi")]))
        .script(Script::new("acme").gives("PostRuntime", replace(fail)))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Failed);
    assert!(outcome.ending.message.unwrap().contains("too long"));

    let pass = json!({ "result": { "status": "completed", "output": "never mind" } });
    let mut live = Setup::new(Server::start([error(400, json!({ "message": "no" }))]))
        .script(Script::new("acme").gives("PostRuntime", replace(pass)))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.text.as_deref()), (StopReason::Completed, Some("never mind")));
}

#[tokio::test]
async fn a_rewritten_output_is_held_to_the_output_schema_again() {
    for (output, fits) in [("{\"n\": 2}", true), ("two", false)] {
        let stop = Seen::default();
        let setup = Setup::new(Server::start([says("{\"n\": 1}")]))
            .file("schema.json", "{\"type\":\"object\",\"required\":[\"n\"]}");
        let schema = setup.workspace().join("schema.json").to_string_lossy().into_owned();
        let mut live = setup
            .set("output-schema", schema)
            .script(
                Script::new("acme").gives("PostRuntime", replace(json!({ "result": { "output": output } }))),
            )
            .script(watch("TurnStop", &stop))
            .open()
            .await;
        let outcome = live.say("Hi").await;
        assert_eq!(outcome.ending.stop == StopReason::Completed, fits, "{:?}", outcome.ending);
        let result = stop.lock().unwrap()[0]["runtime_results"][0].clone();
        assert_eq!(result["status"], if fits { "completed" } else { "failed" });
        if fits {
            assert_eq!(outcome.text.as_deref(), Some(output));
        } else {
            assert_eq!(result["error"]["code"], "output-schema-invalid");
        }
    }
}
