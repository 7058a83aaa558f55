//! Children: one way to run a program, for the shell tool, external tools and the login environment alike.
//!
//! A child gets a session of its own (so that it has no terminal to ask or garble), exactly the environment it is
//! given, and no input unless bytes are given. Its output is kept head and tail, so memory is bounded whatever it
//! prints. A deadline, a cancel, or dropping the future ends it with all its descendants (see [`tree`]).
//!
//! When the child itself has exited, the call is over: output of background children is collected for a moment
//! longer and then no more. They are left running, and what they print is read and thrown away while Crystal lives,
//! so that a full or broken pipe does not stop them.

pub mod capture;
mod child;
pub mod environment;
pub mod harden;
mod pump;
mod spawn;
pub mod terminal;
pub mod tree;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::process::capture::{Capture, Keep};
use crate::process::child::Child;
use crate::process::pump::Pump;
use crate::process::tree::{Process, Tree};

/// One program to run.
#[derive(Debug)]
pub struct Job {
    /// A path, or a name to be looked up in the given environment's `PATH`.
    pub program: OsString,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// Its whole environment; [`tree::MARK`] is added.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub directory: Directory,
    /// What it reads on standard input; none is an empty input.
    pub input: Option<Bytes>,
    /// Whether its two outputs are kept in one, in order of arrival, or apart.
    pub streams: Streams,
    /// How much of each output is kept, and in what form.
    pub keep: Keep,
    /// Longest time it may run; none is no limit.
    pub timeout: Option<Duration>,
}

/// Where a child starts.
#[derive(Debug)]
pub enum Directory {
    /// A path, opened when the child is started.
    Path(PathBuf),
    /// An open directory, with its path for messages.
    Open(OwnedFd, PathBuf),
}

/// What becomes of a child's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// One pipe for both.
    Together,
    /// A pipe each.
    Apart,
}

/// How a job went.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Its output; with [`Streams::Together`] its errors too.
    pub output: Capture,
    /// Its error output; empty with [`Streams::Together`].
    pub errors: Capture,
    /// Descendants that were still running when the job's own process had exited; they were left alone.
    pub background: Vec<Process>,
}

impl Finished {
    /// What a job gave that was cancelled before anything was started.
    pub fn before_it_began() -> Self {
        Self {
            ending: Ending::Cancelled(Vec::new()),
            output: Capture::new(Keep::NOTHING),
            errors: Capture::new(Keep::NOTHING),
            background: Vec::new(),
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// Something else killed it with this signal.
    Signalled(i32),
    /// Its time was up; these were ended.
    TimedOut(Vec<Process>),
    /// The call was cancelled; these were ended. None when it had not begun.
    Cancelled(Vec<Process>),
}

/// Why a job did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The directory is gone or cannot be entered.
    #[error("cannot start in {}: {}", path.display(), reason(error))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's word.
        error: io::Error,
    },
    /// No such program, or it cannot be run.
    #[error("cannot run {}: {}", program.display(), reason(error))]
    Program {
        /// As it was asked for.
        program: OsString,
        /// The system's word.
        error: io::Error,
    },
    /// Pipes or their registration failed.
    #[error("cannot run {}: no pipe could be made: {error}", program.display())]
    Pipe {
        /// As it was asked for.
        program: OsString,
        /// The system's word.
        error: io::Error,
    },
}

impl ProcessError {
    /// Whether the program itself was not found.
    pub fn is_missing_program(&self) -> bool {
        matches!(self, Self::Program { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// How long descendants have between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// Runs a job to its end. Dropping the future kills what it started.
pub async fn run(job: Job, cancel: &CancellationToken) -> Result<Finished, ProcessError> {
    if cancel.is_cancelled() {
        return Ok(Finished::before_it_began());
    }
    let timeout = job.timeout;
    let mut started = spawn::start(job)?;
    let deadline = async move {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let mut guard = Guard::new(started.tree.clone());
    let cut = tokio::select! {
        biased;
        () = cancel.cancelled() => Ending::Cancelled,
        () = deadline => Ending::TimedOut,
        ending = started.pump.until_exit(&mut started.child) => {
            let ending = ending.map_err(|error| ProcessError::Pipe { program: started.program.clone(), error })?;
            guard.disarm();
            let open = started.pump.drain().await;
            let background = started.tree.left(open).await;
            let (output, errors) = started.pump.finish();
            return Ok(Finished { ending, output, errors, background });
        }
    };
    let killed = end(&mut started.pump, &mut started.child, &started.tree).await;
    guard.disarm();
    let (output, errors) = started.pump.finish();
    Ok(Finished { ending: cut(killed), output, errors, background: Vec::new() })
}

/// Ends a whole tree: SIGTERM, a moment during which output is still read, SIGKILL for the rest.
async fn end(pump: &mut Pump, child: &mut Child, tree: &Tree) -> Vec<Process> {
    let asked = tree.terminate().await;
    let quiet = async {
        // The status is known to be a signal or an exit by request; the ending names the reason instead.
        let _ = pump.until_exit(child).await;
        pump.until_closed().await;
    };
    let _ = tokio::time::timeout(TERM_GRACE, quiet).await;
    tree.kill().await;
    let _ = tokio::time::timeout(TERM_GRACE, child.wait()).await;
    let _ = pump.drain().await;
    asked
}

/// Kills the tree when the future that runs it is dropped.
struct Guard(Option<Tree>);

impl Guard {
    fn new(tree: Tree) -> Self {
        Self(Some(tree))
    }
    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(tree) = &self.0 {
            tree.kill_now();
        }
    }
}

fn reason(error: &io::Error) -> impl fmt::Display {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "it is no directory".to_owned(),
        io::ErrorKind::ArgumentListTooLong => "its arguments and environment are too long".to_owned(),
        io::ErrorKind::ExecutableFileBusy => "it is being written".to_owned(),
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            "it is no program for this machine, and it does not begin with #! and an interpreter".to_owned()
        }
        _ => error.to_string(),
    }
}
