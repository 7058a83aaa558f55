//! A turn that goes on after its process was gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crystal::hook::handler::Group;
use crystal::hook::turn::StopReason;
use crystal::session::turn::Input;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::hook::script::Script;
use crate::support::chat;
use crate::support::server::{Reply, Server};
use crate::support::session::{Live, Log, Setup, acts, recorder, says};

/// A session whose first turn was dropped in the middle of its second model call.
async fn dropped(log: &Log) -> Live {
    let server = Server::start([
        crate::support::session::calls("read", json!({ "path": "a" })),
        Reply::sse([chat::text("so")]).hold(),
        says("done"),
    ]);
    let mut live = Setup::new(server).file("a", "A\n").script(recorder(log)).open().await;
    {
        let cancel = live.cancel.clone();
        let turn = live.session.turn(Input { text: "Look".into(), images: Vec::new() }, &cancel);
        let second = async {
            while live.server.requests().len() < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            outcome = turn => panic!("the turn ended: {outcome:?}"),
            () = second => {}
        }
    }
    live
}

#[tokio::test]
async fn it_has_no_second_beginning_and_its_end_says_that_it_was_resumed() {
    let log = Log::default();
    let before = dropped(&log).await;
    assert_eq!(log.count("PostRuntime"), 0);

    let (log, after) = (Log::default(), Arc::new(Mutex::new(Value::Null)));
    let watch = {
        let after = Arc::clone(&after);
        acts("watch", "PostRuntime", move |offer| {
            *after.lock().unwrap() = offer.arguments[0].clone();
            Value::Null
        })
    };
    let mut live = Setup::resuming(before).script(watch).script(recorder(&log)).open().await;
    let cancel = live.cancel.clone();
    let outcome = live.session.resume_turn(&cancel).await.unwrap();
    assert_eq!((outcome.ending.stop, outcome.text.as_deref()), (StopReason::Completed, Some("done")));
    for moment in ["SessionStart", "user_message", "PreRuntime", "prompt", "PostContextAssembly"] {
        assert_eq!(log.count(moment), 0, "{moment}");
    }
    assert_eq!((log.count("session_started"), log.count("PreStep"), log.count("PostRuntime")), (1, 1, 1));
    let after = after.lock().unwrap().clone();
    assert_eq!((&after["resumed"], &after["result"]["turn_id"]), (&json!(true), &json!("t1")));
    // The request has what the first process said and did, byte for byte.
    assert_eq!(live.messages(2), live.messages(1));
    assert!(live.session.resume_turn(&cancel).await.is_none());
}

#[tokio::test]
async fn a_turn_that_was_gone_before_its_runtime_began_begins_with_its_guard() {
    let called = Arc::new(Notify::new());
    let hangs = {
        let called = Arc::clone(&called);
        Script::new("slow").with("PreRuntime", Group::Normal, Duration::from_secs(3600), move |_, _| {
            called.notify_one();
            std::future::pending().boxed()
        })
    };
    let mut before = Setup::new(Server::start([says("done")])).script(hangs).open().await;
    let cancel = before.cancel.clone();
    tokio::select! {
        outcome = before.session.turn(Input { text: "Hi".into(), images: Vec::new() }, &cancel) => {
            panic!("the turn ended: {outcome:?}")
        }
        () = called.notified() => {}
    }

    let log = Log::default();
    let mut live = Setup::resuming(before).script(recorder(&log)).open().await;
    let outcome = live.session.resume_turn(&cancel).await.unwrap();
    assert_eq!(outcome.ending.stop, StopReason::Completed);
    assert_eq!((log.count("PreRuntime"), log.count("prompt")), (1, 1));
    assert_eq!(live.messages(0)[0]["role"], "system");
    assert_eq!(live.messages(0)[1]["content"], "Hi");
}
