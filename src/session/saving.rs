//! Records on their way to the session file, and whether a turn can go on in its place. When one cannot be written, the turn stops before anything else happens that
//! the file would not know of; the record waits in memory and goes first as soon as the file takes it, so that the file
//! has no gaps.

use std::collections::VecDeque;

use crate::session::Session;
use crate::session::store::error::StoreError;
use crate::session::store::record::Record;
use crate::session::turn::Ending;

/// What the session file does not hold yet.
#[derive(Default)]
pub(super) struct Unsaved {
    /// Records in their order.
    waiting: VecDeque<Record>,
    /// What stood in the way last; none while everything is saved.
    why: Option<String>,
}

impl Session {
    /// Appends a record behind those that wait. A failure is kept for [`Session::saved`].
    pub(super) fn save(&mut self, record: Record) {
        let Unsaved { waiting, why } = &mut self.unsaved;
        waiting.push_back(record);
        *why = None;
        while let Some(next) = waiting.front() {
            if let Err(error) = self.parts.store.append(next) {
                *why = Some(error.to_string());
                return;
            }
            waiting.pop_front();
        }
    }

    /// Takes the outcome of another write to the session file; a failure is kept for [`Session::saved`].
    pub(super) fn wrote<T>(&mut self, written: Result<T, StoreError>) -> Option<T> {
        written.map_err(|error| self.unsaved.why = Some(error.to_string())).ok()
    }

    /// Whether the file holds everything so far; if not, the turn ends here.
    pub(super) fn saved(&self) -> Result<(), Ending> {
        match &self.unsaved.why {
            None => Ok(()),
            Some(why) => Err(Ending::displaced(format!(
                "{why}; the turn stopped there, and --resume {} goes on with what was saved before",
                self.parts.id
            ))),
        }
    }

    /// Whether the workspace is where it was; if not, the turn ends here.
    pub(super) fn placed(&self) -> Result<(), Ending> {
        self.parts.fence.present().map_err(|gone| {
            Ending::displaced(format!(
                "{gone}, so the turn stopped; --resume {} goes on once it is back",
                self.parts.id
            ))
        })
    }
}
