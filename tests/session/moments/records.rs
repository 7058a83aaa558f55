//! What the session file says of each request: exactly the items that were sent.

use std::sync::Mutex;

use crystal::hook::moment::{Edit, Reply};
use serde_json::json;

use crate::hook::script::{Script, replace};
use crate::support::chat;
use crate::support::server::{self, Server};
use crate::support::session::{Live, Sent, Setup, calls, says};

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// One to five edits of a list of that length, all of which a raw hook may make.
fn edits(dice: &mut Dice, mut length: usize, fresh: &mut u64) -> Vec<Edit> {
    let mut edits = Vec::new();
    for _ in 0..=dice.below(5) {
        match dice.below(4) {
            0 if length > 0 => {
                edits.push(Edit::Remove { at: dice.below(length) });
                length -= 1;
            }
            1 => {
                *fresh += 1;
                let item =
                    json!({ "id": format!("x{fresh}"), "kind": "user", "text": format!("new {fresh}") });
                edits.push(Edit::Insert { at: dice.below(length + 1), item });
                length += 1;
            }
            2 if length > 0 => edits.push(Edit::Move { from: dice.below(length), to: dice.below(length) }),
            _ if length > 0 => {
                let item = json!({ "text": format!("changed {}", dice.below(1000)) });
                edits.push(Edit::Replace { at: dice.below(length), item });
            }
            _ => {}
        }
    }
    edits
}

fn check(live: &Live, sent: &Sent, turns: &[(u64, u64)]) {
    let sent = sent.all();
    assert_eq!(sent.len(), turns.len());
    for (items, (turn, step)) in sent.iter().zip(turns) {
        let rebuilt = live.rebuilt(*turn, *step).request.items;
        assert_eq!(*rebuilt, **items, "turn {turn} step {step}");
    }
}

fn conversation() -> Vec<server::Reply> {
    let two = [("b1", "read", json!({ "path": "a" })), ("b2", "read", json!({ "path": "gone" }))];
    vec![
        calls("read", json!({ "path": "a" })),
        server::Reply::sse(chat::calls(&two)),
        says("so it is"),
        calls("write", json!({ "path": "b", "contents": "B\n" })),
        says("done"),
    ]
}

const STEPS: &[(u64, u64)] = &[(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)];

#[tokio::test]
async fn without_handlers_that_change_anything_a_request_is_a_span_of_the_transcript() {
    let sent = Sent::default();
    let mut live =
        Setup::new(Server::start(conversation())).file("a", "A\n").script(sent.script()).open().await;
    live.say("Look").await;
    live.say("Write").await;
    check(&live, &sent, STEPS);
    for step in live.records("step") {
        assert!(step.get("changes").is_none_or(|changes| changes == &json!([])), "{step}");
    }
}

#[tokio::test]
async fn whatever_raw_hooks_do_each_request_can_be_had_again_from_the_file() {
    for seed in 0..12 {
        let state = Mutex::new((Dice(seed), 0));
        let raw = Script::new("raw").on("rebuild_model", move |offer| {
            let mut state = state.lock().unwrap();
            let (dice, fresh) = &mut *state;
            Ok(Reply::edits(edits(dice, offer.list.unwrap().items.len(), fresh)))
        });
        let sent = Sent::default();
        let setup = Setup::new(Server::start(conversation())).file("a", "A\n");
        let mut live = setup.script(raw).script(sent.script()).open().await;
        live.say("Look").await;
        live.say("Write").await;
        check(&live, &sent, STEPS);
        assert!(live.heard.notes().is_empty(), "seed {seed}: {:?}", live.heard.notes());
    }
}

#[tokio::test]
async fn a_replaced_history_and_raw_hooks_on_top_of_it_are_in_the_record_too() {
    for seed in 0..6 {
        let state = Mutex::new((Dice(seed), 0));
        let assembly = Script::new("acme").on("PostContextAssembly", move |offer| {
            let mut state = state.lock().unwrap();
            let (dice, fresh) = &mut *state;
            let edits = edits(dice, offer.list.unwrap().items.len(), fresh);
            let value = replace(json!({}));
            Ok(Reply::Given(crystal::hook::moment::Given { value, edits: Some(edits) }))
        });
        let state = Mutex::new((Dice(seed + 100), 1000));
        let raw = Script::new("raw").on("rebuild_model", move |offer| {
            let mut state = state.lock().unwrap();
            let (dice, fresh) = &mut *state;
            Ok(Reply::edits(edits(dice, offer.list.unwrap().items.len(), fresh)))
        });
        let sent = Sent::default();
        let setup = Setup::new(Server::start(conversation())).file("a", "A\n");
        let mut live = setup.script(assembly).script(raw).script(sent.script()).open().await;
        live.say("Look").await;
        live.say("Write").await;
        check(&live, &sent, STEPS);
    }
}
