//! Starting a child: its program, session, directory, pipes and environment.

mod posix;

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{Access, AtFlags, Mode, OFlags};

use crate::process::child::Child;
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

pub(super) fn start(mut job: Job) -> Result<Started, ProcessError> {
    let program = std::mem::take(&mut job.program);
    let directory = open(&job.directory)?;
    let failed = |error| ProcessError::Program { program: program.clone(), error };
    let path = find(&program, &job.environment).map_err(failed)?;
    let mut pump = Pump::new(job.input.take());
    let ends =
        Ends::new(&mut pump, &job).map_err(|error| ProcessError::Pipe { program: program.clone(), error })?;
    let mark = tree::mark();
    let plan = posix::Plan {
        path: text(path.as_os_str()).map_err(failed)?,
        arguments: std::iter::once(&program)
            .chain(&job.arguments)
            .map(|word| text(word))
            .collect::<io::Result<_>>()
            .map_err(failed)?,
        environment: environment(&job, &mark).map_err(failed)?,
        streams: [ends.input.as_fd(), ends.output.as_fd(), ends.errors.as_fd()],
        directory: directory.as_fd(),
    };
    let pid = posix::spawn(&plan).map_err(failed)?;
    let tree = Tree::new(pid, mark);
    Ok(Started { child: Child::new(pid), program, tree, pump })
}

/// The child's ends of its pipes. They are closed here once it has them, or they would never close.
struct Ends {
    input: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
}

impl Ends {
    fn new(pump: &mut Pump, job: &Job) -> io::Result<Self> {
        let input = match pump.input()? {
            Some(reader) => reader.into(),
            None => File::open("/dev/null")?.into(),
        };
        let output: OwnedFd = pump.output(job.keep)?.into();
        let errors = match job.streams {
            Streams::Together => output.try_clone()?,
            Streams::Apart => pump.errors(job.keep)?.into(),
        };
        Ok(Self { input, output, errors })
    }
}

/// Opens the directory that the child will enter. By descriptor, so that a missing directory is told apart from a
/// missing program, and so that it is the directory that was looked at.
fn open(directory: &Directory) -> Result<OwnedFd, ProcessError> {
    #[cfg(target_os = "linux")]
    const PLACE: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const PLACE: OFlags = OFlags::RDONLY;
    let (path, opened) = match directory {
        Directory::Path(path) => {
            let flags = PLACE | OFlags::DIRECTORY | OFlags::CLOEXEC;
            (path, rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from))
        }
        Directory::Open(open, path) => (path, still_there(open)),
    };
    let entered = opened.and_then(|open| {
        rustix::fs::accessat(&open, ".", Access::EXEC_OK, AtFlags::EACCESS)?;
        Ok(open)
    });
    entered.map_err(|error| ProcessError::Directory { path: path.clone(), error })
}

fn still_there(open: &OwnedFd) -> io::Result<OwnedFd> {
    match rustix::fs::fstat(open)?.st_nlink {
        0 => Err(io::ErrorKind::NotFound.into()),
        _ => open.try_clone(),
    }
}

/// The file that a program's name means: with a slash it is a path, without one it is looked up in the job's `PATH`.
/// Relative directories there are passed over, since nobody can tell what they are relative to.
fn find(program: &OsStr, environment: &[(OsString, OsString)]) -> io::Result<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let path = environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut error = io::Error::from(io::ErrorKind::NotFound);
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        let file = directory.join(program);
        match rustix::fs::access(&file, Access::EXEC_OK) {
            Ok(()) if file.is_file() => return Ok(file),
            Err(rustix::io::Errno::ACCESS) => error = io::ErrorKind::PermissionDenied.into(),
            _ => {}
        }
    }
    Err(error)
}

fn environment(job: &Job, mark: &str) -> io::Result<Vec<CString>> {
    let marks = [(OsString::from(tree::MARK), OsString::from(mark))];
    let variables = job.environment.iter().filter(|(name, _)| name != tree::MARK).chain(&marks);
    variables
        .map(|(name, value)| text(&[name.as_os_str(), value.as_os_str()].join(OsStr::new("="))))
        .collect()
}

fn text(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| io::Error::other("a NUL character is in its name, arguments or environment"))
}
