//! Starting a child: its session, directory, pipes and environment.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use tokio::process::{Child, Command};

use crate::process::capture::Keep;
use crate::process::pump::Pump;
use crate::process::tree::{self, Tree};
use crate::process::{Directory, Job, ProcessError, Streams};

/// A child that runs, and everything that belongs to it.
pub(super) struct Started {
    pub(super) program: OsString,
    pub(super) child: Child,
    pub(super) tree: Tree,
    pub(super) pump: Pump,
}

pub(super) fn start(job: Job) -> Result<Started, ProcessError> {
    let program = job.program;
    let directory = open(job.directory)?;
    let pipe = |error| ProcessError::Pipe { program: program.clone(), error };
    let mut pump = Pump::new(job.input);
    let ends = ends(&mut pump, job.streams, job.keep).map_err(pipe)?;
    let mark = tree::mark();
    let mut command = Command::new(&program);
    command
        .args(job.arguments)
        .env_clear()
        .envs(job.environment)
        .env(tree::MARK, &mark)
        .stdin(ends.input)
        .stdout(ends.output)
        .stderr(ends.errors);
    enter(&mut command, directory);
    let child = command.spawn();
    // The command holds the writing ends; the pipes would never close while it lives.
    drop(command);
    let child = child.map_err(|error| ProcessError::Program { program: program.clone(), error })?;
    let tree = Tree::new(child.id(), mark);
    Ok(Started { program, child, tree, pump })
}

struct Ends {
    input: Stdio,
    output: Stdio,
    errors: Stdio,
}

fn ends(pump: &mut Pump, streams: Streams, keep: Keep) -> io::Result<Ends> {
    let input = match pump.input()? {
        Some(reader) => Stdio::from(reader),
        None => Stdio::null(),
    };
    let output = pump.output(keep)?;
    let errors = match streams {
        Streams::Together => output.try_clone()?,
        Streams::Apart => pump.errors(keep)?,
    };
    Ok(Ends { input, output: output.into(), errors: errors.into() })
}

/// Opens the directory that the child will enter. By descriptor, so that a missing directory is told apart from a
/// missing program, and so that it is the directory that was looked at.
fn open(directory: Directory) -> Result<OwnedFd, ProcessError> {
    #[cfg(target_os = "linux")]
    const PLACE: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const PLACE: OFlags = OFlags::RDONLY;
    let failed = |path: PathBuf, error: io::Error| ProcessError::Directory { path, error };
    match directory {
        Directory::Path(path) => {
            match rustix::fs::open(&path, PLACE | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
                Ok(open) => Ok(open),
                Err(error) => Err(failed(path, error.into())),
            }
        }
        Directory::Open(open, path) => {
            let links = rustix::fs::fstat(open.as_fd()).map(|stat| stat.st_nlink);
            match links {
                Ok(0) => Err(failed(path, io::ErrorKind::NotFound.into())),
                Ok(_) => Ok(open),
                Err(error) => Err(failed(path, error.into())),
            }
        }
    }
}

/// Makes the child lead a session of its own, without a terminal, in that directory.
#[allow(unsafe_code, reason = "a session can be made in the child only, between fork and exec")]
fn enter(command: &mut Command, directory: OwnedFd) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed: setsid and fchdir are plain system
    // calls here, nothing is allocated, and an error is built from its number alone.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            rustix::process::fchdir(&directory)?;
            Ok(())
        });
    }
}
