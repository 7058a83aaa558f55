//! Moments of a compaction.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::prompt::appended;

/// Which text of a compaction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// What the model is asked.
    Prompt,
    /// What it answered, before it is stored.
    Summary,
}

/// `compaction`: handlers append to `text`.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    /// Which text.
    pub phase: Phase,
    /// The text.
    pub text: Arc<str>,
}

/// `rewrite_compaction`: handlers replace `text`.
#[derive(Clone, Debug, PartialEq)]
pub struct RewriteCompaction {
    /// Which text.
    pub phase: Phase,
    /// The text.
    pub text: Arc<str>,
}

/// `PreCompaction`: history is about to be summarised.
#[derive(Clone, Debug, PartialEq)]
pub struct PreCompaction {
    /// How many stored items could be summarised.
    pub message_count: usize,
}

/// `PostCompaction`: an attempt is over.
#[derive(Clone, Debug, PartialEq)]
pub struct PostCompaction {
    /// Whether anything was summarised.
    pub compacted: bool,
    /// The summary's item; none when nothing was.
    pub summary_id: Option<Arc<str>>,
}

impl Moment for Compaction {
    const PLACE: usize = place("compaction");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "phase": self.phase, "text": self.text })])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        Ok(appended(&self.text, &given.text()?)
            .map_or_else(Accepted::same, |text| Accepted::changed(Self { phase: self.phase, text })))
    }
}

impl Moment for RewriteCompaction {
    const PLACE: usize = place("rewrite_compaction");
    fn offer(&self) -> Offer {
        Offer::of([json!(self.phase), (*self.text).into()])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        Ok(Accepted::if_other(self, Self { phase: self.phase, text: given.text()?.into() }))
    }
}

impl Moment for PreCompaction {
    const PLACE: usize = place("PreCompaction");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "message_count": self.message_count })])
    }
}

impl Moment for PostCompaction {
    const PLACE: usize = place("PostCompaction");
    fn offer(&self) -> Offer {
        let mut payload = json!({ "compacted": self.compacted });
        if let Some(id) = &self.summary_id {
            payload["summary_id"] = (**id).into();
        }
        Offer::of([payload])
    }
}
