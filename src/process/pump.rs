//! A child's pipes: input is fed, output is kept, and nothing of it blocks the other.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::Instant;

use crate::process::Ending;
use crate::process::capture::{Capture, Keep};
use crate::process::child::Child;

/// How long a pipe that background children hold open must be silent before collecting ends.
const IDLE: Duration = Duration::from_millis(50);
/// How long collecting goes on at most once the child itself has exited.
const AFTERMATH: Duration = Duration::from_millis(400);
/// Read at once; also what a pipe holds.
const PIECE: usize = 64 * 1024;

/// The pipes of one child.
pub(super) struct Pump {
    feed: Option<Feed>,
    output: Line,
    errors: Line,
    buffer: Vec<u8>,
}

/// One pipe to read and what is kept of it.
struct Line {
    pipe: Option<Receiver>,
    capture: Capture,
}

/// The pipe to write.
struct Feed {
    pipe: Option<Sender>,
    rest: Bytes,
}

impl Pump {
    pub(super) fn new(input: Option<Bytes>) -> Self {
        Self {
            feed: input.map(|rest| Feed { pipe: None, rest }),
            output: Line::closed(),
            errors: Line::closed(),
            buffer: vec![0; PIECE],
        }
    }

    /// The child's end of the input pipe; none when it gets no input.
    pub(super) fn input(&mut self) -> io::Result<Option<PipeReader>> {
        let Some(feed) = &mut self.feed else { return Ok(None) };
        let (reader, writer) = io::pipe()?;
        feed.pipe = Some(Sender::from_owned_fd(OwnedFd::from(writer))?);
        Ok(Some(reader))
    }

    /// The child's end of the output pipe.
    pub(super) fn output(&mut self, keep: Keep) -> io::Result<PipeWriter> {
        self.output.open(keep)
    }

    /// The child's end of a pipe for errors alone.
    pub(super) fn errors(&mut self, keep: Keep) -> io::Result<PipeWriter> {
        self.errors.open(keep)
    }

    /// Feeds and reads until the child has exited.
    pub(super) async fn until_exit(&mut self, child: &mut Child) -> io::Result<Ending> {
        tokio::select! {
            biased;
            () = self.flow() => child.wait().await,
            status = child.wait() => status,
        }
    }

    /// Feeds and reads until the child's side has closed every pipe.
    pub(super) async fn until_closed(&mut self) {
        self.flow().await;
    }

    /// Reads what is left once the child has exited: until the pipes are closed, silent for a moment, or the time
    /// for it is over. True when somebody still holds a pipe open.
    pub(super) async fn drain(&mut self) -> bool {
        self.feed = None;
        let end = Instant::now() + AFTERMATH;
        while self.output.pipe.is_some() || self.errors.pipe.is_some() {
            let silence = (Instant::now() + IDLE).min(end);
            let Self { output, errors, buffer, .. } = self;
            if tokio::time::timeout_at(silence, read_either(output, errors, buffer)).await.is_err() {
                return true;
            }
            if Instant::now() >= end {
                return self.output.pipe.is_some() || self.errors.pipe.is_some();
            }
        }
        false
    }

    /// What was kept. A pipe that is still open goes on being read by a task that throws it all away.
    pub(super) fn finish(self) -> (Capture, Capture) {
        for pipe in [self.output.pipe, self.errors.pipe].into_iter().flatten() {
            tokio::spawn(discard(pipe));
        }
        (self.output.capture, self.errors.capture)
    }

    async fn flow(&mut self) {
        let Self { feed, output, errors, buffer } = self;
        let reading = async {
            while output.pipe.is_some() || errors.pipe.is_some() {
                read_either(output, errors, buffer).await;
            }
        };
        let feeding = async {
            if let Some(feed) = feed {
                feed.run().await;
            }
        };
        tokio::join!(reading, feeding);
    }
}

impl Line {
    fn closed() -> Self {
        Self { pipe: None, capture: Capture::new(Keep::NOTHING) }
    }

    fn open(&mut self, keep: Keep) -> io::Result<PipeWriter> {
        let (reader, writer) = io::pipe()?;
        *self =
            Self { pipe: Some(Receiver::from_owned_fd(OwnedFd::from(reader))?), capture: Capture::new(keep) };
        Ok(writer)
    }

    /// Waits until something is there, or for ever when the pipe is closed.
    async fn ready(&self) {
        match &self.pipe {
            // An error shows again in the read that follows.
            Some(pipe) => drop(pipe.readable().await),
            None => std::future::pending().await,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) {
        let Some(pipe) = &self.pipe else { return };
        match pipe.try_read(buffer) {
            Ok(0) => self.pipe = None,
            Ok(read) => self.capture.push(buffer.get(..read).unwrap_or_default()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.pipe = None,
        }
    }
}

impl Feed {
    /// Writes everything and closes the pipe; a child that does not want to read it all is no error.
    async fn run(&mut self) {
        while let Some(pipe) = &self.pipe {
            if self.rest.is_empty() || pipe.writable().await.is_err() {
                self.pipe = None;
                return;
            }
            match pipe.try_write(&self.rest) {
                Ok(written) => self.rest.advance(written),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => self.pipe = None,
            }
        }
    }
}

async fn read_either(output: &mut Line, errors: &mut Line, buffer: &mut [u8]) {
    // A child that prints without end is always ready; deadline and cancel must get their turn all the same.
    tokio::task::consume_budget().await;
    tokio::select! {
        () = output.ready() => output.read(buffer),
        () = errors.ready() => errors.read(buffer),
    }
}

async fn discard(pipe: Receiver) {
    let mut buffer = vec![0; PIECE];
    loop {
        tokio::task::consume_budget().await;
        if pipe.readable().await.is_err() {
            return;
        }
        match pipe.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
    }
}
