//! What can be done with an opened place. Everything goes through the open directory, never through a path again.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::fence::{FenceError, Opened, walk};

/// What kind of thing a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    CharDevice,
    BlockDevice,
    Other,
}

impl Kind {
    /// The kind in words, with its article.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Pipe => "a named pipe (FIFO)",
            Self::Socket => "a socket",
            Self::CharDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Other => "no regular file",
        }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharDevice,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::Unknown => Self::Other,
        }
    }
}

/// What is at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What kind of thing; a link is not followed.
    pub kind: Kind,
    /// Permission bits, set-id and sticky included (`0o7777`).
    pub mode: u32,
    /// Size in bytes.
    pub len: u64,
    /// User and group.
    pub owner: (u32, u32),
    /// Last change of the contents; none where the file system keeps none.
    pub modified: Option<SystemTime>,
}

/// A regular file that was read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regular {
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Its permission bits.
    pub mode: u32,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What kind of thing, as the directory says; [`Kind::Other`] where it does not.
    pub kind: Kind,
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

impl Opened {
    /// What is there; none when nothing is.
    pub fn metadata(&self) -> Result<Option<Metadata>, FenceError> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        let stat = match rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.failed("look at", error)),
        };
        let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        let since = u64::try_from(stat.st_mtime).ok().map(|seconds| Duration::new(seconds, nanos));
        #[allow(clippy::useless_conversion, reason = "the mode is 16 bits wide on macOS")]
        let mode = u32::from(stat.st_mode) & 0o7777;
        Ok(Some(Metadata {
            kind: FileType::from_raw_mode(stat.st_mode as _).into(),
            mode,
            len: u64::try_from(stat.st_size).unwrap_or(0),
            owner: (stat.st_uid, stat.st_gid),
            modified: since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since)),
        }))
    }

    /// Opens a regular file for reading; none when nothing is there. Anything else is refused by its kind, without waiting for it.
    pub fn open_regular(&self) -> Result<Option<File>, FenceError> {
        // Opening a device can have effects, so its kind is asked before; the open file is asked again below.
        match self.metadata()? {
            None => return Ok(None),
            Some(meta) => self.want_file(meta.kind)?,
        }
        let file = match rustix::fs::openat(&self.dir, &self.name, READ, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(self.not_regular(Kind::Link)),
            Err(error) => return Err(self.failed("open", error)),
        };
        let meta = file.metadata().map_err(|error| FenceError::io("look at", &self.path, &error))?;
        self.want_file(FileType::from_raw_mode(meta.mode() as _).into())?;
        Ok(Some(file))
    }

    /// Reads a regular file of at most `limit` bytes whole; none when nothing is there.
    pub fn read_regular(&self, limit: u64) -> Result<Option<Regular>, FenceError> {
        let Some(file) = self.open_regular()? else { return Ok(None) };
        let meta = file.metadata().map_err(|error| FenceError::io("look at", &self.path, &error))?;
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(limit)).unwrap_or(0));
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        let read = read.map_err(|error| FenceError::io("read", &self.path, &error))?;
        if read as u64 > limit {
            return Err(FenceError(format!(
                "{} is larger than {limit} bytes, the most that is read at once",
                self.path.display()
            )));
        }
        Ok(Some(Regular { bytes, mode: meta.mode() & 0o7777 }))
    }

    /// Makes the missing directories and returns their real paths, outermost first.
    pub fn create_dirs(&mut self) -> Result<Vec<PathBuf>, FenceError> {
        let mut made = Vec::new();
        while let Some(name) = self.missing.first() {
            let at = self.path.ancestors().nth(self.missing.len()).unwrap_or(&self.path).to_path_buf();
            match rustix::fs::mkdirat(&self.dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(at.clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(FenceError::io("make the directory", &at, &error.into())),
            }
            self.dir = walk::step(self.dir.as_fd(), name)
                .map_err(|error| FenceError::io("open the directory", &at, &error.into()))?;
            self.missing.remove(0);
        }
        Ok(made)
    }

    /// Removes a regular file or a link; true when something was there.
    pub fn remove(&self) -> Result<bool, FenceError> {
        match self.metadata()? {
            None => return Ok(false),
            Some(meta) if meta.kind == Kind::Directory => return Err(self.not_regular(Kind::Directory)),
            Some(_) => {}
        }
        match rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(self.failed("remove", error)),
        }
    }

    /// Removes an empty directory; true when it is gone, false when it was not there or is not empty.
    pub fn remove_dir(&self) -> Result<bool, FenceError> {
        if !self.missing.is_empty() {
            return Ok(false);
        }
        match rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(self.failed("remove", error)),
        }
    }

    /// Opens the place itself as a directory.
    pub fn open_dir(&self) -> Result<OwnedFd, FenceError> {
        if !self.missing.is_empty() {
            return Err(self.failed("open", Errno::NOENT));
        }
        walk::step(self.dir.as_fd(), &self.name).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => FenceError(format!("{} is not a directory", self.path.display())),
            error => self.failed("open", error),
        })
    }

    /// The entries of the directory, by name.
    pub fn list(&self) -> Result<Vec<Entry>, FenceError> {
        let dir = self.open_dir()?;
        let entries = rustix::fs::Dir::read_from(&dir).map_err(|error| self.failed("list", error))?;
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.failed("list", error))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                found.push(Entry { name, kind: entry.file_type().into() });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    pub(super) fn want_file(&self, kind: Kind) -> Result<(), FenceError> {
        if kind == Kind::File { Ok(()) } else { Err(self.not_regular(kind)) }
    }

    fn not_regular(&self, kind: Kind) -> FenceError {
        FenceError(format!("{} is {}, not a regular file", self.path.display(), kind.as_str()))
    }

    pub(super) fn failed(&self, what: &str, error: Errno) -> FenceError {
        FenceError::io(what, &self.path, &error.into())
    }
}
