//! Session files: append-only JSON lines, one file a session, written as things happen.
//!
//! [`Store`] is the one writer of a file and holds its lock; [`load::Loaded`] is what a file says. Readers need no
//! lock: they stop at the last newline. Contents that would make the file large (images, previous contents of
//! files) live in [`crate::session::blob`].

mod append;
pub mod error;
pub mod export;
pub mod find;
pub mod fork;
pub mod id;
mod line;
pub mod list;
pub mod load;
mod lock;
pub mod prune;
pub mod read;
pub mod rebuild;
pub mod record;
pub mod remove;
mod repair;
mod replay;

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use crate::model::item::{Body, Item, ItemId};
use crate::model::request::{Mode, ToolSpec};
use crate::session::store::append::Appender;
use crate::session::store::error::StoreError;
use crate::session::store::load::{Loaded, Tail};
use crate::session::store::lock::Lock;
use crate::session::store::record::{Catalog, FORMAT, Header, Record, Schema, System};
use crate::text::hash;

/// The writer of one session file. Shared as `Arc<Store>`; one record at a time.
#[derive(Debug)]
pub struct Store {
    id: Arc<str>,
    path: PathBuf,
    ids: id::Ids,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: Writer,
    /// Hashes of system texts, catalogs and schemas that the file has.
    known: HashSet<Arc<str>>,
    /// Id and hash of the live system item.
    system: Option<(ItemId, Arc<str>)>,
}

#[derive(Debug)]
enum Writer {
    Open(Appender, #[expect(dead_code, reason = "held, not used: dropping it lets the next writer in")] Lock),
    ReadOnly(String),
}

impl Header {
    /// The header of a session that begins now.
    pub fn now(workspace: &Path, provider: &str, model: &str, mode: Mode) -> Result<Self, StoreError> {
        let random = getrandom::u32()
            .map_err(|error| StoreError::Missing(format!("the system gives no random numbers: {error}")))?;
        let created = Timestamp::now();
        Ok(Self {
            format: FORMAT,
            id: id::session(created, random).into(),
            created,
            workspace: workspace.to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            mode,
            parent: None,
        })
    }
}

impl Store {
    /// Creates the file of a new session in a directory (made with mode 0700 where it is missing), locked and 0600.
    pub fn create(dir: &Path, header: Header) -> Result<(Self, Loaded), StoreError> {
        make_dir(dir)?;
        let path = dir.join(format!("{}.jsonl", header.id));
        let lock = Lock::take(&path)?;
        // A file gets its name with its first line: one without would be taken for a damaged session.
        let begun = path.with_extension("begun");
        let mut appender = Appender::new(create_file(&begun)?, 0);
        let line = line::write(&Record::Session(header), Timestamp::now()).map_err(std::io::Error::from);
        let named =
            line.and_then(|line| appender.append(&line)).and_then(|()| std::fs::rename(&begun, &path));
        let _ = std::fs::remove_file(&begun);
        named.map_err(|source| StoreError::Append { path: path.clone(), source })?;
        let loaded = load::read(&path)?;
        Ok((Self::new(&loaded, Writer::Open(appender, lock)), loaded))
    }

    /// Opens a session for writing: takes its lock, completes or cuts a torn last line, answers calls that were
    /// left without a result, and says so in [`Loaded::notices`]. A file of a newer format opens read-only.
    pub fn open(path: &Path) -> Result<(Self, Loaded), StoreError> {
        // A file that is no session is told apart before a lock is laid beside it.
        let header = load::header(path, &mut load::Lines::open(path)?)?;
        if header.format > FORMAT {
            let loaded = load::read(path)?;
            let why = loaded.read_only.clone().unwrap_or_default();
            return Ok((Self::new(&loaded, Writer::ReadOnly(why)), loaded));
        }
        let lock = Lock::take(path)?;
        let file = OpenOptions::new().read(true).append(true).open(path);
        let file = file.map_err(|error| StoreError::io("open", path, error))?;
        let load::Scan { mut loaded, tail } = load::scan(path)?;
        let len = repair::tail(&file, path, &tail, &mut loaded)?;
        let store = Self::new(&loaded, Writer::Open(Appender::new(file, len), lock));
        if tail == Tail::Complete {
            store.with(|writer| writer.append(b"\n"))?;
        }
        repair::calls(&store, &mut loaded)?;
        Ok((store, loaded))
    }

    fn new(loaded: &Loaded, writer: Writer) -> Self {
        let live = loaded.items.first().filter(|item| matches!(item.body, Body::System { .. }));
        let known = loaded.systems.union(&loaded.pieces).cloned().collect();
        let system = live.map(|item| item.id.clone()).zip(loaded.system.clone());
        Self {
            id: loaded.header.id.clone(),
            path: loaded.path.clone(),
            ids: id::Ids::new(loaded.next),
            inner: Mutex::new(Inner { writer, known, system }),
        }
    }

    /// The session's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }
    /// The session file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Gives out ids for what is appended.
    pub fn ids(&self) -> &id::Ids {
        &self.ids
    }

    /// Appends a record and hands it to the kernel before it returns. On failure the file is as it was, and a
    /// later append works again as soon as its cause is gone.
    pub fn append(&self, record: &Record) -> Result<(), StoreError> {
        let line = line::write(record, Timestamp::now()).map_err(|error| self.append_error(error.into()))?;
        self.with(|writer| writer.append(&line))
    }

    /// Makes a system item the live one. Its text is stored at its first use in the file, and nothing is written
    /// while it stays. Returns the text's hash, for [`record::Step::system`].
    pub fn system(&self, item: &Item) -> Result<Arc<str>, StoreError> {
        let text = item.text().cloned().unwrap_or_default();
        let hash: Arc<str> = hash::sha256(text.as_bytes()).into();
        let live = Some((item.id.clone(), hash.clone()));
        let new = {
            let inner = self.inner();
            if inner.system == live {
                return Ok(hash);
            }
            !inner.known.contains(&hash)
        };
        let record = System { id: item.id.clone(), hash: hash.clone(), text: new.then_some(text) };
        self.append(&Record::System(record))?;
        let mut inner = self.inner();
        inner.known.insert(hash.clone());
        inner.system = live;
        Ok(hash)
    }

    /// Stores a catalog at its first use in the file and returns its hash, for [`record::Step::catalog`].
    pub fn catalog(&self, tools: &Arc<[ToolSpec]>) -> Result<Arc<str>, StoreError> {
        let hash = self.hash_of(tools)?;
        self.piece(&hash, || Record::Catalog(Catalog { hash: hash.clone(), tools: tools.clone() }))?;
        Ok(hash)
    }

    /// Stores an output schema at its first use in the file and returns its hash, for [`record::Step::schema`].
    pub fn schema(&self, schema: &Arc<Value>) -> Result<Arc<str>, StoreError> {
        let hash = self.hash_of(schema)?;
        self.piece(&hash, || Record::Schema(Schema { hash: hash.clone(), schema: schema.clone() }))?;
        Ok(hash)
    }

    fn hash_of(&self, value: &impl serde::Serialize) -> Result<Arc<str>, StoreError> {
        let json = serde_json::to_vec(value).map_err(|error| self.append_error(error.into()))?;
        Ok(hash::sha256(&json).into())
    }

    fn piece(&self, hash: &Arc<str>, record: impl FnOnce() -> Record) -> Result<(), StoreError> {
        if !self.inner().known.contains(hash) {
            self.append(&record())?;
            self.inner().known.insert(hash.clone());
        }
        Ok(())
    }

    fn with(&self, act: impl FnOnce(&mut Appender) -> std::io::Result<()>) -> Result<(), StoreError> {
        match &mut self.inner().writer {
            Writer::Open(appender, _) => act(appender).map_err(|error| self.append_error(error)),
            Writer::ReadOnly(why) => Err(StoreError::ReadOnly { id: self.id.to_string(), why: why.clone() }),
        }
    }

    fn append_error(&self, source: std::io::Error) -> StoreError {
        StoreError::Append { path: self.path.clone(), source }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // An append either wrote a whole line or took it back, so a panic elsewhere leaves nothing half-done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a directory of Crystal's own, with its parents, readable by its owner alone.
pub(crate) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| StoreError::io("make the directory", dir, error))
}

/// Creates a file of Crystal's own that must not be there yet.
pub(crate) fn create_file(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| StoreError::io("create", path, error))
}
