//! Retention: kept contents, images, traces, torn lines and logs go when they are old or too much. Session files stay.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::session::store::error::StoreError;

/// What may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The longest time since a file was last used.
    pub max_age: Duration,
    /// The most bytes of all such files together; the oldest go first.
    pub max_bytes: u64,
}

impl Default for Policy {
    /// 30 days, 2 GiB.
    fn default() -> Self {
        Self { max_age: Duration::from_secs(30 * 24 * 3600), max_bytes: 2 * 1024 * 1024 * 1024 }
    }
}

/// What is to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The files, oldest first, with their sizes.
    pub files: Vec<(PathBuf, u64)>,
    /// The bytes that stay.
    pub kept_bytes: u64,
}

impl Plan {
    /// The bytes of the files to be removed.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Removes the files; one that is gone already counts as removed.
    pub fn carry_out(&self) -> Result<(), StoreError> {
        for (path, _) in &self.files {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a policy removes from a sessions directory and a directory of logs at a moment. Looks only.
pub fn plan(sessions: &Path, logs: &Path, policy: Policy, now: SystemTime) -> Result<Plan, StoreError> {
    let mut found = Vec::new();
    collect(sessions, &|path| is_trace(path) || ends_in(path, "torn") || ends_in(path, "begun"), &mut found)?;
    for dir in directories(&sessions.join("blobs"))? {
        collect(&dir, &|_| true, &mut found)?;
    }
    collect(logs, &|_| true, &mut found)?;
    found.sort_by(|a, b| (b.used, &b.path).cmp(&(a.used, &a.path)));
    let (mut plan, mut full) = (Plan::default(), false);
    for file in found {
        let age = now.duration_since(file.used).unwrap_or_default();
        full |= plan.kept_bytes.saturating_add(file.bytes) > policy.max_bytes;
        if full || age > policy.max_age {
            plan.files.push((file.path, file.bytes));
        } else {
            plan.kept_bytes += file.bytes;
        }
    }
    plan.files.reverse();
    Ok(plan)
}

struct Found {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
}

fn collect(dir: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<Found>) -> Result<(), StoreError> {
    for path in entries(dir)? {
        // A file that vanishes meanwhile needs no removing; a link is not one of ours.
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_file() && wanted(&path) {
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.push(Found { path, used, bytes: meta.len() });
        }
    }
    Ok(())
}

fn directories(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let real = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    Ok(entries(dir)?.into_iter().filter(real).collect())
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match std::fs::read_dir(dir) {
        Ok(entries) => Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io("list", dir, error)),
    }
}

fn is_trace(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".trace.jsonl"))
}

fn ends_in(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}
