//! One line of a session file as text: how a record is written and read.
//!
//! `type` comes first, so that a reader knows the shape before it parses; a line that was edited by hand into
//! another order is read as well, at the cost of a second look.

use jiff::Timestamp;
use serde::Deserialize;

use crate::session::store::record::Record;

/// A record and when it was written; no time where the line has none.
#[derive(Clone, Debug)]
pub struct Stamped {
    /// When.
    pub at: Option<Timestamp>,
    /// The record.
    pub record: Record,
}

/// The line for a record, newline included.
pub(crate) fn write(record: &Record, at: Timestamp) -> serde_json::Result<Vec<u8>> {
    let body = record.body()?;
    let mut line = Vec::with_capacity(body.len() + 64);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(record.kind().as_bytes());
    line.extend_from_slice(b"\",\"at\":\"");
    line.extend_from_slice(format!("{at:.3}").as_bytes());
    line.push(b'"');
    let fields = body.get(1..).unwrap_or(b"}");
    if fields != b"}" {
        line.push(b',');
    }
    line.extend_from_slice(fields);
    line.push(b'\n');
    Ok(line)
}

/// Reads a record; the line is without its newline.
pub(crate) fn read(line: &[u8]) -> Result<Record, String> {
    let record = match kind(line) {
        Some(kind) => Record::from_line(kind, line),
        None => {
            let tag: Tag = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            Record::from_line(&tag.kind, line)
        }
    };
    record.map_err(|error| error.to_string())
}

/// Reads a record with its time, which costs a second pass.
pub(crate) fn read_stamped(line: &[u8]) -> Result<Stamped, String> {
    let record = read(line)?;
    let tag: Tag = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    Ok(Stamped { at: tag.at, record })
}

/// The type of a line that begins as this program writes it.
pub(crate) fn kind(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let end = memchr::memchr(b'"', rest)?;
    let kind = std::str::from_utf8(rest.get(..end)?).ok()?;
    (!kind.contains('\\')).then_some(kind)
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    at: Option<Timestamp>,
}
