//! What opening for writing puts right: a last line without its newline, and tool calls without a result.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::model::item::{Body, CallId, Item, ToolCall, ToolResult};
use crate::session::store::Store;
use crate::session::store::error::StoreError;
use crate::session::store::load::{Loaded, Tail};
use crate::session::store::record::{Entry, Record, Repair};

/// What the model reads for a call that was cut off.
pub(super) const INTERRUPTED: &str = "This call was interrupted before its result was recorded. Whether it had effects is \
                               unknown: look at what is there before repeating it.";

/// Cuts a torn last line off, its bytes moved to `<id>.torn`, and returns the length of what is left.
pub(super) fn tail(file: &File, path: &Path, tail: &Tail, loaded: &mut Loaded) -> Result<u64, StoreError> {
    let len = file.metadata().map_err(|error| StoreError::io("look at", path, error))?.len();
    let Tail::Torn(start) = *tail else { return Ok(len) };
    let mut torn = vec![0_u8; usize::try_from(len.saturating_sub(start)).unwrap_or_default()];
    file.read_exact_at(&mut torn, start).map_err(|error| StoreError::io("read", path, error))?;
    let aside = path.with_extension("torn");
    let kept = OpenOptions::new().append(true).create(true).mode(0o600).open(&aside);
    kept.and_then(|mut aside| aside.write_all(&torn).and_then(|()| aside.write_all(b"\n")))
        .map_err(|error| StoreError::io("move a torn line to", &aside, error))?;
    file.set_len(start).map_err(|error| StoreError::io("cut the torn end of", path, error))?;
    loaded.notices.push(format!(
        "the last line of the session file was torn ({} bytes): it was moved to {}, and everything before it is there",
        torn.len(),
        aside.display()
    ));
    Ok(start)
}

/// Gives every call without a result one that says so, right behind the call's batch, in the file and in memory.
pub(super) fn calls(store: &Store, loaded: &mut Loaded) -> Result<(), StoreError> {
    let open = unanswered(&loaded.items);
    if open.is_empty() {
        return Ok(());
    }
    let mut answered = Vec::new();
    for call in open {
        let place = batch_end(&loaded.items, &call.id);
        let last = place.is_none_or(|place| place + 1 == loaded.items.len());
        let after =
            place.filter(|_| !last).and_then(|place| loaded.items.get(place)).map(|item| item.id.clone());
        let item = Arc::new(result(store, &call));
        let turn = loaded.turns.last().map_or(0, |turn| turn.turn);
        store.append(&Record::Item(Entry { turn, runtime: None, after, item: item.clone() }))?;
        loaded.next.saw_item(&item.id);
        loaded.items.insert(place.map_or(loaded.items.len(), |place| place + 1), item);
        answered.push(call.id);
    }
    let what = match answered.len() {
        1 => "a tool call had no result: it got one that says it was interrupted".to_owned(),
        many => format!("{many} tool calls had no result: each got one that says it was interrupted"),
    };
    loaded.notices.push(what.clone());
    store.append(&Record::Repair(Repair { what, calls: answered }))
}

/// The calls that no result answers, in order.
fn unanswered(items: &[Arc<Item>]) -> Vec<ToolCall> {
    let answered: HashSet<&CallId> = items
        .iter()
        .filter_map(|item| match &item.body {
            Body::ToolResult(result) => Some(&result.call_id),
            _ => None,
        })
        .collect();
    let calls = items.iter().filter_map(|item| match &item.body {
        Body::ToolCall(call) if !answered.contains(&call.id) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

/// The last place of the answer that a call came in and of the results behind it.
fn batch_end(items: &[Arc<Item>], call: &CallId) -> Option<usize> {
    let is_call = |item: &Arc<Item>| matches!(&item.body, Body::ToolCall(found) if found.id == *call);
    let start = items.iter().position(is_call)?;
    let response = items.get(start)?.origin.as_ref().map(|origin| &origin.response);
    let belongs = |item: &Arc<Item>| match &item.body {
        Body::ToolResult(_) => true,
        Body::ToolCall(_) | Body::Assistant { .. } | Body::Reasoning { .. } => {
            item.origin.as_ref().map(|origin| &origin.response) == response
        }
        _ => false,
    };
    let more = items.iter().skip(start + 1).take_while(|item| belongs(item)).count();
    Some(start + more)
}

fn result(store: &Store, call: &ToolCall) -> Item {
    let body = ToolResult {
        call_id: call.id.clone(),
        provider_id: call.provider_id.clone(),
        name: call.name.clone(),
        text: INTERRUPTED.into(),
        images: Vec::new(),
        failed: true,
    };
    Item::new(store.ids().item(), Body::ToolResult(body))
}
