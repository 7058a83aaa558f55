//! SIGINT and SIGTERM end the run in an orderly way; a second one ends it at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::Exit;

/// Cancels `cancel` at the first signal and leaves the process at the second.
pub fn watch(cancel: CancellationToken) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // With a handler in place a write beyond the limit of file sizes is an error that can be told, and not the end of the
    // process. Children get the usual behaviour back.
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if cancel.is_cancelled() {
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            cancel.cancel();
        }
    });
    Ok(())
}
