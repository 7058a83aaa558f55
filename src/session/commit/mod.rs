//! The commit gate: the only host code that writes the workspace, the todo list and plugins' stored values.
//!
//! A proposal passes the guard, is judged by the fence once more, is recorded and written, and is announced. The
//! record comes before the write, with the previous contents kept, so that a kill at any moment leaves either the
//! old file or the new one, and the way back. What `bash` and external tools write does not come through here.

pub mod diff;
mod recover;
pub mod undo;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::fence::Fence;
use crate::hook::context::Chain;
use crate::model::item::CallId;
use crate::model::port::{BoxFuture, Commit, Committed, FileWrite, Payload, Proposal, Refusal, Source, Todo};
use crate::session::blob::Blobs;
use crate::session::store::Store;
use crate::session::store::load::Loaded;
use crate::session::store::record::{self, Observed, Record, State, Todos, Undo};

/// What stands before and behind every commit: the hooks of the session, or nothing.
pub trait Guard: Send + Sync {
    /// Asked before a commit. `Ok(None)` lets it pass, `Ok(Some(payload))` writes that instead (its kind and, for a
    /// file, its path are those of the proposal whatever it says), `Err` refuses. May propose commits itself.
    fn before<'a>(&'a self, offer: &'a Offer) -> BoxFuture<'a, Result<Option<Payload>, Refusal>>;
    /// Told after a commit. May propose commits itself.
    fn after<'a>(&'a self, offer: &'a Offer, committed: &'a Committed) -> BoxFuture<'a, ()>;
}

/// A proposal as a guard sees it.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its number in the session; a refused one leaves a gap.
    pub id: u64,
    /// Turn and call.
    pub at: At,
    /// The handlers whose own act this is; none of them is asked about it.
    pub chain: Chain,
    /// Whether the file is written or removed (only an undo removes; its contents are empty then).
    pub act: Act,
    /// The proposal; after a replacement, what is written.
    pub proposal: Proposal,
    /// Permission bits of the file that is there; none where there is none.
    pub mode: Option<u32>,
}

/// Where in the session a commit is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// The turn; 0 outside turns.
    pub turn: u64,
    /// The tool call.
    pub call: Option<CallId>,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Act {
    Write,
    Remove,
}

/// The gate of one session. Cloning shares it.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    fence: Arc<Fence>,
    store: Arc<Store>,
    blobs: Blobs,
    guard: Option<Arc<dyn Guard>>,
    /// One file write at a time, whatever its path: two names can be one file, and at most one write is in flight
    /// when the process dies.
    writing: Arc<tokio::sync::Mutex<()>>,
    memory: Mutex<Memory>,
}

/// What the gate knows of the session so far.
struct Memory {
    todos: Vec<Todo>,
    state: HashMap<String, Map<String, Value>>,
    commits: Vec<record::Commit>,
    observed: Vec<Observed>,
    undos: Vec<Undo>,
}

impl Gate {
    /// The gate of an opened session. Looks whether the last recorded write of an interrupted turn was made, and
    /// records it as void if not.
    pub fn new(fence: Arc<Fence>, store: Arc<Store>, blobs: Blobs, loaded: &Loaded) -> Self {
        Self::guarded(fence, store, blobs, loaded, None)
    }

    /// The gate of an opened session, with a guard.
    pub fn guarded(
        fence: Arc<Fence>,
        store: Arc<Store>,
        blobs: Blobs,
        loaded: &Loaded,
        guard: Option<Arc<dyn Guard>>,
    ) -> Self {
        let mut commits = loaded.commits.clone();
        recover::last(&fence, &store, loaded, &mut commits);
        let memory = Memory {
            todos: loaded.todos.clone(),
            state: loaded.state.clone(),
            commits,
            observed: loaded.observed.clone(),
            undos: loaded.undos.clone(),
        };
        let writing = Arc::default();
        Self(Arc::new(Shared { fence, store, blobs, guard, writing, memory: Mutex::new(memory) }))
    }

    /// The port that a turn's tool call (or a turn itself) gets.
    pub fn at(&self, turn: u64, call: Option<CallId>) -> Arc<dyn Commit> {
        self.within(turn, call, Chain::default())
    }

    /// The same port for an act of these handlers, which are not asked about their own writes.
    pub fn within(&self, turn: u64, call: Option<CallId>, chain: Chain) -> Arc<dyn Commit> {
        Arc::new(Scope { gate: self.clone(), at: At { turn, call }, chain })
    }

    /// A stored value of a plugin.
    pub fn state(&self, plugin: &str, key: &str) -> Option<Value> {
        self.0.memory().state.get(plugin)?.get(key).cloned()
    }

    /// Records what others changed in the workspace, so that `/diff` can list it.
    pub fn observe(&self, observed: Observed) -> Result<(), Refusal> {
        self.0.append(&Record::Observed(observed.clone()))?;
        self.0.memory().observed.push(observed);
        Ok(())
    }

    /// Passes a proposal through the guard and commits it.
    async fn commit(&self, at: At, chain: Chain, proposal: Proposal) -> Result<Committed, Refusal> {
        let mode = match &proposal.payload {
            Payload::File(file) if self.0.guard.is_some() => self.mode(file).await?,
            _ => None,
        };
        let id = self.0.store.ids().commit();
        self.pass(Offer { id, at, chain, act: Act::Write, proposal, mode }, None).await
    }

    /// Guard, write, guard.
    async fn pass(&self, mut offer: Offer, undoes: Option<u64>) -> Result<Committed, Refusal> {
        if let Some(guard) = &self.0.guard
            && let Some(payload) = guard.before(&offer).await?
        {
            offer.proposal.payload = replaced(&offer.proposal.payload, payload)?;
        }
        let committed = self.make(&offer, undoes).await?;
        if let Some(guard) = &self.0.guard {
            guard.after(&offer, &committed).await;
        }
        Ok(committed)
    }

    async fn make(&self, offer: &Offer, undoes: Option<u64>) -> Result<Committed, Refusal> {
        match &offer.proposal.payload {
            Payload::File(file) => {
                let job = write::Job {
                    id: offer.id,
                    at: offer.at.clone(),
                    act: offer.act,
                    source: offer.proposal.source.clone(),
                    file: file.clone(),
                    undoes,
                };
                self.write(job).await
            }
            Payload::Todos(todos) => {
                self.0.append(&Record::Todos(Todos { todos: todos.clone() }))?;
                self.0.memory().todos.clone_from(todos);
                Ok(quiet())
            }
            Payload::State { key, value } => {
                self.0.set_state(&offer.proposal.source, key, value)?;
                Ok(quiet())
            }
        }
    }

    async fn write(&self, job: write::Job) -> Result<Committed, Refusal> {
        let turn = self.0.writing.clone().lock_owned().await;
        let shared = self.0.clone();
        // A task that waits here may be dropped; the write runs to its end all the same and keeps others out until then.
        let done = tokio::task::spawn_blocking(move || {
            let done = write::run(&shared, &job);
            drop(turn);
            done
        });
        let done = done.await;
        done.map_err(|error| Refusal(format!("the write was interrupted: {error}")))?
    }

    async fn mode(&self, file: &FileWrite) -> Result<Option<u32>, Refusal> {
        let (shared, path, reach) = (self.0.clone(), file.path.clone(), file.reach);
        let look = tokio::task::spawn_blocking(move || shared.fence.open(&path, reach)?.metadata()).await;
        let found = look.map_err(|error| Refusal(format!("looking at the file was interrupted: {error}")))?;
        Ok(found.map_err(|error| Refusal(error.0))?.map(|meta| meta.mode))
    }
}

impl Shared {
    fn append(&self, record: &Record) -> Result<(), Refusal> {
        self.store
            .append(record)
            .map_err(|error| Refusal(format!("nothing was written, because Crystal {error}")))
    }

    fn set_state(&self, source: &Source, key: &str, value: &Value) -> Result<(), Refusal> {
        let state = State { plugin: source.plugin.clone(), key: key.to_owned(), value: value.clone() };
        self.append(&Record::State(state))?;
        let mut memory = self.memory();
        let values = memory.state.entry(source.plugin.to_string()).or_default();
        if value.is_null() {
            values.shift_remove(key);
        } else {
            values.insert(key.to_owned(), value.clone());
        }
        Ok(())
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Every change under this lock is one assignment, so a panic elsewhere leaves nothing half-done.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gate as one call sees it.
struct Scope {
    gate: Gate,
    at: At,
    chain: Chain,
}

impl Commit for Scope {
    fn commit(&self, proposal: Proposal) -> BoxFuture<'_, Result<Committed, Refusal>> {
        Box::pin(self.gate.commit(self.at.clone(), self.chain.clone(), proposal))
    }
    fn todos(&self) -> Vec<Todo> {
        self.gate.0.memory().todos.clone()
    }
}

/// What a guard put in a proposal's place: new contents, never another target.
fn replaced(old: &Payload, new: Payload) -> Result<Payload, Refusal> {
    match (old, new) {
        (Payload::File(old), Payload::File(new)) => {
            Ok(Payload::File(FileWrite { contents: new.contents, ..old.clone() }))
        }
        (Payload::Todos(_), Payload::Todos(new)) => Ok(Payload::Todos(new)),
        (Payload::State { key, .. }, Payload::State { value, .. }) => {
            Ok(Payload::State { key: key.clone(), value })
        }
        _ => Err(Refusal("a hook replaced the write by one of another kind, so nothing was written".into())),
    }
}

/// A commit that has nothing to show.
fn quiet() -> Committed {
    Committed { path: None, hash: None, diff: String::new(), added: 0, removed: 0, created: false }
}
