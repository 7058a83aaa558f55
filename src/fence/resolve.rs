//! Resolving a path by hand, link by link, so that a part that does not exist yet is judged where it would be made.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::fence::FenceError;

/// The most links in one path; what kernels allow.
const MAX_LINKS: usize = 40;
/// The longest name and path, in bytes; what common file systems allow.
const MAX_NAME: usize = 255;
pub(super) const MAX_PATH: usize = 4096;

/// A path without links, `.` and `..`.
pub(super) struct Resolved {
    pub(super) path: PathBuf,
    pub(super) exists: bool,
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

/// Resolves `path`, relative to `start`, which is real already.
pub(super) fn resolve(start: &Path, path: &Path) -> Result<Resolved, FenceError> {
    let mut real = start.to_path_buf();
    let mut pending: VecDeque<Step> = steps(path)?.into();
    let mut links = 0;
    // Components at the end of `real` that do not exist.
    let mut missing = 0_usize;
    while let Some(step) = pending.pop_front() {
        match step {
            Step::Root => {
                real = PathBuf::from("/");
                missing = 0;
                continue;
            }
            Step::Up => {
                real.pop();
                missing = missing.saturating_sub(1);
                continue;
            }
            Step::Down(name) => real.push(name),
        }
        if missing > 0 {
            missing += 1;
            continue;
        }
        match real.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(FenceError(format!("{} goes through too many links", path.display())));
                }
                let target =
                    real.read_link().map_err(|error| FenceError::io("read the link", &real, &error))?;
                real.pop();
                for step in steps(&target)?.into_iter().rev() {
                    pending.push_front(step);
                }
            }
            Ok(meta) if !meta.is_dir() && !pending.is_empty() => {
                return Err(FenceError(format!(
                    "{} is not a directory, so there is nothing below it",
                    real.display()
                )));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => missing = 1,
            Err(error) => return Err(FenceError::io("look at", &real, &error)),
        }
    }
    Ok(Resolved { path: real, exists: missing == 0 })
}

fn steps(path: &Path) -> Result<Vec<Step>, FenceError> {
    if path.as_os_str().len() > MAX_PATH {
        return Err(FenceError(format!(
            "the path is {} bytes long; {MAX_PATH} is the most",
            path.as_os_str().len()
        )));
    }
    let mut steps = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir => steps.push(Step::Root),
            Component::ParentDir => steps.push(Step::Up),
            Component::Normal(name) if name.len() > MAX_NAME => {
                return Err(FenceError(format!(
                    "a name in the path is {} bytes long; {MAX_NAME} is the most",
                    name.len()
                )));
            }
            Component::Normal(name) => steps.push(Step::Down(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(steps)
}
