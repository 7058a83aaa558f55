//! Which file contents a session has seen, so that a file changed by someone else is not overwritten.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// SHA-256 of each file's contents as this session last read or wrote it, by real path.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<PathBuf, String>>);

impl Seen {
    /// Remembers what a file held.
    pub fn note(&self, path: &Path, hash: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), hash);
    }
    /// What it held when last seen; none for a file this session never looked at.
    pub fn hash(&self, path: &Path) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}
