//! JSON documents that people edit by hand: comments and trailing commas are read, and a change touches one field.
//!
//! Comments, key order, unknown fields, byte order mark and line endings survive an edit. A document that does not
//! parse is never written. Reading and writing happen under one lock, so that two processes never lose each other's
//! change.

use std::io;
use std::path::{Path, PathBuf};

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::{Map, Value};

use crate::home::edit::{self, Change};
use crate::home::json::{OPTIONS, kind};
use crate::home::replace::Held;

/// Parsed content of a file.
#[derive(Clone, Debug)]
pub struct Document {
    path: PathBuf,
    text: String,
    root: Map<String, Value>,
}

/// Why a document cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The operating system refused.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// `read` or `save`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// The text is not JSON, even with comments and trailing commas.
    #[error("{}:{line}:{column}: {reason}; the file was left as it is, correct it there", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// The text parses, but a value has the wrong shape.
    #[error("{}{}: {reason}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The value's line, from 1, where it is known.
        line: Option<usize>,
        /// The key and what was expected there.
        reason: String,
    },
}

impl Document {
    /// Reads a file; none when it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, DocumentError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(path, &bytes).map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DocumentError::Io { verb: "read", path: path.to_path_buf(), source }),
        }
    }
    /// Parses the content of `path`. A file without any value counts as an empty object.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, DocumentError> {
        let text = text(path, bytes)?;
        let parsed =
            parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|e| syntax(path, &e))?;
        let root = match parsed.value.map(Value::from) {
            None => Map::new(),
            Some(Value::Object(root)) => root,
            Some(other) => {
                return Err(DocumentError::Shape {
                    path: path.to_path_buf(),
                    line: Some(1),
                    reason: format!("expected an object in braces, found {}", kind(&other)),
                });
            }
        };
        Ok(Self { path: path.to_path_buf(), text: text.to_owned(), root })
    }
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Its fields.
    pub fn root(&self) -> &Map<String, Value> {
        &self.root
    }
    /// The line, from 1, of the field that these keys lead to; numbers step into arrays. None when it is not there.
    pub fn line(&self, keys: &[&str]) -> Option<usize> {
        let parsed = parse_to_ast(&self.text, &CollectOptions::default(), &OPTIONS).ok()?;
        let mut node = parsed.value.as_ref()?;
        let mut start = node.start();
        for key in keys {
            (start, node) = step(node, key)?;
        }
        Some(self.text.get(..start)?.matches('\n').count() + 1)
    }
    /// An error about the field that these keys lead to.
    pub fn shape(&self, keys: &[&str], reason: impl Into<String>) -> DocumentError {
        DocumentError::Shape { path: self.path.clone(), line: self.line(keys), reason: reason.into() }
    }
}

/// Sets one field, making the objects that lead to it; a missing file is created 0600. Keys name nested objects.
pub fn set(path: &Path, keys: &[&str], value: &Value) -> Result<(), DocumentError> {
    change(path, &Change::Set { keys, value })
}

/// Removes one field; nothing happens when it is not there.
pub fn remove(path: &Path, keys: &[&str]) -> Result<(), DocumentError> {
    change(path, &Change::Remove { keys })
}

/// Appends to the array of one field, making it where it is missing; nothing happens when an equal value is in it.
pub fn append(path: &Path, keys: &[&str], value: &Value) -> Result<(), DocumentError> {
    change(path, &Change::Append { keys, value })
}

const BOM: &str = "\u{feff}";

fn change(path: &Path, change: &Change<'_>) -> Result<(), DocumentError> {
    let failed = |verb| move |source| DocumentError::Io { verb, path: path.to_path_buf(), source };
    let held = Held::new(path).map_err(failed("save"))?;
    let old = match std::fs::read(held.target()) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(failed("read")(e)),
    };
    Document::parse(path, &old)?;
    let body = text(path, &old)?;
    let mark = if old.starts_with(BOM.as_bytes()) { BOM } else { "" };
    let edited = edit::apply(body, change).map_err(|refusal| match refusal {
        edit::Refusal::Syntax(e) => syntax(path, &e),
        edit::Refusal::Shape(reason) => DocumentError::Shape { path: path.to_path_buf(), line: None, reason },
    })?;
    if edited == body {
        return Ok(());
    }
    let new = format!("{mark}{edited}");
    // What cannot be read back must not take the place of what can.
    Document::parse(path, new.as_bytes())?;
    held.replace(new.as_bytes()).map_err(failed("save"))
}

fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, DocumentError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix(BOM).unwrap_or(text)),
        Err(e) => {
            let before = bytes.get(..e.valid_up_to()).unwrap_or_default();
            let line = before.split(|byte| *byte == b'\n');
            let column =
                line.clone().next_back().map_or(0, |last| String::from_utf8_lossy(last).chars().count());
            Err(DocumentError::Syntax {
                path: path.to_path_buf(),
                line: line.count(),
                column: column + 1,
                reason: "not UTF-8 text".into(),
            })
        }
    }
}

fn syntax(path: &Path, error: &jsonc_parser::errors::ParseError) -> DocumentError {
    let mut reason = error.kind().to_string();
    if let Some(first) = reason.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    DocumentError::Syntax {
        path: path.to_path_buf(),
        line: error.line_display(),
        column: error.column_display(),
        reason,
    }
}

fn step<'a, 'b>(node: &'b ast::Value<'a>, key: &str) -> Option<(usize, &'b ast::Value<'a>)> {
    match node {
        // Of equal keys the last one counts, as it does for the values.
        ast::Value::Object(object) => {
            let property = object.properties.iter().rfind(|property| property.name.as_str() == key)?;
            Some((property.range.start, &property.value))
        }
        ast::Value::Array(array) => {
            let element = array.elements.get(key.parse::<usize>().ok()?)?;
            Some((element.start(), element))
        }
        _ => None,
    }
}
