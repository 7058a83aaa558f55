//! Moments of a session's beginning and end. Nothing in them can be changed.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::hook::moment::{Moment, Offer, place};
use crate::model::judgement::Approval;

/// What session hooks are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// The workspace root.
    pub workspace: Arc<str>,
    /// The session's id.
    pub id: Arc<str>,
    /// The approval mode.
    pub approval: Approval,
    /// The session's language.
    pub locale: Arc<str>,
}

/// `session_started`: the plugins have loaded, or another session became active.
#[derive(Clone, Debug)]
pub struct SessionStarted(pub Session);

/// `session_ended`: the session is being left.
#[derive(Clone, Debug)]
pub struct SessionEnded(pub Session);

/// `SessionStart`: a new session was stored.
#[derive(Clone, Debug)]
pub struct SessionStart {
    /// The session's id.
    pub session: Arc<str>,
}

/// `SessionEnd`: a session was ended or deleted.
#[derive(Clone, Debug)]
pub struct SessionEnd {
    /// The session's id.
    pub session: Arc<str>,
    /// Which of the two.
    pub reason: EndReason,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum EndReason {
    Ended,
    Deleted,
}

impl Moment for SessionStarted {
    const PLACE: usize = place("session_started");
    fn offer(&self) -> Offer {
        Offer::of([json!(self.0)])
    }
}

impl Moment for SessionEnded {
    const PLACE: usize = place("session_ended");
    fn offer(&self) -> Offer {
        Offer::of([json!(self.0)])
    }
}

impl Moment for SessionStart {
    const PLACE: usize = place("SessionStart");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "session": self.session })])
    }
}

impl Moment for SessionEnd {
    const PLACE: usize = place("SessionEnd");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "session": self.session, "reason": self.reason })])
    }
}
