//! Ids: a session's own, and those of what it holds.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

use crate::model::item::{CallId, ItemId, ResponseId};

/// A session id for a moment in time: sortable, short, and different for two sessions of one second
/// (`20261201-142530-k3f9`, UTC).
pub fn session(at: Timestamp, random: u32) -> String {
    let stamp = at.strftime("%Y%m%d-%H%M%S").to_string();
    format!("{stamp}-{}", base36(u64::from(random) % 36_u64.pow(4), 4))
}

/// Gives out the ids of one session, each once. Shared by reference; never blocks.
#[derive(Debug)]
pub struct Ids {
    item: AtomicU64,
    call: AtomicU64,
    response: AtomicU64,
    commit: AtomicU64,
}

/// The numbers that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counters {
    pub item: u64,
    pub call: u64,
    pub response: u64,
    pub commit: u64,
    pub turn: u64,
    pub logical_turn: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { item: 1, call: 1, response: 1, commit: 1, turn: 1, logical_turn: 1 }
    }
}

impl Counters {
    /// Steps over an item's id.
    pub(crate) fn saw_item(&mut self, id: &ItemId) {
        raise(&mut self.item, id.as_str().strip_prefix('i').and_then(|number| number.parse().ok()));
    }
    /// Steps over a call's id.
    pub(crate) fn saw_call(&mut self, id: &CallId) {
        let number = id.as_str().strip_prefix('c').filter(|number| number.len() == 8);
        raise(&mut self.call, number.and_then(|number| u64::from_str_radix(number, 36).ok()));
    }
    /// Steps over a response's id.
    pub(crate) fn saw_response(&mut self, id: &ResponseId) {
        raise(&mut self.response, id.as_str().strip_prefix('r').and_then(|number| number.parse().ok()));
    }
    /// Steps over a turn.
    pub(crate) fn saw_turn(&mut self, turn: u64, logical_turn: u64) {
        raise(&mut self.turn, Some(turn));
        raise(&mut self.logical_turn, Some(logical_turn));
    }
    /// Steps over a commit.
    pub(crate) fn saw_commit(&mut self, id: u64) {
        raise(&mut self.commit, Some(id));
    }
}

fn raise(next: &mut u64, seen: Option<u64>) {
    if let Some(seen) = seen {
        *next = (*next).max(seen.saturating_add(1));
    }
}

impl Ids {
    /// Goes on from there.
    pub fn new(next: Counters) -> Self {
        Self {
            item: AtomicU64::new(next.item),
            call: AtomicU64::new(next.call),
            response: AtomicU64::new(next.response),
            commit: AtomicU64::new(next.commit),
        }
    }
    /// Whether an item id is of the form that a session gives out itself.
    pub fn gives(id: &ItemId) -> bool {
        id.as_str().strip_prefix('i').is_some_and(|number| number.parse::<u64>().is_ok())
    }
    /// The next item id (`i1`, `i2`, …).
    pub fn item(&self) -> ItemId {
        ItemId::new(format!("i{}", take(&self.item)))
    }
    /// The next call id: `c` and eight digits or small letters.
    pub fn call(&self) -> CallId {
        CallId::new(format!("c{}", base36(take(&self.call), 8)))
    }
    /// The next response id (`r1`, …).
    pub fn response(&self) -> ResponseId {
        ResponseId::new(format!("r{}", take(&self.response)))
    }
    /// The next commit number.
    pub(crate) fn commit(&self) -> u64 {
        take(&self.commit)
    }
}

fn take(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::Relaxed)
}

fn base36(mut number: u64, width: usize) -> String {
    let mut digits = Vec::with_capacity(width);
    while number > 0 || digits.len() < width {
        digits.push(char::from_digit(u32::try_from(number % 36).unwrap_or_default(), 36).unwrap_or('0'));
        number /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_sorts_by_time_and_has_four_random_places() {
        let early = session("2026-12-01T14:25:30Z".parse().unwrap(), 7);
        let late = session("2026-12-01T14:25:31Z".parse().unwrap(), 3);
        assert_eq!(early, "20261201-142530-0007");
        assert!(early < late);
        assert_eq!(session(Timestamp::UNIX_EPOCH, u32::MAX).len(), early.len());
    }

    #[test]
    fn ids_go_on_after_those_a_file_has() {
        let mut next = Counters::default();
        let ids = Ids::new(next);
        next.saw_item(&ItemId::new("i41"));
        next.saw_call(&ids.call());
        next.saw_item(&ItemId::new("foreign"));
        let ids = Ids::new(next);
        assert_eq!(ids.item().as_str(), "i42");
        assert_eq!(ids.call().as_str(), "c00000002");
        assert_eq!(ids.call().as_str().len(), 9);
    }
}
