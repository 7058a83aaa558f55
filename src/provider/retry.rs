//! Retries, in one place for every caller and protocol.
//!
//! [`call`] runs [`Client::call`] until it succeeds, fails for good, or the attempts are used up. What a failed attempt
//! had streamed is voided ([`Delta::Void`]) before the next one. A request that overflows the context window is never
//! sent again from here: that takes a shorter request. Dropping the future cancels, in a wait as in a call.

use std::time::Duration;

use crate::model::port::BoxFuture;
use crate::model::request::Request;
use crate::model::response::{CallError, CallErrorKind, Delta, Response};
use crate::provider::Client;
use crate::provider::endpoint::ATTEMPTS;

/// How often to try and how long to wait.
pub struct Policy {
    /// All attempts, the first included; 0 counts as 1.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest own wait. A wait that the provider asks for is obeyed up to the same length.
    pub longest_wait: Duration,
    /// A provider that asks for a longer wait than this has a usage cap, not a busy moment: the call fails at once.
    pub give_up: Duration,
    /// Random numbers from 0 to 1 that spread the waits of many clients.
    pub jitter: Box<dyn FnMut() -> f64 + Send>,
    /// How to wait.
    pub sleep: Box<dyn FnMut(Duration) -> BoxFuture<'static, ()> + Send>,
}

impl Default for Policy {
    /// Five attempts; waits of about 1, 2, 4 and 8 s; at most 60 s; gives up when asked for more than 10 minutes.
    fn default() -> Self {
        Self {
            attempts: ATTEMPTS,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            give_up: Duration::from_secs(600),
            jitter: Box::new(random),
            sleep: Box::new(|wait| Box::pin(tokio::time::sleep(wait))),
        }
    }
}

/// An attempt failed and another follows after a wait.
#[derive(Debug)]
pub struct Retry<'a> {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// All attempts that may be made.
    pub attempts: u32,
    /// How long until the next one.
    pub wait: Duration,
    /// Why it failed.
    pub error: &'a CallError,
}

/// Makes a call, and repeats it where that may help. `notice` is told before each wait.
pub async fn call(
    client: &mut dyn Client,
    request: &Request,
    policy: &mut Policy,
    sink: &mut (dyn FnMut(Delta) + Send),
    notice: &mut (dyn FnMut(Retry<'_>) + Send),
) -> Result<Response, CallError> {
    let mut attempt = 1;
    loop {
        let mut streamed = false;
        let mut watched = |delta| {
            streamed = true;
            sink(delta);
        };
        let error = match client.call(request, &mut watched).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let Some(wait) = policy.next_wait(attempt, &error) else { return Err(error) };
        if streamed {
            sink(Delta::Void);
        }
        notice(Retry { attempt, attempts: policy.attempts, wait, error: &error });
        (policy.sleep)(wait).await;
        attempt += 1;
    }
}

impl Policy {
    /// How long to wait after the failure of this attempt (from 1); none when it was the last.
    pub fn next_wait(&mut self, attempt: u32, error: &CallError) -> Option<Duration> {
        let helpless = !error.retryable || error.kind == CallErrorKind::Context;
        if helpless || attempt >= self.attempts {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << (attempt - 1).min(20)).min(self.longest_wait);
        // Between three quarters and five quarters of the step, so that clients which failed together part.
        let own = doubled.mul_f64(0.75 + 0.5 * (self.jitter)().clamp(0.0, 1.0));
        match error.retry_after {
            None => Some(own.min(self.longest_wait)),
            Some(asked) if asked > self.give_up => None,
            // Never earlier than asked; a little later, for the same reason as above.
            Some(asked) => Some(
                asked.min(self.longest_wait)
                    + Duration::from_millis(250).mul_f64((self.jitter)().clamp(0.0, 1.0)),
            ),
        }
    }
}

/// A random number from 0 to 1; one half where the system has none to give.
fn random() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
