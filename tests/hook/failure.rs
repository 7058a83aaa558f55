//! What a handler that fails costs, and whom.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crystal::hook::context::Context;
use crystal::hook::dispatch::{Cause, Dispatcher};
use crystal::hook::handler::{Fault, Group, TIMEOUT};
use crystal::hook::moment::{Moment, Reply};
use crystal::hook::prompt::UserMessage;
use crystal::hook::tool::PreToolUse;
use crystal::hook::turn::{Manifest, PreSchedule, TurnStop};
use crystal::model::request::Mode;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::script::{Script, Stage, answer, call, replace};

fn message() -> UserMessage {
    UserMessage { text: "x".into(), mode: Mode::Work, session: "s1".into(), attachments: Vec::new() }
}

fn use_of_a_tool() -> PreToolUse {
    PreToolUse { call: call("read", "{}") }
}

fn schedule() -> PreSchedule {
    PreSchedule { triggered: vec![Manifest { name: "crystal/main".into(), facts: Arc::default() }] }
}

fn threw() -> Fault {
    Fault::Threw("init.lua:3: no such field".into())
}

#[tokio::test]
async fn a_hook_that_throws_is_skipped_with_one_note_and_the_others_count() {
    let stage = Stage::new([
        Script::new("a").gives("user_message", json!("from a")),
        Script::new("b").on("user_message", |_| Err(threw())),
    ]);
    let fired = stage.fire(message()).await;
    assert_eq!(&*fired.payload.text, "from a");
    assert_eq!(stage.notes(), ["Plugin 'B': hook user_message was skipped: init.lua:3: no such field."]);
}

#[tokio::test]
async fn an_event_that_cannot_block_skips_a_failing_handler_and_records_it() {
    let stage = Stage::new([
        Script::new("a").on("PreSchedule", |_| Err(threw())),
        Script::new("b").gives("PreSchedule", replace(json!({ "triggered": [] }))),
    ]);
    let fired = stage.fire(schedule()).await;
    assert!(fired.abort.is_none() && fired.payload.triggered.is_empty());
    assert_eq!(stage.outcomes(), ["failed", "changed"]);
    assert!(stage.notes().is_empty(), "{:?}", stage.notes());
}

#[tokio::test]
async fn a_guard_that_fails_blocks() {
    for fault in [threw(), Fault::TimedOut, Fault::Malformed("a cycle".into()), Fault::Gone] {
        let stage = Stage::new([Script::new("acme").on("PreToolUse", {
            let fault = fault.clone();
            move |_| Err(fault.clone())
        })]);
        let abort = stage.fire(use_of_a_tool()).await.abort.expect("a guard that fails blocks");
        assert_eq!(abort.cause, Cause::Failed, "{fault:?}");
        assert!(abort.reason.starts_with("the PreToolUse guard of plugin 'Acme' failed"), "{}", abort.reason);
    }
}

#[tokio::test]
async fn a_guard_with_a_malformed_reply_blocks() {
    for reply in [
        json!("yes"),
        json!({}),
        json!({ "action": "allow" }),
        json!({ "action": 1 }),
        replace(json!("x")),
        replace(json!({ "tool_call": 5 })),
        replace(json!({ "tool_call": { "arguments": "{" } })),
        replace(json!({ "tool_call": { "arguments": [1] } })),
        replace(json!({ "tool_call": { "name": "" } })),
    ] {
        let (fired, _) = answer(use_of_a_tool(), reply.clone()).await;
        assert_eq!(fired.abort.map(|abort| abort.cause), Some(Cause::Failed), "{reply}");
    }
}

#[tokio::test]
async fn replies_that_continue_let_a_call_through() {
    for reply in [Value::Null, json!({ "action": "continue" }), replace(json!({})), replace(json!([]))] {
        let (fired, _) = answer(use_of_a_tool(), reply.clone()).await;
        assert!(fired.abort.is_none() && fired.changed_by.is_empty(), "{reply}");
    }
}

fn hangs(script: Script, moment: &str) -> Script {
    script.with(moment, Group::Normal, Duration::from_millis(500), |_, _| std::future::pending().boxed())
}

#[tokio::test(start_paused = true)]
async fn a_handler_past_its_deadline_is_given_up() {
    let stage = Stage::new([hangs(Script::new("acme"), "user_message")]);
    let fired = stage.fire(message()).await;
    assert_eq!(&*fired.payload.text, "x");
    assert_eq!(
        stage.notes(),
        ["Plugin 'Acme': hook user_message was skipped: it ran past its deadline of 500 ms."]
    );
    let stage = Stage::new([hangs(Script::new("acme"), "PreToolUse")]);
    assert_eq!(stage.fire(use_of_a_tool()).await.abort.map(|abort| abort.cause), Some(Cause::Failed));
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_told_of_its_deadline_and_may_still_answer() {
    let stage =
        Stage::new([Script::new("acme").with("user_message", Group::Normal, TIMEOUT, |_, cx: Context| {
            async move {
                cx.cancel.cancelled().await;
                Ok(Reply::value("in time".into()))
            }
            .boxed()
        })]);
    assert_eq!(&*stage.fire(message()).await.payload.text, "in time");
}

#[tokio::test(start_paused = true)]
async fn waiting_in_a_host_function_does_not_count_against_a_deadline() {
    let stage =
        Stage::new([Script::new("acme").with("user_message", Group::Normal, TIMEOUT, |_, cx: Context| {
            async move {
                let waiting = cx.clock.pause();
                tokio::time::sleep(Duration::from_secs(600)).await;
                drop(waiting);
                tokio::time::sleep(Duration::from_secs(4)).await;
                Ok(Reply::value("patience".into()))
            }
            .boxed()
        })]);
    assert_eq!(&*stage.fire(message()).await.payload.text, "patience");
}

#[tokio::test(start_paused = true)]
async fn the_time_before_and_after_a_wait_adds_up() {
    let stage =
        Stage::new([Script::new("acme").with("user_message", Group::Normal, TIMEOUT, |_, cx: Context| {
            async move {
                for _ in 0..4 {
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    let _waiting = cx.clock.pause();
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                Ok(Reply::value("never".into()))
            }
            .boxed()
        })]);
    let fired = stage.fire(message()).await;
    assert_eq!(&*fired.payload.text, "x");
    assert_eq!(stage.outcomes(), ["failed"]);
}

#[tokio::test]
async fn cancel_ends_a_handler_without_blame_and_no_guard_is_passed_by_it() {
    let stage = Stage::new([hangs(Script::new("acme"), "user_message")]);
    let (fired, ()) = tokio::join!(stage.fire(message()), async { stage.cx.cancel.cancel() });
    assert_eq!(&*fired.payload.text, "x");
    assert_eq!(stage.outcomes(), ["cancelled"]);
    assert!(stage.notes().is_empty());

    let stage = Stage::new([hangs(Script::new("acme"), "PreToolUse")]);
    stage.cx.cancel.cancel();
    for _ in 0..4 {
        let abort = stage.fire(use_of_a_tool()).await.abort;
        assert_eq!(abort.map(|abort| abort.cause), Some(Cause::Cancelled));
    }
    assert_eq!(stage.breaker.paused("acme"), None, "a cancelled turn is no fault");
}

#[tokio::test]
async fn what_tells_of_a_finished_turn_runs_although_the_turn_was_cancelled() {
    let stage = Stage::new([Script::new("acme").on("TurnStop", |_| Ok(Reply::Nothing))]);
    stage.cx.cancel.cancel();
    let _ = stage.fire(TurnStop { runtime_results: Vec::new(), duration_ms: 5 }).await;
    assert_eq!(stage.outcomes(), ["unchanged"]);
}

#[tokio::test]
async fn three_faults_in_a_row_pause_a_plugin_and_a_good_call_starts_the_count_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let stage = Stage::new([Script::new("acme").on("user_message", {
        let calls = calls.clone();
        move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            2 => Ok(Reply::Nothing),
            4 => Ok(Reply::value(json!(12))),
            _ => Err(threw()),
        }
    })]);
    for _ in 0..5 {
        let _ = stage.fire(message()).await;
    }
    assert_eq!(stage.breaker.paused("acme"), None);
    let _ = stage.fire(message()).await;
    let why = stage.breaker.paused("acme").expect("paused");
    assert!(why.starts_with("user_message failed 3 times in a row"), "{why}");
    stage.breaker.clear();
    assert_eq!(stage.breaker.paused("acme"), None);
}

#[tokio::test]
async fn a_deliberate_abort_is_no_fault() {
    let stage =
        Stage::new([Script::new("acme").gives("PreToolUse", json!({ "action": "abort", "reason": "no" }))]);
    for _ in 0..4 {
        assert!(stage.fire(use_of_a_tool()).await.abort.is_some());
    }
    assert_eq!(stage.breaker.paused("acme"), None);
}

#[tokio::test]
async fn a_plugin_that_is_gone_costs_one_note_and_blocks_at_its_guards() {
    let gone = |_| Err(Fault::Gone);
    let stage = Stage::new([Script::new("acme")
        .on("user_message", gone)
        .on("PreSchedule", gone)
        .on("PreToolUse", gone)]);
    let _ = stage.fire(message()).await;
    let _ = stage.fire(message()).await;
    let _ = stage.fire(schedule()).await;
    assert_eq!(
        stage.notes(),
        [
            "Plugin 'Acme' stopped in mid-turn; until the turn ends its guards block and its other handlers are skipped."
        ]
    );
    assert!(stage.fire(use_of_a_tool()).await.abort.is_some());
}

/// A handler whose own act fires the same moment again, through the dispatcher it belongs to.
fn acting(
    dir: &str,
    dispatcher: Arc<std::sync::OnceLock<Arc<Dispatcher>>>,
    runs: Arc<AtomicUsize>,
) -> Script {
    Script::new(dir).with("PreToolUse", Group::Normal, TIMEOUT, move |_, cx| {
        runs.fetch_add(1, Ordering::SeqCst);
        let dispatcher = dispatcher.get().unwrap().clone();
        async move {
            let inner = dispatcher.fire(&cx, use_of_a_tool()).await;
            match inner.abort {
                Some(abort) => Ok(Reply::value(json!({ "action": "abort", "reason": abort.reason }))),
                None => Ok(Reply::Nothing),
            }
        }
        .boxed()
    })
}

#[tokio::test]
async fn a_handlers_own_act_does_not_fire_it_again_but_fires_the_others() {
    let (runs, dispatcher) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::OnceLock::new()));
    let stage = Stage::new([
        acting("a", dispatcher.clone(), runs.clone()),
        acting("b", dispatcher.clone(), runs.clone()),
    ]);
    dispatcher.set(stage.dispatcher.clone()).ok().unwrap();
    assert!(stage.fire(use_of_a_tool()).await.abort.is_none());
    // a, then b in its act; b, then a in its act.
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn more_than_eight_handlers_that_lead_to_one_another_are_too_many() {
    let (runs, dispatcher) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::OnceLock::new()));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let stage = Stage::new(names.map(|name| acting(name, dispatcher.clone(), runs.clone())));
    dispatcher.set(stage.dispatcher.clone()).ok().unwrap();
    let abort = stage.fire(use_of_a_tool()).await.abort.expect("blocked");
    assert!(abort.reason.contains("more than 8 handlers led to one another"), "{}", abort.reason);
    assert_eq!(runs.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_filter_that_says_no_changes_nothing() {
    let stage = Stage::new([Script::new("acme").on(UserMessage::ROW.name, |_| Ok(Reply::Filtered))]);
    let _ = stage.fire(message()).await;
    assert_eq!(stage.outcomes(), ["filtered"]);
}

#[tokio::test]
async fn a_reply_that_breaks_a_rule_is_skipped_but_is_no_fault() {
    use crystal::hook::tool::ToolCall;
    let calls = Arc::new(AtomicUsize::new(0));
    let stage = Stage::new([Script::new("acme").on("tool_call", {
        let calls = calls.clone();
        move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            2 => Ok(Reply::value(json!({ "name": "unknown" }))),
            _ => Err(threw()),
        }
    })]);
    for _ in 0..5 {
        let _ = stage.fire(ToolCall { call: call("read", "{}"), catalog: [].into() }).await;
    }
    assert_eq!(stage.notes().len(), 5);
    assert_eq!(stage.breaker.paused("acme"), None, "it ended a row of faults");
}
