//! A commit gate without guards or records: it checks what a proposal expects and writes through the fence.

use std::sync::{Arc, Mutex};

use crystal::fence::{Fence, FenceError};
use crystal::model::port::{
    BoxFuture, Commit, Committed, Expect, FileWrite, Payload, Proposal, Refusal, Todo,
};
use crystal::text::{diff, hash};

pub struct Gate {
    fence: Arc<Fence>,
    todos: Mutex<Vec<Todo>>,
}

impl Gate {
    pub fn new(fence: Arc<Fence>) -> Self {
        Self { fence, todos: Mutex::default() }
    }

    fn write(&self, write: &FileWrite) -> Result<Committed, Refusal> {
        let refused = |error: FenceError| Refusal(error.0);
        let mut opened = self.fence.open(&write.path, write.reach).map_err(refused)?;
        let before = opened.read_regular(u64::MAX - 1).map_err(refused)?;
        let holds = match (&write.expect, &before) {
            (Expect::Any, _) | (Expect::Absent, None) => true,
            (Expect::Hash(wanted), Some(file)) => *wanted == hash::sha256(&file.bytes),
            _ => false,
        };
        if !holds {
            return Err(Refusal(format!("{} is not what it was when the change was prepared", write.path)));
        }
        opened.create_dirs().map_err(refused)?;
        opened.replace(&write.contents, None).map_err(refused)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let old = before.as_ref().map(|file| text(&file.bytes)).unwrap_or_default();
        let diff = diff::unified(&write.path, &old, &text(&write.contents));
        Ok(Committed {
            path: Some(opened.path),
            hash: Some(hash::sha256(&write.contents)),
            diff: diff.text,
            added: diff.added,
            removed: diff.removed,
            created: before.is_none(),
        })
    }
}

impl Commit for Gate {
    fn commit(&self, proposal: Proposal) -> BoxFuture<'_, Result<Committed, Refusal>> {
        Box::pin(async move {
            match proposal.payload {
                Payload::File(write) => self.write(&write),
                Payload::Todos(todos) => {
                    *self.todos.lock().unwrap() = todos;
                    let (path, hash, diff) = (None, None, String::new());
                    Ok(Committed { path, hash, diff, added: 0, removed: 0, created: false })
                }
                Payload::State { key, .. } => Err(Refusal(format!("no plugin keeps {key} here"))),
            }
        })
    }
    fn todos(&self) -> Vec<Todo> {
        self.todos.lock().unwrap().clone()
    }
}
