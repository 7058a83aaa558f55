//! What makes git a reader: the settings that keep it from starting programs a repository names.

/// Environment that every command of `bash` gets, so that `git status` or `git log` cannot start a pager.
/// The shell reader counts on it.
pub const NEUTRAL_ENVIRONMENT: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")];

/// Git settings that every command of `bash` gets through `GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_<n>` and
/// `GIT_CONFIG_VALUE_<n>`: they win over what a repository's own configuration says. An empty value switches
/// the setting off.
pub const GIT_NEUTRAL: &[(&str, &str)] =
    &[("core.fsmonitor", "false"), ("core.pager", "cat"), ("diff.external", "")];
