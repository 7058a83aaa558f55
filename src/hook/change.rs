//! What a handler changed, as a diff for the trace. Worked out only while a trace is kept, and bounded.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use similar::TextDiff;

use crate::hook::item::item_value;
use crate::hook::moment::Offer;
use crate::model::item::{Item, Items};
use std::sync::Arc;

/// Most bytes of a diff.
const LIMIT: usize = 16 * 1024;

/// Most bytes of either side that are compared.
const SIDE: usize = 256 * 1024;

/// Longest time a comparison takes before it settles for a coarser diff.
const PATIENCE: Duration = Duration::from_millis(50);

/// The difference between what handlers see before and after; none when they would see the same.
pub(crate) fn change(before: &Offer, after: &Offer) -> Option<String> {
    let (mut old, mut new) = (Side::default(), Side::default());
    for (was, is) in before.arguments.iter().zip(&after.arguments) {
        if was != is {
            old.value(was);
            new.value(is);
        }
    }
    if let (Some(was), Some(is)) = (&before.list, &after.list) {
        items(&was.items, &is.items, &mut old, &mut new);
    }
    let diff = TextDiff::configure()
        .deadline(std::time::Instant::now() + PATIENCE)
        .diff_lines(old.0.as_str(), new.0.as_str())
        .unified_diff()
        .context_radius(1)
        .to_string();
    (!diff.is_empty()).then(|| cut(diff))
}

#[derive(Default)]
struct Side(String);

impl Side {
    fn value(&mut self, value: &Value) {
        if self.0.len() < SIDE {
            let _ = writeln!(self.0, "{value:#}");
        }
    }
    fn item(&mut self, item: &Item, shared: bool) {
        match shared {
            true => {
                let _ = writeln!(self.0, "item {}", item.id);
            }
            false => self.value(&item_value(item)),
        }
    }
    fn full(&self) -> bool {
        self.0.len() >= SIDE
    }
}

/// Writes what lies between the items both lists begin and end with.
fn items(was: &Items, is: &Items, old: &mut Side, new: &mut Side) {
    let same = |(a, b): &(&Arc<Item>, &Arc<Item>)| Arc::ptr_eq(a, b);
    let head = was.iter().zip(is.iter()).take_while(same).count();
    let rest = was.len().min(is.len()) - head;
    let tail = was.iter().rev().zip(is.iter().rev()).take(rest).take_while(same).count();
    let middle = |list: &Items| list.iter().skip(head).take(list.len() - head - tail).cloned().collect();
    let (was, is): (Vec<Arc<Item>>, Vec<Arc<Item>>) = (middle(was), middle(is));
    let kept: std::collections::HashSet<_> = was.iter().map(Arc::as_ptr).collect();
    let now: std::collections::HashSet<_> = is.iter().map(Arc::as_ptr).collect();
    for (items, others, side) in [(&was, &now, old), (&is, &kept, new)] {
        for item in items {
            side.item(item, others.contains(&Arc::as_ptr(item)));
            if side.full() {
                break;
            }
        }
    }
}

fn cut(mut diff: String) -> String {
    const MARK: &str = "… cut at 16 KiB\n";
    if diff.len() > LIMIT {
        let mut end = LIMIT - MARK.len();
        while !diff.is_char_boundary(end) {
            end -= 1;
        }
        diff.truncate(end);
        diff.push_str(MARK);
    }
    diff
}
