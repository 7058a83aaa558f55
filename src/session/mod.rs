//! A session: one conversation in one workspace, its turns, its file and its writes.
//!
//! `turn` is the loop. Everything a turn needs is in [`parts::Parts`], made by `app`; nothing here knows a terminal,
//! a settings file or a script.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::approval::decide::Trust;
use crate::model::item::{Image, Item};
use crate::model::port::ImageSource;
use crate::model::request::Mode;
use crate::model::response::Usage;
use crate::provider::retry::Policy;
use crate::session::catalog::Catalog;
use crate::session::clients::Clients;
use crate::session::commit::Gate;
use crate::session::moments::Notes;
use crate::session::parts::Parts;
use crate::session::saving::Unsaved;
use crate::session::store::load::{Interrupted, Loaded};
use crate::session::store::record::{Entry, Record};
use crate::session::transcript::Transcript;
use crate::tool::schema::Schemas;

mod batch;
pub mod blob;
pub mod budget;
mod call;
mod catalog;
pub mod clients;
pub mod commit;
mod moments;
mod outbound;
pub mod parts;
pub mod prompt;
pub mod report;
mod runtime;
mod saving;
pub mod schema;
mod step;
pub mod store;
pub mod transcript;
pub mod turn;
pub mod warden;

/// A session that turns run in.
pub struct Session {
    parts: Parts,
    transcript: Transcript,
    mode: Mode,
    clients: Clients,
    policy: Policy,
    schemas: Schemas,
    catalog: Catalog,
    notes: Arc<Notes>,
    /// Turns so far, those of an earlier process included.
    turns: u64,
    /// Operator inputs so far.
    inputs: u64,
    /// The turn that had no end when the session was opened.
    interrupted: Option<Interrupted>,
    usage: Usage,
    unsaved: Unsaved,
}

/// Where a session starts: new, or from what its file holds.
#[derive(Default)]
pub struct Start {
    /// The conversation.
    pub transcript: Transcript,
    /// Turns so far.
    pub turns: u64,
    /// Operator inputs so far.
    pub inputs: u64,
    /// The turn that had no end.
    pub interrupted: Option<Interrupted>,
    /// What was spent so far.
    pub usage: Usage,
}

impl Start {
    /// Where a session file left off.
    pub fn of(loaded: Loaded) -> Self {
        let mut usage = Usage::default();
        for spent in &loaded.spent {
            usage.add(&spent.usage);
        }
        Self {
            turns: loaded.next.turn.saturating_sub(1),
            inputs: loaded.next.logical_turn.saturating_sub(1),
            interrupted: loaded.interrupted,
            usage,
            transcript: Transcript::resume(loaded.items, loaded.provider_ids),
        }
    }
}

impl Session {
    /// A session over `parts`, in that mode.
    pub fn new(parts: Parts, clients: Clients, mode: Mode, start: Start) -> Self {
        let catalog = Catalog::of(&parts.tools, mode);
        let policy = Policy { attempts: parts.endpoint.attempts, ..Policy::default() };
        let notes = Notes { report: Arc::clone(&parts.report), store: Arc::clone(&parts.store) };
        Self {
            parts,
            transcript: start.transcript,
            mode,
            clients,
            notes: Arc::new(notes),
            policy,
            schemas: Schemas::default(),
            catalog,
            turns: start.turns,
            inputs: start.inputs,
            interrupted: start.interrupted,
            usage: start.usage,
            unsaved: Unsaved::default(),
        }
    }
    /// Its id.
    pub fn id(&self) -> Arc<str> {
        Arc::clone(&self.parts.id)
    }
    /// What the first line of a JSON trace says of it.
    pub fn facts(&self) -> Value {
        json!({
            "workspace": self.parts.workspace.display().to_string(),
            "provider": &*self.parts.endpoint.provider,
            "protocol": &*self.parts.endpoint.protocol,
            "model": &*self.parts.endpoint.model.name,
            "mode": self.mode.as_str(),
            "approval": self.parts.options.approval.as_str(),
            "trusted": self.parts.options.trust == Trust::Trusted,
            "resumed": self.turns > 0,
        })
    }
    /// The commit gate, for whoever writes on behalf of a handler.
    pub fn gate(&self) -> Gate {
        self.parts.gate.clone()
    }
    /// Everything spent, earlier turns included.
    pub fn usage(&self) -> Usage {
        self.usage
    }
    /// What tokens cost at this model's prices, in US dollars; none where no price is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let price = self.parts.endpoint.model.price?;
        let cached = usage.cached.unwrap_or(0).min(usage.input.unwrap_or(0));
        let fresh = usage.input.unwrap_or(0) - cached;
        // Token counts are far below the integers that a float holds exactly.
        let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        let cached_price = price.cached_input.unwrap_or(price.input);
        Some(
            dollars(fresh, price.input)
                + dollars(cached, cached_price)
                + dollars(usage.output.unwrap_or(0), price.output),
        )
    }

    /// The size of the conversation in tokens, where the provider does not count: about four bytes a token.
    fn estimate(&self) -> u64 {
        let bytes: usize =
            self.transcript.items().iter().filter_map(|item| item.text()).map(|text| text.len()).sum();
        u64::try_from(bytes / 4).unwrap_or(u64::MAX)
    }

    fn images(&self) -> Arc<dyn ImageSource> {
        Arc::clone(&self.parts.blobs) as Arc<dyn ImageSource>
    }

    /// Adds a user item to the conversation and the file.
    fn add_user(&mut self, turn: u64, text: Arc<str>, images: Vec<Image>) {
        let item = self.transcript.user(self.parts.store.ids(), text, images);
        self.store_item(turn, &item);
    }

    fn store_item(&mut self, turn: u64, item: &Arc<Item>) {
        self.save(Record::Item(Entry::new(turn, Arc::clone(item))));
    }
}
