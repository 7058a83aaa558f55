//! What raw hooks may do, and the little they may not.

use crystal::hook::compaction::{Phase, RewriteCompaction};
use crystal::hook::model::{Outbound, RebuildModel};
use crystal::hook::moment::{Edit, Moment, Reply};
use crystal::hook::prompt::{PromptFacts, PromptMode, RewritePrompt};
use crystal::model::item::{Body, Items, Kind};
use crystal::model::request::Purpose;
use serde_json::{Value, json};

use super::script::{answer, conversation, held, ids, image, reply};

fn moment(accepts_images: bool) -> RebuildModel {
    RebuildModel(Outbound {
        purpose: Purpose::Work,
        runtime: "crystal/main".into(),
        items: conversation(),
        held: held(accepts_images),
    })
}

async fn rebuild(given: Reply) -> (Items, Vec<String>) {
    let (fired, notes) = reply(moment(true), given).await;
    (fired.payload.0.items, notes)
}

async fn rebuilt(given: Reply) -> Items {
    let (items, notes) = rebuild(given).await;
    assert!(notes.is_empty(), "{notes:?}");
    items
}

fn array() -> Vec<Value> {
    conversation().iter().map(|item| crystal::hook::item::item_value(item)).collect()
}

#[tokio::test]
async fn a_request_shows_its_facts_and_lends_its_items() {
    let offer = moment(false).offer();
    assert_eq!(
        offer.arguments,
        [json!({ "purpose": "work", "runtime": "crystal/main", "accepts_images": false })]
    );
    let list = offer.list.expect("a lazy list");
    assert_eq!(list.field, "items");
    assert_eq!(list.items.len(), 6);
}

#[tokio::test]
async fn rebuild_model_drops_reorders_adds_and_rewrites_items_of_any_kind() {
    let edits = Reply::edits(vec![
        Edit::SetText { at: 0, text: "Be long.".into() },
        Edit::Remove { at: 2 },
        Edit::Move { from: 4, to: 1 },
        Edit::Insert { at: 5, item: json!({ "id": "n1", "kind": "user", "text": "Go on." }) },
        Edit::Replace { at: 4, item: json!({ "tool_call": { "arguments": { "path": "b" } } }) },
    ]);
    let mut plain = array();
    plain[0]["text"] = "Be long.".into();
    plain.remove(2);
    let result = plain.remove(4);
    plain.insert(1, result);
    plain[4]["tool_call"]["arguments"] = json!({ "path": "b" });
    plain.push(json!({ "id": "n1", "kind": "user", "text": "Go on." }));
    for given in [edits, Reply::value(plain.into())] {
        let before = conversation();
        let now = rebuilt(given).await;
        assert_eq!(ids(&now), ["i1", "i6", "i2", "i4", "i5", "n1"], "a result may stand before its call");
        assert_eq!(&**now[0].text().unwrap(), "Be long.");
        let Body::ToolCall(call) = &now[4].body else { panic!("{:?}", now[4]) };
        assert_eq!((&*call.arguments, &*call.name), (r#"{"path":"b"}"#, "read"));
        assert!(now[4].state.is_none(), "a rewritten item has no provider state");
        assert_eq!(now[3].state, before[3].state);
    }
}

#[tokio::test]
async fn rewriting_reasoning_drops_its_provider_state_and_new_reasoning_has_none() {
    let now = rebuilt(Reply::edits(vec![
        Edit::SetText { at: 2, text: "Other.".into() },
        Edit::Insert {
            at: 3,
            item: json!({ "id": "n", "kind": "reasoning", "text": "New.", "state": { "x": 1 } }),
        },
    ]))
    .await;
    assert!(now[2].state.is_none() && now[3].state.is_none());
    assert_eq!(now[3].kind(), Kind::Reasoning);
}

#[tokio::test]
async fn a_known_id_with_another_kind_is_a_new_item() {
    let mut items = array();
    items[3] = json!({ "id": "i4", "kind": "user", "text": "I look." });
    let now = rebuilt(Reply::value(items.into())).await;
    assert_eq!(now[3].kind(), Kind::User);
    assert!(now[3].state.is_none());
}

#[tokio::test]
async fn a_new_tool_result_takes_its_name_from_the_call() {
    let item =
        json!({ "id": "n", "kind": "tool_result", "call_id": "call00001", "name": "liar", "text": "ok" });
    let now = rebuilt(Reply::edits(vec![Edit::Remove { at: 5 }, Edit::Insert { at: 5, item }])).await;
    let Body::ToolResult(result) = &now[5].body else { panic!("{:?}", now[5]) };
    assert_eq!((&*result.name, result.wire_id()), ("read", "toolu_1"));
}

#[tokio::test]
async fn an_image_may_be_kept_dropped_or_moved() {
    let now = rebuilt(Reply::edits(vec![
        Edit::DropImage { at: 1, id: "p1".into() },
        Edit::Replace { at: 5, item: json!({ "images": [{ "id": "p1", "media_type": "image/png" }] }) },
    ]))
    .await;
    assert_eq!(now[1].images(), [image("p0")]);
    assert_eq!(now[5].images(), [image("p1")]);
}

#[tokio::test]
async fn images_where_no_model_sees_any_become_text() {
    let images = json!([{ "id": "p1", "media_type": "image/png" }]);
    let now = rebuilt(Reply::edits(vec![Edit::Replace { at: 3, item: json!({ "images": images }) }])).await;
    assert_eq!(&**now[3].text().unwrap(), "I look.\n[image/png p1]");
}

#[tokio::test]
async fn what_cannot_be_represented_is_skipped_with_the_reason() {
    let insert = |item: Value| Reply::edits(vec![Edit::Insert { at: 6, item }]);
    for (given, reason) in [
        (insert(json!({ "id": "i1", "kind": "user", "text": "x" })), "repeats the item id `i1`"),
        (insert(json!({ "id": "i2" })), "repeats the item id `i2`"),
        (insert(json!({ "kind": "user", "text": "x" })), "without an id"),
        (insert(json!({ "id": "n", "kind": "reasoning", "text": "" })), "empty reasoning"),
        (Reply::edits(vec![Edit::SetText { at: 2, text: "".into() }]), "empty reasoning"),
        (
            insert(
                json!({ "id": "n", "kind": "user", "text": "x", "images": [{ "id": "z", "media_type": "image/png" }] }),
            ),
            "which the session does not hold",
        ),
        (
            insert(
                json!({ "id": "n", "kind": "user", "text": "x", "images": [{ "id": "p1", "media_type": "image/gif" }] }),
            ),
            "as image/gif, which it is not",
        ),
        (
            insert(
                json!({ "id": "n", "kind": "user", "text": "x", "images": [{ "media_type": "image/png", "data": "" }] }),
            ),
            "an image that is not",
        ),
        (insert(json!({ "id": "n", "kind": "robot", "text": "x" })), "unknown kind `robot`"),
        (insert(json!({ "id": "n", "kind": "tool_call", "tool_call": { "name": "x" } })), "tool_call.id"),
        (
            insert(
                json!({ "id": "n", "kind": "tool_call", "tool_call": { "id": "c", "name": "x", "arguments": "{" } }),
            ),
            "not JSON",
        ),
        (Reply::edits(vec![Edit::Move { from: 0, to: 9 }]), "of a list of 5"),
    ] {
        let (items, notes) = rebuild(given).await;
        assert_eq!(*items, *conversation());
        assert!(notes.len() == 1 && notes[0].contains(reason), "{notes:?} does not say {reason}");
        assert!(notes[0].starts_with("Plugin 'Acme': raw hook rebuild_model was skipped"), "{notes:?}");
    }
}

#[tokio::test]
async fn an_image_added_to_a_request_that_takes_none_is_skipped_with_the_replacement() {
    let edits = vec![
        Edit::SetText { at: 3, text: "other".into() },
        Edit::Replace { at: 5, item: json!({ "images": [{ "id": "p1", "media_type": "image/png" }] }) },
    ];
    let (fired, notes) = reply(moment(false), Reply::edits(edits)).await;
    assert_eq!(*fired.payload.0.items, *conversation());
    assert!(notes[0].contains("a request that takes none"), "{notes:?}");
}

#[tokio::test]
async fn a_raw_text_hook_replaces_with_any_string() {
    let facts = PromptFacts {
        mode: PromptMode::Review,
        workspace: "/w".into(),
        session: "s1".into(),
        instructions: "I".into(),
    };
    let prompt = RewritePrompt { facts, composed: "Composed.".into() };
    assert_eq!(prompt.offer().arguments[1], "Composed.");
    let compaction = RewriteCompaction { phase: Phase::Prompt, text: "Summarise.".into() };
    for text in ["", "Other."] {
        let (fired, _) = answer(prompt.clone(), text.into()).await;
        assert_eq!(&*fired.payload.composed, text);
        let (fired, _) = answer(compaction.clone(), text.into()).await;
        assert_eq!(&*fired.payload.text, text);
    }
    let (fired, _) = answer(prompt, Value::Null).await;
    assert_eq!(&*fired.payload.composed, "Composed.");
}
