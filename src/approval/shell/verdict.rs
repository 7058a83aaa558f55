//! How one part is rated, and how ratings add up: the worst counts.

use crate::model::judgement::{Authority, Risk};

/// A rating with the reason that decided it. The reason is a clause that follows "which".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) risk: Risk,
    pub(super) authority: Authority,
    pub(super) reason: String,
    /// The control place it writes; none for most.
    pub(super) control: Option<String>,
}

/// How the reason begins where something cannot be told.
const UNKNOWN: &str = "could not be analysed";

impl Verdict {
    pub(super) fn new(risk: Risk, authority: Authority, reason: impl Into<String>) -> Self {
        Self { risk, authority, reason: reason.into(), control: None }
    }
    pub(super) fn read(reason: impl Into<String>) -> Self {
        Self::new(Risk::Read, Authority::Workspace, reason)
    }
    pub(super) fn write(reason: impl Into<String>) -> Self {
        Self::new(Risk::Write, Authority::Workspace, reason)
    }
    /// Wants a question in every mode.
    pub(super) fn privileged(reason: impl Into<String>) -> Self {
        Self::new(Risk::Privileged, Authority::Workspace, reason)
    }
    pub(super) fn network(reason: impl Into<String>) -> Self {
        Self::new(Risk::Write, Authority::Network, reason)
    }
    /// The worst it could be, because it cannot be told.
    pub(super) fn unknown(why: impl std::fmt::Display) -> Self {
        Self::new(Risk::Privileged, Authority::PrivilegedEscalation, format!("{UNKNOWN}: {why}"))
    }
    /// Whether it is rated so because it cannot be told.
    pub(super) fn is_unknown(&self) -> bool {
        self.reason.starts_with(UNKNOWN)
    }
    /// The same with another reach, where that is farther.
    pub(super) fn reaching(mut self, authority: Authority) -> Self {
        self.authority = self.authority.max(authority);
        self
    }
    /// Both happen: the worse of each, and the reason of the worse.
    pub(super) fn and(mut self, other: Self) -> Self {
        let control = self.control.take().or(other.control.clone());
        let reason = if (other.risk, other.authority, other.control.is_some())
            > (self.risk, self.authority, control.is_some() && other.control.is_none())
        {
            other.reason
        } else {
            self.reason
        };
        Self {
            risk: self.risk.max(other.risk),
            authority: self.authority.max(other.authority),
            reason,
            control,
        }
    }
}
