//! A deadline that counts a handler's own time and leaves out its waiting.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// One call's clock. It runs from the start; whoever queues the call, or makes it wait in a host function, holds a
/// [`Pause`]. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Clock(watch::Sender<usize>);

impl Default for Clock {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Clock {
    /// Stops the clock until the pause is dropped. Pauses may overlap.
    pub fn pause(&self) -> Pause {
        self.0.send_modify(|count| *count += 1);
        Pause(self.clone())
    }

    /// Returns when the clock has run for that long.
    pub async fn ran(&self, limit: Duration) {
        let mut pauses = self.0.subscribe();
        let mut left = limit;
        loop {
            if *pauses.borrow_and_update() == 0 {
                let since = Instant::now();
                tokio::select! {
                    () = tokio::time::sleep(left) => return,
                    _ = pauses.changed() => left = left.saturating_sub(since.elapsed()),
                }
            } else {
                // The sender lives in `self`, so this waits for a change and nothing else.
                let _ = pauses.changed().await;
            }
        }
    }
}

/// While it lives the clock stands.
#[derive(Debug)]
pub struct Pause(Clock);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
