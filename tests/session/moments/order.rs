//! The order of everything.

use std::sync::Arc;

use serde_json::json;

use crate::hook::script::{Script, replace};
use crate::support::chat;
use crate::support::server::{Reply, Server};
use crate::support::session::{Log, Setup, abort, recorder};

/// A server that writes each request down.
fn logged(log: &Log, replies: Vec<Reply>) -> Server {
    let log = log.clone();
    Server::answering(move |_, number| {
        log.push("call");
        replies[number].clone()
    })
}

/// Sends reads of `old.txt` to `new.txt` and refuses those of `secret.txt`.
fn meddler() -> Script {
    Script::new("meddler")
        .on("tool_call", |offer| {
            let old = offer.arguments[0]["arguments"]["path"] == "old.txt";
            Ok(crystal::hook::moment::Reply::value(match old {
                true => json!({ "arguments": { "path": "new.txt" } }),
                false => json!(null),
            }))
        })
        .on("PreToolUse", |offer| {
            let secret = offer.arguments[0]["tool_call"]["arguments"].as_str().unwrap().contains("secret");
            Ok(crystal::hook::moment::Reply::value(if secret { abort("it is secret") } else { json!(null) }))
        })
}

const STEP: &[&str] = &[
    "PreStep",
    "rebuild_model",
    "transform_model",
    "PreLLMCall",
    "call",
    "model_response",
    "PostLLMResponse",
];

#[tokio::test]
async fn every_moment_of_a_turn_comes_in_its_place() {
    let log = Log::default();
    let calls = chat::calls(&[
        ("a1", "read", json!({ "path": "a.txt" })),
        ("a2", "read", json!({ "path": "old.txt" })),
        ("a3", "read", json!({ "path": "secret.txt" })),
        ("a4", "write", json!({ "path": "out.txt", "contents": "written\n" })),
        ("a5", "read", json!({ "path": "a.txt" })),
    ]);
    let server = logged(&log, vec![Reply::sse(calls), Reply::sse(chat::says("done"))]);
    let mut live = Setup::new(server)
        .file("a.txt", "A\n")
        .file("new.txt", "new\n")
        .file("secret.txt", "hush\n")
        .script(meddler())
        .script(recorder(&log))
        .log(&log)
        .open()
        .await;
    live.say("Do it").await;
    live.session.close().await;

    let mut expected = vec!["session_started", "SessionStart"];
    expected.extend(["user_message", "turn_started", "TurnStart", "PreSchedule"]);
    expected.extend(["PreRuntime", "prompt", "rewrite_prompt", "PostContextAssembly"]);
    expected.extend(STEP);
    // The leading reads: prepared one by one, run together, finished in the model's order. The recorder comes after the
    // guard that refuses the third.
    expected.extend(["tool_call a.txt", "PreToolUse a.txt", "approval a.txt", "rewrite_approval a.txt"]);
    expected.extend([
        "tool_call new.txt",
        "PreToolUse new.txt",
        "approval new.txt",
        "rewrite_approval new.txt",
    ]);
    expected.extend(["tool_call secret.txt"]);
    expected.extend(["run read", "run read"]);
    expected.extend(["tool_result a.txt", "PostToolUse a.txt", "tool_result new.txt", "PostToolUse new.txt"]);
    // The write is alone, and so is what follows it.
    expected.extend([
        "tool_call out.txt",
        "PreToolUse out.txt",
        "approval out.txt",
        "rewrite_approval out.txt",
    ]);
    expected.extend(["run write", "PreStateCommit", "PostStateCommit"]);
    expected.extend(["tool_result out.txt", "PostToolUse out.txt"]);
    expected.extend(["tool_call a.txt", "PreToolUse a.txt", "approval a.txt", "rewrite_approval a.txt"]);
    expected.extend(["run read", "tool_result a.txt", "PostToolUse a.txt"]);
    expected.extend(STEP);
    expected.extend(["PostRuntime", "TurnStop", "turn_finished", "session_ended", "SessionEnd"]);
    assert_eq!(log.lines(), expected);

    // What the meddler did reached the tool, the model and the file; the stored calls are the model's own.
    let outputs = live.heard.outputs();
    assert!(outputs[1].contains("new"), "{outputs:?}");
    assert!(outputs[2].contains("refused by plugin 'Meddler': it is secret"), "{outputs:?}");
    assert_eq!(live.place.read("out.txt").unwrap(), "written\n");
    assert_eq!(live.messages(1)[2]["tool_calls"][1]["function"]["arguments"], "{\"path\":\"old.txt\"}");
}

#[tokio::test]
async fn the_words_of_the_operator_are_stored_before_turn_started_and_a_write_stands_between_its_two_events()
{
    let log = Log::default();
    let write = chat::calls(&[("a1", "write", json!({ "path": "out.txt", "contents": "new\n" }))]);
    let server = Server::start([Reply::sse(write), Reply::sse(chat::says("done"))]);
    let setup = Setup::new(server).file("seen.txt", "");
    let (home, work) = (setup.home(), setup.workspace());
    let look = move |log: &Log, line: &str| log.push(format!("{line}: {}", work.join("out.txt").exists()));
    let look = Arc::new(look);
    let script = |name: &'static str| {
        let (log, look) = (log.clone(), Arc::clone(&look));
        Script::new("acme").on(name, move |_| {
            look(&log, name);
            Ok(crystal::hook::moment::Reply::Nothing)
        })
    };
    let stored = {
        let log = log.clone();
        Script::new("late").on("turn_started", move |_| {
            let dir = std::fs::read_dir(home.join("sessions")).unwrap();
            let files = dir.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
            let all: String = files.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
            log.push(format!("stored: {}", all.contains("Write it down")));
            Ok(crystal::hook::moment::Reply::Nothing)
        })
    };
    let mut live =
        setup.script(stored).script(script("PreStateCommit")).script(script("PostStateCommit")).open().await;
    live.say("Write it down").await;
    assert_eq!(log.lines(), ["stored: true", "PreStateCommit: false", "PostStateCommit: true"]);
}

#[tokio::test]
async fn a_read_that_a_handler_makes_a_write_waits_as_a_barrier_and_is_prepared_once() {
    let log = Log::default();
    let reads = ["a.txt", "turn.txt", "b.txt"].map(|path| ("x", "read", json!({ "path": path })));
    let server = logged(&log, vec![Reply::sse(chat::calls(&reads)), Reply::sse(chat::says("done"))]);
    let twist = Script::new("twist").on("tool_call", |offer| {
        let it = offer.arguments[0]["arguments"]["path"] == "turn.txt";
        let write = json!({ "name": "write", "arguments": { "path": "turn.txt", "contents": "turned\n" } });
        Ok(crystal::hook::moment::Reply::value(if it { write } else { json!(null) }))
    });
    let mut live = Setup::new(server)
        .file("a.txt", "A\n")
        .file("b.txt", "B\n")
        .script(twist)
        .script(recorder(&log))
        .log(&log)
        .open()
        .await;
    live.say("Go").await;
    let of_tools = ["tool_call", "PreToolUse", "run", "tool_result", "PreStateCommit"];
    let lines: Vec<_> = log
        .lines()
        .into_iter()
        .filter(|line| of_tools.iter().any(|moment| line.split(' ').next() == Some(moment)))
        .collect();
    assert_eq!(
        lines,
        [
            "tool_call a.txt",
            "PreToolUse a.txt",
            "tool_call turn.txt",
            "PreToolUse turn.txt",
            "run read",
            "tool_result a.txt",
            "run write",
            "PreStateCommit",
            "tool_result turn.txt",
            "tool_call b.txt",
            "PreToolUse b.txt",
            "run read",
            "tool_result b.txt",
        ]
    );
    assert_eq!(live.place.read("turn.txt").unwrap(), "turned\n");
    // The results answer the calls in the model's order.
    let messages = live.messages(1);
    let calls: Vec<_> =
        messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
    let results: Vec<_> = messages[3..].iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(calls, results);
}

#[tokio::test]
async fn groups_run_before_plugins_in_load_order() {
    let log = Log::default();
    let script = |dir: &'static str, group| {
        let log = log.clone();
        Script::new(dir).with("TurnStart", group, crystal::hook::handler::TIMEOUT, move |_, _| {
            log.push(dir);
            Box::pin(async { Ok(crystal::hook::moment::Reply::value(replace(json!({})))) })
        })
    };
    use crystal::hook::handler::Group;
    let mut live = Setup::new(Server::start([Reply::sse(chat::says("hi"))]))
        .script(script("late", Group::Post))
        .script(script("first", Group::Normal))
        .script(script("second", Group::Normal))
        .script(script("early", Group::Pre))
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(log.lines(), ["early", "first", "second", "late"]);
}
