//! The commit gate's guard: each proposal passes PreStateCommit, and what was written is announced by PostStateCommit.

use std::sync::{Arc, Mutex, PoisonError};

use crate::hook::commit::{PostStateCommit, PreStateCommit, Proposed, Subject};
use crate::hook::context::{Context, RuntimeRef};
use crate::hook::dispatch::{Cause, Dispatcher};
use crate::model::port::{BoxFuture, Committed, Payload, Refusal};
use crate::session::commit::{Guard, Offer};

/// Stands before and behind every commit of a session.
pub struct Warden {
    hooks: Arc<Dispatcher>,
    /// The circumstances of the turn that runs, or of the time between turns; none before the session was opened.
    context: Mutex<Option<Context>>,
}

impl Warden {
    /// A guard that asks those handlers.
    pub fn new(hooks: Arc<Dispatcher>) -> Self {
        Self { hooks, context: Mutex::new(None) }
    }
    /// The circumstances are these from now on.
    pub fn enter(&self, context: Context) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = Some(context);
    }

    fn context(&self, offer: &Offer) -> Option<Context> {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let source = &offer.proposal.source;
        let (plugin, runtime) = (Arc::clone(&source.plugin), Arc::clone(&source.runtime));
        let runtime = Some(RuntimeRef { plugin, runtime, concealed: false });
        Some(Context { runtime, chain: offer.chain.clone(), ..context })
    }
}

fn proposed(offer: &Offer) -> Proposed {
    Proposed {
        id: format!("p{}", offer.id).into(),
        source: offer.proposal.source.clone(),
        payload: offer.proposal.payload.clone(),
        mode: offer.mode,
    }
}

impl Guard for Warden {
    fn before<'a>(&'a self, offer: &'a Offer) -> BoxFuture<'a, Result<Option<Payload>, Refusal>> {
        Box::pin(async move {
            if !self.hooks.has::<PreStateCommit>() {
                return Ok(None);
            }
            let Some(cx) = self.context(offer) else {
                return Err(Refusal("nothing is written before the session is open".into()));
            };
            let fired = self.hooks.fire(&cx, PreStateCommit { proposal: proposed(offer) }).await;
            match fired.abort {
                Some(abort) if abort.cause == Cause::Cancelled => {
                    Err(Refusal("the turn was interrupted, so nothing was written".into()))
                }
                Some(abort) => Err(Refusal(format!(
                    "plugin '{}' refused the write: {}",
                    abort.plugin.name, abort.reason
                ))),
                None if fired.changed_by.is_empty() => Ok(None),
                None => Ok(Some(fired.payload.proposal.payload)),
            }
        })
    }

    fn after<'a>(&'a self, offer: &'a Offer, committed: &'a Committed) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if !self.hooks.has::<PostStateCommit>() {
                return;
            }
            let Some(cx) = self.context(offer) else { return };
            let payload =
                PostStateCommit { proposal: Subject::Proposed(proposed(offer)), result: committed.clone() };
            let _ = self.hooks.fire(&cx, payload).await;
        })
    }
}
