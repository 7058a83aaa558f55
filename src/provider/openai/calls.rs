//! Tool calls out of their fragments. Which fragment belongs to which call is the part of this protocol that servers get
//! wrong in the most ways; the rules are in [`Calls::slot`].

use serde_json::Value;

use crate::provider::openai::chunk::{self, Call};

/// The most calls of one answer.
const MOST_CALLS: usize = 512;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
}

/// One call.
#[derive(Debug, Default)]
pub(super) struct Slot {
    index: Option<i64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Arguments,
    /// What the provider wants back with the call.
    pub(super) extra: Option<Value>,
    /// Whether it was announced as a delta.
    pub(super) announced: bool,
}

/// Too many calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Calls {
    /// Takes one fragment, `position` being its place among those of its chunk and `count` their number. Returns the
    /// call's place and whether it is new.
    pub(super) fn fold(
        &mut self,
        call: &Call<'_>,
        position: usize,
        count: usize,
    ) -> Result<(usize, bool), TooMany> {
        let function = call.function.as_ref();
        let id = chunk::some_text(call.id);
        let name = chunk::some_text(function.and_then(|function| function.name));
        let arguments = function.and_then(|function| function.arguments);
        let piece = arguments.and_then(|raw| match raw.get() {
            "null" => None,
            // An object where a string belongs.
            json if !json.starts_with('"') => Some(std::borrow::Cow::Borrowed(json)),
            _ => chunk::text(raw),
        });
        let piece = piece.as_deref().unwrap_or_default();
        let index = call.index.and_then(chunk::index);
        let fragment = Fragment { index, id: id.as_deref(), name: name.as_deref(), piece, position, count };
        let found = self.slot(&fragment);
        let place = found.unwrap_or(self.slots.len());
        if found.is_none() {
            if place >= MOST_CALLS {
                return Err(TooMany);
            }
            self.slots.push(Slot { index, ..Slot::default() });
        }
        if let Some(slot) = self.slots.get_mut(place) {
            slot.take(&fragment);
            if let Some(extra) = call.extra_content.filter(|raw| raw.get() != "null") {
                slot.extra = serde_json::from_str(extra.get()).ok().or(slot.extra.take());
            }
        }
        Ok((place, found.is_none()))
    }

    /// The call a fragment belongs to; none for a new one.
    ///
    /// A known index names its latest call, an unknown one a new call. Without an index the id decides; without either
    /// it is the latest call, or, where a chunk has several fragments, the one at the same place. In each case a fragment
    /// that begins another call (see [`Slot::ends_before`]) makes a new one.
    fn slot(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let by = |found: &dyn Fn(&Slot) -> bool| self.slots.iter().rposition(found);
        let place = match (fragment.index, fragment.id) {
            (Some(index), _) => by(&|slot| slot.index == Some(index))?,
            (None, Some(id)) => match by(&|slot| slot.id == id) {
                Some(place) => place,
                // A call that began without its id may get it now.
                None => self.slots.len().checked_sub(1).filter(|last| {
                    fragment.name.is_none() && self.slots.get(*last).is_some_and(|slot| slot.id.is_empty())
                })?,
            },
            (None, None) if fragment.count > 1 => {
                // The places are counted among the calls that came without an index.
                let mut open = self.slots.iter().enumerate().filter(|(_, slot)| slot.index.is_none());
                open.nth(fragment.position)?.0
            }
            (None, None) => self.slots.len().checked_sub(1)?,
        };
        let slot = self.slots.get(place)?;
        if slot.ends_before(fragment) { None } else { Some(place) }
    }

    /// The call at a place.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Slot> {
        self.slots.get_mut(place)
    }

    /// The call at a place.
    pub(super) fn get(&self, place: usize) -> Option<&Slot> {
        self.slots.get(place)
    }

    /// Whether this is the last call.
    pub(super) fn is_last(&self, place: usize) -> bool {
        place + 1 == self.slots.len()
    }
}

struct Fragment<'a> {
    index: Option<i64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    piece: &'a str,
    position: usize,
    count: usize,
}

impl Slot {
    /// Whether a fragment that would come here begins another call: it brings a new id and a name; or, without an id, a
    /// name and arguments, when the arguments here are a complete object and not these once more.
    fn ends_before(&self, fragment: &Fragment<'_>) -> bool {
        let Some(name) = fragment.name else { return false };
        match fragment.id {
            Some(id) if !self.id.is_empty() => self.id != id,
            Some(_) => false,
            None => {
                let repeated = name == self.name && self.arguments.is_repeated_by(fragment.piece);
                self.arguments.is_complete() && !fragment.piece.is_empty() && !repeated
            }
        }
    }

    fn take(&mut self, fragment: &Fragment<'_>) {
        if let Some(id) = fragment.id.filter(|_| self.id.is_empty()) {
            self.id = id.to_owned();
        }
        if let Some(name) = fragment.name {
            self.take_name(name);
        }
        if !self.arguments.is_repeated_by(fragment.piece) {
            self.arguments.push(fragment.piece);
        }
    }

    /// A name may be repeated in each fragment, grow with each, or come in pieces before the arguments.
    fn take_name(&mut self, name: &str) {
        if self.name.is_empty() || name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else if self.arguments.text.is_empty() && name != self.name {
            self.name.push_str(name);
        }
    }
}

/// The text of a call's arguments, with its objects told apart as it grows: each byte is looked at once.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) text: String,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Where each outermost object or list ends.
    ends: Vec<usize>,
    /// Whether nothing but white space follows the last end.
    closed: bool,
}

impl Arguments {
    fn push(&mut self, piece: &str) {
        let start = self.text.len();
        self.text.push_str(piece);
        for (at, byte) in piece.bytes().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => continue,
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.closed = true;
                        // More ends than calls are allowed are not told apart.
                        if self.ends.len() <= MOST_CALLS {
                            self.ends.push(start + at + 1);
                        }
                        continue;
                    }
                }
                _ => {}
            }
            self.closed = false;
        }
    }

    fn is_complete(&self) -> bool {
        self.closed && self.depth == 0
    }

    /// Whether a piece is the same complete arguments once more. Small pieces are told by their length alone.
    fn is_repeated_by(&self, piece: &str) -> bool {
        self.is_complete() && piece.len() + 4 > self.text.len() && piece.trim() == self.text.trim()
    }

    /// The objects that were glued together, or the whole text as it is.
    pub(super) fn objects(&self) -> Vec<&str> {
        let whole = vec![self.text.as_str()];
        if self.ends.len() < 2 || !self.closed {
            return whole;
        }
        let mut start = 0;
        let mut objects = Vec::new();
        for end in &self.ends {
            match self.text.get(start..*end) {
                Some(object) if is_object(object) => objects.push(object.trim()),
                _ => return whole,
            }
            start = *end;
        }
        objects
    }
}

/// Whether a text is one JSON object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
