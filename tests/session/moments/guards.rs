//! Guards that fail, and handlers that hang.

use std::sync::Arc;
use std::time::Duration;

use crystal::hook::handler::{Fault, Group};
use crystal::hook::moment::Reply;
use crystal::hook::turn::StopReason;
use crystal::session::report::Status;
use crystal::session::turn::{Input, Outcome};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::Notify;

use crate::hook::script::Script;
use crate::support::server::Server;
use crate::support::session::{Live, Setup, calls, says};

fn server() -> Server {
    Server::start([calls("write", json!({ "path": "out", "contents": "x" })), says("done")])
}

#[tokio::test]
async fn a_guard_that_throws_or_says_nonsense_blocks() {
    let faults: [fn() -> Result<Reply, Fault>; 3] = [
        || Err(Fault::Threw("boom".into())),
        || Err(Fault::TimedOut),
        || Ok(Reply::value(json!({ "action": "perhaps" }))),
    ];
    for fault in faults {
        for (moment, stop) in [
            ("TurnStart", StopReason::Aborted),
            ("PreRuntime", StopReason::Aborted),
            ("PreToolUse", StopReason::Completed),
            ("PreStateCommit", StopReason::Completed),
        ] {
            let script = Script::new("acme").on(moment, move |_| fault());
            let mut live = Setup::new(server()).script(script).open().await;
            let outcome = live.say("Hi").await;
            assert_eq!(outcome.ending.stop, stop, "{moment}");
            assert_eq!(live.place.read("out"), None, "{moment}");
            if moment == "PreToolUse" {
                assert_eq!(live.heard.statuses(), [Status::Refused]);
            }
        }
    }
}

#[tokio::test]
async fn any_other_handler_that_throws_is_skipped() {
    for moment in
        ["user_message", "prompt", "PreSchedule", "PreStep", "rebuild_model", "PreLLMCall", "tool_call"]
    {
        let script = Script::new("acme").on(moment, |_| Err(Fault::Threw("boom".into())));
        let mut live = Setup::new(server()).script(script).open().await;
        assert_eq!(live.say("Hi").await.ending.stop, StopReason::Completed, "{moment}");
        assert_eq!(live.place.read("out").as_deref(), Some("x"), "{moment}");
    }
}

/// A session with a handler of that moment that never comes back, cancelled once it was called.
async fn hang(moment: &'static str) -> (Live, Outcome) {
    let called = Arc::new(Notify::new());
    let script = {
        let called = Arc::clone(&called);
        Script::new("acme").with(moment, Group::Normal, Duration::from_secs(3600), move |_, _| {
            called.notify_one();
            std::future::pending().boxed()
        })
    };
    let mut live = Setup::new(server()).script(script).open().await;
    let cancel = live.cancel.clone();
    let outcome = {
        let input = Input { text: "Hi".into(), images: Vec::new() };
        let stop = async {
            called.notified().await;
            cancel.cancel();
        };
        tokio::join!(live.session.turn(input, &cancel), stop).0
    };
    (live, outcome)
}

#[tokio::test]
async fn a_cancel_abandons_whatever_handler_hangs() {
    for moment in [
        "user_message",
        "turn_started",
        "TurnStart",
        "PreSchedule",
        "PreRuntime",
        "prompt",
        "rewrite_prompt",
        "PostContextAssembly",
        "PreStep",
        "rebuild_model",
        "transform_model",
        "PreLLMCall",
        "model_response",
        "PostLLMResponse",
        "tool_call",
        "PreToolUse",
        "approval",
        "rewrite_approval",
        "PreStateCommit",
        "tool_result",
        "PostToolUse",
    ] {
        let (live, outcome) = hang(moment).await;
        assert_eq!(outcome.ending.stop, StopReason::Cancelled, "{moment}: {:?}", outcome.ending);
        assert!(outcome.unanswered.is_empty(), "{moment}");
        assert!(live.server.requests().len() <= 1, "{moment}");
        let ran = matches!(moment, "tool_result" | "PostToolUse");
        assert_eq!(live.place.read("out").is_some(), ran, "{moment}: nothing is written after a cancel");
        let stored = live.stored();
        let of = |kind: &str| stored.items.iter().filter(|item| item.kind().as_str() == kind).count();
        assert_eq!(of("tool_call"), of("tool_result"), "{moment}: every call has its result");
        assert_eq!(live.records("turn_end").len(), 1, "{moment}");
    }
}

#[tokio::test]
async fn a_cancel_takes_the_question_away() {
    struct Silent(Notify);
    impl crystal::model::port::Operator for Silent {
        fn ask(
            &self,
            _: crystal::model::port::Ask,
        ) -> crystal::model::port::BoxFuture<'_, crystal::model::port::Answer> {
            self.0.notify_one();
            std::future::pending().boxed()
        }
    }
    let operator = Arc::new(Silent(Notify::new()));
    let mut live = Setup::new(server()).set("approval", "default").open_before(operator.clone()).await;
    let cancel = live.cancel.clone();
    let input = Input { text: "Hi".into(), images: Vec::new() };
    let stop = async {
        operator.0.notified().await;
        cancel.cancel();
    };
    let outcome = tokio::join!(live.session.turn(input, &cancel), stop).0;
    assert_eq!((outcome.ending.stop, outcome.unanswered.len()), (StopReason::Cancelled, 0));
    assert_eq!(live.heard.statuses(), [Status::Skipped]);
}
