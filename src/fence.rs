//! Paths: resolved, judged, and opened as parent directories, so that what was judged is what is used.
//!
//! A path from a model, a plugin or a command is judged once before a call is approved ([`Fence::judge`]) and
//! again when it is used ([`Fence::open`]). There it is resolved anew, its real path is walked from an open
//! directory without following any link, and the directory that was opened is judged once more by the path the
//! kernel gives for it. A path that changes in between fails; it never leads elsewhere.
//!
//! Not covered: hard links (they have no other place) and what a shell command does.

pub mod file;
mod replace;
mod resolve;
mod special;
mod walk;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::model::port::Reach;

/// The workspace's fence, shared by every tool of a session.
#[derive(Debug)]
pub struct Fence {
    root: PathBuf,
    /// What the root was when the fence was put up.
    root_id: Option<(u64, u64)>,
    home: PathBuf,
    /// The user's home directory, for `~`; none when the environment names none.
    user: Option<PathBuf>,
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

impl FenceError {
    /// What could not be done with a path, and the system's reason.
    pub(crate) fn io(what: impl fmt::Display, path: &Path, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file or directory".into(),
            std::io::ErrorKind::PermissionDenied => "permission denied".into(),
            std::io::ErrorKind::StorageFull => "no space is left on the device".into(),
            std::io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
            _ => error.to_string(),
        };
        Self(format!("cannot {what} {}: {reason}", path.display()))
    }
}

/// An open parent directory and a name in it.
#[derive(Debug)]
pub struct Opened {
    /// The directory; the deepest one that exists while [`Opened::missing`] is not empty.
    pub dir: OwnedFd,
    /// The last component; never `..` or a link (a link was followed inside the fence); `.` for the root itself.
    pub name: OsString,
    /// The real path, for messages and records.
    pub path: PathBuf,
    /// Directories between `dir` and `name` that do not exist yet, outermost first.
    pub missing: Vec<OsString>,
}

/// How often a path that changes while it is opened is resolved again.
const ATTEMPTS: usize = 8;

impl Fence {
    /// A fence around `workspace`, refusing `home`.
    pub fn new(workspace: &Path, home: &Path) -> std::io::Result<Self> {
        let root = workspace.canonicalize()?;
        Ok(Self {
            root_id: identity(&root),
            root,
            home: real(home),
            user: std::env::home_dir().filter(|user| user.is_absolute()).map(|user| real(&user)),
        })
    }
    /// The same fence for a user whose home directory is another than the environment's.
    pub fn with_user_home(mut self, user: &Path) -> Self {
        self.user = Some(real(user));
        self
    }
    /// The real path of the workspace root.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// Whether the workspace is still there, and still the directory that it was.
    pub fn present(&self) -> Result<(), FenceError> {
        let root = self.root.display();
        match identity(&self.root) {
            None => Err(FenceError(format!("the workspace {root} is no longer there"))),
            now if now == self.root_id => Ok(()),
            Some(_) => Err(FenceError(format!("the workspace {root} was replaced by another directory"))),
        }
    }
    /// The real path of Crystal's home.
    pub fn home(&self) -> &Path {
        &self.home
    }
    /// Resolves a path as the tools will (a leading `~` is the user's home directory) and judges it. Never opens the target.
    pub fn judge(&self, path: &str) -> Result<Place, FenceError> {
        let wanted = self.expand(path)?;
        let resolved = resolve::resolve(&self.root, &wanted)?;
        Ok(self.place(resolved.path, resolved.exists))
    }
    /// What makes a real (already resolved) path special, for walks that meet many.
    pub fn special(&self, path: &Path) -> Option<Special> {
        special::special(&special::Seen {
            path,
            in_root: path.strip_prefix(&self.root).ok(),
            in_home: path.strip_prefix(&self.home).ok(),
            in_user: self.user.as_deref().and_then(|user| path.strip_prefix(user).ok()),
        })
    }
    /// Opens the parent directory of a path for use, resolving it again within `reach`.
    /// Credential paths and Crystal's home are refused whatever the reach.
    pub fn open(&self, path: &str, reach: Reach) -> Result<Opened, FenceError> {
        for _ in 0..ATTEMPTS {
            let place = self.judge(path)?;
            self.admit(&place, reach)?;
            let anchor = if place.inside { self.root.as_path() } else { Path::new("/") };
            let Some(opened) = walk::parent(anchor, &place.path)? else { continue };
            // The directory may have been moved since: what counts is where it is now.
            let place = self.place(opened.path.clone(), place.exists);
            self.admit(&place, reach)?;
            return Ok(Opened { path: place.path, ..opened });
        }
        Err(FenceError(format!("{path} keeps changing while it is opened; try again")))
    }

    /// The path as it is to be resolved: absolute, or relative to the root.
    fn expand(&self, path: &str) -> Result<PathBuf, FenceError> {
        if path.is_empty() {
            return Err(FenceError("the path is empty; name a file, or `.` for the workspace".into()));
        }
        if path.contains('\0') {
            return Err(FenceError(format!("the path {path:?} holds a NUL character, which no path can")));
        }
        if path.len() > resolve::MAX_PATH {
            return Err(FenceError(format!(
                "the path is {} bytes long; {} is the most",
                path.len(),
                resolve::MAX_PATH
            )));
        }
        let first = path.split('/').next().unwrap_or_default();
        if first == "~" {
            let user = self.user.as_ref().ok_or_else(|| {
                FenceError(format!(
                    "{path} cannot be resolved because no home directory is known; write the absolute path"
                ))
            })?;
            return Ok(user.join(path.trim_start_matches('~').trim_start_matches('/')));
        }
        if first.starts_with('~') && path.len() > first.len() {
            return Err(FenceError(format!(
                "{path} names another user's home directory, which is not looked up; write the absolute path, or ./{path} for a directory of that name"
            )));
        }
        Ok(PathBuf::from(path))
    }

    /// Judges a resolved path.
    fn place(&self, path: PathBuf, exists: bool) -> Place {
        let path = self.at_home(path);
        Place { inside: path.starts_with(&self.root), special: self.special(&path), path, exists }
    }

    /// Rewrites a path that reaches a known directory by another spelling (a file system that ignores case, a
    /// bind mount) so that prefixes tell the truth. Crystal's home comes first, since it may lie in the others.
    fn at_home(&self, path: PathBuf) -> PathBuf {
        for known in [Some(&self.home), Some(&self.root), self.user.as_ref()].into_iter().flatten() {
            if path.starts_with(known) {
                return path;
            }
            // Most paths are below the root, and most homes are not: nothing to look for.
            if path.starts_with(&self.root) && !known.starts_with(&self.root) {
                continue;
            }
            let Some(id) = identity(known) else { continue };
            let same = path.ancestors().find(|ancestor| identity(ancestor) == Some(id));
            if let Some(rest) = same.and_then(|ancestor| path.strip_prefix(ancestor).ok()) {
                return if rest.as_os_str().is_empty() { known.clone() } else { known.join(rest) };
            }
        }
        path
    }

    fn admit(&self, place: &Place, reach: Reach) -> Result<(), FenceError> {
        let path = place.path.display();
        match place.special {
            Some(Special::Credential) => Err(FenceError(format!(
                "{path} holds credentials, which no tool may touch; ask the operator to do it"
            ))),
            Some(Special::Home) => Err(FenceError(format!(
                "{path} belongs to Crystal's own home, which no tool may touch; ask the operator to do it"
            ))),
            _ if !place.inside && reach == Reach::Workspace => Err(FenceError(format!(
                "{path} is outside the workspace {} and was not approved",
                self.root.display()
            ))),
            _ => Ok(()),
        }
    }
}

/// The real path of what may not exist yet.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    resolve::resolve(Path::new("/"), &absolute).map_or(absolute, |resolved| resolved.path)
}

/// Device and inode of a directory; links are not followed.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = path.symlink_metadata().ok()?;
    meta.is_dir().then(|| (meta.dev(), meta.ino()))
}

/// Whether two names are one on some file system that Crystal runs on.
fn same_name(a: &OsStr, b: &str) -> bool {
    a.as_encoded_bytes().eq_ignore_ascii_case(b.as_bytes())
}
