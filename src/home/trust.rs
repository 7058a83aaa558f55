//! Which workspaces the operator trusts (`trusted.json`), one answer per git root.
//!
//! The file maps the real path of a git root (of the workspace itself outside of git) to true or false. The root is
//! found by walking up; git is never run for it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::document::{self, Document, DocumentError};
use crate::home::json;
use crate::home::paths::Home;

/// What the operator said about a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is trusted.
    Trusted,
    /// The question was answered with no.
    Refused,
    /// Nobody was asked yet.
    Unknown,
}

/// What is recorded for the workspace's scope. A file that cannot be read is an error, never trust.
pub fn lookup(home: &Home, workspace: &Path) -> Result<Trust, DocumentError> {
    let Some(file) = Document::read(&home.trusted())? else { return Ok(Trust::Unknown) };
    // A path that is not Unicode has no unambiguous key, so nothing is recorded for it.
    let scope = scope(workspace);
    let Some(key) = scope.to_str() else { return Ok(Trust::Unknown) };
    match file.root().get(key) {
        None => Ok(Trust::Unknown),
        Some(Value::Bool(true)) => Ok(Trust::Trusted),
        Some(Value::Bool(false)) => Ok(Trust::Refused),
        Some(other) => {
            let is = json::kind(other);
            Err(file.shape(&[key], format!("`{key}` must be true or false, but it is {is}")))
        }
    }
}

/// Whether the workspace's scope is trusted.
pub fn is_trusted(home: &Home, workspace: &Path) -> Result<bool, DocumentError> {
    Ok(lookup(home, workspace)? == Trust::Trusted)
}

/// Records the operator's answer for the workspace's scope.
pub fn record(home: &Home, workspace: &Path, answer: Answer) -> Result<(), DocumentError> {
    let scope = scope(workspace);
    let Some(key) = scope.to_str() else {
        return Err(DocumentError::Shape {
            path: home.trusted(),
            line: None,
            reason: format!("trust for {} cannot be recorded because its path is not UTF-8", scope.display()),
        });
    };
    document::set(&home.trusted(), &[key], &Value::Bool(answer == Answer::Trust))
}

/// The operator's answer to the question of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Trust,
    /// No.
    Refuse,
}

/// Where an answer holds: the git root around the workspace, else the workspace; links resolved.
pub fn scope(workspace: &Path) -> PathBuf {
    let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_path_buf());
    git_root(&real).map(Path::to_path_buf).unwrap_or(real)
}

/// The nearest directory at or above `directory` that has a `.git` (a directory, or the file of a worktree or
/// submodule).
pub fn git_root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|ancestor| ancestor.join(".git").exists())
}
