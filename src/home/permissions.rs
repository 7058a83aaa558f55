//! Grants that hold for always (`permissions.json`), as plain data: `{"grants": [{"workspace", "tool", "rule"}]}`.
//!
//! What a rule means is the approval's business. A file that does not parse, or an entry of another shape, is an
//! error and grants nothing: a mistake in it must never loosen what is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::home::document::{self, Document, DocumentError};
use crate::home::json;
use crate::home::paths::Home;

/// One grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The real path of the workspace where it holds; none for everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The tool.
    pub tool: String,
    /// What exactly was granted.
    pub rule: Value,
}

/// All grants, in the order in which they were given; none without a file.
pub fn read(home: &Home) -> Result<Vec<Entry>, DocumentError> {
    let Some(file) = Document::read(&home.permissions())? else { return Ok(Vec::new()) };
    match file.root().get("grants") {
        None => Ok(Vec::new()),
        Some(Value::Array(entries)) => {
            entries.iter().enumerate().map(|(index, entry)| parse(&file, index, entry)).collect()
        }
        Some(other) => {
            let is = json::kind(other);
            Err(file.shape(&["grants"], format!("`grants` must be an array, but it is {is}")))
        }
    }
}

/// Adds a grant; one that is there already is not added again.
pub fn append(home: &Home, entry: &Entry) -> Result<(), DocumentError> {
    // Entries that cannot be read are reported before another is put beside them.
    if read(home)?.contains(entry) {
        return Ok(());
    }
    let value = serde_json::to_value(entry).map_err(|e| DocumentError::Shape {
        path: home.permissions(),
        line: None,
        reason: format!("the grant for `{}` cannot be written: {e}", entry.tool),
    })?;
    document::append(&home.permissions(), &["grants"], &value)
}

fn parse(file: &Document, index: usize, entry: &Value) -> Result<Entry, DocumentError> {
    Entry::deserialize(entry).map_err(|e| {
        let position = index.to_string();
        file.shape(&["grants", &position], format!("`grants` entry {}: {e}", index + 1))
    })
}
