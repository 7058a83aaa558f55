//! The built-in catalog and `providers.json` on top of it.
//!
//! An entry without `protocol` changes fields of the built-in provider of its name, in all its entries; models are
//! merged field by field. An entry with `protocol`, or an array, takes the built-in provider's place; its models still
//! start from built-in models of the same name, and without `models` it has all built-in ones. `null` removes a
//! provider or a model.

use serde_json::{Map, Value};

use crate::home::document::{Document, DocumentError};
use crate::home::json::kind;
use crate::home::paths::Home;
use crate::home::spelling;
use crate::provider::catalog::field::{self, Field, Kind, MODEL, PROVIDER};
use crate::provider::catalog::{Catalog, CatalogError, Entry, Origin, Provider, entry};

const STARTER: &str = include_str!("starter.json");

type Fields = Map<String, Value>;

pub(super) fn load(home: &Home) -> Result<Catalog, CatalogError> {
    let Some(file) = Document::read(&home.providers())? else { return starter() };
    let below = fields()?;
    let mut catalog = Catalog { providers: Vec::new(), warnings: Vec::new() };
    for (name, written) in file.root().iter().filter(|(_, written)| !written.is_null()) {
        let builtin = below.get(name).map(entries).unwrap_or_default();
        let entries = overlaid(&file, name, written, &builtin, &below, &mut catalog.warnings)?;
        catalog.providers.push(Provider { name: name.as_str().into(), entries, origin: Origin::File });
    }
    let rest = starter()?.providers.into_iter().filter(|provider| !file.root().contains_key(&*provider.name));
    catalog.providers.extend(rest);
    Ok(catalog)
}

/// The built-in catalog alone.
pub(super) fn starter() -> Result<Catalog, CatalogError> {
    let build = |(name, written): (&String, &Value)| {
        let built = entries(written).iter().map(entry::build).collect::<Result<_, _>>();
        let entries = built.map_err(|missing: entry::Missing| {
            CatalogError::Starter(format!("{name} lacks {}", missing.field))
        })?;
        Ok(Provider { name: name.as_str().into(), entries, origin: Origin::BuiltIn })
    };
    let providers = fields()?.iter().map(build).collect::<Result<_, CatalogError>>()?;
    Ok(Catalog { providers, warnings: Vec::new() })
}

fn fields() -> Result<Fields, CatalogError> {
    serde_json::from_str(STARTER).map_err(|e| CatalogError::Starter(e.to_string()))
}

fn entries(written: &Value) -> Vec<Fields> {
    match written {
        Value::Array(entries) => entries.iter().filter_map(Value::as_object).cloned().collect(),
        Value::Object(fields) => vec![fields.clone()],
        _ => Vec::new(),
    }
}

fn overlaid(
    file: &Document,
    name: &str,
    written: &Value,
    builtin: &[Fields],
    starter: &Fields,
    warnings: &mut Vec<String>,
) -> Result<Vec<Entry>, DocumentError> {
    let mut at = At { file, keys: vec![name.to_owned()], warnings };
    let parts: Vec<(Vec<String>, &Fields)> = match written {
        Value::Object(fields) => vec![(at.keys.clone(), fields)],
        Value::Array(list) if !list.is_empty() => list
            .iter()
            .enumerate()
            .map(|(index, part)| {
                let keys = vec![name.to_owned(), index.to_string()];
                let reason = || {
                    file.shape(
                        &[name, &index.to_string()],
                        format!("`{name}` entry {}: expected an object, found {}", index + 1, kind(part)),
                    )
                };
                Ok((keys, part.as_object().ok_or_else(reason)?))
            })
            .collect::<Result<_, DocumentError>>()?,
        other => {
            let found = if other.is_array() { "an empty array" } else { kind(other) };
            return Err(at.error(&[], format!("expected an object or an array of objects, found {found}")));
        }
    };
    let mut built = Vec::new();
    for (keys, fields) in parts {
        at.keys = keys;
        at.object(&[], PROVIDER, fields)?;
        for merged in merge(fields, builtin, starter) {
            built.push(entry::build(&merged).map_err(|missing| {
                let inside: Vec<&str> = missing.inside.iter().map(String::as_str).collect();
                at.error(&inside, format!("`{}` is missing", missing.field))
            })?);
        }
    }
    Ok(built)
}

/// The complete entries that one written entry leads to.
fn merge(written: &Fields, builtin: &[Fields], starter: &Fields) -> Vec<Fields> {
    if written.contains_key("protocol") || builtin.is_empty() {
        let mut merged = written.clone();
        let known: Fields = builtin.iter().flat_map(models).collect();
        let models = match written.get("models").and_then(Value::as_object) {
            None => known,
            Some(own) => own
                .iter()
                .filter(|(_, fields)| !fields.is_null())
                .map(|(name, fields)| (name.clone(), over(known.get(name), fields)))
                .collect(),
        };
        merged.insert("models".into(), Value::Object(models));
        if !merged.contains_key("baseUri")
            && let Some(address) = address_of(written.get("protocol"), builtin, starter)
        {
            merged.insert("baseUri".into(), address);
        }
        return vec![merged];
    }
    let mut merged: Vec<Fields> = builtin.to_vec();
    for (index, entry) in merged.iter_mut().enumerate() {
        for (key, value) in written.iter().filter(|(key, _)| *key != "models") {
            let value = over(entry.get(key), value);
            entry.insert(key.clone(), value);
        }
        let mut own = models(entry).collect::<Fields>();
        for (name, value) in models(written) {
            let elsewhere = builtin.iter().any(|entry| models(entry).any(|(known, _)| known == name));
            if own.contains_key(&name) || (index == 0 && !elsewhere) {
                if value.is_null() {
                    own.shift_remove(&name);
                } else {
                    let value = over(own.get(&name), &value);
                    own.insert(name, value);
                }
            }
        }
        entry.insert("models".into(), Value::Object(own));
    }
    merged
}

fn models(entry: &Fields) -> impl Iterator<Item = (String, Value)> + use<> {
    entry.get("models").and_then(Value::as_object).cloned().unwrap_or_default().into_iter()
}

/// One value over another: objects field by field, everything else as a whole.
fn over(below: Option<&Value>, above: &Value) -> Value {
    match (below, above) {
        (Some(Value::Object(below)), Value::Object(above)) => {
            let mut merged = below.clone();
            for (key, value) in above {
                let value = over(below.get(key), value);
                merged.insert(key.clone(), value);
            }
            Value::Object(merged)
        }
        _ => above.clone(),
    }
}

/// The address of the built-in provider that speaks a protocol; the provider of the same name goes first.
fn address_of(protocol: Option<&Value>, builtin: &[Fields], starter: &Fields) -> Option<Value> {
    let all = starter.values().flat_map(entries);
    let same = builtin.iter().cloned().chain(all).find(|entry| entry.get("protocol") == protocol)?;
    same.get("baseUri").cloned()
}

/// A place in `providers.json`, for checks and their messages.
struct At<'a> {
    file: &'a Document,
    keys: Vec<String>,
    warnings: &'a mut Vec<String>,
}

impl At<'_> {
    fn object(&mut self, inside: &[&str], table: &[Field], fields: &Fields) -> Result<(), DocumentError> {
        for (key, value) in fields {
            let path = [inside, &[key.as_str()]].concat();
            let Some(field) = table.iter().find(|field| field.key == key) else {
                self.unknown(&path, table);
                continue;
            };
            field::check(field.kind, value).map_err(|reason| self.error(&path, reason))?;
            match (field.kind, value) {
                (Kind::Object(table), Value::Object(fields)) => self.object(&path, table, fields)?,
                (Kind::Models, Value::Object(models)) => self.models(&path, models)?,
                _ => {}
            }
        }
        Ok(())
    }
    fn models(&mut self, inside: &[&str], models: &Fields) -> Result<(), DocumentError> {
        for (name, model) in models {
            let path = [inside, &[name.as_str()]].concat();
            match model {
                Value::Null => {}
                Value::Object(fields) => self.object(&path, MODEL, fields)?,
                other => {
                    return Err(self.error(&path, format!("expected an object, found {}", kind(other))));
                }
            }
        }
        Ok(())
    }
    fn error(&self, inside: &[&str], reason: String) -> DocumentError {
        let keys = self.path(inside);
        self.file.shape(&keys, format!("`{}`: {reason}", keys.join(".")))
    }
    fn unknown(&mut self, path: &[&str], table: &[Field]) {
        let keys = self.path(path);
        let line = self.file.line(&keys).unwrap_or(1);
        let near = keys.last().and_then(|key| spelling::nearest(key, table.iter().map(|field| field.key)));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let text = format!(
            "{}:{line}: unknown field `{}` is ignored{hint}",
            self.file.path().display(),
            keys.join(".")
        );
        self.warnings.push(text);
    }
    fn path<'b>(&'b self, inside: &[&'b str]) -> Vec<&'b str> {
        self.keys.iter().map(String::as_str).chain(inside.iter().copied()).collect()
    }
}
