//! What stands behind a moment: handlers, what they registered, and how they fail.

use std::sync::Arc;
use std::time::Duration;

use crate::hook::context::Context;
use crate::hook::moment::{Offer, Reply};
use crate::hook::table::Row;
use crate::model::port::BoxFuture;

/// The directory name that stands for the host's own handlers.
pub const HOST: &str = "crystal";

/// Deadline of a handler that names none.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// One plugin's handlers (or the host's).
pub trait Handler: Send + Sync {
    /// Whose they are.
    fn plugin(&self) -> &Plugin;
    /// What was registered, in order. It does not change while the handler lives.
    fn registrations(&self) -> &[Registration];
    /// Runs one registration, its filter first. Its own deadline counts script time; `cx.clock` must be held
    /// paused while the call waits in a queue or in a host function. `cx.cancel` asks it to end soon.
    fn call<'a>(
        &'a self,
        registration: usize,
        offer: Offer,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Reply, Fault>>;
}

/// A plugin as notes and records name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plugin {
    /// Its directory, the id everywhere but in notes; [`HOST`] for the host.
    pub dir: Arc<str>,
    /// The name that notes use.
    pub name: Arc<str>,
}

/// One handler as it was registered.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The moment.
    pub row: &'static Row,
    /// Its group; means something for events only.
    pub group: Group,
    /// Longest script time of one call.
    pub timeout: Duration,
}

/// The groups of an event's handlers, in the order they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Group {
    Pre,
    #[default]
    Normal,
    Post,
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The script raised an error; its message, with file and line where known.
    #[error("{0}")]
    Threw(String),
    /// It passed its deadline.
    #[error("it ran past its deadline")]
    TimedOut,
    /// What it returned cannot be read as a value; what and where.
    #[error("{0}")]
    Malformed(String),
    /// The turn was cancelled. Not the handler's fault.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The plugin is no longer there.
    #[error("the plugin is no longer running")]
    Gone,
}
