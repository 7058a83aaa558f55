//! Waiting for a child.
//!
//! Linux says through a descriptor that a child has exited; elsewhere, and where no descriptor can be had, a thread
//! waits. A child that is dropped before it was waited for is waited for by a thread, so that none stays a zombie.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, WaitOptions, waitpid};
#[cfg(target_os = "linux")]
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use crate::process::Ending;

/// A child of this process.
pub(super) struct Child {
    pid: Pid,
    watch: Watch,
    /// How it ended, once that is known.
    ended: Option<Ending>,
}

/// How its end is noticed.
enum Watch {
    #[cfg(target_os = "linux")]
    Descriptor(AsyncFd<OwnedFd>),
    Thread(oneshot::Receiver<io::Result<Ending>>),
}

impl Child {
    /// Must be called on the runtime.
    pub(super) fn new(pid: Pid) -> Self {
        Self { pid, watch: Watch::new(pid), ended: None }
    }

    /// Waits until it has exited. May be dropped and called again.
    pub(super) async fn wait(&mut self) -> io::Result<Ending> {
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        let ended = match &mut self.watch {
            #[cfg(target_os = "linux")]
            Watch::Descriptor(descriptor) => by_descriptor(descriptor).await?,
            Watch::Thread(told) => told.await.map_err(io::Error::other)??,
        };
        self.ended = Some(ended.clone());
        Ok(ended)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if self.ended.is_none() && matches!(self.watch, Watch::Descriptor(_)) {
            let pid = self.pid;
            // Without a thread it stays a zombie until this process ends, which harms nobody.
            let _ = std::thread::Builder::new().spawn(move || by_id(pid));
        }
    }
}

impl Watch {
    fn new(pid: Pid) -> Self {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            let opened = pidfd_open(pid, PidfdFlags::NONBLOCK).ok();
            if let Some(descriptor) = opened.and_then(watched) {
                return Self::Descriptor(descriptor);
            }
        }
        let (tell, told) = oneshot::channel();
        // Without a thread the sender is dropped, and waiting fails instead of lasting for ever.
        let _ = std::thread::Builder::new().spawn(move || tell.send(by_id(pid)));
        Self::Thread(told)
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "tokio's own interface for a descriptor that it did not open")]
fn watched(descriptor: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, and stays the same open file, as long as it exists; it is never taken out.
    unsafe { AsyncFd::register_with_interest(descriptor, tokio::io::Interest::READABLE) }.ok()
}

#[cfg(target_os = "linux")]
async fn by_descriptor(descriptor: &AsyncFd<OwnedFd>) -> io::Result<Ending> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    loop {
        let mut ready = descriptor.readable().await?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let Some(status) = waitid(WaitId::PidFd(descriptor.get_ref().as_fd()), options)? else {
            ready.clear_ready();
            continue;
        };
        return Ok(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
        });
    }
}

fn by_id(pid: Pid) -> io::Result<Ending> {
    loop {
        let status = match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => status,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        return Ok(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
        });
    }
}
