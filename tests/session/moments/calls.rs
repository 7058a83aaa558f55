//! Moments of a tool call.

use std::sync::Arc;

use crystal::hook::moment;
use crystal::hook::turn::StopReason;
use crystal::model::judgement::Grant;
use crystal::model::port::{Answer, Ask};
use crystal::session::report::Status;
use serde_json::{Value, json};

use crate::hook::script::{PNG, Script, replace};
use crate::support::chat;
use crate::support::server::{Reply, Server};
use crate::support::session::{Log, Setup, abort, acts, calls, once, recorder, says};

fn write(path: &str) -> Reply {
    calls("write", json!({ "path": path, "contents": "x" }))
}

#[tokio::test]
async fn tool_call_and_pre_tool_use_rewrite_what_runs_and_neither_the_stored_call() {
    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server)
        .script(
            Script::new("first").gives("tool_call", json!({ "arguments": { "path": "b", "contents": "x" } })),
        )
        .script(acts("second", "PreToolUse", |offer| {
            let text =
                offer.arguments[0]["tool_call"]["arguments"].as_str().unwrap().replace("\"b\"", "\"c\"");
            replace(json!({ "tool_call": { "arguments": text } }))
        }))
        .open()
        .await;
    live.say("Hi").await;
    let there: Vec<_> = ["a", "b", "c"].iter().filter(|name| live.place.read(name).is_some()).collect();
    assert_eq!(there, [&"c"]);
    let stored = live.messages(1)[2]["tool_calls"][0]["function"]["arguments"].clone();
    assert_eq!(serde_json::from_str::<Value>(stored.as_str().unwrap()).unwrap()["path"], "a");
}

#[tokio::test]
async fn a_rewritten_call_is_checked_and_approved_as_what_it_became() {
    // Reading is free in default mode; writing is asked, and nobody answers.
    let server = Server::start([calls("read", json!({ "path": "a" })), says("done")]);
    let twist = json!({ "name": "write", "arguments": { "path": "a", "contents": "x" } });
    let mut live = Setup::new(server)
        .set("approval", "default")
        .script(Script::new("acme").gives("tool_call", twist))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(live.heard.statuses(), [Status::Denied]);
    assert_eq!(outcome.unanswered.len(), 1);
    assert_eq!(live.place.read("a"), None);

    let server = Server::start([calls("read", json!({ "path": "a" })), says("done")]);
    let wrong = Script::new("acme").gives("tool_call", json!({ "arguments": { "file": "a" } }));
    let mut live = Setup::new(server).script(wrong).open().await;
    live.say("Hi").await;
    assert_eq!(live.heard.statuses(), [Status::Failed]);
}

#[tokio::test]
async fn a_refused_call_tells_the_model_why_and_fires_nothing_more() {
    let log = Log::default();
    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server)
        .script(Script::new("acme").gives("PreToolUse", abort("not today")))
        .script(recorder(&log))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Completed);
    assert_eq!(live.heard.statuses(), [Status::Refused]);
    assert_eq!(live.messages(1)[3]["content"], "refused by plugin 'Acme': not today");
    assert_eq!(live.place.read("a"), None);
    for moment in ["approval", "rewrite_approval", "PreStateCommit", "tool_result", "PostToolUse"] {
        assert!(!log.lines().iter().any(|line| line.starts_with(moment)), "{moment}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_parse_fire_no_hook() {
    let log = Log::default();
    let broken = chat::chunk(
        json!({ "tool_calls": [{ "index": 0, "id": "a1", "type": "function",
            "function": { "name": "read", "arguments": "{\"path\": nonsense" } }] }),
        None,
    );
    let reply = Reply::sse(vec![broken, chat::finish("tool_calls"), chat::DONE.to_owned()]);
    let mut live = Setup::new(Server::start([reply, says("done")])).script(recorder(&log)).open().await;
    live.say("Hi").await;
    assert_eq!(live.heard.statuses(), [Status::Failed]);
    for moment in ["tool_call", "PreToolUse", "approval", "tool_result", "PostToolUse"] {
        assert!(!log.lines().iter().any(|line| line.starts_with(moment)), "{moment}: {:?}", log.lines());
    }
}

#[tokio::test]
async fn approval_raises_the_risk_above_what_the_mode_lets_pass() {
    let server = Server::start([write("a"), says("done")]);
    let advice = json!({ "risk": "privileged", "reason": "it looks odd" });
    let mut live = Setup::new(server)
        .script(Script::new("acme").gives("approval", advice))
        .answer(Answer::Allow(Grant::Once))
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(live.place.read("a").as_deref(), Some("x"));
    let asked = live.operator.asked.lock().unwrap();
    let [Ask::Approval { classification, .. }] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(classification.risk.as_str(), "privileged");
    assert!(classification.summary.contains("it looks odd"), "{}", classification.summary);
}

#[tokio::test]
async fn approval_cannot_lower_the_risk() {
    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server)
        .set("approval", "default")
        .script(Script::new("acme").gives("approval", json!({ "risk": "read" })))
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(live.heard.statuses(), [Status::Denied]);
    assert!(live.heard.notes()[0].contains("only a raw hook may"), "{:?}", live.heard.notes());
}

#[tokio::test]
async fn a_required_prompt_beats_the_mode_and_what_was_granted() {
    let two = chat::calls(&[
        ("a1", "write", json!({ "path": "a", "contents": "x" })),
        ("a2", "write", json!({ "path": "b", "contents": "x" })),
        ("a3", "write", json!({ "path": "c", "contents": "x" })),
    ]);
    let server = Server::start([Reply::sse(two), says("done")]);
    let wants = acts("acme", "approval", |offer| match offer.arguments[0]["arguments"]["path"].as_str() {
        Some("a") => Value::Null,
        _ => json!({ "require_prompt": true }),
    });
    let mut live = Setup::new(server)
        .set("approval", "default")
        .script(wants)
        .answer(Answer::Allow(Grant::Session))
        .answer(Answer::Allow(Grant::Session))
        .answer(Answer::Deny(Some("not that one".into())))
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(live.operator.asked.lock().unwrap().len(), 3, "the grant of the first covers neither");
    assert_eq!(live.heard.statuses(), [Status::Completed, Status::Completed, Status::Denied]);
    assert!(live.heard.outputs()[2].contains("not that one"));

    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server)
        .set("approval", "full")
        .script(Script::new("acme").gives("approval", json!({ "require_prompt": true })))
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(live.heard.statuses(), [Status::Denied], "full mode does not answer for the operator");
}

#[tokio::test]
async fn rewrite_approval_lowers_and_takes_a_required_prompt_back() {
    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server)
        .set("approval", "default")
        .script(Script::new("acme").gives("approval", json!({ "require_prompt": true })))
        .script(
            Script::new("raw").gives("rewrite_approval", json!({ "risk": "read", "require_prompt": false })),
        )
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(live.heard.statuses(), [Status::Completed]);
    assert!(live.operator.asked.lock().unwrap().is_empty());
    assert_eq!(live.place.read("a").as_deref(), Some("x"));
}

#[tokio::test]
async fn tool_result_replaces_text_and_images_on_a_turn_that_takes_images() {
    use base64::Engine as _;
    let data = base64::engine::general_purpose::STANDARD.encode(PNG);
    let result = json!({ "text": "look at this", "images": [{ "media_type": "image/png", "data": data }] });
    for takes in [true, false] {
        let server = Server::start([calls("read", json!({ "path": "a" })), says("done")]);
        let mut live = Setup::new(server)
            .model(json!({ "contextWindow": 100_000, "imageInput": takes }))
            .file("a", "A\n")
            .script(Script::new("acme").gives("tool_result", result.clone()))
            .open()
            .await;
        live.say("Hi").await;
        let messages = live.messages(1);
        assert_eq!(messages[3]["content"], "look at this");
        let stored = live.stored();
        let images = stored.items.iter().map(|item| item.images().len()).sum::<usize>();
        assert_eq!(images, usize::from(takes));
        assert_eq!(messages.len(), if takes { 5 } else { 4 });
        if takes {
            let url = messages[4]["content"][1]["image_url"]["url"].as_str().unwrap();
            assert!(url.starts_with("data:image/png;base64,") && url.ends_with(&data), "{url}");
        }
    }
}

#[tokio::test]
async fn post_tool_use_rewrites_what_the_model_reads_and_nothing_else_of_the_result() {
    let server = Server::start([calls("read", json!({ "path": "gone" })), says("done")]);
    let script = acts("acme", "PostToolUse", |offer| {
        let result = &offer.arguments[0]["result"];
        assert_eq!(result["success"], false);
        assert_eq!(result["error"]["code"], "failed");
        assert_eq!(result["approval"], "mode");
        replace(json!({ "result": { "result": "nothing there", "success": true, "approval": "prompt" } }))
    });
    let mut live = Setup::new(server).script(script).open().await;
    live.say("Hi").await;
    assert_eq!(live.messages(1)[3]["content"], "nothing there");
    assert_eq!(live.heard.statuses(), [Status::Failed]);
}

#[tokio::test]
async fn terminate_finishes_the_pool_answers_the_rest_as_cancelled_and_completes() {
    let list = chat::calls(&[
        ("a1", "read", json!({ "path": "a" })),
        ("a2", "read", json!({ "path": "b" })),
        ("a3", "write", json!({ "path": "out", "contents": "x" })),
        ("a4", "read", json!({ "path": "a" })),
    ]);
    let log = Log::default();
    let server = Server::start([Reply::sse(list), says("on we go")]);
    let mut live = Setup::new(server)
        .file("a", "A\n")
        .file("b", "B\n")
        .script(once("acme", "PostToolUse", replace(json!({ "terminate": true }))))
        .script(recorder(&log))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!((outcome.ending.stop, outcome.model_calls), (StopReason::Completed, 1));
    use Status::{Cancelled, Completed};
    assert_eq!(live.heard.statuses(), [Completed, Completed, Cancelled, Cancelled]);
    assert_eq!((log.count("PostToolUse a"), log.count("PostToolUse b")), (1, 1));
    assert_eq!(log.count("tool_call out"), 0);
    assert_eq!(live.place.read("out"), None);
    // The conversation goes on with every call answered.
    live.say("And now?").await;
    let tools = live.messages(1).iter().filter(|message| message["role"] == "tool").count();
    assert_eq!(tools, 4);
}

#[tokio::test]
async fn reads_beside_each_other_have_all_begun_before_the_first_is_finished() {
    let log = Log::default();
    let list = chat::calls(&[("a1", "read", json!({ "path": "a" })), ("a2", "read", json!({ "path": "b" }))]);
    let server = Server::start([Reply::sse(list), says("done")]);
    let results = Arc::new(std::sync::Mutex::new(Vec::new()));
    let script = {
        let (log, results) = (log.clone(), Arc::clone(&results));
        Script::new("acme").on("tool_result", move |_| {
            results.lock().unwrap().push(log.count("run read"));
            Ok(moment::Reply::Nothing)
        })
    };
    let mut live = Setup::new(server).file("a", "A\n").file("b", "B\n").log(&log).script(script).open().await;
    live.say("Hi").await;
    assert_eq!(*results.lock().unwrap(), [2, 2], "runs begun at each result");
}
