//! Accepting a reply over a long conversation touches what was edited and nothing else.

use std::sync::Arc;

use crystal::hook::model::{Outbound, RebuildModel, TransformModel};
use crystal::hook::moment::{Edit, Given, Moment};
use crystal::model::item::{Body, Items};
use crystal::model::request::Purpose;
use serde_json::{Value, json};

use super::script::{held, item};

fn long() -> Outbound {
    let items: Items = Arc::new(
        (0..10_000)
            .map(|n| item(&format!("i{n}"), Body::User { text: "x".into(), images: vec![] }))
            .collect(),
    );
    Outbound { purpose: Purpose::Work, runtime: "crystal/main".into(), items, held: held(true) }
}

fn given(edits: Vec<Edit>) -> Given {
    Given { value: Value::Null, edits: Some(edits) }
}

#[test]
fn an_offer_lends_the_very_list_and_handing_it_back_costs_nothing() {
    let request = long();
    let list = TransformModel(request.clone()).offer().list.unwrap();
    assert!(Arc::ptr_eq(&list.items, &request.items));
    assert!(TransformModel(request.clone()).accept(given(vec![])).unwrap().changed.is_none());
    assert!(RebuildModel(request).accept(given(vec![])).unwrap().changed.is_none());
}

#[test]
fn a_transform_of_one_item_shares_all_the_others() {
    let request = long();
    let edits = given(vec![Edit::SetText { at: 5_000, text: "y".into() }]);
    let now = TransformModel(request.clone()).accept(edits).unwrap().changed.unwrap().0.items;
    let apart = now.iter().zip(request.items.iter()).filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
    assert_eq!((apart, now.len()), (1, 10_000));
}

#[test]
fn a_rebuild_that_moves_drops_and_adds_shares_all_the_others() {
    let request = long();
    let edits = given(vec![
        Edit::Remove { at: 0 },
        Edit::Insert { at: 10, item: json!({ "id": "n", "kind": "assistant", "text": "y" }) },
        Edit::Move { from: 9_999, to: 0 },
    ]);
    let now = RebuildModel(request.clone()).accept(edits).unwrap().changed.unwrap().0.items;
    let old: std::collections::HashSet<_> = request.items.iter().map(Arc::as_ptr).collect();
    let new: Vec<_> = now.iter().filter(|item| !old.contains(&Arc::as_ptr(item))).collect();
    assert_eq!((new.len(), now.len()), (1, 10_000));
    assert!(Arc::ptr_eq(&now[0], &request.items[9_999]));
}
