//! What a command talks to: environment, input and the two outputs, passed in so that commands run in tests and a
//! closed output is met in one place.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::error::Failure;
use crate::home::environment::Environment;

/// A command's surroundings.
pub struct Console<'a> {
    /// Variables.
    pub environment: &'a Environment,
    /// Where input comes from.
    pub input: Input<'a>,
    /// Results.
    pub out: &'a mut dyn Write,
    /// Notes and problems.
    pub notes: &'a mut dyn Write,
}

/// Where input comes from.
pub enum Input<'a> {
    /// A person at a terminal.
    Terminal,
    /// A file or pipe.
    Stream(&'a mut dyn BufRead),
}

/// Runs a verb on the process's own input and notes.
pub fn with_process<T>(
    environment: &Environment,
    out: &mut dyn Write,
    verb: impl FnOnce(&mut Console<'_>) -> T,
) -> T {
    let stdin = io::stdin();
    let terminal = stdin.is_terminal();
    let mut stream = stdin.lock();
    let input = if terminal { Input::Terminal } else { Input::Stream(&mut stream) };
    verb(&mut Console { environment, input, out, notes: &mut io::stderr() })
}

impl Console<'_> {
    /// Writes a line of results. A reader that has gone away is no failure.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        match writeln!(self.out, "{text}") {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::usage(format_args!("cannot write the output: {e}")))
            }
            _ => Ok(()),
        }
    }
    /// Writes a note. One that cannot be written is lost: the command's work is not.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.notes, "note: {text}");
    }
}
