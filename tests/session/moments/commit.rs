//! Moments of a write.

use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use crystal::hook::handler::{Fault, Group, TIMEOUT};
use crystal::hook::moment::Reply;
use crystal::hook::turn::StopReason;
use crystal::model::port::{Expect, FileWrite, Payload, Proposal, Reach, Source};
use crystal::session::commit::Gate;
use crystal::session::report::Status;
use futures_util::FutureExt as _;
use serde_json::json;

use crate::hook::script::{Script, replace};
use crate::support::server::{self, Server};
use crate::support::session::{Log, Setup, abort, acts, calls, recorder, says};

fn write(path: &str) -> server::Reply {
    calls("write", json!({ "path": path, "contents": "x\n" }))
}

#[tokio::test]
async fn a_refused_write_is_the_error_of_the_tool_and_leaves_no_file() {
    let log = Log::default();
    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server)
        .script(Script::new("acme").gives("PreStateCommit", abort("the tree is frozen")))
        .script(recorder(&log))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Completed);
    assert_eq!(live.heard.statuses(), [Status::Failed]);
    assert!(live.heard.outputs()[0].contains("plugin 'Acme' refused the write: the tree is frozen"));
    assert_eq!(live.place.read("a"), None);
    assert_eq!(log.count("PostStateCommit"), 0);
    assert_eq!(log.count("PostToolUse a"), 1, "the tool ran, and failed");
}

#[tokio::test]
async fn new_contents_are_written_shown_and_told_and_the_path_stays() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start([write("a"), says("done")]);
    let payload = json!({ "path": "elsewhere", "contents": "y\n" });
    let after = {
        let told = Arc::clone(&told);
        acts("after", "PostStateCommit", move |offer| {
            told.lock().unwrap().push(offer.arguments[0].clone());
            json!(null)
        })
    };
    let mut live = Setup::new(server)
        .script(
            Script::new("acme")
                .gives("PreStateCommit", replace(json!({ "proposal": { "payload": payload } }))),
        )
        .script(after)
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!((live.place.read("a").as_deref(), live.place.read("elsewhere")), (Some("y\n"), None));
    let tools = live.heard.tools.lock().unwrap();
    assert!(tools[0].diff.as_deref().unwrap().contains("+y"), "{:?}", tools[0].diff);
    let told = told.lock().unwrap();
    assert_eq!(told[0]["proposal"]["payload"]["contents"], "y\n");
    assert!(told[0]["result"]["diff"].as_str().unwrap().contains("+y"));
    assert_eq!(told[0]["proposal"]["source"], json!({ "plugin": "crystal", "runtime": "crystal/main" }));
}

#[tokio::test]
async fn a_guard_that_fails_blocks_the_write() {
    let server = Server::start([write("a"), says("done")]);
    let broken = Script::new("acme").on("PreStateCommit", |_| Err(Fault::Threw("boom".into())));
    let mut live = Setup::new(server).script(broken).open().await;
    live.say("Hi").await;
    assert_eq!(live.place.read("a"), None);
    let output = &live.heard.outputs()[0];
    assert!(output.contains("guard of plugin 'Acme' failed, so it blocks: boom"), "{output}");
}

#[tokio::test]
async fn a_write_of_a_handler_passes_every_guard_but_itself() {
    let gate: Arc<OnceLock<Gate>> = Arc::default();
    let log = Log::default();
    let keeper = {
        let (gate, log) = (Arc::clone(&gate), log.clone());
        Script::new("keeper").with("PreStateCommit", Group::Normal, TIMEOUT, move |offer, cx| {
            let path = offer.arguments[0]["proposal"]["payload"]["path"].as_str().unwrap().to_owned();
            log.push(format!("keeper {path}"));
            let commit = gate.get().unwrap().within(1, None, cx.chain.clone());
            async move {
                let source = Source { plugin: "keeper".into(), runtime: "crystal/main".into() };
                let file = FileWrite {
                    path: format!("{path}.log"),
                    contents: Bytes::from_static(b"written\n"),
                    expect: Expect::Any,
                    reach: Reach::Workspace,
                };
                commit.commit(Proposal { source, payload: Payload::File(file) }).await.unwrap();
                Ok(Reply::Nothing)
            }
            .boxed()
        })
    };
    let other = {
        let log = log.clone();
        acts("other", "PreStateCommit", move |offer| {
            let proposal = &offer.arguments[0]["proposal"];
            log.push(format!("other {} by {}", proposal["payload"]["path"], proposal["source"]["plugin"]));
            json!(null)
        })
    };
    let server = Server::start([write("a"), says("done")]);
    let mut live = Setup::new(server).script(keeper).script(other).open().await;
    assert!(gate.set(live.session.gate()).is_ok());
    live.say("Hi").await;
    assert_eq!(log.lines(), ["keeper a", "other \"a.log\" by \"keeper\"", "other \"a\" by \"crystal\""]);
    assert_eq!(live.place.read("a.log").as_deref(), Some("written\n"));
    assert_eq!(live.place.read("a").as_deref(), Some("x\n"));
}

#[tokio::test]
async fn an_undo_between_turns_is_guarded_like_any_write_even_after_a_cancelled_turn() {
    use crystal::session::commit::undo::Which;
    let log = Log::default();
    let server = Server::start([write("a"), says("done"), server::Reply::sse([""]).hold()]);
    let guard = {
        let log = log.clone();
        acts("acme", "PreStateCommit", move |_| {
            log.push("guard");
            if log.lines().len() == 2 { abort("keep it") } else { json!(null) }
        })
    };
    let mut live = Setup::new(server).script(guard).open().await;
    live.say("Hi").await;
    live.cancel.cancel();
    assert_eq!(live.say("More").await.ending.stop, StopReason::Cancelled);
    let undone = live.session.gate().undo(Which::Turn(1), 0).await;
    assert!(live.place.read("a").is_some(), "{undone:?}");
    let undone = live.session.gate().undo(Which::Turn(1), 0).await;
    assert!(live.place.read("a").is_none(), "{undone:?}");
    assert_eq!(log.lines().len(), 3);
}
