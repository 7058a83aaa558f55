//! What the file tools share: looking at a file through the fence, and proposing its new contents.

use std::path::PathBuf;

use bytes::Bytes;

use crate::fence::file::Kind;
use crate::fence::{FenceError, Opened};
use crate::model::port::{Committed, Expect, FileWrite, Payload, Proposal};
use crate::text::{hash, near};
use crate::tool::ToolContext;

/// The largest file that is held in memory, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A file as it is now.
#[derive(Debug)]
pub(crate) struct Current {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// Its contents; none when there is no file.
    pub(crate) contents: Option<Contents>,
    /// The name in that directory that comes nearest, where there is no file.
    pub(crate) similar: Option<String>,
}

/// Contents and their hash.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: String,
}

/// Reads the file a call names, off the async threads.
pub(crate) async fn current(cx: &ToolContext, path: &str) -> Result<Current, String> {
    let (fence, reach, path) = (cx.fence.clone(), cx.reach, path.to_owned());
    let look = tokio::task::spawn_blocking(move || {
        let opened = fence.open(&path, reach)?;
        if let Some(meta) = opened.metadata()?.filter(|meta| meta.kind == Kind::File && meta.len > MAX_BYTES)
        {
            let size = meta.len;
            return Err(FenceError(format!(
                "{path} has {size} bytes, more than the {MAX_BYTES} that file tools take; look at parts of it with grep or bash"
            )));
        }
        let contents = opened
            .read_regular(MAX_BYTES)?
            .map(|file| Contents { hash: hash::sha256(&file.bytes), bytes: file.bytes });
        let similar = if contents.is_none() { similar(&opened) } else { None };
        Ok::<_, FenceError>(Current { path: opened.path, contents, similar })
    });
    look.await.map_err(|error| format!("reading was interrupted: {error}"))?.map_err(|error| error.0)
}

fn similar(opened: &Opened) -> Option<String> {
    let entries = Opened {
        dir: opened.dir.try_clone().ok()?,
        name: ".".into(),
        path: opened.path.parent()?.to_path_buf(),
        missing: Vec::new(),
    }
    .list()
    .ok()?;
    let names = entries.iter().filter(|entry| entry.kind != Kind::Directory && opened.missing.is_empty());
    near::name(opened.name.to_str()?, names.filter_map(|entry| entry.name.to_str())).map(str::to_owned)
}

/// The error for a file that is not there.
pub(crate) fn absent(path: &str, similar: Option<&str>) -> String {
    let hint = similar.map(|name| format!("; its directory has {name:?}")).unwrap_or_default();
    format!("there is no file {path}{hint}; find files with glob")
}

/// The error for a file that someone else changed, unless this session saw it as it is (or never saw it).
pub(crate) fn unchanged(cx: &ToolContext, current: &Current, path: &str) -> Result<(), String> {
    let (Some(seen), Some(contents)) = (cx.seen.hash(&current.path), &current.contents) else {
        return Ok(());
    };
    if seen == contents.hash {
        return Ok(());
    }
    Err(format!(
        "{path} has changed since it was read, so nothing was written; read it again and repeat the change on what is there now"
    ))
}

/// Proposes a file's new contents, provided that it is still what `current` found.
pub(crate) async fn propose(
    cx: &ToolContext,
    path: &str,
    current: &Current,
    contents: Vec<u8>,
) -> Result<Committed, String> {
    let hash = hash::sha256(&contents);
    let expect =
        current.contents.as_ref().map_or(Expect::Absent, |contents| Expect::Hash(contents.hash.clone()));
    let write = FileWrite { path: path.to_owned(), contents: Bytes::from(contents), expect, reach: cx.reach };
    let proposal = Proposal { source: cx.source.clone(), payload: Payload::File(write) };
    let committed = cx.commit.commit(proposal).await.map_err(|refusal| refusal.0)?;
    let real = committed.path.as_ref().unwrap_or(&current.path);
    cx.seen.note(real, committed.hash.clone().unwrap_or(hash));
    Ok(committed)
}
