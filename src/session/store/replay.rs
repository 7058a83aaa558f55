//! The conversation as the records build it up: live system item, items, what compactions and repairs did to them.
//! Loading and rebuilding a request go through this one place, so that they cannot differ.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::item::{Body, Item, ItemId};
use crate::session::store::record::{Compaction, Entry, Record, Span, System};

/// The conversation at one point of the file.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// The live system item and the hash of its text.
    pub(crate) system: Option<(Arc<Item>, Arc<str>)>,
    /// Every system text of the file so far, by hash.
    pub(crate) systems: HashMap<Arc<str>, Arc<str>>,
    /// The items since the last compaction, its summary included, without the system item.
    pub(crate) items: Vec<Arc<Item>>,
}

impl Replay {
    /// Applies one record; those that do not touch the conversation change nothing.
    /// Returns what was wrong with it, in words.
    pub(crate) fn apply(&mut self, record: &Record) -> Option<String> {
        match record {
            Record::Item(entry) if entry.runtime.is_none() => {
                self.add(entry);
                None
            }
            Record::System(system) => self.set_system(system),
            Record::Compaction(compaction) => self.compact(compaction),
            _ => None,
        }
    }

    /// The place of an item.
    pub(crate) fn position(&self, id: &ItemId) -> Option<usize> {
        self.items.iter().rposition(|item| item.id == *id)
    }

    /// The items of a span; none when an end of it is not there.
    pub(crate) fn span(&self, span: &Span) -> Option<&[Arc<Item>]> {
        self.items.get(self.position(&span.from)?..=self.position(&span.to)?)
    }

    fn add(&mut self, entry: &Entry) {
        let place = entry.after.as_ref().and_then(|after| self.position(after));
        match place {
            Some(index) => self.items.insert(index + 1, entry.item.clone()),
            None => self.items.push(entry.item.clone()),
        }
    }

    fn set_system(&mut self, system: &System) -> Option<String> {
        if let Some(text) = &system.text {
            self.systems.insert(system.hash.clone(), text.clone());
        }
        let Some(text) = self.systems.get(&system.hash).cloned() else {
            return Some(format!("the system text {} is not in the file", system.hash));
        };
        let item = Item::new(system.id.clone(), Body::System { text });
        self.system = Some((Arc::new(item), system.hash.clone()));
        None
    }

    fn compact(&mut self, compaction: &Compaction) -> Option<String> {
        if !compaction.replaced.is_empty() {
            let new: HashMap<&ItemId, &Arc<Item>> =
                compaction.replaced.iter().map(|item| (&item.id, item)).collect();
            for item in &mut self.items {
                if let Some(shorter) = new.get(&item.id) {
                    *item = Arc::clone(shorter);
                }
            }
        }
        let span = compaction.span.as_ref()?;
        let ends = self.position(&span.from).zip(self.position(&span.to)).filter(|(from, to)| from <= to);
        let Some((from, to)) = ends else {
            return Some(format!(
                "a compaction stands for items {} to {}, which are not there",
                span.from, span.to
            ));
        };
        self.items.splice(from..=to, compaction.summary.clone());
        None
    }
}
