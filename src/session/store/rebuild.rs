//! Any request of a session again, from the record of its step: what the transcript was, what was changed in it,
//! which system text, catalog and schema went with it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::model::item::{Body, Item, ItemId};
use crate::model::port::ImageSource;
use crate::model::request::{Request, ToolSpec};
use crate::session::store::error::StoreError;
use crate::session::store::read::{self, Next};
use crate::session::store::record::{Change, Record, Step};
use crate::session::store::replay::Replay;

/// A request as it was sent, and the record it comes from.
pub struct Rebuilt {
    /// The request.
    pub request: Request,
    /// The record.
    pub step: Step,
}

/// Rebuilds the request of a step. `images` is where image bytes come from.
pub fn request(
    path: &Path,
    turn: u64,
    step: u64,
    images: Arc<dyn ImageSource>,
) -> Result<Rebuilt, StoreError> {
    let mut seen = Seen::default();
    let mut found = None;
    read::records(path, |_, stamped| {
        seen.take(&stamped.record);
        match stamped.record {
            Record::Step(record) if (record.turn, record.step) == (turn, step) => {
                found = Some(record);
                Ok::<_, StoreError>(Next::Stop)
            }
            _ => Ok(Next::More),
        }
    })?;
    let record = found.ok_or_else(|| {
        StoreError::Missing(format!("{} has no step {step} of turn {turn}", path.display()))
    })?;
    seen.rebuild(*record, images)
}

/// What the file said up to a step.
#[derive(Default)]
struct Seen {
    replay: Replay,
    catalogs: HashMap<Arc<str>, Arc<[ToolSpec]>>,
    schemas: HashMap<Arc<str>, Arc<Value>>,
}

impl Seen {
    fn take(&mut self, record: &Record) {
        // What is wrong with the file is reported where it is loaded.
        let _ = self.replay.apply(record);
        match record {
            Record::Catalog(catalog) => {
                self.catalogs.insert(catalog.hash.clone(), catalog.tools.clone());
            }
            Record::Schema(schema) => {
                self.schemas.insert(schema.hash.clone(), schema.schema.clone());
            }
            _ => {}
        }
    }

    fn rebuild(self, step: Step, images: Arc<dyn ImageSource>) -> Result<Rebuilt, StoreError> {
        let mut items = Vec::new();
        items.extend(self.system(&step)?);
        if let Some(span) = &step.items {
            let missing = || gone("items", &format!("{} to {}", span.from, span.to));
            items.extend_from_slice(self.replay.span(span).ok_or_else(missing)?);
        }
        change(&mut items, &step.changes)?;
        let tools = match &step.catalog {
            None => Arc::default(),
            Some(hash) => self.catalogs.get(hash).cloned().ok_or_else(|| gone("catalog", hash))?,
        };
        let output_schema = match &step.schema {
            None => None,
            Some(hash) => Some(self.schemas.get(hash).cloned().ok_or_else(|| gone("output schema", hash))?),
        };
        let request = Request {
            purpose: step.purpose,
            runtime: step.runtime.clone(),
            items: Arc::new(items),
            tools,
            tool_choice: step.tool_choice.clone(),
            sampling: step.sampling.clone(),
            output_schema,
            stream: step.stream,
            accepts_images: step.accepts_images,
            images,
        };
        Ok(Rebuilt { request, step })
    }

    fn system(&self, step: &Step) -> Result<Option<Arc<Item>>, StoreError> {
        let Some(hash) = &step.system else { return Ok(None) };
        let live = self.replay.system.as_ref();
        if let Some((item, _)) = live.filter(|(_, live)| live == hash) {
            return Ok(Some(item.clone()));
        }
        let text = self.replay.systems.get(hash).cloned().ok_or_else(|| gone("system text", hash))?;
        let id = live.map_or_else(|| ItemId::new("i0"), |(item, _)| item.id.clone());
        Ok(Some(Arc::new(Item::new(id, Body::System { text }))))
    }
}

/// Applies the changes of one request, in their order.
pub(crate) fn change(items: &mut Vec<Arc<Item>>, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        match change {
            Change::Replace { id, item } => {
                let place = place(items, id)?;
                items.splice(place..=place, [item.clone()]);
            }
            Change::Remove { id } => {
                let place = place(items, id)?;
                items.remove(place);
            }
            Change::Insert { after: None, item } => items.insert(0, item.clone()),
            Change::Insert { after: Some(id), item } => {
                let place = place(items, id)? + 1;
                items.insert(place, item.clone());
            }
        }
    }
    Ok(())
}

fn place(items: &[Arc<Item>], id: &ItemId) -> Result<usize, StoreError> {
    let found = items.iter().position(|item| item.id == *id);
    found.ok_or_else(|| gone("changed item", id.as_str()))
}

fn gone(what: &str, which: &str) -> StoreError {
    StoreError::Missing(format!(
        "the request cannot be rebuilt: the session file does not have its {what} {which}"
    ))
}
