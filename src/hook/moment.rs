//! What a moment is: a row of the table, a payload, what a handler is given of it, and a pure rule for replies.
//!
//! [`Moment::accept`] is the whole authority of a handler: whatever it does not take from a reply does not happen.

use serde_json::Value;

use crate::hook::reply::unlisted;
use crate::hook::table::{EVENTS, Row};
use crate::model::item::Items;

/// A moment at which handlers run. The value is its payload.
pub trait Moment: Sized + Clone + Send + Sync + 'static {
    /// Its place in [`EVENTS`]; use [`place`].
    const PLACE: usize;
    /// Its row.
    const ROW: &'static Row = &EVENTS[Self::PLACE];

    /// What a handler is given: the arguments in the order of [`Row::arguments`].
    fn offer(&self) -> Offer;

    /// What of a reply takes effect; nothing, unless the moment says otherwise. For a hook or raw hook `given` is
    /// what the handler returned; for an event it is what stood under `replace`.
    ///
    /// # Errors
    /// The rule that the reply breaks; nothing of it takes effect.
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        Ok(Accepted::unread(given))
    }
}

/// The place of the moment of that name in the table; a name that is not there does not compile.
pub const fn place(name: &str) -> usize {
    let mut place = 0;
    while place < EVENTS.len() {
        if same(EVENTS[place].name.as_bytes(), name.as_bytes()) {
            return place;
        }
        place += 1;
    }
    #[expect(clippy::panic, reason = "evaluated at compile time only, for a moment that has no row")]
    {
        panic!("no such moment in the table")
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// What a handler is given: its own copy, except for a transcript, which goes by reference.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The arguments, in order, without the context that event handlers get first.
    pub arguments: Vec<Value>,
    /// The transcript, which the handler sees as a lazy list in the first argument.
    pub list: Option<List>,
}

/// A transcript in an offer.
#[derive(Clone, Debug)]
pub struct List {
    /// The field of the first argument that holds it (`items`, `messages`).
    pub field: &'static str,
    /// The items.
    pub items: Items,
}

impl Offer {
    /// An offer of plain arguments.
    pub fn of(arguments: impl Into<Vec<Value>>) -> Self {
        Self { arguments: arguments.into(), list: None }
    }
    /// The same with a transcript in the first argument.
    pub fn with_list(mut self, field: &'static str, items: &Items) -> Self {
        self.list = Some(List { field, items: items.clone() });
        self
    }
}

/// What a handler answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Reply {
    /// Nothing: it changes nothing.
    #[default]
    Nothing,
    /// Its filter said no, so it did not run.
    Filtered,
    /// Something.
    Given(Given),
}

/// What a handler returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The value. A returned lazy list is taken out of it: null stands for a list that was the whole reply, and
    /// the list's field is absent from an event's `replace`.
    pub value: Value,
    /// What was done to the lazy list, in order, when the handler returned it; none when it did not.
    pub edits: Option<Vec<Edit>>,
}

impl Reply {
    /// A plain value; null is nothing.
    pub fn value(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            value => Self::Given(Given { value, edits: None }),
        }
    }
    /// The lazy list as the whole reply of a hook.
    pub fn edits(edits: Vec<Edit>) -> Self {
        Self::Given(Given { value: Value::Null, edits: Some(edits) })
    }
}

/// One edit of a lazy list. Places count from 0 in the list as the edits before left it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Edit {
    /// Sets an item's text.
    SetText { at: usize, text: String },
    /// Takes an image off an item.
    DropImage { at: usize, id: String },
    /// Puts an item in another's place; absent fields keep what an item of the same id and kind has.
    Replace { at: usize, item: Value },
    /// Takes an item out.
    Remove { at: usize },
    /// Puts an item in, before the one at `at`; `at` may be the length.
    Insert { at: usize, item: Value },
    /// Takes the item at `from` out and puts it in at `to` of what is left.
    Move { from: usize, to: usize },
}

/// What of a reply took effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted<M> {
    /// The payload as it is now; none when nothing changed.
    pub changed: Option<M>,
    /// What was left out of the reply without refusing the rest, one line each.
    pub ignored: Vec<String>,
}

impl<M> Accepted<M> {
    /// Nothing changed.
    pub fn same() -> Self {
        Self { changed: None, ignored: Vec::new() }
    }
    /// The payload changed.
    pub fn changed(moment: M) -> Self {
        Self { changed: Some(moment), ignored: Vec::new() }
    }
    /// The payload is this now, which may be what it was.
    pub fn if_other(before: &M, now: M) -> Self
    where
        M: PartialEq,
    {
        Self { changed: (*before != now).then_some(now), ignored: Vec::new() }
    }
    /// A reply to a moment that takes none. A script's last expression is often its value, so this is no breach.
    fn unread(given: Given) -> Self {
        let ignored = match given.value {
            Value::Object(fields) => unlisted(&fields),
            _ => Vec::new(),
        };
        Self { changed: None, ignored }
    }
}

/// Why a reply does not count. Its text is the rule, in words that follow "it".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// It is not of the shape that the moment reads. Counts as a fault.
    #[error("{0}")]
    Shape(String),
    /// It holds what a handler of this list may not do.
    #[error("{0}")]
    Rule(String),
}

impl Rejection {
    /// A reply of the wrong shape.
    pub fn shape(text: impl Into<String>) -> Self {
        Self::Shape(text.into())
    }
    /// A reply that breaks a rule.
    pub fn rule(text: impl Into<String>) -> Self {
        Self::Rule(text.into())
    }
}
