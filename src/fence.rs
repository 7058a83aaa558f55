//! Paths: resolved, judged, and opened as parent directories, so that what was judged is what is used.
//!
//! A path from a model, a plugin or a command is judged once before a call is approved ([`Fence::judge`]) and
//! again when it is used ([`Fence::open`]), where it is resolved by the kernel relative to an open directory.

use std::path::{Path, PathBuf};

use crate::model::port::Reach;

/// The workspace's fence, shared by every tool of a session.
#[derive(Debug)]
pub struct Fence {
    root: PathBuf,
    home: PathBuf,
}

/// A judged path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Absolute, links and `..` resolved; the part that does not exist yet is appended as written.
    pub path: PathBuf,
    /// Whether it lies inside the workspace (the root itself included).
    pub inside: bool,
    /// What makes it special.
    pub special: Option<Special>,
    /// Whether something is there.
    pub exists: bool,
}

/// Places with rules of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Keys and credentials (`.ssh`, `.gnupg`, `credentials.json`, cloud key files): refused at use for every tool.
    Credential,
    /// Crystal's own home, skill directories excepted: refused at use.
    Home,
    /// `.git`, `.crystal`, `.crystal.md` and rule files (`AGENTS.md`, …): a write always asks.
    Control,
}

/// Why a path cannot be used, in a sentence for the model.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FenceError(pub String);

impl Fence {
    /// A fence around `workspace`, refusing `home`.
    pub fn new(workspace: &Path, home: &Path) -> std::io::Result<Self> {
        Ok(Self {
            root: workspace.canonicalize()?,
            home: home.canonicalize().unwrap_or_else(|_| home.to_path_buf()),
        })
    }
    /// The real path of the workspace root.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// Resolves a path as the tools will (a leading `~` is the user's home directory) and judges it. Never opens the target.
    pub fn judge(&self, _path: &str) -> Result<Place, FenceError> {
        Err(FenceError(format!("not resolved below {}", self.home.display())))
    }
    /// Opens the parent directory of a path for use, resolving it again within `reach`.
    pub fn open(&self, _path: &str, _reach: Reach) -> Result<Opened, FenceError> {
        Err(FenceError("not opened".into()))
    }
}

/// An open parent directory and a name in it.
#[derive(Debug)]
pub struct Opened {
    /// The directory.
    pub dir: std::os::fd::OwnedFd,
    /// The last component; never `..` or a link (a link was followed inside the fence).
    pub name: std::ffi::OsString,
    /// The real path, for messages and records.
    pub path: PathBuf,
}
