//! Words that may be paths, judged through the fence from every directory the command may run in.

use std::path::{Path, PathBuf};

use crate::approval::shell::verdict::Verdict;
use crate::fence::{Fence, Place, Special};
use crate::model::judgement::{Authority, Risk};

/// What a command does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// It is not known which.
    Either,
}

/// Device files that hold nothing and hurt nobody.
const HARMLESS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd",
];

/// Judges a path as it will be opened.
pub(super) fn judge(fence: &Fence, directories: Option<&[PathBuf]>, path: &str, access: Access) -> Verdict {
    if path.is_empty() || HARMLESS.contains(&path) || is_descriptor(path) {
        return Verdict::read("touches no file");
    }
    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
        return Verdict::network(format!("opens a connection: {path}"));
    }
    let Some(directories) = directories.filter(|_| !path.starts_with('/')) else {
        if path.starts_with('/') {
            return place(fence, path, path, access);
        }
        return outside(path, access, "is relative to a directory that is not known");
    };
    directories
        .iter()
        .map(|directory| place(fence, &directory.join(path).to_string_lossy(), path, access))
        .reduce(Verdict::and)
        .unwrap_or_else(|| outside(path, access, "is relative to a directory that is not known"))
}

fn place(fence: &Fence, absolute: &str, written: &str, access: Access) -> Verdict {
    match fence.judge(absolute) {
        Ok(place) => rate(fence, &place, written, access),
        Err(error) if Path::new(absolute).starts_with(fence.root()) => {
            // Nothing is there to be opened; a text that only looks like a path ends here too.
            Verdict::read(format!("names {written}, where nothing can be ({error})"))
        }
        Err(error) => outside(written, access, &error.to_string()),
    }
}

fn rate(fence: &Fence, place: &Place, written: &str, access: Access) -> Verdict {
    let risk = if access == Access::Read { Risk::Read } else { Risk::Write };
    let authority = if place.inside { Authority::Workspace } else { Authority::OutsideWorkspace };
    match place.special {
        Some(Special::Credential) => {
            return Verdict::new(
                Risk::Forbidden,
                authority,
                format!("touches {written}, which holds credentials"),
            );
        }
        Some(Special::Home) => {
            return Verdict::new(
                Risk::Forbidden,
                authority,
                format!("touches {written}, which is Crystal's own"),
            );
        }
        Some(Special::Control) if access != Access::Read => {
            let why = format!("writes {written}, which steers Crystal, its rules or git");
            return Verdict { control: Some(why.clone()), ..Verdict::new(Risk::Write, authority, why) };
        }
        _ => {}
    }
    if access != Access::Read && place.path.starts_with("/dev") {
        return Verdict::new(Risk::Privileged, authority, format!("writes the device {written}"));
    }
    if !place.inside {
        return outside(written, access, "is outside the workspace");
    }
    // A directory that holds the whole workspace's control places is no plain target.
    if access == Access::Write && place.path == fence.root() {
        return Verdict::new(risk, authority, "changes the workspace's root");
    }
    let verb = if access == Access::Read { "reads" } else { "changes" };
    Verdict::new(risk, authority, format!("{verb} {written}"))
}

/// A path outside, or one that cannot be told to be inside.
pub(super) fn outside(path: &str, access: Access, why: &str) -> Verdict {
    let (risk, verb) = match access {
        Access::Read => (Risk::Read, "reads"),
        Access::Write => (Risk::Write, "writes"),
        Access::Either => (Risk::Write, "may change"),
    };
    Verdict::new(risk, Authority::OutsideWorkspace, format!("{verb} {path}, which {why}"))
}

fn is_descriptor(path: &str) -> bool {
    path.strip_prefix("/dev/fd/").is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

/// The pieces of a word that a program may open as a path: the word, what follows `=` or `@`, and what is
/// glued to a short option.
pub(super) fn candidates(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if let Some(option) = word.strip_prefix('-') {
        if let Some((_, value)) = word.split_once('=') {
            found.push(value);
        }
        let glued = option.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        if !option.starts_with('-') && glued.starts_with(['/', '~', '.']) {
            found.push(glued);
        }
    } else {
        found.push(word);
        if let Some((_, value)) = word.split_once('=') {
            found.push(value);
        }
        if let Some(value) = word.strip_prefix('@') {
            found.push(value);
        }
    }
    found
}

/// Texts inside a piece of code that look like paths out of the workspace. A help against accidents: code can
/// build any path it likes.
pub(super) fn mentioned(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| c.is_whitespace() || "'\"`(){}[],;<>|&=".contains(c)).filter(|text| {
        let top =
            text.strip_prefix('/').and_then(|rest| rest.split('/').next()).filter(|top| !top.is_empty());
        top.is_some_and(|top| Path::new("/").join(top).exists())
            || text.starts_with("~/")
            || text.contains("../")
            || text.contains(".ssh/")
    })
}

/// Whether removing this path removes the workspace, the user's home or the file system.
pub(super) fn holds_everything(fence: &Fence, path: &Path) -> bool {
    let home = fence.judge("~").ok();
    fence.root().starts_with(path) || home.is_some_and(|home| home.path.starts_with(path))
}
