//! Stored keys (`credentials.json`): `{"deepseek": {"apiKey": "…"}}`, readable by the owner alone.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::home::document::{self, Document, DocumentError};
use crate::home::paths::Home;
use crate::home::secret::Secret;

/// Names of the providers whose keys are stored, in the file's order.
pub fn names(home: &Home) -> Result<Vec<String>, DocumentError> {
    let Some(file) = Document::read(&home.credentials())? else { return Ok(Vec::new()) };
    Ok(file.root().keys().cloned().collect())
}

/// Every stored key.
pub fn all(home: &Home) -> Result<Vec<Secret>, DocumentError> {
    let Some(file) = Document::read(&home.credentials())? else { return Ok(Vec::new()) };
    let keys = file.root().values().filter_map(|entry| entry.get("apiKey").and_then(Value::as_str));
    Ok(keys.map(str::trim).filter(|key| !key.is_empty()).map(Secret::new).collect())
}

/// Stores a key; the file is created 0600.
pub fn store(home: &Home, provider: &str, key: &Secret) -> Result<(), DocumentError> {
    document::set(&home.credentials(), &[provider, "apiKey"], &Value::String(key.reveal().to_owned()))
}

/// Forgets a stored key. False when there was none.
pub fn forget(home: &Home, provider: &str) -> Result<bool, DocumentError> {
    let path = home.credentials();
    let Some(file) = Document::read(&path)? else { return Ok(false) };
    let Some(entry) = file.root().get(provider) else { return Ok(false) };
    let alone = !entry.as_object().is_some_and(|fields| fields.keys().any(|key| key != "apiKey"));
    let had = entry.get("apiKey").is_some();
    if alone {
        document::remove(&path, &[provider])?;
    } else if had {
        document::remove(&path, &[provider, "apiKey"])?;
    }
    Ok(alone || had)
}

/// A note when others can read the stored keys.
pub fn exposure(home: &Home) -> Option<String> {
    let path = home.credentials();
    let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        let path = path.display();
        format!("{path} can be read by others (mode {mode:04o}); run `chmod 600 {path}`")
    })
}

/// The stored key of a provider, as written; none when there is none.
pub fn key(home: &Home, provider: &str) -> Result<Option<String>, DocumentError> {
    let Some(file) = Document::read(&home.credentials())? else { return Ok(None) };
    let Some(entry) = file.root().get(provider) else { return Ok(None) };
    match entry.get("apiKey") {
        Some(Value::String(key)) => Ok(Some(key.clone())),
        None if entry.is_object() => Ok(None),
        _ => {
            let reason = format!("`{provider}` must be an object with a string `apiKey`");
            Err(file.shape(&[provider], reason))
        }
    }
}
