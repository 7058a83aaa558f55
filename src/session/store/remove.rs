//! Removing a session with what lies beside it. Blobs stay: other sessions may share them, and retention has its own time.

use std::path::Path;

use crate::session::store::error::StoreError;
use crate::session::store::load::{Lines, header};
use crate::session::store::lock::Lock;

/// Removes a session's file, its trace and its torn lines. One that another process writes is refused.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    header(path, &mut Lines::open(path)?)?;
    let _lock = Lock::take(path)?;
    std::fs::remove_file(path).map_err(|error| StoreError::io("remove", path, error))?;
    for beside in ["trace.jsonl", "torn"] {
        let beside = path.with_extension(beside);
        match std::fs::remove_file(&beside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &beside, error));
            }
            _ => {}
        }
    }
    Ok(())
}
