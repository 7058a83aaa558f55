//! Replacing a whole file so that a reader, a crash or a full disk meets either the old content or the new one.
//!
//! [`Held`] keeps other writers of the same directory away between reading and replacing; the new content goes to one
//! temporary file of a fixed name beside the target, so that a killed process leaves at most that one behind and the
//! next writer clears it.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::home::paths::create_private_dir;

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file that this process alone may replace, until this is dropped.
#[derive(Debug)]
pub struct Held {
    target: PathBuf,
    directory: PathBuf,
    // The lock ends when the handle is closed.
    _lock: File,
}

impl Held {
    /// Follows links from `path` to the file they lead to, makes its directory (0700) where it is missing, and waits
    /// up to ten seconds for other writers there.
    pub fn new(path: &Path) -> io::Result<Self> {
        let target = follow(path)?;
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if !directory.is_dir() {
            create_private_dir(&directory)?;
        }
        let lock = lock(&directory)?;
        Ok(Self { target, directory, _lock: lock })
    }
    /// The file itself, links followed.
    pub fn target(&self) -> &Path {
        &self.target
    }
    /// Puts `contents` in the file's place. The mode of an existing file is kept; a new one is 0600.
    pub fn replace(&self, contents: &[u8]) -> io::Result<()> {
        let mut name = OsString::from(".");
        name.push(self.target.file_name().unwrap_or_default());
        name.push(".new");
        match std::fs::remove_file(self.directory.join(&name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file =
            tempfile::Builder::new().prefix(&name).rand_bytes(0).suffix("").tempfile_in(&self.directory)?;
        file.write_all(contents)?;
        if let Ok(old) = self.target.metadata() {
            keep_owner(file.as_file(), &old);
            file.as_file().set_permissions(std::fs::Permissions::from_mode(old.mode() & 0o7777))?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.target).map_err(|e| e.error)?;
        match File::open(&self.directory)?.sync_all() {
            // Some file systems cannot sync a directory; the file is in its place all the same.
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            result => result,
        }
    }
}

/// A file edited through `sudo` stays its owner's; where that is not allowed, the writer owns the new one.
fn keep_owner(new: &File, old: &std::fs::Metadata) {
    if new.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid())) {
        return;
    }
    let owner = rustix::fs::Uid::from_raw(old.uid());
    let group = rustix::fs::Gid::from_raw(old.gid());
    let _ = rustix::fs::fchown(new, Some(owner), Some(group));
}

/// The file that a chain of links leads to, whether or not it exists.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..40 {
        match std::fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many links"))
}

/// The directory itself is locked, so that no lock file is left beside the target. A file system that cannot lock a
/// directory (NFS wants a writable handle) gets a lock file instead.
fn lock(directory: &Path) -> io::Result<File> {
    let opened = File::open(directory)?;
    match wait(&opened) {
        Err(e) if e.kind() != io::ErrorKind::TimedOut => {
            let path = directory.join(".lock");
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            match wait(&file) {
                Err(e) if e.kind() == io::ErrorKind::TimedOut => Err(e),
                // Without any locks, replacing as a whole is what is left to promise.
                _ => Ok(file),
            }
        }
        Err(e) => Err(e),
        Ok(()) => Ok(opened),
    }
}

fn wait(file: &File) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps it locked"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
