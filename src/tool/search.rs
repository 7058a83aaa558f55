//! Walking the workspace for `glob` and `grep`: what is met, what is passed over, and why.
//!
//! `.git` is never entered and no link is followed, so every file is met once. Files that `.gitignore`, `.ignore` or
//! the operator's own excludes name are passed over; the rules come from the git root downwards, or from the
//! workspace root where there is no repository. Hidden files are met. What the fence refuses to every tool is passed
//! over and counted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::fence::{Fence, Special};
use crate::tool::Output;

/// A walk below one directory.
pub(super) struct Search {
    /// The real directory.
    pub(super) base: PathBuf,
    pub(super) fence: Arc<Fence>,
    pub(super) rules: Rules,
    pub(super) order: Order,
    /// How deep it goes: 1 is the directory's own entries; none is all the way.
    pub(super) depth: Option<usize>,
}

/// Whether ignore rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Honoured,
    Disregarded,
}

/// In which order files are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Any,
    ByPath,
}

/// Goes on, or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    More,
    Enough,
}

/// What a walk could not look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    /// Entries that could not be read, and the first of them with the reason.
    pub(super) unreadable: u64,
    pub(super) example: Option<String>,
    /// Entries that the fence refuses.
    pub(super) refused: u64,
}

impl Missed {
    /// Counts something that could not be read.
    pub(super) fn unreadable(&mut self, what: String) {
        self.unreadable += 1;
        self.example.get_or_insert(what);
    }

    /// Takes in what another walk missed.
    pub(super) fn add(&mut self, other: Self) {
        self.unreadable += other.unreadable;
        self.refused += other.refused;
        self.example = self.example.take().or(other.example);
    }

    /// One line for the model; none when everything was looked at.
    pub(super) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(example) = &self.example {
            let what = if self.unreadable == 1 { "1 file or directory" } else { "files or directories" };
            let count = if self.unreadable == 1 { String::new() } else { format!("{} ", self.unreadable) };
            parts.push(format!(
                "{count}{what} could not be read ({example}), so part of the tree was not searched"
            ));
        }
        if self.refused > 0 {
            parts.push(format!(
                "{} that holds credentials or Crystal's own data was left out",
                if self.refused == 1 {
                    "1 path".to_owned()
                } else {
                    format!("each of {} paths", self.refused)
                }
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl Search {
    /// Hands every entry below the base to `meet` until it has enough or the call is cancelled.
    pub(super) fn run(&self, cancel: &CancellationToken, mut meet: impl FnMut(&DirEntry) -> Next) -> Missed {
        let mut missed = Missed::default();
        let refused = Arc::new(AtomicU64::new(0));
        for entry in self.walk(&refused) {
            if cancel.is_cancelled() {
                break;
            }
            match entry {
                Ok(entry) if entry.depth() == 0 => {}
                Ok(entry) => {
                    if meet(&entry) == Next::Enough {
                        break;
                    }
                }
                Err(error) => missed.unreadable(error.to_string()),
            }
        }
        missed.refused = refused.load(Ordering::Relaxed);
        missed
    }

    fn walk(&self, refused: &Arc<AtomicU64>) -> ignore::Walk {
        let honoured = self.rules == Rules::Honoured;
        let above = if honoured { above(&self.base, self.fence.root()) } else { Vec::new() };
        let (fence, refused) = (self.fence.clone(), refused.clone());
        let mut builder = WalkBuilder::new(&self.base);
        builder
            .standard_filters(false)
            .ignore(honoured)
            .git_ignore(honoured)
            .git_global(honoured)
            .git_exclude(honoured)
            .require_git(false)
            .follow_links(false)
            .max_depth(self.depth)
            .filter_entry(move |entry| {
                if entry.depth() == 0 {
                    return true;
                }
                let directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                if entry.file_name() == ".git" || is_ignored(&above, entry.path(), directory) {
                    return false;
                }
                let special = fence.special(entry.path());
                let barred = matches!(special, Some(Special::Credential | Special::Home));
                refused.fetch_add(u64::from(barred), Ordering::Relaxed);
                !barred
            });
        if self.order == Order::ByPath {
            builder.sort_by_file_name(Ord::cmp);
        }
        builder.build()
    }
}

/// The rules of the directories above a base, nearest first. Empty when they ignore the base itself: whoever names
/// an ignored directory wants to see what is in it.
fn above(base: &Path, root: &Path) -> Vec<Gitignore> {
    let repository = base.ancestors().find(|directory| directory.join(".git").exists());
    let Some(top) = repository.or_else(|| base.starts_with(root).then_some(root)) else { return Vec::new() };
    let mut rules = Vec::new();
    for directory in base.ancestors().skip(1).take_while(|directory| directory.starts_with(top)) {
        let mut builder = GitignoreBuilder::new(directory);
        if directory == top {
            // The weakest first. What cannot be read has no rules.
            let _ = builder.add(top.join(".git/info/exclude"));
        }
        for name in [".gitignore", ".ignore"] {
            let _ = builder.add(directory.join(name));
        }
        rules.extend(builder.build());
    }
    let ignored = base
        .ancestors()
        .take_while(|directory| directory.starts_with(top) && *directory != top)
        .any(|directory| is_ignored(&rules, directory, true));
    if ignored { Vec::new() } else { rules }
}

fn is_ignored(rules: &[Gitignore], path: &Path, directory: bool) -> bool {
    for rules in rules.iter().filter(|rules| path.starts_with(rules.path())) {
        match rules.matched(path, directory) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}

/// A glob pattern, matched against paths relative to a directory. `*` and `?` stop at `/`; `**` does not.
pub(super) struct Pattern {
    matcher: GlobMatcher,
    text: String,
}

impl Pattern {
    /// Reads a pattern; the error carries the reason.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let glob =
            glob.map_err(|error| format!("the glob pattern {text:?} is not valid: {}", error.kind()))?;
        Ok(Self { matcher: glob.compile_matcher(), text: text.to_owned() })
    }

    /// The same pattern at any depth: one without a slash is about names.
    pub(super) fn anywhere(text: &str) -> Result<Self, String> {
        if text.contains('/') { Self::new(text) } else { Self::new(&format!("**/{text}")) }
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }

    /// How deep it can reach; none for any depth.
    pub(super) fn depth(&self) -> Option<usize> {
        // A brace may hold slashes, so then no depth is read off.
        let open = self.text.contains("**") || self.text.contains('{');
        (!open).then(|| self.text.split('/').count())
    }
}

/// Whether a path's component means anything but itself in a pattern.
pub(super) fn is_pattern(component: &str) -> bool {
    component.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// A path as the model should write it: relative to the workspace root inside it, absolute elsewhere.
pub(super) fn shown(path: &Path, root: &Path) -> String {
    let path = match path.strip_prefix(root) {
        Ok(relative) if relative.as_os_str().is_empty() => Path::new("."),
        Ok(relative) => relative,
        Err(_) => path,
    };
    let text = path.to_string_lossy();
    // A line break in a name must not look like another result.
    if text.chars().any(char::is_control) { text.escape_debug().to_string() } else { text.into_owned() }
}

/// Runs a search on a thread of its own and makes its answer an output. A cancelled search answers that it was.
pub(super) async fn apart(
    cancel: CancellationToken,
    search: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Output {
    // The thread looks at the token too, so it ends soon after nobody waits for it any more.
    let answer = tokio::select! {
        biased;
        () = cancel.cancelled() => Err("cancelled before the search was over".to_owned()),
        answer = tokio::task::spawn_blocking(search) => {
            answer.unwrap_or_else(|error| Err(format!("the search broke off: {error}")))
        }
    };
    match answer {
        Ok(text) => Output::said(text),
        Err(message) => Output::failed(message),
    }
}
