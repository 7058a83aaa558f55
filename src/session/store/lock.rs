//! One writer a session: an advisory lock on `<id>.lock`, which the kernel drops when its process dies.
//!
//! The file is removed with the lock. So that nobody locks a file that was just removed, whoever got the lock
//! looks whether the path still leads to the file that is locked, and tries again if not.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::session::store::error::StoreError;

/// A held lock; dropping it lets the next writer in.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Holds the lock while it is open.
    _file: File,
}

/// How often a lock file that vanishes under us is made again.
const ATTEMPTS: usize = 64;

impl Lock {
    /// Takes the lock of a session file, or says who has it. Never waits.
    pub(crate) fn take(session: &Path) -> Result<Self, StoreError> {
        let path = path(session);
        for _ in 0..ATTEMPTS {
            let mut file = open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held(session, &mut file)),
                Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", &path, error)),
            }
            if same(&file, &path) {
                // The number is for people; the lock holds without it.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                return Ok(Self { path, _file: file });
            }
        }
        Err(StoreError::io("lock", &path, std::io::ErrorKind::ResourceBusy.into()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked here: nobody else can have made this file theirs. A file that stays does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn path(session: &Path) -> PathBuf {
    session.with_extension("lock")
}

fn open(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| StoreError::io("open the lock", path, error))
}

fn held(session: &Path, file: &mut File) -> StoreError {
    let mut text = String::new();
    let pid = file.take(32).read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
    let id = session.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    StoreError::Locked { id, pid }
}

fn same(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}
