//! What makes git a reader: the settings that keep it from starting programs a repository names.

use std::ffi::OsString;

/// Environment that every command of `bash` gets, so that `git status` or `git log` cannot start a pager.
/// The shell reader counts on it.
pub const NEUTRAL_ENVIRONMENT: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")];

/// Git settings that every command of `bash` gets through `GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_<n>` and
/// `GIT_CONFIG_VALUE_<n>`: they win over what a repository's own configuration says. An empty value switches
/// the setting off.
pub const GIT_NEUTRAL: &[(&str, &str)] =
    &[("core.fsmonitor", "false"), ("core.pager", "cat"), ("diff.external", "")];

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
