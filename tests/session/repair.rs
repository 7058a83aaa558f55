//! Tool calls that a kill left without a result, and results whose call is lost.

use crystal::model::item::Body;
use crystal::session::store::Store;
use crystal::session::store::load::{self, Loaded};

use crate::session::desk::{Desk, assistant, call, result, texts, turn_end, turn_start, user};

/// Each call has exactly one result, after it and before anything but calls, results and parts of its answer.
fn is_sendable(loaded: &Loaded) {
    let mut open = Vec::new();
    for item in &loaded.items {
        match &item.body {
            Body::ToolCall(call) => open.push(call.id.clone()),
            Body::ToolResult(result) => {
                let place =
                    open.iter().position(|call| *call == result.call_id).expect("a result has its call");
                open.remove(place);
            }
            Body::User { .. } => assert!(open.is_empty(), "{open:?} unanswered"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?} unanswered");
}

/// earendil-works/pi#4189
#[test]
fn a_call_that_was_interrupted_gets_a_result_that_says_so() {
    let desk = Desk::new();
    let records =
        [turn_start(1, "go"), user("i1", "go"), assistant("i2", "ok", "r1"), call("i3", "c00000001", "r1")];
    let path = desk.session(&records);
    let (store, loaded) = Store::open(&path).unwrap();
    is_sendable(&loaded);
    let Body::ToolResult(last) = &loaded.items.last().unwrap().body else { panic!("no result") };
    assert!(last.failed && last.text.contains("interrupted") && last.text.contains("unknown"));
    assert_eq!(last.wire_id(), "p-c00000001", "goes out under the provider's own id");
    assert_eq!(loaded.notices.len(), 1);
    assert_eq!(loaded.interrupted.as_ref().unwrap().start.turn, 1);
    assert_ne!(store.ids().item(), loaded.items.last().unwrap().id, "ids go on behind the repair");
    drop(store);
    let (_store, again) = Store::open(&path).unwrap();
    assert_eq!(again.items, loaded.items);
    assert_eq!(again.notices, [""; 0]);
}

#[test]
fn of_parallel_calls_only_the_unanswered_get_a_result() {
    let desk = Desk::new();
    let records = [
        turn_start(1, "go"),
        user("i1", "go"),
        call("i2", "c00000001", "r1"),
        call("i3", "c00000002", "r1"),
        call("i4", "c00000003", "r1"),
        result("i5", "c00000002", "second"),
    ];
    let (_store, loaded) = Store::open(&desk.session(&records)).unwrap();
    is_sendable(&loaded);
    assert_eq!(loaded.items.len(), 7);
    assert!(texts(&loaded).contains(&"second".to_owned()));
}

#[test]
fn a_result_lost_in_the_middle_is_replaced_in_its_place() {
    let desk = Desk::new();
    let records = [
        user("i1", "go"),
        call("i2", "c00000001", "r1"),
        assistant("i3", "done", "r2"),
        user("i4", "more"),
        assistant("i5", "yes", "r3"),
    ];
    let path = desk.session(&records);
    let (store, loaded) = Store::open(&path).unwrap();
    is_sendable(&loaded);
    assert!(texts(&loaded)[2].contains("interrupted"), "{:?}", texts(&loaded));
    drop(store);
    assert_eq!(load::read(&path).unwrap().items, loaded.items, "the place is in the file");
}

#[test]
fn a_result_without_its_call_is_left_out_and_told() {
    let desk = Desk::new();
    let (_store, loaded) =
        Store::open(&desk.session(&[user("i1", "go"), result("i2", "c00000009", "lost")])).unwrap();
    assert_eq!(texts(&loaded), ["go"]);
    assert!(loaded.notices[0].contains("left out"));
}

#[test]
fn only_a_turn_without_an_end_can_be_continued() {
    let desk = Desk::new();
    let ended = desk.session(&[turn_start(1, "a"), turn_end(1)]);
    assert!(load::read(&ended).unwrap().interrupted.is_none());
    let open = desk.session(&[turn_start(1, "a"), turn_end(1), turn_start(2, "b")]);
    let loaded = load::read(&open).unwrap();
    assert_eq!(&*loaded.interrupted.unwrap().start.text, "b");
    assert_eq!(loaded.next.turn, 3);
}
