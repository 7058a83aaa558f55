//! The transcript as Rhai reads it: `items.len()`, `items[0]`, `for item in items`; and the answer in progress.

use std::rc::Rc;

use rhai::{Dynamic, Engine, EvalAltResult, Position};

use crate::plugin::rhai::convert;
use crate::plugin::rhai::errors::raise;
use crate::plugin::vm::lend::{Emitter, Transcript};
use crate::plugin::vm::memory;

type Raised = Box<EvalAltResult>;

/// A lent transcript; positions count from 0, and from the end below 0.
#[derive(Clone)]
pub(super) struct Items(pub(super) Rc<Transcript>);

/// The answer in progress.
#[derive(Clone)]
pub(super) struct Emit(pub(super) Rc<Emitter>);

pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Items>("Items").register_type_with_name::<Emit>("Emit");
    engine.register_fn("len", length);
    engine.register_get("len", length);
    engine.register_indexer_get(item);
    engine.register_iterator_result::<Items, Dynamic>();
    engine.register_type_with_name::<convert::Exact>("Integer");
    engine.register_fn("to_string", |exact: &mut convert::Exact| exact.0.to_string());
}

impl IntoIterator for Items {
    type Item = Result<Dynamic, Raised>;
    type IntoIter = Walk;

    fn into_iter(self) -> Walk {
        Walk { items: self, next: 0 }
    }
}

/// A walk through a transcript.
pub(super) struct Walk {
    items: Items,
    next: i64,
}

impl Iterator for Walk {
    type Item = Result<Dynamic, Raised>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.next;
        self.next += 1;
        match length(&mut self.items) {
            Ok(length) if place >= length => None,
            Ok(_) => Some(item(&mut self.items, place)),
            Err(error) => Some(Err(error)),
        }
    }
}

fn length(items: &mut Items) -> Result<i64, Raised> {
    let length = memory::uncounted(|| items.0.len()).map_err(|message| raise(message, Position::NONE))?;
    Ok(i64::try_from(length).unwrap_or(i64::MAX))
}

fn item(items: &mut Items, place: i64) -> Result<Dynamic, Raised> {
    let length = length(items)?;
    let index = if place < 0 { length + place } else { place };
    let index = usize::try_from(index).ok();
    let payload = memory::uncounted(|| index.map(|index| items.0.get(index)).transpose());
    let payload = payload.map_err(|message| raise(message, Position::NONE))?.flatten();
    let Some(payload) = payload else {
        return Err(format!("there is no item at {place}; there are {length}").into());
    };
    let value = convert::dynamic(&payload);
    memory::uncounted(|| drop(payload));
    Ok(value)
}
