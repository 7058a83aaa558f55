//! A fork: a new session that begins with another's records.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::session::store::error::StoreError;
use crate::session::store::load::{Lines, header};
use crate::session::store::record::{FORMAT, Header, Parent, Record};
use crate::session::store::{create_file, line, make_dir};

/// Copies a session's whole lines into a new file of `dir` and returns its path. The copy has a header of its own
/// that names its parent; every other line is taken over byte for byte. The parent may be open elsewhere.
pub fn fork(parent: &Path, dir: &Path) -> Result<PathBuf, StoreError> {
    let mut lines = Lines::open(parent)?;
    let old = header(parent, &mut lines)?;
    if old.format > FORMAT {
        let why = format!("it is in format {}, which only a newer Crystal can copy", old.format);
        return Err(StoreError::ReadOnly { id: old.id.to_string(), why });
    }
    let fresh = Header::now(Path::new(&old.workspace), &old.provider, &old.model, old.mode)?;
    let path = dir.join(format!("{}.jsonl", fresh.id));
    make_dir(dir)?;
    let unfinished = path.with_extension("fork");
    let made = copy(create_file(&unfinished)?, &mut lines, old, fresh)
        .and_then(|()| std::fs::rename(&unfinished, &path).map_err(|source| failed(&path, source)));
    if made.is_err() {
        // The reason is on its way; half a session is of no use to anyone.
        let _ = std::fs::remove_file(&unfinished);
    }
    made.map(|()| path)
}

fn copy(file: File, lines: &mut Lines, old: Header, fresh: Header) -> Result<(), StoreError> {
    let records = lines.count_whole()?;
    let parent = Some(Parent { session: old.id, record: records });
    let first = Record::Session(Header { parent, ..fresh });
    let path = lines.path().to_path_buf();
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    let first = line::write(&first, Timestamp::now()).map_err(|error| failed(&path, error.into()))?;
    out.write_all(&first).map_err(|source| failed(&path, source))?;
    let mut again = Lines::open(&path)?;
    again.next()?;
    for _ in 1..records {
        let Some(line) = again.next()? else { break };
        out.write_all(line).map_err(|source| failed(&path, source))?;
    }
    out.flush().map_err(|source| failed(&path, source))
}

fn failed(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::io("fork", path, source)
}
