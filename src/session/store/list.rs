//! Listing sessions without reading them whole: the head and the tail of each file say what a list shows.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::session::store::error::StoreError;
use crate::session::store::line;
use crate::session::store::load::{Lines, header};
use crate::session::store::record::{Header, Record};
use crate::text::display;

/// What a list shows of a session.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// When it was written last.
    pub modified: Timestamp,
    /// Its size.
    pub bytes: u64,
    /// The title; where it has none, the beginning of what the operator said first. Empty for a session without a turn.
    pub title: String,
}

/// How far from the start a title or a first turn is looked for, in bytes.
const HEAD: u64 = 256 * 1024;

/// How far from the end a later title is looked for, in bytes.
const TAIL: u64 = 64 * 1024;

/// How many characters of a first turn stand for a title.
const TITLE_CHARS: usize = 60;

/// The sessions of a directory, the one written last first, and what could not be listed, in words. Only those
/// of `workspace` where one is given.
pub fn list(dir: &Path, workspace: Option<&Path>) -> Result<(Vec<Summary>, Vec<StoreError>), StoreError> {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for path in files(dir)? {
        match summary(&path) {
            Ok(summary) => found.push(summary),
            Err(error) => problems.push(error),
        }
    }
    if let Some(workspace) = workspace {
        found.retain(|summary| Path::new(&summary.header.workspace) == workspace);
    }
    found.sort_by(|a, b| (b.modified, &b.header.id).cmp(&(a.modified, &a.header.id)));
    Ok((found, problems))
}

/// What a list shows of one session.
pub fn summary(path: &Path) -> Result<Summary, StoreError> {
    let mut lines = Lines::open(path)?;
    let header = header(path, &mut lines)?;
    let meta = std::fs::metadata(path).map_err(|error| StoreError::io("look at", path, error))?;
    let modified = meta.modified().ok().and_then(|at| Timestamp::try_from(at).ok()).unwrap_or(header.created);
    let (first, early) = head(path)?;
    let late = if meta.len() > HEAD { tail(path, meta.len())? } else { None };
    let title = late.or(early).or(first).unwrap_or_default();
    Ok(Summary { path: path.to_path_buf(), header, modified, bytes: meta.len(), title: one_line(&title) })
}

/// The session files of a directory, in no order; a directory that is not there has none.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("list", dir, error)),
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    Ok(paths.filter(|path| is_session(path)).collect())
}

/// The session of a workspace (of any, where none is given) that was written last; none when there is none.
pub fn latest(dir: &Path, workspace: Option<&Path>) -> Result<Option<PathBuf>, StoreError> {
    let modified = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
    let mut found: Vec<_> = files(dir)?.into_iter().map(|path| (modified(&path), path)).collect();
    found.sort();
    let fits = |path: &PathBuf| {
        let Ok(header) = Lines::open(path).and_then(|mut lines| header(path, &mut lines)) else {
            return false;
        };
        workspace.is_none_or(|workspace| Path::new(&header.workspace) == workspace)
    };
    Ok(found.into_iter().rev().map(|(_, path)| path).find(fits))
}

/// A trace (`<id>.trace.jsonl`) lies beside its session and is none.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".jsonl").is_some_and(|stem| !stem.is_empty() && !stem.contains('.'))
}

/// The first thing the operator said, and the last title, in the head of a file.
fn head(path: &Path) -> Result<(Option<String>, Option<String>), StoreError> {
    let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
    let (mut first, mut title) = (None, None);
    each_line(file.take(HEAD), path, |line| match line::kind(line) {
        Some("turn_start") if first.is_none() => {
            first = Some(match line::read(line) {
                Ok(Record::TurnStart(start)) => start.text.to_string(),
                _ => String::new(),
            });
        }
        Some("title") => title = title_of(line).or(title.take()),
        _ => {}
    })?;
    Ok((first, title))
}

/// The last title in the tail of a file.
fn tail(path: &Path, len: u64) -> Result<Option<String>, StoreError> {
    let failed = |error| StoreError::io("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL))).map_err(failed)?;
    let mut title = None;
    each_line(file.take(TAIL), path, |line| {
        if line::kind(line) == Some("title") {
            title = title_of(line).or(title.take());
        }
    })?;
    Ok(title)
}

fn each_line(part: std::io::Take<File>, path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), StoreError> {
    let mut reader = BufReader::with_capacity(64 * 1024, part);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read =
            reader.read_until(b'\n', &mut line).map_err(|error| StoreError::io("read", path, error))?;
        if read == 0 {
            return Ok(());
        }
        each(line.strip_suffix(b"\n").unwrap_or(&line));
    }
}

fn title_of(line: &[u8]) -> Option<String> {
    match line::read(line) {
        Ok(Record::Title(title)) => Some(title.title),
        _ => None,
    }
}

fn one_line(title: &str) -> String {
    display::line(title, TITLE_CHARS)
}
