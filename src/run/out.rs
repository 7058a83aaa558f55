//! Standard output of `crystal run`: written line by line, and quiet when its reader has gone.

use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::FileType;
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

/// Where output goes.
pub struct Stdout {
    /// Takes it.
    pub writer: Box<dyn Write + Send>,
    /// The pipe or socket behind it, which tells when its reader goes; none when that cannot be told.
    pub pipe: Option<OwnedFd>,
}

impl Stdout {
    /// That of the process.
    pub fn of_process() -> Self {
        let stdout = std::io::stdout();
        let is_pipe = rustix::fs::fstat(&stdout).is_ok_and(|stat| {
            matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::Socket)
        });
        let pipe = if is_pipe { stdout.as_fd().try_clone_to_owned().ok() } else { None };
        Self { writer: Box::new(stdout), pipe }
    }
}

/// Standard output. The first failed write cancels the run; later ones are dropped.
pub struct Out {
    sink: Mutex<Sink>,
    cancel: CancellationToken,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    closed: bool,
    failure: Option<String>,
}

impl Out {
    /// Writes there; cancels `cancel` when that is no longer possible, also while there is nothing to write.
    pub fn new(stdout: Stdout, cancel: CancellationToken) -> Arc<Self> {
        let Stdout { writer, pipe } = stdout;
        let out = Arc::new(Self { sink: Mutex::new(Sink { writer, closed: false, failure: None }), cancel });
        if let Some(pipe) = pipe {
            let watched = Arc::downgrade(&out);
            // Without the thread a closed pipe is noticed at the next write.
            let _ = std::thread::Builder::new().name("stdout".into()).spawn(move || watch(&pipe, &watched));
        }
        out
    }
    /// The reader has gone.
    fn close(&self) {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.cancel.cancel();
    }
    /// Writes the pieces in one go and flushes them.
    pub fn write(&self, pieces: &[&[u8]]) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.closed {
            return;
        }
        let written = pieces
            .iter()
            .try_for_each(|piece| sink.writer.write_all(piece))
            .and_then(|()| sink.writer.flush());
        if let Err(error) = written {
            sink.closed = true;
            sink.failure = (error.kind() != ErrorKind::BrokenPipe).then(|| error.to_string());
            self.cancel.cancel();
        }
    }
    /// Why nothing can be written any more, where it is not simply that the reader has gone.
    pub fn failure(&self) -> Option<String> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }
    /// Whether the reader has gone.
    pub fn closed(&self) -> bool {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).closed
    }
}

/// Waits until the reader of a pipe goes.
fn watch(pipe: &OwnedFd, out: &Weak<Out>) {
    loop {
        let mut polled = [PollFd::new(pipe, PollFlags::empty())];
        match rustix::event::poll(&mut polled, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        let gone = polled.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP));
        if let Some(out) = out.upgrade().filter(|_| gone) {
            out.close();
        }
        return;
    }
}
