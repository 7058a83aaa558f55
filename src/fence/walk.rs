//! Opening a real path's parent directory without following a link on the way.
//!
//! Linux does the walk in one call (`openat2`); older kernels, sandboxes that refuse that call, and macOS walk
//! name by name. Both refuse links, so a directory that was swapped for one is noticed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::fence::{FenceError, Opened};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that is only passed through: it need not be readable.
#[cfg(target_os = "linux")]
const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSAGE: OFlags = DIRECTORY;

/// Opens the deepest existing parent of `path`, which is real and lies at or below `anchor`.
/// None when the path changed since it was resolved.
pub(super) fn parent(anchor: &Path, path: &Path) -> Result<Option<Opened>, FenceError> {
    let names: Vec<&OsStr> = path.strip_prefix(anchor).map(|rest| rest.iter().collect()).unwrap_or_default();
    let Some(base) = told(open_anchor(anchor), anchor)? else { return Ok(None) };
    let Some((name, parents)) = names.split_last() else {
        let path = real_path(base.as_fd()).unwrap_or_else(|| anchor.to_path_buf());
        return Ok(Some(Opened { dir: base, name: OsString::from("."), path, missing: Vec::new() }));
    };
    for depth in (0..=parents.len()).rev() {
        let (there, missing) = parents.split_at(depth);
        let dir = match open_beneath(base.as_fd(), there) {
            Err(Errno::NOENT) if depth > 0 => continue,
            other => other,
        };
        let Some(dir) = told(dir, path)? else { return Ok(None) };
        let mut real = real_path(dir.as_fd())
            .unwrap_or_else(|| there.iter().fold(anchor.to_path_buf(), |path, name| path.join(name)));
        real.extend(missing);
        real.push(name);
        let missing = missing.iter().map(OsString::from).collect();
        return Ok(Some(Opened { dir, name: name.into(), path: real, missing }));
    }
    Ok(None)
}

/// Opens one name below an open directory as a directory; a link is refused.
pub(super) fn step(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    open_as(dir, name, DIRECTORY)
}

/// Where an open directory is now; none where the system cannot tell.
pub(super) fn real_path(dir: BorrowedFd<'_>) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    let path = {
        use std::os::fd::AsRawFd;
        rustix::fs::readlink(format!("/proc/self/fd/{}", dir.as_raw_fd()), Vec::new()).ok()?
    };
    #[cfg(target_vendor = "apple")]
    let path = rustix::fs::getpath(dir).ok()?;
    Some(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Sorts a walk's result: a link or a file where a directory was means that the path changed.
fn told<T>(result: Result<T, Errno>, path: &Path) -> Result<Option<T>, FenceError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT | Errno::AGAIN | Errno::XDEV) => Ok(None),
        Err(error) => Err(FenceError::io("open the directory of", path, &error.into())),
    }
}

fn open_anchor(anchor: &Path) -> Result<OwnedFd, Errno> {
    let slash = rustix::fs::open("/", PASSAGE, Mode::empty())?;
    let names: Vec<&OsStr> = anchor.strip_prefix("/").map(|rest| rest.iter().collect()).unwrap_or_default();
    open_beneath(slash.as_fd(), &names)
}

fn open_beneath(base: BorrowedFd<'_>, names: &[&OsStr]) -> Result<OwnedFd, Errno> {
    if names.is_empty() {
        return open_as(base, OsStr::new("."), DIRECTORY);
    }
    #[cfg(target_os = "linux")]
    match open_at_once(base, names) {
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) => {}
        told => return told,
    }
    open_by_name(base, names)
}

#[cfg(target_os = "linux")]
fn open_at_once(base: BorrowedFd<'_>, names: &[&OsStr]) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let path: PathBuf = names.iter().collect();
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = |flags| rustix::fs::openat2(base, &path, flags, Mode::empty(), resolve);
    match open(DIRECTORY) {
        Err(Errno::ACCESS) => open(PASSAGE),
        told => told,
    }
}

fn open_by_name(base: BorrowedFd<'_>, names: &[&OsStr]) -> Result<OwnedFd, Errno> {
    let Some((last, passed)) = names.split_last() else { return open_as(base, OsStr::new("."), DIRECTORY) };
    let mut at: Option<OwnedFd> = None;
    for name in passed {
        let from = at.as_ref().map_or(base, |dir| dir.as_fd());
        at = Some(rustix::fs::openat(from, *name, PASSAGE, Mode::empty())?);
    }
    open_as(at.as_ref().map_or(base, |dir| dir.as_fd()), last, DIRECTORY)
}

/// Opens a directory for reading, or for passage alone where it may not be read.
fn open_as(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => rustix::fs::openat(dir, name, PASSAGE, Mode::empty()),
        told => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Walk = fn(BorrowedFd<'_>, &[&OsStr]) -> Result<OwnedFd, Errno>;
    const WALKS: &[Walk] = &[
        open_by_name,
        #[cfg(target_os = "linux")]
        open_at_once,
    ];

    #[test]
    fn both_walks_open_directories_and_refuse_links() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", temp.path().join("link")).unwrap();
        let base = rustix::fs::open(temp.path(), DIRECTORY, Mode::empty()).unwrap();
        let names = |path: &'static str| Path::new(path).iter().collect::<Vec<_>>();
        for walk in WALKS {
            let dir = walk(base.as_fd(), &names("a/b")).unwrap();
            assert_eq!(real_path(dir.as_fd()).unwrap(), temp.path().canonicalize().unwrap().join("a/b"));
            assert!(matches!(walk(base.as_fd(), &names("link/b")), Err(Errno::LOOP | Errno::NOTDIR)));
            assert!(matches!(walk(base.as_fd(), &names("a/none")), Err(Errno::NOENT)));
        }
    }
}
