//! The circuit breaker: which plugins failed too often to take part in the next turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::hook::handler::Plugin;
use crate::hook::table::Row;

/// Faults in a row after which a plugin is paused.
pub const LIMIT: u32 = 3;

/// Counts each handler's faults in a row. One breaker outlives the turns; whoever puts the handlers of a turn together
/// leaves out the plugins it has paused.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    rows: HashMap<(Arc<str>, usize), u32>,
    paused: HashMap<Arc<str>, String>,
}

impl Breaker {
    /// Counts a fault of a plugin's registration.
    pub fn fault(&self, plugin: &Plugin, registration: usize, row: &Row, reason: &str) {
        let mut state = self.state();
        let count = state.rows.entry((plugin.dir.clone(), registration)).or_default();
        *count = count.saturating_add(1);
        if *count >= LIMIT {
            let count = *count;
            let why = format!("{} failed {count} times in a row, the last time because {reason}", row.name);
            state.paused.insert(plugin.dir.clone(), why);
        }
    }
    /// Ends a row of faults.
    pub fn well(&self, plugin: &Plugin, registration: usize) {
        self.state().rows.remove(&(plugin.dir.clone(), registration));
    }
    /// Why a plugin is paused; none when it is not.
    pub fn paused(&self, dir: &str) -> Option<String> {
        self.state().paused.get(dir).cloned()
    }
    /// Forgets everything: the plugins were loaded anew.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
