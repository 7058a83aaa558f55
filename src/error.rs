//! Exit codes, in one table, and the failure that the binary's edge prints.
//!
//! Each part of the library has typed errors of its own; they become a [`Failure`] only where a command ends.

use std::fmt;

/// How a process ends (`crystal run`'s table; the other commands use the first two rows).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The turn completed and nothing was denied for want of an operator.
    Done = 0,
    /// Bad command, configuration, credentials, workspace or prompt set.
    Usage = 1,
    /// The model request failed, or a content filter stopped the model.
    Model = 2,
    /// A budget was reached, the context overflowed, or the output was cut off.
    Limit = 3,
    /// Completed, but a prompt was denied or a question dismissed; or trust was required and refused.
    Denied = 4,
    /// Interrupted: SIGINT, SIGTERM or a closed stdout.
    Interrupted = 5,
}

impl Exit {
    /// The code handed to the operating system.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// One English sentence, without a final dot, and the exit code it ends the process with.
#[derive(Debug)]
pub struct Failure {
    /// What failed, on what, and the way out.
    pub message: String,
    /// The code.
    pub exit: Exit,
}

impl Failure {
    /// A failure of command, configuration, credentials or workspace (exit 1).
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Usage }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
