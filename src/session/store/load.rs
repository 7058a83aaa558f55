//! Reading a session file from its first line to its last newline, and what it says when all of it is taken together.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::item::{Body, Item};
use crate::model::judgement::Approval;
use crate::model::port::Todo;
use crate::model::request::Mode;
use crate::model::response::Usage;
use crate::session::store::error::StoreError;
use crate::session::store::id::Counters;
use crate::session::store::line;
use crate::session::store::record::{Commit, FORMAT, Header, Observed, Record, TurnStart, Undo};
use crate::session::store::replay::Replay;

/// What a session file says.
#[derive(Debug)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// The conversation since the last compaction: the live system item first, where there is one.
    pub items: Vec<Arc<Item>>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// Plugins' own values, by plugin.
    pub state: HashMap<String, Map<String, Value>>,
    /// The mode as it was last.
    pub mode: Mode,
    /// The provider as it was last.
    pub provider: String,
    /// The model as it was last.
    pub model: String,
    /// Tokens by provider and model, in the order of their first use.
    pub spent: Vec<Spent>,
    /// What the last call of the conversation itself used; none before the first.
    pub last_usage: Option<Usage>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// The turn that has no end: it can be continued.
    pub interrupted: Option<Interrupted>,
    /// The gate's writes that were made, in order.
    pub commits: Vec<Commit>,
    /// What others changed.
    pub observed: Vec<Observed>,
    /// The undos.
    pub undos: Vec<Undo>,
    /// How many of the undos the model was told of: those before the last turn began.
    pub undos_told: usize,
    /// The title.
    pub title: Option<String>,
    /// What the operator is to be told about the file, one English line each.
    pub notices: Vec<String>,
    /// Where ids go on.
    pub next: Counters,
    /// Call ids of providers that are in use.
    pub provider_ids: HashSet<Arc<str>>,
    /// Hashes of the catalogs and output schemas that the file has.
    pub pieces: HashSet<Arc<str>>,
    /// Hashes of the system texts that the file has.
    pub systems: HashSet<Arc<str>>,
    /// Hash of the live system text.
    pub system: Option<Arc<str>>,
    /// How many lines the file has.
    pub records: u64,
    /// Why it cannot be written; none when it can.
    pub read_only: Option<String>,
}

/// What one model used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Provider.
    pub provider: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// Calls.
    pub calls: u64,
    /// Tokens.
    pub usage: Usage,
}

/// A turn in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number.
    pub turn: u64,
    /// The operator input it belongs to.
    pub logical_turn: u64,
    /// Why it ended; none when it has no end.
    pub stop_reason: Option<String>,
}

/// A turn that was cut off.
#[derive(Clone, Debug, PartialEq)]
pub struct Interrupted {
    /// How it began.
    pub start: TurnStart,
    /// How many model calls it had made.
    pub steps: u64,
    /// The mode it was in last.
    pub mode: Mode,
    /// Its approval mode.
    pub approval: Approval,
}

/// A file read to its end.
pub(super) struct Scan {
    pub(super) loaded: Loaded,
    pub(super) tail: Tail,
}

/// What stands behind the last newline.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    Clean,
    /// A whole record that lacks its newline.
    Complete,
    /// The beginning of a record; it starts at this byte.
    Torn(u64),
}

/// Reads a session without writing anything: no lock is needed, and what stands behind the last newline is left out.
pub fn read(path: &Path) -> Result<Loaded, StoreError> {
    scan(path).map(|scan| scan.loaded)
}

/// A line longer than this is not read into memory whole.
const MAX_LINE: u64 = 512 * 1024 * 1024;

/// Lines of a file, one buffer for all.
pub(super) struct Lines {
    reader: BufReader<File>,
    path: PathBuf,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        let meta = file.metadata().map_err(|error| StoreError::io("look at", path, error))?;
        if meta.is_dir() {
            return Err(StoreError::not_a_session(path, "it is a directory"));
        }
        if !meta.is_file() {
            return Err(StoreError::not_a_session(path, "it is no regular file"));
        }
        if meta.len() == 0 {
            return Err(StoreError::not_a_session(path, "it is empty"));
        }
        Ok(Self {
            reader: BufReader::with_capacity(1 << 20, file),
            path: path.to_path_buf(),
            line: Vec::new(),
        })
    }

    /// The next line as it stands, newline included where it has one; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, StoreError> {
        self.line.clear();
        let read = (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| StoreError::io("read", &self.path, error))?;
        Ok((read > 0).then_some(&self.line))
    }

    /// How many whole lines the file has, the one that was read before included; reads to the end.
    pub(super) fn count_whole(&mut self) -> Result<u64, StoreError> {
        let mut count = 1;
        while self.next()?.is_some_and(|line| line.ends_with(b"\n")) {
            count += 1;
        }
        Ok(count)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads the header alone.
pub(super) fn header(path: &Path, lines: &mut Lines) -> Result<Header, StoreError> {
    let first = lines.next()?.unwrap_or_default();
    let Some(text) = first.strip_suffix(b"\n") else {
        return Err(StoreError::not_a_session(path, "its first line is not complete"));
    };
    match line::read(text) {
        Ok(Record::Session(header)) => Ok(header),
        Ok(other) => {
            let why = format!("its first line is a {:?} record, not a session header", other.kind());
            Err(StoreError::not_a_session(path, why))
        }
        Err(error) => {
            let why = format!("its first line is no session header ({error})");
            Err(StoreError::not_a_session(path, why))
        }
    }
}

pub(super) fn scan(path: &Path) -> Result<Scan, StoreError> {
    let mut lines = Lines::open(path)?;
    let header = header(path, &mut lines)?;
    let mut offset = lines.line.len() as u64;
    let mut gather = Gather::new(path, header);
    let mut tail = Tail::Clean;
    while let Some(line) = lines.next()? {
        let start = offset;
        offset += line.len() as u64;
        let Some(text) = line.strip_suffix(b"\n") else {
            tail = match line::read(line) {
                Ok(record) => {
                    gather.take(record);
                    Tail::Complete
                }
                Err(_) => Tail::Torn(start),
            };
            break;
        };
        gather.line(text);
    }
    Ok(Scan { loaded: gather.finish(), tail })
}

/// Takes records together.
struct Gather {
    loaded: Loaded,
    replay: Replay,
    open: Option<Interrupted>,
    voided: HashSet<u64>,
    damaged: Vec<u64>,
}

impl Gather {
    fn new(path: &Path, header: Header) -> Self {
        let read_only = (header.format > FORMAT).then(|| {
            format!(
                "it was written by Crystal {} in format {}, and this build writes format {FORMAT}; update Crystal to go on with it",
                header.version, header.format
            )
        });
        let loaded = Loaded {
            path: path.to_path_buf(),
            items: Vec::new(),
            todos: Vec::new(),
            state: HashMap::new(),
            mode: header.mode,
            provider: header.provider.clone(),
            model: header.model.clone(),
            spent: Vec::new(),
            last_usage: None,
            turns: Vec::new(),
            interrupted: None,
            commits: Vec::new(),
            observed: Vec::new(),
            undos: Vec::new(),
            undos_told: 0,
            title: None,
            notices: read_only
                .iter()
                .map(|why| format!("session {} is read-only: {why}", header.id))
                .collect(),
            next: Counters::default(),
            provider_ids: HashSet::new(),
            pieces: HashSet::new(),
            systems: HashSet::new(),
            system: None,
            records: 1,
            read_only,
            header,
        };
        Self { loaded, replay: Replay::default(), open: None, voided: HashSet::new(), damaged: Vec::new() }
    }

    fn line(&mut self, text: &[u8]) {
        match line::read(text) {
            Ok(record) => self.take(record),
            Err(_) => {
                self.loaded.records += 1;
                if !text.trim_ascii().is_empty() {
                    self.damaged.push(self.loaded.records);
                }
            }
        }
    }

    fn take(&mut self, record: Record) {
        let loaded = &mut self.loaded;
        loaded.records += 1;
        if let Some(problem) = self.replay.apply(&record) {
            loaded.notices.push(format!("line {} of the session file: {problem}", loaded.records));
        }
        match record {
            Record::Item(entry) => loaded.saw(&entry.item),
            Record::Compaction(compaction) => {
                for item in compaction.summary.iter().chain(&compaction.replaced) {
                    loaded.saw(item);
                }
            }
            Record::System(system) => loaded.next.saw_item(&system.id),
            Record::Catalog(catalog) => {
                loaded.pieces.insert(catalog.hash);
            }
            Record::Schema(schema) => {
                loaded.pieces.insert(schema.hash);
            }
            Record::TurnStart(start) => self.turn_start(start),
            Record::TurnEnd(end) => {
                if let Some(turn) = loaded.turns.iter_mut().rfind(|turn| turn.turn == end.turn) {
                    turn.stop_reason = Some(end.stop_reason);
                }
                self.open.take_if(|open| open.start.turn == end.turn);
            }
            Record::Step(step) => {
                if let Some(open) = self.open.as_mut().filter(|open| open.start.turn == step.turn) {
                    open.steps = open.steps.max(step.step);
                }
                loaded.spend(&step);
            }
            Record::Todos(todos) => loaded.todos = todos.todos,
            Record::Mode(set) => {
                loaded.mode = set.mode;
                if let Some(open) = &mut self.open {
                    open.mode = set.mode;
                }
            }
            Record::Model(set) => (loaded.provider, loaded.model) = (set.provider, set.model),
            Record::Commit(commit) => {
                loaded.next.saw_commit(commit.id);
                loaded.commits.push(commit);
            }
            Record::Void(void) => {
                self.voided.insert(void.commit);
            }
            Record::Observed(observed) => loaded.observed.push(observed),
            Record::Undo(undo) => loaded.undos.push(undo),
            Record::State(state) => loaded.set_state(&state.plugin, state.key, state.value),
            Record::Title(title) => loaded.title = Some(title.title),
            Record::Session(_)
            | Record::Note(_)
            | Record::Runtime(_)
            | Record::Repair(_)
            | Record::Other(_) => {}
        }
    }

    fn turn_start(&mut self, start: TurnStart) {
        let loaded = &mut self.loaded;
        loaded.next.saw_turn(start.turn, start.logical_turn);
        loaded.undos_told = loaded.undos.len();
        loaded.mode = start.mode;
        loaded.turns.push(Turn { turn: start.turn, logical_turn: start.logical_turn, stop_reason: None });
        self.open = Some(Interrupted { mode: start.mode, approval: start.approval, steps: 0, start });
    }

    fn finish(self) -> Loaded {
        let Self { mut loaded, replay, open, voided, damaged } = self;
        if !damaged.is_empty() {
            loaded.notices.push(damage(&damaged));
        }
        loaded.commits.retain(|commit| !voided.contains(&commit.id));
        loaded.interrupted = open;
        loaded.systems = replay.systems.into_keys().collect();
        if let Some((item, hash)) = replay.system {
            loaded.items.push(item);
            loaded.system = Some(hash);
        }
        loaded.items.extend(replay.items);
        loaded
    }
}

fn damage(lines: &[u64]) -> String {
    let shown: Vec<_> = lines.iter().take(5).map(u64::to_string).collect();
    let more = if lines.len() > shown.len() { ", …" } else { "" };
    match lines {
        [line] => format!("line {line} of the session file is damaged: it was skipped and stays in the file"),
        _ => format!(
            "{} lines of the session file are damaged ({}{more}): they were skipped and stay in the file",
            lines.len(),
            shown.join(", ")
        ),
    }
}

impl Loaded {
    /// The tokens of all calls together.
    pub fn usage(&self) -> Usage {
        self.spent.iter().fold(Usage::default(), |mut sum, spent| {
            sum.add(&spent.usage);
            sum
        })
    }

    /// The undos that the model does not know of.
    pub fn untold_undos(&self) -> &[Undo] {
        self.undos.get(self.undos_told..).unwrap_or_default()
    }

    fn saw(&mut self, item: &Item) {
        self.next.saw_item(&item.id);
        if let Some(origin) = &item.origin {
            self.next.saw_response(&origin.response);
        }
        if let Body::ToolCall(call) = &item.body {
            self.next.saw_call(&call.id);
            self.provider_ids.extend(call.provider_id.clone());
        }
    }

    fn spend(&mut self, step: &crate::session::store::record::Step) {
        if let Some(response) = &step.response {
            self.next.saw_response(response);
        }
        if step.finish.is_some() && matches!(step.purpose.as_str(), "work" | "plan") {
            self.last_usage = Some(step.usage);
        }
        let same = |spent: &&mut Spent| spent.provider == step.provider && spent.model == step.model;
        match self.spent.iter_mut().find(same) {
            Some(spent) => {
                spent.calls += 1;
                spent.usage.add(&step.usage);
            }
            None => self.spent.push(Spent {
                provider: step.provider.clone(),
                model: step.model.clone(),
                calls: 1,
                usage: step.usage,
            }),
        }
    }

    fn set_state(&mut self, plugin: &str, key: String, value: Value) {
        let values = self.state.entry(plugin.to_owned()).or_default();
        if value.is_null() {
            values.shift_remove(&key);
        } else {
            values.insert(key, value);
        }
    }
}
