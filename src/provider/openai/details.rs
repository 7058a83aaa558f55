//! `reasoning_details`: opaque entries that must go back unchanged and in order. Streamed pieces of one entry are joined
//! by type and index; a signature that comes late is kept with its text.

use serde_json::{Map, Value};

/// The entries so far.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

/// The keys whose text comes in pieces.
const JOINED: &[&str] = &["text", "summary"];

impl Details {
    /// Folds the entries of one chunk in, and returns the readable text they brought.
    pub(super) fn fold(&mut self, found: Value) -> String {
        let mut readable = String::new();
        let Value::Array(list) = found else { return readable };
        for entry in list {
            let Value::Object(entry) = entry else { continue };
            for text in JOINED.iter().filter_map(|key| entry.get(*key)?.as_str()) {
                readable.push_str(text);
            }
            match self.0.last_mut().filter(|last| same(last, &entry)) {
                Some(last) => merge(last, entry),
                None => match self.0.iter_mut().rfind(|have| has_index(have) && same(have, &entry)) {
                    Some(have) => merge(have, entry),
                    None => self.0.push(entry),
                },
            }
        }
        readable
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries; none when there are none.
    pub(super) fn take(&mut self) -> Option<Value> {
        let list = std::mem::take(&mut self.0);
        (!list.is_empty()).then(|| Value::Array(list.into_iter().map(Value::Object).collect()))
    }
}

fn has_index(entry: &Map<String, Value>) -> bool {
    entry.get("index").is_some_and(|index| !index.is_null())
}

/// Whether two pieces belong to one entry. Encrypted entries come whole: two of them are two.
fn same(have: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let differs = |key: &str| {
        let (a, b) = (have.get(key), new.get(key));
        matches!((a, b), (Some(a), Some(b)) if !a.is_null() && !b.is_null() && a != b)
    };
    have.get("type") == new.get("type")
        && have.get("index") == new.get("index")
        && !differs("id")
        && !new.contains_key("data")
}

fn merge(have: &mut Map<String, Value>, new: Map<String, Value>) {
    for (key, value) in new {
        if value.is_null() {
            continue;
        }
        match (have.get_mut(&key), &value) {
            (Some(Value::String(text)), Value::String(more)) if JOINED.contains(&key.as_str()) => {
                text.push_str(more);
            }
            _ => drop(have.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pieces_of_an_entry_are_joined_and_entries_keep_their_order() {
        let mut details = Details::default();
        let readable: String = [
            json!([{"type": "reasoning.text", "text": "One", "index": 0, "format": null}]),
            json!([{"type": "reasoning.encrypted", "data": "xx", "index": 1}]),
            json!([{"type": "reasoning.encrypted", "data": "yy", "index": 1}]),
            json!([{"type": "reasoning.text", "text": " two", "index": 0, "format": "f"}]),
            json!([{"type": "reasoning.text", "signature": "s", "index": 0, "text": null}]),
            json!("nonsense"),
        ]
        .into_iter()
        .map(|chunk| details.fold(chunk))
        .collect();
        assert_eq!(readable, "One two");
        let expected = json!([
            {"type": "reasoning.text", "text": "One two", "index": 0, "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "data": "xx", "index": 1},
            {"type": "reasoning.encrypted", "data": "yy", "index": 1},
        ]);
        assert_eq!(details.take(), Some(expected));
    }
}
