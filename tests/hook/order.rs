//! Who runs when, and who sees what.

use std::sync::{Arc, Mutex};

use crystal::hook::dispatch::Dispatcher;
use crystal::hook::handler::{Group, TIMEOUT};
use crystal::hook::moment::Reply;
use crystal::hook::prompt::{Prompt, PromptFacts, PromptMode, UserMessage};
use crystal::hook::session::SessionStart;
use crystal::hook::tool::PreToolUse;
use crystal::hook::turn::{Input, TurnStart};
use crystal::model::request::Mode;
use futures_util::FutureExt as _;
use serde_json::json;

use super::script::{Script, Stage, call, context, replace};

fn message(text: &str) -> UserMessage {
    UserMessage { text: text.into(), mode: Mode::Work, session: "s1".into(), attachments: Vec::new() }
}

#[tokio::test]
async fn hooks_run_in_load_order_and_each_sees_what_the_one_before_replaced() {
    let add = |tail: &'static str| {
        move |offer: crystal::hook::moment::Offer| {
            let text = offer.arguments[0]["text"].as_str().unwrap();
            Ok(Reply::value(format!("{text}{tail}").into()))
        }
    };
    let stage = Stage::new([
        Script::new("b").on("user_message", add("b")),
        Script::new("a").on("user_message", add("a")).on("user_message", add("A")),
        Script::new("crystal").on("user_message", |_| Ok(Reply::Nothing)),
    ]);
    let fired = stage.fire(message("x")).await;
    assert_eq!(&*fired.payload.text, "xbaA");
    let by: Vec<_> = fired.changed_by.iter().map(|plugin| &*plugin.dir).collect();
    assert_eq!(by, ["b", "a"], "each plugin once, in order");
}

#[tokio::test]
async fn events_run_by_group_then_the_hosts_own_then_in_load_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mark = |name: &'static str| {
        let seen = seen.clone();
        move |_, _| {
            seen.lock().unwrap().push(name);
            async { Ok(Reply::Nothing) }.boxed()
        }
    };
    let stage = Stage::new([
        Script::new("a").with("TurnStart", Group::Post, TIMEOUT, mark("a post")).with(
            "TurnStart",
            Group::Normal,
            TIMEOUT,
            mark("a normal"),
        ),
        Script::new("b").with("TurnStart", Group::Normal, TIMEOUT, mark("b normal")).with(
            "TurnStart",
            Group::Pre,
            TIMEOUT,
            mark("b pre"),
        ),
        Script::new("crystal").with("TurnStart", Group::Normal, TIMEOUT, mark("host normal")),
    ]);
    let fired = stage.fire(TurnStart { input: Input::default(), active_runtimes: Vec::new() }).await;
    assert!(fired.abort.is_none());
    assert_eq!(*seen.lock().unwrap(), ["b pre", "host normal", "a normal", "b normal", "a post"]);
}

#[tokio::test]
async fn an_abort_ends_the_chain_and_keeps_what_came_before() {
    let stage = Stage::new([
        Script::new("a").gives("PreToolUse", replace(json!({ "tool_call": { "name": "write" } }))),
        Script::new("b").gives("PreToolUse", json!({ "action": "abort", "reason": "not today" })),
        Script::new("c").on("PreToolUse", |_| panic!("the chain has ended")),
    ]);
    let fired = stage.fire(PreToolUse { call: call("read", "{}") }).await;
    let abort = fired.abort.expect("an abort");
    assert_eq!((&*abort.plugin.dir, abort.reason.as_str()), ("b", "not today"));
    assert_eq!(&*fired.payload.call.name, "write");
}

#[tokio::test]
async fn handlers_of_a_parallel_event_run_at_once_and_their_replies_mean_nothing() {
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let meet = || {
        let barrier = barrier.clone();
        move |_, _| {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                Ok(Reply::value(json!({ "action": "abort", "reason": "too late" })))
            }
            .boxed()
        }
    };
    let stage = Stage::new([
        Script::new("a").with("SessionStart", Group::Normal, TIMEOUT, meet()),
        Script::new("b").with("SessionStart", Group::Normal, TIMEOUT, meet()),
    ]);
    let fired = stage.fire(SessionStart { session: "s1".into() }).await;
    assert!(fired.abort.is_none() && fired.changed_by.is_empty());
    assert_eq!(stage.outcomes(), ["unchanged", "unchanged"]);
}

#[tokio::test]
async fn an_abort_of_an_event_that_cannot_block_changes_nothing() {
    let stage = Stage::new([
        Script::new("a").gives("PreSchedule", json!({ "action": "abort", "reason": "no" })),
        Script::new("b").gives("PreSchedule", replace(json!({ "triggered": [] }))),
    ]);
    let manifest = crystal::hook::turn::Manifest { name: "crystal/main".into(), facts: Arc::default() };
    let fired = stage.fire(crystal::hook::turn::PreSchedule { triggered: vec![manifest] }).await;
    assert!(fired.abort.is_none());
    assert!(fired.payload.triggered.is_empty(), "the next handler still ran");
}

#[tokio::test]
async fn a_moment_nobody_listens_to_is_known_before_its_payload_is_made() {
    let stage = Stage::new([Script::new("a").gives("prompt", json!("x"))]);
    assert!(stage.dispatcher.has::<Prompt>());
    assert!(!stage.dispatcher.has::<UserMessage>());
    assert!(!Dispatcher::none().has::<Prompt>());
    let facts = PromptFacts {
        mode: PromptMode::Work,
        workspace: "/w".into(),
        session: "s1".into(),
        instructions: "".into(),
    };
    let fired = Dispatcher::none().fire(&stage.cx, Prompt(facts.clone())).await;
    assert_eq!(fired.payload.0, facts);
}

#[test]
fn the_context_of_an_event_says_what_the_event_is_about() {
    let cx = context(Arc::default());
    let event = |name| serde_json::Value::Object(cx.offer(super::script::row(name)));
    assert_eq!(
        event("PreToolUse"),
        json!({
            "event": "PreToolUse", "session": "s1", "turn": "t1", "logical_turn": 7, "locale": "en",
            "plugin": "crystal", "runtime": "crystal/main", "active_plugins": ["acme"],
        })
    );
    let turn = event("TurnStart");
    assert!(turn.get("plugin").is_none() && turn.get("runtime").is_none(), "{turn}");
    let session = event("SessionEnd");
    assert_eq!(session["turn"], "");
    assert!(session.get("logical_turn").is_none());
}
