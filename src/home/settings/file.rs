//! `config.json`, checked against the table: a wrong type is an error with its line, an unknown key draws a warning.

use std::collections::BTreeMap;
use std::path::Path;

use crate::home::document::{Document, DocumentError};
use crate::home::settings::Source;
use crate::home::settings::table::{KEPT, SETTINGS};
use crate::home::settings::value::{self, Value};
use crate::home::spelling;

/// The settings that a file holds.
#[derive(Clone, Debug)]
pub struct File {
    /// Keys that mean nothing, each with the nearest one that does.
    pub warnings: Vec<String>,
    values: BTreeMap<&'static str, (Value, Source)>,
}

impl File {
    /// Reads and checks a file; none when it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, DocumentError> {
        Document::read(path)?.as_ref().map(Self::check).transpose()
    }
    /// Checks a document.
    pub fn check(document: &Document) -> Result<Self, DocumentError> {
        let mut file = Self { warnings: Vec::new(), values: BTreeMap::new() };
        for (key, json) in document.root() {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.key == Some(key.as_str())) else {
                file.warnings.extend(unknown(document, key));
                continue;
            };
            let value = value::read(setting, json)
                .map_err(|reason| document.shape(&[key], format!("`{key}`: {reason}")))?;
            let source = Source::File { path: document.path().to_path_buf(), line: document.line(&[key]) };
            if let Some(key) = setting.key {
                file.values.insert(key, (value, source));
            }
        }
        Ok(file)
    }
    /// The value of a key and where it stands.
    pub fn get(&self, key: &str) -> Option<(Value, Source)> {
        self.values.get(key).cloned()
    }
}

fn unknown(document: &Document, key: &str) -> Option<String> {
    if KEPT.contains(&key) {
        return None;
    }
    let known = SETTINGS.iter().filter_map(|setting| setting.key).chain(KEPT.iter().copied());
    let path = document.path().display();
    let line = document.line(&[key]).unwrap_or(1);
    let hint =
        spelling::nearest(key, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!("{path}:{line}: unknown setting `{key}` is ignored{hint}"))
}
