//! Causal chains: which host calls a request comes out of, so that a waiting VM knows its own descendants.
//!
//! A chain travels with the task that works for a host call. Work that such a task moves to another task must take it
//! along ([`Chain::current`], then [`Chain::scope`]); without it a request into a waiting VM queues until the wait ends.

use std::sync::Arc;

tokio::task_local! {
    static CURRENT: Chain;
}

/// The host calls, innermost first, that a piece of work was started by.
#[derive(Clone, Debug, Default)]
pub struct Chain(Option<Arc<Link>>);

/// One host call; its address is its identity.
#[derive(Debug)]
struct Link {
    parent: Chain,
}

impl Chain {
    /// The chain of the task that asks; empty outside of any host call.
    pub fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_default()
    }
    /// Runs work as part of this chain.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }
    /// This chain with a new host call, made by work that belongs to it.
    pub(crate) fn extend(&self) -> Self {
        Self(Some(Arc::new(Link { parent: self.clone() })))
    }
    /// Whether the newest host call of `other` is one of this chain's causes.
    pub(crate) fn comes_from(&self, other: &Self) -> bool {
        let Some(call) = &other.0 else { return false };
        let mut chain = self;
        while let Some(link) = &chain.0 {
            if Arc::ptr_eq(link, call) {
                return true;
            }
            chain = &link.parent;
        }
        false
    }
}
