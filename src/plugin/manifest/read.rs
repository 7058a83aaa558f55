//! TOML with line numbers: typed reads of a table whose errors name the line they are about.

use serde_json::{Map, Number, Value as Json};
use toml_edit::{Item, Value};

use crate::plugin::manifest::ManifestError;

/// A parsed file.
pub(super) struct Document {
    document: toml_edit::Document<String>,
}

/// A table of it; one that is not there reads as empty.
pub(super) struct Table<'a> {
    text: &'a str,
    table: Option<&'a dyn toml_edit::TableLike>,
    /// Where it starts, for keys that are not there.
    line: usize,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, ManifestError> {
        let document = toml_edit::Document::parse(text.to_owned()).map_err(|error| ManifestError {
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            message: error.message().lines().next().unwrap_or("it does not parse").to_owned(),
        })?;
        Ok(Self { document })
    }
    pub(super) fn root(&self) -> Table<'_> {
        Table { text: self.document.raw(), table: Some(self.document.as_table()), line: 1 }
    }
}

impl<'a> Table<'a> {
    /// The line of a key, or of the table where it has no such key.
    pub(super) fn line(&self, key: &str) -> usize {
        let item = self.table.and_then(|table| table.get_key_value(key));
        let span = item.and_then(|(key, item)| key.span().or_else(|| item.span()));
        span.map_or(self.line, |span| line_at(self.text, span.start))
    }
    /// An error about a key.
    pub(super) fn error(&self, key: &str, message: &str) -> ManifestError {
        ManifestError { line: self.line(key), message: message.to_owned() }
    }
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, ManifestError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        match item.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.error(key, &format!("'{key}' must be text"))),
        }
    }
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ManifestError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        match item.as_bool() {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.error(key, &format!("'{key}' must be true or false"))),
        }
    }
    pub(super) fn number(&self, key: &str, from: u32, to: u32) -> Result<Option<u32>, ManifestError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let number = item.as_integer().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (from..=to).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(key, &format!("'{key}' must be a whole number from {from} to {to}"))),
        }
    }
    /// A list of texts, none of them twice.
    pub(super) fn names(&self, key: &str) -> Result<Option<Vec<String>>, ManifestError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let wrong = || self.error(key, &format!("'{key}' must be a list of texts"));
        let mut names: Vec<String> = Vec::new();
        for value in item.as_array().ok_or_else(wrong)? {
            let name = value.as_str().ok_or_else(wrong)?;
            if names.iter().any(|known| known == name) {
                return Err(self.error(key, &format!("'{key}' names '{name}' twice")));
            }
            names.push(name.to_owned());
        }
        Ok(Some(names))
    }
    pub(super) fn table(&self, key: &str) -> Result<Table<'a>, ManifestError> {
        let line = self.line(key);
        let Some(item) = self.item(key) else { return Ok(Table { text: self.text, table: None, line }) };
        match item.as_table_like() {
            Some(table) => Ok(Table { text: self.text, table: Some(table), line }),
            None => Err(self.error(key, &format!("'{key}' must be a table"))),
        }
    }
    /// Everything in it, as JSON.
    pub(super) fn json(&self) -> Result<Map<String, Json>, ManifestError> {
        let mut out = Map::new();
        for (key, item) in self.table.into_iter().flat_map(|table| table.iter()) {
            let value = json(item).ok_or_else(|| {
                self.error(
                    key,
                    &format!("'{key}' holds what settings cannot: a date, or a number that is not finite"),
                )
            })?;
            out.insert(key.to_owned(), value);
        }
        Ok(out)
    }
    fn item(&self, key: &str) -> Option<&'a Item> {
        self.table.and_then(|table| table.get(key)).filter(|item| !item.is_none())
    }
}

fn json(item: &Item) -> Option<Json> {
    match item {
        Item::None => Some(Json::Null),
        Item::Value(value) => scalar(value),
        Item::Table(table) => {
            let entries = table.iter().map(|(key, item)| Some((key.to_owned(), json(item)?)));
            entries.collect::<Option<Map<_, _>>>().map(Json::Object)
        }
        Item::ArrayOfTables(tables) => {
            let list = tables.iter().map(|table| json(&Item::Table(table.clone())));
            list.collect::<Option<Vec<_>>>().map(Json::Array)
        }
    }
}

fn scalar(value: &Value) -> Option<Json> {
    match value {
        Value::String(text) => Some(text.value().as_str().into()),
        Value::Integer(number) => Some((*number.value()).into()),
        Value::Float(number) => Number::from_f64(*number.value()).map(Json::Number),
        Value::Boolean(flag) => Some((*flag.value()).into()),
        Value::Datetime(_) => None,
        Value::Array(list) => list.iter().map(scalar).collect::<Option<Vec<_>>>().map(Json::Array),
        Value::InlineTable(table) => {
            let entries = table.iter().map(|(key, value)| Some((key.to_owned(), scalar(value)?)));
            entries.collect::<Option<Map<_, _>>>().map(Json::Object)
        }
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
