//! Patterns filled in from the file system, so that what they match is judged and not only how they begin.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// The most matches and directory entries that are looked at.
const MAX_MATCHES: usize = 512;
/// The most components of a pattern.
const MAX_PARTS: usize = 64;
const MAX_ENTRIES: usize = 10_000;

/// The words a pattern becomes, empty when nothing matches; none when that cannot be told.
pub(super) fn matches(directories: Option<&[PathBuf]>, pattern: &str) -> Option<Vec<String>> {
    let mut walk = Walk { entries: 0, found: Vec::new() };
    let parts: Vec<&str> = pattern.split('/').collect();
    if parts.len() > MAX_PARTS {
        return None;
    }
    if pattern.starts_with('/') {
        walk.step(Path::new("/"), "/", parts.get(1..)?)?;
    } else {
        for directory in directories? {
            walk.step(directory, "", &parts)?;
        }
    }
    walk.found.sort();
    walk.found.dedup();
    Some(walk.found)
}

/// Protects a text from being read as a pattern.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?[]{}\\!".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

struct Walk {
    entries: usize,
    found: Vec<String>,
}

impl Walk {
    /// Goes on below `directory`, which the word spells `prefix`.
    fn step(&mut self, directory: &Path, prefix: &str, parts: &[&str]) -> Option<()> {
        let Some((part, rest)) = parts.split_first() else { return Some(()) };
        if !part.contains(['*', '?', '[']) || part.is_empty() || !has_pattern(part) {
            let name = unescape(part);
            return self.take(&directory.join(&name), &format!("{prefix}{name}"), rest);
        }
        // Such a pattern may match `.` and `..`.
        if part.starts_with('.') || part.starts_with("\\.") {
            return None;
        }
        let matcher = matcher(part)?;
        let Ok(entries) = std::fs::read_dir(directory) else { return Some(()) };
        for entry in entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return None;
            }
            let name = entry.ok()?.file_name();
            let name = name.to_str()?;
            if !name.starts_with('.') && matcher.is_match(name) {
                self.take(&directory.join(name), &format!("{prefix}{name}"), rest)?;
            }
        }
        Some(())
    }

    fn take(&mut self, path: &Path, word: &str, rest: &[&str]) -> Option<()> {
        if path.symlink_metadata().is_err() {
            return Some(());
        }
        if rest.is_empty() {
            self.found.push(word.to_string());
            return (self.found.len() <= MAX_MATCHES).then_some(());
        }
        if rest == [""] {
            if path.is_dir() {
                self.found.push(format!("{word}/"));
            }
            return (self.found.len() <= MAX_MATCHES).then_some(());
        }
        self.step(path, &format!("{word}/"), rest)
    }
}

fn matcher(part: &str) -> Option<GlobMatcher> {
    let mut pattern = part.to_string();
    // Without `globstar` two stars are one.
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    let glob = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build().ok()?;
    Some(glob.compile_matcher())
}

fn has_pattern(part: &str) -> bool {
    let mut escaped = false;
    part.chars().any(|c| {
        let live = !escaped && "*?[".contains(c);
        escaped = c == '\\' && !escaped;
        live
    })
}

fn unescape(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut escaped = false;
    for c in part.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            text.push(c);
            escaped = false;
        }
    }
    text
}
