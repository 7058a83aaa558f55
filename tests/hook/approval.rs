//! Ordinary handlers only ever make a judgement stricter; raw ones set it.

use crystal::hook::approval::{Approval, Judgement, RewriteApproval};
use crystal::hook::moment::{Given, Moment};
use crystal::model::judgement::{self, Authority, Classification, Risk};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::script::{Script, Stage, answer, call};

fn judgement() -> Judgement {
    Judgement {
        call: call("bash", r#"{"command":"make"}"#),
        facts: Classification {
            risk: Risk::Write,
            authority: Authority::Workspace,
            summary: "run make".into(),
        },
        mode: judgement::Approval::Edit,
        require_prompt: false,
        reason: None,
    }
}

#[tokio::test]
async fn approval_is_shown_the_call_and_the_facts_and_raises() {
    assert_eq!(
        Approval(judgement()).offer().arguments,
        [
            json!({ "id": "call00001", "name": "bash", "arguments": { "command": "make" } }),
            json!({ "risk": "write", "authority": "workspace", "summary": "run make", "approval": "edit" }),
        ]
    );
    let stage = Stage::new([
        Script::new("a").gives("approval", json!({ "risk": "privileged", "reason": "it is Friday" })),
        Script::new("b").gives("approval", json!({ "require_prompt": true })),
        Script::new("c").gives("approval", json!({ "require_prompt": false })),
    ]);
    let now = stage.fire(Approval(judgement())).await.payload.0;
    assert_eq!(now.facts.risk, Risk::Privileged);
    assert!(now.require_prompt, "a later handler cannot take it back");
    assert_eq!(now.reason.as_deref(), Some("it is Friday"));
    let facts = &Approval(now).offer().arguments[1];
    assert_eq!((&facts["require_prompt"], &facts["reason"]), (&json!(true), &json!("it is Friday")));
}

#[tokio::test]
async fn advice_that_lowers_or_makes_no_sense_is_skipped_with_a_note() {
    for advice in [
        json!({ "risk": "read", "require_prompt": true }),
        json!({ "risk": "none" }),
        json!({ "require_prompt": "yes" }),
        json!(true),
    ] {
        let (fired, notes) = answer(Approval(judgement()), advice).await;
        assert_eq!(fired.payload.0, judgement());
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
    // What advice has no say in does not count.
    let (fired, _) =
        answer(Approval(judgement()), json!({ "authority": "network", "summary": "", "pass": true })).await;
    assert_eq!(fired.payload.0, judgement());
}

#[tokio::test]
async fn rewrite_approval_sets_what_it_names() {
    let strict = RewriteApproval(Judgement { require_prompt: true, ..judgement() });
    assert_eq!(strict.offer().arguments[2], true);
    let reply = json!({ "risk": "read", "authority": "network", "summary": "look", "require_prompt": false });
    let (fired, _) = answer(strict.clone(), reply).await;
    let facts = Classification { risk: Risk::Read, authority: Authority::Network, summary: "look".into() };
    assert_eq!((fired.payload.0.facts, fired.payload.0.require_prompt), (facts, false));
    let (fired, notes) = answer(strict.clone(), json!({ "authority": "moon" })).await;
    assert_eq!(fired.payload, strict);
    assert!(notes[0].contains("`moon`"), "{notes:?}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just(json!("read")),
        Just(json!("write")),
        Just(json!("privileged")),
        Just(json!("forbidden")),
        Just(json!("network")),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!(null)),
        Just(json!(0)),
    ];
    let field = prop_oneof![
        Just("risk"),
        Just("require_prompt"),
        Just("reason"),
        Just("authority"),
        Just("summary"),
        Just("pass")
    ];
    prop::collection::hash_map(field, word, 0..5)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

proptest! {
    #[test]
    fn no_row_of_ordinary_handlers_weakens_a_judgement(replies in prop::collection::vec(any_json(), 0..5)) {
        let host = judgement();
        let mut now = Approval(host.clone());
        for value in replies {
            if let Ok(accepted) = now.accept(Given { value, edits: None }) {
                now = accepted.changed.unwrap_or(now);
            }
        }
        prop_assert!(now.0.facts.risk >= host.facts.risk);
        prop_assert!(now.0.require_prompt >= host.require_prompt);
        prop_assert_eq!(now.0.facts.authority, host.facts.authority);
        prop_assert_eq!(now.0.facts.summary, host.facts.summary);
        prop_assert_eq!(now.0.call, host.call);
    }
}
