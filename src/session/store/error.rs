//! What can go wrong with a session file. Each error names the file and the cause.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the store, one sentence.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {what} {}: {}", path.display(), reason(source))]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The path is not a session file.
    #[error("{} is not a Crystal session: {why}", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// Another process writes the session.
    #[error(
        "session {id} is open in another process{}; fork it to go on with a copy (crystal sessions fork {id})",
        by(pid)
    )]
    Locked {
        /// The session.
        id: String,
        /// The other process, as it says itself.
        pid: Option<u32>,
    },
    /// The session cannot be written by this build.
    #[error("session {id} is read-only: {why}")]
    ReadOnly {
        /// The session.
        id: String,
        /// Why.
        why: String,
    },
    /// A record did not reach the file; what was there before is untouched.
    #[error("cannot save to the session file {}: {}", path.display(), reason(source))]
    Append {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No session of that id.
    #[error("there is no session {id} in {}; crystal sessions list shows them", dir.display())]
    Unknown {
        /// What was asked for.
        id: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// Several sessions begin like that.
    #[error("{id} fits {} sessions ({}); write more of the id", found.len(), found.join(", "))]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Some of those that fit.
        found: Vec<String>,
    },
    /// A record or a blob that is needed is not there.
    #[error("{0}")]
    Missing(String),
}

impl StoreError {
    /// A refusal of the system.
    pub fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { what, path: path.to_path_buf(), source }
    }
    /// A file that is something else.
    pub fn not_a_session(path: &Path, why: impl Into<String>) -> Self {
        Self::NotASession { path: path.to_path_buf(), why: why.into() }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::StorageFull => "no space is left on the device".into(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".into(),
        io::ErrorKind::FileTooLarge => "the file would become larger than the system allows".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        _ => error.to_string(),
    }
}

fn by(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
