//! Moments of what goes out: seen in the bytes that the server gets and in what is stored.

use std::sync::atomic::{AtomicUsize, Ordering};

use crystal::hook::moment::{Edit, Reply};
use crystal::hook::turn::StopReason;
use serde_json::{Value, json};

use crate::hook::script::{Script, replace};
use crate::support::chat;
use crate::support::server::{self, Server};
use crate::support::session::{Log, Setup, acts, calls, once, recorder, says};

fn read(path: &str) -> server::Reply {
    calls("read", json!({ "path": path }))
}

#[tokio::test]
async fn user_message_replaces_what_is_sent_and_stored_and_a_blank_reply_is_ignored() {
    let server = Server::start([says("one"), says("two")]);
    let mut live = Setup::new(server)
        .script(acts("acme", "user_message", |offer| match offer.arguments[0]["text"].as_str() {
            Some("Hi") => json!("Good day"),
            _ => json!("  "),
        }))
        .open()
        .await;
    live.say("Hi").await;
    live.say("Bye").await;
    assert_eq!(live.messages(0)[1]["content"], "Good day");
    assert_eq!(live.messages(1)[3]["content"], "Bye");
    assert_eq!(live.texts("user"), ["Good day", "Bye"]);
}

#[tokio::test]
async fn prompt_appends_and_rewrite_prompt_replaces_the_archived_system_text() {
    let server = Server::start([says("one"), says("two"), says("three")]);
    let turns = AtomicUsize::new(0);
    let mut live = Setup::new(server)
        .script(Script::new("acme").gives("prompt", json!("Speak like a sailor.")))
        .script(acts("raw", "rewrite_prompt", move |offer| match turns.fetch_add(1, Ordering::SeqCst) {
            0 => Value::Null,
            1 => json!(format!("{} Only that.", offer.arguments[0]["instructions"].as_str().unwrap())),
            _ => json!(""),
        }))
        .open()
        .await;
    live.say("Hi").await;
    let composed = live.messages(0)[0]["content"].as_str().unwrap().to_owned();
    assert!(composed.len() > 100 && composed.contains("Speak like a sailor."), "{composed}");
    live.say("Again").await;
    assert_eq!(live.messages(1)[0]["content"], "Speak like a sailor. Only that.");
    assert_eq!(live.texts("system"), ["Speak like a sailor. Only that."]);
    live.say("Once more").await;
    assert_eq!(live.messages(2)[0]["role"], "user", "an empty system text is sent as none");
    assert_eq!(live.texts("system"), [""]);
    let archived: Vec<_> = live.records("system").iter().map(|record| record["text"].clone()).collect();
    assert!(archived.contains(&json!("Speak like a sailor. Only that.")), "{archived:?}");
}

#[tokio::test]
async fn post_context_assembly_replaces_the_history_for_the_runtime_alone() {
    let server =
        Server::start([says("first answer"), read("a"), says("second answer"), says("third answer")]);
    // In the second turn everything but the last message goes, and a new item comes with an id of the host's own form.
    let turns = AtomicUsize::new(0);
    let script = Script::new("acme").on("PostContextAssembly", move |offer| {
        if turns.fetch_add(1, Ordering::SeqCst) != 1 {
            return Ok(Reply::Nothing);
        }
        let items = offer.list.unwrap().items;
        let last = items.last().unwrap().id.as_str().to_owned();
        let number: u64 = last.trim_start_matches('i').parse().unwrap();
        let messages = json!([
            { "id": format!("i{}", number + 2), "kind": "user", "text": "In short: we have met." },
            { "id": last },
        ]);
        let fields = json!({ "system_prompt": "Be brief.", "messages": messages });
        Ok(Reply::value(replace(fields)))
    });
    let mut live = Setup::new(server).file("a", "A\n").script(script).open().await;
    for text in ["first", "second", "third"] {
        live.say(text).await;
    }
    let first: Vec<_> = live.messages(1).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(first, ["Be brief.", "In short: we have met.\n\nsecond"]);
    // The second step of that turn has the same beginning, and what was said since.
    assert_eq!(live.messages(2)[..2], live.messages(1)[..]);
    assert_eq!(live.messages(2).len(), 4);
    // The archive and the next turn have everything.
    let third: Vec<_> = live.messages(3).iter().map(|message| message["role"].clone()).collect();
    assert_eq!(third, ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(live.texts("user"), ["first", "second", "third"]);
    // Each request can be had again from the file, with ids that occur once.
    for (turn, step) in [(1, 1), (2, 1), (2, 2), (3, 1)] {
        let items = live.rebuilt(turn, step).request.items;
        let mut ids: Vec<_> = items.iter().map(|item| item.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), items.len(), "turn {turn} step {step}");
        let said = items.iter().any(|item| item.text().is_some_and(|text| text.contains("In short")));
        assert_eq!(said, turn == 2, "turn {turn} step {step}");
    }
}

#[tokio::test]
async fn rebuild_model_changes_one_call_and_not_the_transcript() {
    let server = Server::start([read("a"), says("done")]);
    let rebuilt = json!([
        { "id": "x1", "kind": "user", "text": "Only this." },
        { "id": "x2", "kind": "assistant", "text": "And that." },
        { "id": "x3", "kind": "user", "text": "Go." },
    ]);
    let mut live =
        Setup::new(server).file("a", "A\n").script(once("raw", "rebuild_model", rebuilt)).open().await;
    live.say("Hi").await;
    let first: Vec<_> = live.messages(0).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(first, ["Only this.", "And that.", "Go."]);
    let roles: Vec<_> = live.messages(1).iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(live.texts("user"), ["Hi"]);
    assert!(live.heard.notes().is_empty(), "{:?}", live.heard.notes());
}

#[tokio::test]
async fn transform_model_runs_after_rebuild_model_changes_texts_of_one_call_and_nothing_stored() {
    let server = Server::start([read("a"), says("done")]);
    let transform = Script::new("acme").on("transform_model", |offer| {
        let items = offer.list.unwrap().items;
        let at = items.iter().position(|item| item.text().is_some_and(|text| &**text == "my token is 12345"));
        Ok(match at {
            Some(at) => Reply::edits(vec![Edit::SetText { at, text: "my token is hidden".into() }]),
            None => Reply::Nothing,
        })
    });
    let raw = Script::new("raw").on("rebuild_model", |offer| {
        let items = offer.list.unwrap().items;
        let item = json!({ "id": "x1", "kind": "user", "text": "my token is 12345" });
        Ok(match items.len() {
            2 => Reply::edits(vec![Edit::Remove { at: 1 }, Edit::Insert { at: 1, item }]),
            _ => Reply::Nothing,
        })
    });
    // Registered in the other order: the list decides, not the load order.
    let mut live = Setup::new(server).file("a", "A\n").script(transform).script(raw).open().await;
    live.say("Hi").await;
    assert_eq!(live.messages(0)[1]["content"], "my token is hidden");
    assert_eq!(live.messages(1)[1]["content"], "Hi");
    assert_eq!(live.texts("user"), ["Hi"]);
}

#[tokio::test]
async fn a_transform_that_breaks_a_rule_is_skipped_with_a_note_that_names_it() {
    let server = Server::start([says("done")]);
    let drops = Script::new("acme").on("transform_model", |_| Ok(Reply::edits(vec![Edit::Remove { at: 0 }])));
    let mut live = Setup::new(server).script(drops).open().await;
    live.say("Hi").await;
    assert_eq!(live.messages(0).len(), 2);
    assert_eq!(live.heard.notes(), ["Plugin 'Acme': hook transform_model was skipped: it drops an item."]);
    assert_eq!(live.records("note").len(), 1);
}

#[tokio::test]
async fn pre_llm_call_rewrites_one_call_whole() {
    let whole = chat::whole(json!({ "role": "assistant", "content": "one" }), "stop");
    let server = Server::start([server::Reply::json(200, &whole), says("two")]);
    let call = json!({
        "messages": [{ "id": "x1", "kind": "user", "text": "Say one." }],
        "model": "m-2",
        "tools": ["read", { "name": "ponder", "description": "Thinks.", "schema": { "type": "object" } }],
        "stream": false,
    });
    let mut live = Setup::new(server).script(once("acme", "PreLLMCall", replace(call))).open().await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.text.as_deref(), Some("one"));
    let body = live.body(0);
    assert_eq!(body["model"], "m-2");
    assert_eq!(body["stream"], false);
    assert_eq!(body["messages"], json!([{ "role": "user", "content": "Say one." }]));
    assert_eq!(live.tools(0), ["read", "ponder"]);
    live.say("Again").await;
    let body = live.body(1);
    assert_eq!((&body["model"], &body["stream"]), (&json!("m-1"), &json!(true)));
    assert!(live.tools(1).len() > 2);
    let said: Vec<_> = live.messages(1)[1..].iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said, ["Hi", "one", "Again"]);
    // The file tells both calls as they were.
    let first = live.rebuilt(1, 1);
    assert_eq!(&*first.step.model, "m-2");
    assert!(!first.request.stream);
    let tools: Vec<_> = first.request.tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(tools, ["read", "ponder"]);
}

#[tokio::test]
async fn a_tool_choice_that_pre_llm_call_takes_the_tool_from_is_not_sent() {
    let server = Server::start([says("done")]);
    let mut live = Setup::new(server)
        .script(Script::new("a").gives("PreStep", replace(json!({ "tool_choice": { "name": "read" } }))))
        .script(Script::new("b").gives("PreLLMCall", replace(json!({ "tools": ["write"] }))))
        .open()
        .await;
    live.say("Hi").await;
    assert_eq!(live.tools(0), ["write"]);
    assert_eq!(live.body(0)["tool_choice"], Value::Null);
}

#[tokio::test]
async fn a_failed_call_names_the_raw_hooks_that_changed_it_and_no_others() {
    let refused = || server::Reply::json(400, &json!({ "error": { "message": "bad request" } }));
    let hint =
        |name: &str| format!("Raw hook '{name}' changed this model request. The failure may be related.");
    let append = |text: &str| json!([{ "id": "x1", "kind": "user", "text": text }]);
    let mut live = Setup::new(Server::start([refused(), refused()]))
        .script(Script::new("words").gives("rewrite_prompt", json!("Be odd.")))
        .script(once("raw", "rebuild_model", append("odd")))
        .script(Script::new("idle").on("rebuild_model", |_| Ok(Reply::Nothing)))
        .script(acts("plain", "transform_model", |_| Value::Null))
        .open()
        .await;
    let outcome = live.say("Hi").await;
    assert_eq!(outcome.ending.stop, StopReason::Failed);
    assert_eq!(live.heard.notes(), [hint("Words"), hint("Raw")]);
    live.say("Again").await;
    assert_eq!(live.heard.notes()[2..], [hint("Words")]);

    let mut quiet = Setup::new(Server::start([refused()])).script(recorder(&Log::default())).open().await;
    quiet.say("Hi").await;
    assert_eq!(quiet.heard.notes(), Vec::<String>::new());
}

#[tokio::test]
async fn requests_of_a_turn_begin_with_the_same_bytes_while_no_handler_changes_anything() {
    let server = Server::start([
        read("a"),
        server::Reply::sse(chat::calls(&[
            ("b1", "read", json!({ "path": "b" })),
            ("b2", "read", json!({ "path": "a" })),
        ])),
        calls("write", json!({ "path": "c", "contents": "C\n" })),
        says("done"),
    ]);
    let mut live =
        Setup::new(server).file("a", "A\n").file("b", "B\n").script(recorder(&Log::default())).open().await;
    live.say("Look around").await;
    let bodies: Vec<String> =
        live.server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect();
    assert_eq!(bodies.len(), 4);
    for pair in bodies.windows(2) {
        let end = pair[0].find("],\"stream\"").unwrap();
        assert!(pair[1].starts_with(&pair[0][..end]), "{}\n{}", pair[0], pair[1]);
        let tools = |body: &str| body[body.find("\"tools\"").unwrap()..].to_owned();
        assert_eq!(tools(&pair[0]), tools(&pair[1]));
    }
}
