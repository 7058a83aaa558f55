//! How a call into a script fails, and whether its VM still lives.

use std::time::Duration;

/// Why a call into a script gave nothing. Its text continues a sentence that names the plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The script raised an error, or does not parse: file, line and the script's words.
    #[error("{0}")]
    Raised(String),
    /// It ran for longer than its deadline.
    #[error("it ran for longer than its limit of {}", seconds(*.0))]
    Timeout(Duration),
    /// It needed more memory than its limit.
    #[error("it needed more memory than its limit of {0} MiB; [limits] memory_mb in plugin.toml raises it")]
    Memory(u32),
    /// The caller went away.
    #[error("it was cancelled")]
    Cancelled,
    /// It returned or emitted what it may not.
    #[error("{0}")]
    Shape(String),
    /// The host's own code panicked on its behalf.
    #[error("the host failed while it ran: {0}")]
    Panic(String),
    /// Its VM is gone for the rest of the session.
    #[error("it is retired: {0}")]
    Retired(String),
    /// Calls into it went too deep through calls it made itself.
    #[error("it called itself through the host more than {0} levels deep")]
    TooDeep(usize),
}

/// Whether a VM takes calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// It does.
    #[default]
    Live,
    /// It was given up, and why; it is never started again by itself.
    Retired(String),
}

fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        return format!("{} s", limit.as_secs());
    }
    format!("{} ms", limit.as_millis())
}
