//! What the trace says of a handler call.

use crystal::hook::context::Outcome;
use crystal::hook::model::{Outbound, TransformModel};
use crystal::hook::moment::{Edit, Reply};
use crystal::hook::table::List;
use crystal::hook::turn::{Input, TurnStart};
use crystal::model::request::Purpose;
use serde_json::json;

use super::script::{Script, Stage, conversation, held};

fn request() -> TransformModel {
    TransformModel(Outbound {
        purpose: Purpose::Work,
        runtime: "crystal/main".into(),
        items: conversation(),
        held: held(true),
    })
}

fn rewriting(text: &str) -> Stage {
    let edits = vec![Edit::SetText { at: 3, text: text.into() }];
    Stage::new([Script::new("acme").on("transform_model", move |_| Ok(Reply::edits(edits.clone())))])
}

#[tokio::test]
async fn a_change_is_recorded_as_a_diff_of_what_changed() {
    let stage = rewriting("I looked.");
    let _ = stage.fire(request()).await;
    let record = stage.records().pop().expect("a record");
    assert_eq!(
        (record.event, record.list, record.outcome),
        ("transform_model", List::Hook, Outcome::Changed)
    );
    let change = record.change.expect("a change");
    assert!(
        change.contains("-  \"text\": \"I look.\"") && change.contains("+  \"text\": \"I looked.\""),
        "{change}"
    );
    assert!(!change.contains("Be brief"), "{change}");
}

#[tokio::test]
async fn a_diff_is_at_most_sixteen_kibibytes() {
    let stage = rewriting(&"é long\n".repeat(20_000));
    let _ = stage.fire(request()).await;
    let change = stage.records().pop().unwrap().change.expect("a change");
    assert!(change.len() <= 16 * 1024 && change.ends_with("cut at 16 KiB\n"), "{} bytes", change.len());
}

#[tokio::test]
async fn a_concealed_runtime_shows_nothing_of_its_texts() {
    let mut stage = rewriting("I looked.");
    stage.cx.runtime.as_mut().unwrap().concealed = true;
    let _ = stage.fire(request()).await;
    let record = stage.records().pop().unwrap();
    assert_eq!((record.outcome, record.change), (Outcome::Changed, None));
}

#[tokio::test]
async fn an_abort_is_recorded_with_its_reason() {
    let stage = Stage::new([
        Script::new("acme").gives("TurnStart", json!({ "action": "abort", "reason": "not on Sundays" }))
    ]);
    let _ = stage.fire(TurnStart { input: Input::default(), active_runtimes: vec![] }).await;
    let record = stage.records().pop().unwrap();
    assert_eq!((record.outcome, record.reason.as_deref()), (Outcome::Aborted, Some("not on Sundays")));
}
