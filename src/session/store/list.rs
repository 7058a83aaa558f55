//! Listing sessions without reading them: the head and the tail of each file say what a list shows.

use std::path::{Path, PathBuf};

use crate::session::store::error::StoreError;

/// The session files of a directory, in no order; a directory that is not there has none.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("list", dir, error)),
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    Ok(paths.filter(|path| is_session(path)).collect())
}

/// A trace (`<id>.trace.jsonl`) lies beside its session and is none.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".jsonl").is_some_and(|stem| !stem.is_empty() && !stem.contains('.'))
}

/// The session file that was written last.
pub fn latest(dir: &Path) -> Option<PathBuf> {
    let modified = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
    files(dir).ok()?.into_iter().max_by_key(|path| (modified(path), path.clone()))
}
