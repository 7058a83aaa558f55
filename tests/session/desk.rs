//! What the tests of this theme share: a home, a workspace, and words for records.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crystal::fence::Fence;
use crystal::model::item::{Body, CallId, Item, ItemId, Origin, ResponseId, ToolCall, ToolResult};
use crystal::model::judgement::Approval;
use crystal::model::port::{Committed, Expect, FileWrite, Payload, Proposal, Reach, Refusal, Source};
use crystal::model::request::Mode;
use crystal::session::blob::Blobs;
use crystal::session::commit::Gate;
use crystal::session::store::Store;
use crystal::session::store::load::Loaded;
use crystal::session::store::record::{Entry, Header, Record, TurnEnd, TurnStart};

/// Directories of one test.
pub struct Desk {
    dir: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir }
    }
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }
    pub fn sessions(&self) -> PathBuf {
        self.home().join("sessions")
    }
    pub fn workspace(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }
    pub fn file(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }
    pub fn header(&self) -> Header {
        Header::now(&self.workspace(), "p", "m", Mode::Work).unwrap()
    }
    /// A session that holds these records and is closed again.
    pub fn session(&self, records: &[Record]) -> PathBuf {
        let (store, _) = Store::create(&self.sessions(), self.header()).unwrap();
        for record in records {
            store.append(record).unwrap();
        }
        store.path().to_path_buf()
    }
    /// The gate of an opened session.
    pub fn gate(&self, store: Store, loaded: &Loaded) -> (Gate, Arc<Store>) {
        let store = Arc::new(store);
        (Gate::new(self.fence(), store.clone(), self.blobs(), loaded), store)
    }
    /// The gate of a new session in its first turn.
    pub fn new_gate(&self) -> (Gate, Arc<Store>) {
        let (store, loaded) = Store::create(&self.sessions(), self.header()).unwrap();
        store.append(&turn_start(1, "go")).unwrap();
        self.gate(store, &loaded)
    }
    pub fn fence(&self) -> Arc<Fence> {
        Arc::new(Fence::new(&self.workspace(), &self.home()).unwrap())
    }
    pub fn blobs(&self) -> Blobs {
        Blobs::new(&self.sessions())
    }
}

pub fn user(id: &str, text: &str) -> Record {
    entry(Item::new(ItemId::new(id), Body::User { text: text.into(), images: vec![] }))
}

pub fn assistant(id: &str, text: &str, response: &str) -> Record {
    let mut item = Item::new(ItemId::new(id), Body::Assistant { text: text.into() });
    item.origin = Some(Origin { response: ResponseId::new(response), index: 0 });
    entry(item)
}

pub fn call(id: &str, call: &str, response: &str) -> Record {
    let body = ToolCall {
        id: CallId::new(call),
        name: "read".into(),
        arguments: "{}".into(),
        malformed: None,
        provider_id: Some(format!("p-{call}").into()),
    };
    let mut item = Item::new(ItemId::new(id), Body::ToolCall(body));
    item.origin = Some(Origin { response: ResponseId::new(response), index: 1 });
    entry(item)
}

pub fn result(id: &str, call: &str, text: &str) -> Record {
    entry(Item::new(
        ItemId::new(id),
        Body::ToolResult(ToolResult {
            call_id: CallId::new(call),
            provider_id: None,
            name: "read".into(),
            text: text.into(),
            images: vec![],
            failed: false,
        }),
    ))
}

pub fn entry(item: Item) -> Record {
    Record::Item(Entry::new(1, Arc::new(item)))
}

pub fn turn_start(turn: u64, text: &str) -> Record {
    Record::TurnStart(TurnStart {
        turn,
        logical_turn: turn,
        text: text.into(),
        mode: Mode::Work,
        approval: Approval::Default,
    })
}

pub fn turn_end(turn: u64) -> Record {
    Record::TurnEnd(TurnEnd { turn, stop_reason: "completed".into() })
}

/// The texts of a conversation; a call is shown by its id.
pub fn texts(loaded: &Loaded) -> Vec<String> {
    let text = |item: &Arc<Item>| match &item.body {
        Body::ToolCall(call) => format!("call {}", call.id),
        _ => item.text().unwrap().to_string(),
    };
    loaded.items.iter().map(text).collect()
}

pub fn append_bytes(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

pub fn proposal(path: &str, contents: impl Into<bytes::Bytes>, expect: Expect) -> Proposal {
    let write = FileWrite { path: path.into(), contents: contents.into(), expect, reach: Reach::Workspace };
    Proposal { source: source("crystal"), payload: Payload::File(write) }
}

pub fn source(plugin: &str) -> Source {
    Source { plugin: plugin.into(), runtime: "crystal/main".into() }
}

/// Writes a file in a turn, whatever is there.
pub async fn write(gate: &Gate, turn: u64, path: &str, contents: &str) -> Result<Committed, Refusal> {
    gate.at(turn, None).commit(proposal(path, contents.to_owned(), Expect::Any)).await
}
