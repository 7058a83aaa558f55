//! From what a person writes (an id, the beginning of one, `last`, a path) to a session file.

use std::path::{Path, PathBuf};

use crate::session::store::error::StoreError;
use crate::session::store::list;

/// The session file that is meant: a path (it has a `/` or ends in `.jsonl`), `last` (the one written last), a
/// whole id, or a beginning that fits one id alone.
pub fn find(dir: &Path, wanted: &str) -> Result<PathBuf, StoreError> {
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(PathBuf::from(wanted));
    }
    let unknown = || StoreError::Unknown { id: wanted.to_owned(), dir: dir.to_path_buf() };
    if wanted == "last" {
        return list::latest(dir).ok_or_else(unknown);
    }
    let whole = dir.join(format!("{wanted}.jsonl"));
    if !wanted.is_empty() && whole.symlink_metadata().is_ok() {
        return Ok(whole);
    }
    let mut found: Vec<_> =
        list::files(dir)?.into_iter().filter(|file| stem(file).starts_with(wanted)).collect();
    found.sort();
    match found.as_slice() {
        [] => Err(unknown()),
        [one] => Ok(one.clone()),
        many if wanted.is_empty() || many.len() > 1 => Err(StoreError::Ambiguous {
            id: if wanted.is_empty() { "an empty id".into() } else { wanted.to_owned() },
            found: many.iter().take(5).map(|file| stem(file)).collect(),
        }),
        _ => Err(unknown()),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
