//! What ordinary hooks may do, and what they may not.

use std::sync::Arc;

use crystal::hook::compaction::{Compaction, Phase};
use crystal::hook::model::{Answer, ModelResponse, Outbound, TransformModel};
use crystal::hook::moment::{Edit, Given, Moment, Reply};
use crystal::hook::prompt::{Prompt, PromptFacts, PromptMode, UserMessage};
use crystal::hook::session::{Session, SessionEnded, SessionStarted};
use crystal::hook::tool::{ResultImage, ToolCall, ToolResult};
use crystal::hook::turn::{StopReason, Turn, TurnFinished};
use crystal::model::item::{Items, MediaType};
use crystal::model::judgement::Approval;
use crystal::model::request::{Mode, Purpose, ToolSpec};
use crystal::model::response::{FinishReason, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::script::{PNG, answer, call, conversation, held, ids, image, reply};

fn outbound(items: Items) -> Outbound {
    Outbound { purpose: Purpose::Work, runtime: "crystal/main".into(), items, held: held(true) }
}

fn prompt(instructions: &str) -> Prompt {
    Prompt(PromptFacts {
        mode: PromptMode::Work,
        workspace: "/w".into(),
        session: "s1".into(),
        instructions: instructions.into(),
    })
}

fn message(text: &str) -> UserMessage {
    UserMessage { text: text.into(), mode: Mode::Work, session: "s1".into(), attachments: Vec::new() }
}

#[tokio::test]
async fn prompt_appends_to_the_instructions_and_replaces_nothing() {
    for (before, reply, after) in [
        ("Rules.\n", "Be kind.", "Rules.\n\nBe kind."),
        ("", "Be kind.", "Be kind."),
        ("Rules.", "", "Rules."),
        ("Rules.", " \n", "Rules."),
    ] {
        let (fired, notes) = answer(prompt(before), reply.into()).await;
        assert_eq!(&*fired.payload.0.instructions, after);
        assert_eq!(fired.changed_by.is_empty(), before == after);
        assert!(notes.is_empty());
    }
}

#[tokio::test]
async fn a_text_hook_that_returns_no_text_is_skipped_with_a_note() {
    let (fired, notes) = answer(prompt("Rules."), json!({ "text": "x" })).await;
    assert_eq!(&*fired.payload.0.instructions, "Rules.");
    assert_eq!(notes, ["Plugin 'Acme': hook prompt was skipped: it returned an object, not text."]);
}

#[tokio::test]
async fn user_message_replaces_the_words_unless_the_reply_is_blank() {
    let (fired, _) = answer(message("x"), "y".into()).await;
    assert_eq!(&*fired.payload.text, "y");
    for blank in ["", "  ", "\n\t"] {
        let (fired, notes) = answer(message("x"), blank.into()).await;
        assert_eq!(&*fired.payload.text, "x");
        assert!(notes.is_empty() && fired.changed_by.is_empty());
    }
}

#[tokio::test]
async fn hooks_that_read_are_told_what_they_are_promised_and_change_nothing() {
    let session =
        Session { workspace: "/w".into(), id: "s1".into(), approval: Approval::Edit, locale: "en".into() };
    assert_eq!(
        SessionStarted(session.clone()).offer().arguments,
        [json!({ "workspace": "/w", "id": "s1", "approval": "edit", "locale": "en" })]
    );
    let (fired, notes) = answer(SessionEnded(session.clone()), json!({ "approval": "full" })).await;
    assert_eq!(fired.payload.0, session);
    assert!(notes.is_empty());

    let turn = Turn { number: 3, text: "hi".into(), mode: Mode::Plan, session: "s1".into() };
    let finished = TurnFinished { turn, stop_reason: StopReason::Budget };
    assert_eq!(
        finished.offer().arguments,
        [json!({ "number": 3, "text": "hi", "mode": "plan", "session": "s1", "stop_reason": "budget" })]
    );
    let (fired, _) = answer(finished.clone(), json!({ "stop_reason": "completed" })).await;
    assert_eq!(fired.payload, finished);

    let response = ModelResponse(Answer {
        purpose: Purpose::Side,
        finish_reason: FinishReason::Stop,
        items: conversation()[3..5].to_vec(),
        usage: Usage { input: Some(5), output: Some(2), cached: None, cache_write: Some(1), reasoning: None },
    });
    assert_eq!(
        response.offer().arguments,
        [json!({
            "purpose": "side",
            "finish_reason": "stop",
            "items": [
                { "id": "i4", "kind": "assistant", "text": "I look." },
                { "id": "i5", "kind": "tool_call", "tool_call":
                    { "id": "call00001", "name": "read", "arguments": { "path": "a.txt", "n": 1.0 } } },
            ],
            "usage": { "input": 5, "output": 2, "cached": null, "reasoning": null },
        })]
    );
    let (fired, _) = answer(response.clone(), json!({ "items": [] })).await;
    assert_eq!(fired.payload, response);
}

fn tool_call() -> ToolCall {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "".into(),
        schema: Arc::new(json!({ "type": "object" })),
    };
    ToolCall {
        call: call("read", r#"{"path":"a.txt","big":12345678901234567890123}"#),
        catalog: [tool("read"), tool("write")].into(),
    }
}

#[tokio::test]
async fn tool_call_replaces_name_and_arguments_and_keeps_the_id() {
    let (fired, _) = answer(tool_call(), json!({ "name": "write", "arguments": { "path": "b" } })).await;
    let now = fired.payload.call;
    assert_eq!((&*now.name, &*now.arguments), ("write", r#"{"path":"b"}"#));
    assert_eq!((now.id.as_str(), now.provider_id.as_deref()), ("call00001", Some("toolu_1")));

    let (fired, _) = answer(tool_call(), json!({ "arguments": "{\"path\": \"b\"}" })).await;
    assert_eq!(&*fired.payload.call.arguments, "{\"path\": \"b\"}", "JSON text goes as it is");
}

#[tokio::test]
async fn arguments_that_come_back_as_they_went_stay_token_for_token() {
    let c = tool_call().offer().arguments[0].clone();
    let (fired, notes) = answer(tool_call(), c).await;
    assert_eq!(fired.payload, tool_call());
    assert!(fired.changed_by.is_empty() && notes.is_empty());
}

#[tokio::test]
async fn a_tool_call_reply_that_breaks_a_rule_is_skipped_with_the_rule() {
    for (reply, rule) in [
        (json!({ "id": "other", "name": "write" }), "it changes the call's id"),
        (json!({ "name": "rm" }), "it names the tool `rm`, which is not in the current catalog"),
        (json!({ "arguments": [1] }), "its `arguments` is a list, not an object"),
        (json!({ "arguments": "[]" }), "its `arguments` is a list, not an object"),
        (json!("write"), "it returned text, not an object"),
        (json!({ "name": 3 }), "its `name` is a number, not text"),
    ] {
        let (fired, notes) = answer(tool_call(), reply).await;
        assert_eq!(fired.payload, tool_call());
        assert_eq!(notes, [format!("Plugin 'Acme': hook tool_call was skipped: {rule}.")]);
    }
}

fn tool_result(accepts_images: bool) -> ToolResult {
    ToolResult {
        call: call("read", "{}"),
        text: "old".into(),
        images: vec![ResultImage::Held(image("p0"))],
        failed: false,
        held: held(accepts_images),
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[tokio::test]
async fn tool_result_replaces_text_and_images() {
    let (fired, _) = answer(tool_result(true), json!({ "text": "new" })).await;
    assert_eq!((&*fired.payload.text, fired.payload.images.len()), ("new", 1));

    let images = json!({ "images": [
        { "id": "p1", "media_type": "image/png" },
        { "id": "p0", "media_type": "image/png" },
        { "media_type": "image/png", "data": base64(PNG) },
    ] });
    let (fired, notes) = answer(tool_result(true), images).await;
    assert!(notes.is_empty(), "{notes:?}");
    let bytes = bytes::Bytes::from_static(PNG);
    assert_eq!(
        fired.payload.images,
        [
            ResultImage::Held(image("p1")),
            ResultImage::Held(image("p0")),
            ResultImage::New { media_type: MediaType::Png, bytes },
        ]
    );
}

#[tokio::test]
async fn on_a_text_only_turn_images_of_a_reply_are_left_out_and_its_text_counts() {
    let reply = json!({ "text": "new", "images": [{ "media_type": "image/png", "data": base64(PNG) }] });
    let (fired, notes) = answer(tool_result(false), reply).await;
    assert_eq!((&*fired.payload.text, fired.payload.images.len()), ("new", 1));
    assert!(notes.is_empty());
    assert_eq!(fired.ignored.len(), 1);
}

#[tokio::test]
async fn a_tool_result_reply_that_breaks_a_rule_is_skipped_whole() {
    for reply in [
        json!({ "text": "new", "failed": true }),
        json!({ "text": "new", "images": [{ "media_type": "image/bmp", "data": base64(b"BM") }] }),
        json!({ "text": "new", "images": [{ "media_type": "image/gif", "data": base64(PNG) }] }),
        json!({ "text": "new", "images": [{ "media_type": "image/png", "data": "%" }] }),
        json!({ "text": "new", "images": [{ "media_type": "image/png", "id": "elsewhere" }] }),
        json!({ "text": 5 }),
        json!("new"),
    ] {
        let (fired, notes) = answer(tool_result(true), reply.clone()).await;
        assert_eq!(&*fired.payload.text, "old", "{reply}");
        assert_eq!(notes.len(), 1, "{reply}");
    }
}

#[tokio::test]
async fn compaction_appends() {
    let moment = |text: &str| Compaction { phase: Phase::Summary, text: text.into() };
    let (fired, _) = answer(moment("Summary."), "A fact.".into()).await;
    assert_eq!(&*fired.payload.text, "Summary.\n\nA fact.");
    let (fired, _) = answer(moment("Summary."), "".into()).await;
    assert_eq!(&*fired.payload.text, "Summary.");
}

async fn transform(given: Reply) -> (Items, Vec<String>) {
    let (fired, notes) = reply(TransformModel(outbound(conversation())), given).await;
    (fired.payload.0.items, notes)
}

/// The items as a handler would hand them back in an array.
fn array() -> Vec<Value> {
    conversation().iter().map(|item| crystal::hook::item::item_value(item)).collect()
}

#[tokio::test]
async fn transform_model_changes_texts_and_drops_images_and_the_changed_items_lose_their_state() {
    let edits = vec![
        Edit::SetText { at: 1, text: "Look.".into() },
        Edit::DropImage { at: 1, id: "p0".into() },
        Edit::SetText { at: 3, text: "I looked.".into() },
        Edit::SetText { at: 5, text: "[cut]".into() },
    ];
    let mut plain = array();
    plain[1]["text"] = "Look.".into();
    plain[1]["images"] = json!([{ "id": "p1", "media_type": "image/png" }]);
    plain[3]["text"] = "I looked.".into();
    plain[5]["text"] = "[cut]".into();
    for given in
        [Reply::edits(edits), Reply::value(plain.clone().into()), Reply::value(json!({ "items": plain }))]
    {
        let before = conversation();
        let (fired, notes) = reply(TransformModel(outbound(before.clone())), given).await;
        let now = fired.payload.0.items;
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(ids(&now), ids(&before));
        let texts: Vec<_> = now.iter().filter_map(|item| item.text().map(|text| text.to_string())).collect();
        assert_eq!(texts, ["Be brief.", "Look.", "They want a look.", "I looked.", "[cut]"]);
        assert_eq!(now[1].images(), [image("p1")]);
        assert!(now[3].state.is_none(), "the changed item");
        for untouched in [0, 2, 4] {
            assert!(Arc::ptr_eq(&now[untouched], &before[untouched]));
        }
    }
}

#[tokio::test]
async fn a_transform_that_breaks_a_rule_is_skipped_with_the_rule() {
    let broken = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut items = array();
        change(&mut items);
        Reply::value(items.into())
    };
    let cases: Vec<(Reply, &str)> = vec![
        (broken(&|items| items.swap(1, 3)), "reorder"),
        (broken(&|items| drop(items.remove(2))), "add or drop"),
        (broken(&|items| items.push(json!({ "id": "n", "kind": "user", "text": "x" }))), "add or drop"),
        (broken(&|items| items[1]["kind"] = "assistant".into()), "changes the kind"),
        (broken(&|items| items[1]["id"] = "i9".into()), "reorder"),
        (broken(&|items| items[0]["text"] = "x".into()), "changes the system item"),
        (broken(&|items| items[2]["text"] = "x".into()), "changes the reasoning item"),
        (broken(&|items| items[4]["tool_call"]["name"] = "write".into()), "changes the tool_call item"),
        (broken(&|items| items[4]["tool_call"]["arguments"] = json!({})), "changes the tool_call item"),
        (broken(&|items| items[5]["call_id"] = "call00002".into()), "`call_id`, `name` or `failed`"),
        (broken(&|items| items[5]["name"] = "write".into()), "`call_id`, `name` or `failed`"),
        (broken(&|items| items[5]["failed"] = true.into()), "`call_id`, `name` or `failed`"),
        (
            broken(&|items| items[5]["images"] = json!([{ "id": "p1", "media_type": "image/png" }])),
            "adds or reorders images",
        ),
        (Reply::edits(vec![Edit::Remove { at: 1 }]), "drops an item"),
        (
            Reply::edits(vec![Edit::Insert {
                at: 1,
                item: json!({ "id": "n", "kind": "user", "text": "x" }),
            }]),
            "adds an item",
        ),
        (Reply::edits(vec![Edit::Move { from: 1, to: 2 }]), "reorders items"),
        (Reply::edits(vec![Edit::SetText { at: 0, text: "x".into() }]), "changes the system item"),
        (Reply::edits(vec![Edit::SetText { at: 4, text: "x".into() }]), "sets the text of the tool call"),
        (Reply::edits(vec![Edit::SetText { at: 6, text: "x".into() }]), "item 7 of a list of 6"),
        (Reply::edits(vec![Edit::DropImage { at: 1, id: "p9".into() }]), "does not have"),
        (Reply::value(json!(5)), "not a list of items"),
    ];
    for (given, rule) in cases {
        let shown = format!("{given:?}");
        let (items, notes) = transform(given).await;
        assert_eq!(*items, *conversation(), "{shown}");
        assert_eq!(notes.len(), 1, "{shown}");
        assert!(notes[0].contains(rule), "{notes:?} does not name {rule}");
    }
}

#[tokio::test]
async fn a_transcript_that_comes_back_as_it_went_is_no_change() {
    for given in [Reply::edits(Vec::new()), Reply::value(array().into())] {
        let (fired, notes) = reply(TransformModel(outbound(conversation())), given).await;
        assert!(fired.changed_by.is_empty() && notes.is_empty(), "{notes:?}");
    }
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let at = || 0..8usize;
    prop_oneof![
        (at(), "[a-z]{0,3}").prop_map(|(at, text)| Edit::SetText { at, text }),
        (at(), "p[0-2]").prop_map(|(at, id)| Edit::DropImage { at, id }),
        at().prop_map(|at| Edit::Remove { at }),
        (at(), at()).prop_map(|(from, to)| Edit::Move { from, to }),
        (at(), "i[0-9]", prop_oneof![Just("user"), Just("assistant"), Just("reasoning")], "[a-z]{0,3}")
            .prop_map(|(at, id, kind, text)| Edit::Insert {
                at,
                item: json!({ "id": id, "kind": kind, "text": text })
            }),
        (at(), "i[0-9]", "[a-z]{0,3}")
            .prop_map(|(at, id, text)| Edit::Replace { at, item: json!({ "id": id, "text": text }) }),
    ]
}

proptest! {
    #[test]
    fn no_transform_changes_ids_order_kinds_or_what_only_raw_hooks_may(edits in prop::collection::vec(any_edit(), 0..4)) {
        let before = conversation();
        let moment = TransformModel(outbound(before.clone()));
        let Ok(accepted) = moment.accept(Given { value: Value::Null, edits: Some(edits) }) else { return Ok(()) };
        let now = accepted.changed.map_or(before.clone(), |now| now.0.items);
        prop_assert_eq!(now.len(), before.len());
        for (now, then) in now.iter().zip(before.iter()) {
            prop_assert_eq!(&now.id, &then.id);
            prop_assert_eq!(now.kind(), then.kind());
            prop_assert!(now.images().iter().all(|image| then.images().contains(image)));
            if matches!(now.kind().as_str(), "system" | "reasoning" | "tool_call") {
                prop_assert!(Arc::ptr_eq(now, then));
            }
        }
    }
}
