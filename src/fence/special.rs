//! The table of special places. Names are compared without case, since a file system may ignore it.

use std::ffi::OsStr;
use std::path::{Component, Path};

use crate::fence::{Special, same_name};

/// A real path and where it lies.
pub(super) struct Seen<'a> {
    pub(super) path: &'a Path,
    /// Below the workspace root.
    pub(super) in_root: Option<&'a Path>,
    /// Below Crystal's home.
    pub(super) in_home: Option<&'a Path>,
    /// Below the user's home directory.
    pub(super) in_user: Option<&'a Path>,
}

/// Where a credential path begins.
enum From {
    /// At any directory.
    Anywhere,
    /// At the user's home directory.
    User,
    /// At the file system's root.
    Root,
}

/// Credential paths: a file, or a directory with everything below it. `*` is any one name.
const CREDENTIALS: &[(From, &[&str])] = &[
    // Keys of shells, mail and signatures.
    (From::Anywhere, &[".ssh"]),
    (From::Anywhere, &[".gnupg"]),
    (From::Anywhere, &[".password-store"]),
    (From::Anywhere, &[".netrc"]),
    (From::Anywhere, &["_netrc"]),
    (From::Anywhere, &[".pgpass"]),
    (From::User, &[".my.cnf"]),
    (From::Anywhere, &["id_rsa"]),
    (From::Anywhere, &["id_dsa"]),
    (From::Anywhere, &["id_ecdsa"]),
    (From::Anywhere, &["id_ed25519"]),
    // Crystal's own file, and what other programs call the same.
    (From::Anywhere, &["credentials.json"]),
    // Clouds and clusters.
    (From::Anywhere, &[".aws", "credentials"]),
    (From::Anywhere, &[".aws", "sso", "cache"]),
    (From::Anywhere, &[".aws", "cli", "cache"]),
    (From::Anywhere, &[".config", "gcloud"]),
    (From::Anywhere, &["application_default_credentials.json"]),
    (From::User, &[".azure"]),
    (From::Anywhere, &[".kube", "config"]),
    (From::Anywhere, &[".docker", "config.json"]),
    (From::Anywhere, &[".terraform.d", "credentials.tfrc.json"]),
    (From::User, &[".vault-token"]),
    (From::User, &[".config", "doctl"]),
    (From::User, &[".config", "rclone"]),
    // Forges and package registries.
    (From::Anywhere, &[".git-credentials"]),
    (From::User, &[".config", "git", "credentials"]),
    (From::User, &[".config", "gh"]),
    (From::User, &[".config", "hub"]),
    (From::User, &[".config", "glab-cli"]),
    (From::User, &[".npmrc"]),
    (From::User, &[".yarnrc.yml"]),
    (From::User, &[".pypirc"]),
    (From::User, &[".gem", "credentials"]),
    (From::User, &[".cargo", "credentials"]),
    (From::User, &[".cargo", "credentials.toml"]),
    (From::User, &[".m2", "settings.xml"]),
    (From::User, &[".m2", "settings-security.xml"]),
    // Other agents and the desktop's key rings.
    (From::User, &[".codex", "auth.json"]),
    (From::User, &[".claude", ".credentials.json"]),
    (From::User, &[".local", "share", "opencode", "auth.json"]),
    (From::User, &[".config", "github-copilot"]),
    (From::User, &[".local", "share", "keyrings"]),
    (From::User, &["Library", "Keychains"]),
    // The system's own, and a process's environment, which holds provider keys.
    (From::Root, &["etc", "shadow"]),
    (From::Root, &["etc", "gshadow"]),
    (From::Root, &["etc", "sudoers"]),
    (From::Root, &["etc", "sudoers.d"]),
    (From::Root, &["proc", "*", "environ"]),
    (From::Root, &["proc", "*", "mem"]),
    (From::Root, &["proc", "*", "task", "*", "environ"]),
    (From::Root, &["proc", "*", "task", "*", "mem"]),
];

/// Names that steer Crystal, its rules or git, wherever they stand in the workspace.
const CONTROL: &[&str] = &[".git", ".crystal", ".crystal.md", "AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/// Directories of Crystal's home that tools may read like any other outside path.
const SKILLS: &[&str] = &["skill", "skills"];

/// What makes a place special; the strictest word wins.
pub(super) fn special(seen: &Seen<'_>) -> Option<Special> {
    if CREDENTIALS.iter().any(|(from, names)| is_credential(seen, from, names)) {
        return Some(Special::Credential);
    }
    if let Some(below) = seen.in_home {
        let first = names(below).next();
        if !first.is_some_and(|first| SKILLS.iter().any(|skills| same_name(first, skills))) {
            return Some(Special::Home);
        }
    }
    // Outside the workspace every component counts; inside, only what lies below the root, since a workspace may
    // itself live under a directory of such a name.
    let below = seen.in_root.unwrap_or(seen.path);
    let control = names(below).any(|name| CONTROL.iter().any(|control| same_name(name, control)));
    control.then_some(Special::Control)
}

fn is_credential(seen: &Seen<'_>, from: &From, wanted: &[&str]) -> bool {
    match from {
        From::Anywhere => {
            let path: Vec<_> = names(seen.path).collect();
            path.windows(wanted.len()).any(|window| begins(window.iter().copied(), wanted))
        }
        From::User => seen.in_user.is_some_and(|below| begins(names(below), wanted)),
        From::Root => begins(names(seen.path), wanted),
    }
}

fn begins<'a>(mut path: impl Iterator<Item = &'a OsStr>, wanted: &[&str]) -> bool {
    wanted.iter().all(|wanted| path.next().is_some_and(|name| *wanted == "*" || same_name(name, wanted)))
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}
