//! Where the data directory is and where each thing lies in it.
//!
//! A [`Home`] is a path and nothing more: making one reads no file, and nothing is created before it is written.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::home::environment::Environment;

/// The data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    user: Option<PathBuf>,
}

/// Why there is no data directory.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HomeError {
    /// No option, no `CRYSTAL_HOME`, and `HOME` is not set.
    #[error(
        "the data directory is not known because HOME is not set; set HOME or CRYSTAL_HOME, or pass --home DIR"
    )]
    Missing,
    /// A variable that must be absolute is not.
    #[error("{variable} must be an absolute path, but it is `{}`; set it to an absolute path or pass --home DIR", value.display())]
    Relative {
        /// `HOME` or `CRYSTAL_HOME`.
        variable: &'static str,
        /// What it holds.
        value: PathBuf,
    },
    /// `--home` is empty, or the current directory that it is relative to is gone.
    #[error("--home `{}` cannot be used: {reason}", value.display())]
    Option {
        /// What was given.
        value: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl Home {
    /// The directory of `--home`, else of `CRYSTAL_HOME`, else `~/.crystal`. A relative `--home` counts from the
    /// current directory; a relative variable is refused, since it would mean another place in every directory.
    pub fn resolve(option: Option<&Path>, environment: &Environment) -> Result<Self, HomeError> {
        let user = absolute("HOME", environment);
        if let Some(given) = option {
            let root = std::path::absolute(given)
                .map_err(|e| HomeError::Option { value: given.to_path_buf(), reason: e.to_string() })?;
            return Ok(Self { root, user: user.ok().flatten() });
        }
        if let Some(root) = absolute("CRYSTAL_HOME", environment)? {
            return Ok(Self { root, user: user.ok().flatten() });
        }
        let user = user?.ok_or(HomeError::Missing)?;
        Ok(Self { root: user.join(".crystal"), user: Some(user) })
    }
    /// The data directory at exactly this path; `~` stays unresolved.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), user: None }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The user's home directory, where it is known.
    pub fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }
    /// Settings.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }
    /// What overlays the built-in provider catalog.
    pub fn providers(&self) -> PathBuf {
        self.root.join("providers.json")
    }
    /// Stored keys; created 0600.
    pub fn credentials(&self) -> PathBuf {
        self.root.join("credentials.json")
    }
    /// Grants that were given for always.
    pub fn permissions(&self) -> PathBuf {
        self.root.join("permissions.json")
    }
    /// Trusted and refused workspaces.
    pub fn trusted(&self) -> PathBuf {
        self.root.join("trusted.json")
    }
    /// The operator's instructions for every workspace.
    pub fn instructions(&self) -> PathBuf {
        self.root.join("instructions.md")
    }
    /// The global rule file.
    pub fn rules(&self) -> PathBuf {
        self.root.join("AGENTS.md")
    }
    /// Prompts that replace built-in ones.
    pub fn prompts(&self) -> PathBuf {
        self.root.join("prompts")
    }
    /// Session files.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }
    /// Log files.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
    /// Plugins, one directory each.
    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }
    /// What a plugin keeps for itself, whatever the workspace.
    pub fn plugin_data(&self, plugin: &str) -> PathBuf {
        self.root.join("data/plugins").join(plugin)
    }
    /// What a plugin keeps for one workspace; `key` comes from [`workspace_key`].
    pub fn project_plugin_data(&self, key: &str, plugin: &str) -> PathBuf {
        self.root.join("data/projects").join(key).join("plugins").join(plugin)
    }
    /// Makes the directory, 0700, where it is not there yet.
    pub fn create(&self) -> io::Result<()> {
        create_private_dir(&self.root)
    }
}

/// A short name for a workspace, stable for its real path: the directory's name and a part of the path's SHA-256.
pub fn workspace_key(workspace: &Path) -> String {
    let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_path_buf());
    let digest = Sha256::digest(real.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name: String = real
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
        .take(40)
        .collect();
    format!("{}-{hex}", if name.is_empty() { "root" } else { &name })
}

/// Makes a directory and its missing parents, 0700; one that is there already stays as it is.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn absolute(variable: &'static str, environment: &Environment) -> Result<Option<PathBuf>, HomeError> {
    let Some(value) = environment.raw(variable).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let value = PathBuf::from(value);
    if value.is_absolute() { Ok(Some(value)) } else { Err(HomeError::Relative { variable, value }) }
}
