//! Writing a file in one step, so that a reader sees the old contents or the new ones and nothing else.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::fence::{FenceError, Opened};

impl Opened {
    /// Puts `contents` there in one step: a temporary file in the same directory, synced, then renamed over the name.
    /// `mode` are the permission bits; none keeps those of the file that is there (without set-id bits), and a new file
    /// gets the process's default. A read-only file can be replaced too: whether it may is for approval to say. A hard link's other names keep the old contents. On failure nothing is left behind.
    pub fn replace(&self, contents: &[u8], mode: Option<u32>) -> Result<(), FenceError> {
        self.want_parent()?;
        let before = self.metadata()?;
        if let Some(before) = &before {
            self.want_file(before.kind)?;
        }
        let mode = mode.or(before.as_ref().map(|before| before.mode & 0o777));
        let temp = Temp::new(self, mode)?;
        temp.fill(contents, mode, before.map(|before| before.owner))
            .map_err(|error| FenceError::io("write", &self.path, &error))?;
        temp.rename()
    }

    fn want_parent(&self) -> Result<(), FenceError> {
        match self.missing.first() {
            None => Ok(()),
            Some(name) => Err(FenceError(format!(
                "cannot write {}: its directory {} does not exist",
                self.path.display(),
                name.display()
            ))),
        }
    }
}

/// A temporary file beside its target; removed unless it was renamed.
struct Temp<'a> {
    target: &'a Opened,
    name: String,
    file: OwnedFd,
    renamed: bool,
}

impl<'a> Temp<'a> {
    fn new(target: &'a Opened, mode: Option<u32>) -> Result<Self, FenceError> {
        // A file that replaces another is private until it has that one's mode; a new one is made as programs make files.
        let mode = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = format!(".crystal-{:016x}.tmp", random()?);
            match rustix::fs::openat(&target.dir, &name, flags, mode) {
                Ok(file) => return Ok(Self { target, name, file, renamed: false }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(target.failed("write", error)),
            }
        }
    }

    fn fill(&self, contents: &[u8], mode: Option<u32>, owner: Option<(u32, u32)>) -> std::io::Result<()> {
        let mut file = File::from(self.file.try_clone()?);
        file.write_all(contents)?;
        if let Some((user, group)) = owner {
            // Only root may give a file away; whoever else writes here keeps it.
            let _ = rustix::fs::fchown(&self.file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        }
        if let Some(mode) = mode {
            rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode as _))?;
        }
        file.sync_all()
    }

    fn rename(mut self) -> Result<(), FenceError> {
        let Opened { dir, name, .. } = self.target;
        rustix::fs::renameat(dir, &self.name, dir, name)
            .map_err(|error| self.target.failed("write", error))?;
        self.renamed = true;
        // The rename is made; a directory that cannot be synced (some network file systems) does not undo it.
        let _ = rustix::fs::fsync(dir);
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // Nobody is left to tell; the reason of the failure is already on its way.
            let _ = rustix::fs::unlinkat(&self.target.dir, &self.name, AtFlags::empty());
        }
    }
}

fn random() -> Result<u64, FenceError> {
    getrandom::u64().map_err(|error| FenceError(format!("the system gives no random numbers: {error}")))
}
