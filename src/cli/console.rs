//! What a command talks to: environment, input and the two outputs, passed in so that commands run in tests and a
//! closed output is met in one place.

use std::io::{self, BufRead, Write};

use crate::error::{Exit, Failure};
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

impl Console<'_> {
    /// Writes a line of results.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}").map_err(|e| unwritten(&e))
    }
    /// Writes a note. One that cannot be written is lost: the command's work is not.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.notes, "note: {text}");
    }
}

/// The end of a command whose output cannot be written; silent when the reader has gone.
pub fn unwritten(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure { message: String::new(), exit: Exit::Interrupted };
    }
    Failure::usage(format_args!("cannot write the output: {error}"))
}
