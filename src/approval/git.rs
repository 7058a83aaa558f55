//! What makes git a reader: the settings that keep it from starting programs a repository names, and a look at
//! the repository's own configuration for those that no setting can switch off.
//!
//! The operator's own configuration (`~/.gitconfig`, `/etc/gitconfig`) is trusted: it names what they chose.
//! Not covered: the configuration of a submodule that `.gitmodules` does not name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Environment that every command of `bash` gets, so that git starts no pager, asks no password and writes no
/// index while it only reads (which would run a hook). The shell reader counts on it.
pub const NEUTRAL_ENVIRONMENT: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")];

/// Git settings that every command of `bash` and every git call of the host gets through `GIT_CONFIG_COUNT`,
/// `GIT_CONFIG_KEY_<n>` and `GIT_CONFIG_VALUE_<n>`: they win over a repository's own configuration.
pub const GIT_NEUTRAL: &[(&str, &str)] = &[("core.fsmonitor", "false"), ("core.pager", "cat")];

/// All of it as variables for the environment of commands.
pub fn neutral_variables() -> Vec<(OsString, OsString)> {
    let plain = NEUTRAL_ENVIRONMENT.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let count = ("GIT_CONFIG_COUNT".into(), GIT_NEUTRAL.len().to_string().into());
    let settings = GIT_NEUTRAL.iter().enumerate().flat_map(|(place, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{place}").into(), OsString::from(key)),
            (format!("GIT_CONFIG_VALUE_{place}").into(), OsString::from(value)),
        ]
    });
    plain.chain([count]).chain(settings).collect()
}

/// The most of one configuration file that is read, in bytes; a longer one counts as naming a program.
const MAX_BYTES: u64 = 256 * 1024;
/// The most configuration files and submodules that are looked at.
const MAX_FILES: usize = 64;

/// The first setting in the configuration of the repository around `directory` that makes a reading git command
/// run a program, as file and key; none when there is none, or no repository.
pub fn foreign_program(directory: &Path) -> Option<(PathBuf, String)> {
    let git = git_directory(directory)?;
    let common = std::fs::read_to_string(git.join("commondir"))
        .map_or_else(|_| git.clone(), |text| git.join(text.trim_end()));
    let mut files = vec![git.join("config.worktree"), common.join("config")];
    submodules(&common.join("modules"), 0, &mut files);
    if files.len() > MAX_FILES {
        return Some((common.join("modules"), "too many submodules to look at".into()));
    }
    files.into_iter().enumerate().find_map(|(index, file)| {
        let scope = if index < 2 { Scope::Repository } else { Scope::Submodule };
        Some((file.clone(), suspicious(&file, scope)?))
    })
}

/// Whose configuration a file is. [`GIT_NEUTRAL`] does not reach submodules: git drops it on the way in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Repository,
    Submodule,
}

/// The repository's own directory: `.git` here or above, what a `.git` file names, or a bare repository.
fn git_directory(start: &Path) -> Option<PathBuf> {
    for directory in start.ancestors() {
        let dot = directory.join(".git");
        if dot.is_dir() {
            return Some(dot);
        }
        if let Ok(text) = std::fs::read_to_string(&dot) {
            return Some(directory.join(text.strip_prefix("gitdir:")?.trim()));
        }
        if ["HEAD", "objects", "refs"].iter().all(|name| directory.join(name).exists()) {
            return Some(directory.to_path_buf());
        }
    }
    None
}

fn submodules(modules: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    if depth > 4 || files.len() > MAX_FILES {
        return;
    }
    let Ok(entries) = std::fs::read_dir(modules) else { return };
    for entry in entries.flatten() {
        let config = entry.path().join("config");
        if config.exists() {
            files.push(config);
            submodules(&entry.path().join("modules"), depth + 1, files);
        } else {
            submodules(&entry.path(), depth + 1, files);
        }
        if files.len() > MAX_FILES {
            return;
        }
    }
}

/// The first key of a configuration file that names a program for reading commands; none when there is none.
fn suspicious(file: &Path, scope: Scope) -> Option<String> {
    let Ok(meta) = std::fs::metadata(file) else { return None };
    if meta.len() > MAX_BYTES {
        return Some("more than can be looked at".into());
    }
    let Ok(text) = std::fs::read_to_string(file) else { return Some("text that cannot be read".into()) };
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let (head, rest) = header.split_once(']').unwrap_or((header, ""));
            section = head.to_ascii_lowercase();
            line = rest.trim();
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if !key.is_empty() && !key.starts_with(['#', ';']) && names_program(&section, &key, value, scope) {
            return Some(format!("{}.{key}", section.replace([' ', '"'], "")));
        }
    }
    None
}

fn names_program(section: &str, key: &str, value: &str, scope: Scope) -> bool {
    let family = section.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    match family {
        "diff" => ["external", "command", "textconv"].contains(&key),
        "filter" => ["clean", "smudge", "process"].contains(&key) && !is_lfs(value),
        "gpg" => key.ends_with("program"),
        // What an include brings in is not followed.
        "include" | "includeif" => true,
        // A partial clone fetches what a reader misses, with whatever program its remote names.
        "extensions" => key == "partialclone",
        "remote" => key == "promisor",
        "core" => {
            key == "worktree" && scope == Scope::Repository
                || key == "fsmonitor" && scope == Scope::Submodule && !["false", "true"].contains(&value)
        }
        _ => false,
    }
}

/// The filter that `git lfs install --local` writes.
fn is_lfs(value: &str) -> bool {
    [
        "git-lfs clean -- %f",
        "git-lfs smudge -- %f",
        "git-lfs smudge --skip -- %f",
        "git-lfs filter-process",
        "git-lfs filter-process --skip",
    ]
    .contains(&value)
}
