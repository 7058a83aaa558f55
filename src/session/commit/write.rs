//! One file write, start to end, on a blocking thread: judge, compare, keep, record, write.

use crate::fence::file::Regular;
use crate::fence::{FenceError, Opened};
use crate::model::port::{Committed, Expect, FileWrite, Refusal, Source};
use crate::session::blob;
use crate::session::commit::diff;
use crate::session::commit::{Act, At, Shared};
use crate::session::store::record::{self, Record, Void};
use crate::text::hash;

/// What is to be written.
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) at: At,
    pub(super) act: Act,
    pub(super) source: Source,
    pub(super) file: FileWrite,
    /// The turn that this takes back.
    pub(super) undoes: Option<u64>,
}

/// New contents up to this size are kept as well, so that a diff can be shown after someone else changed the file.
/// Larger ones are found on disk, or in the next write's previous contents.
const KEEP_NEW_BYTES: usize = 1024 * 1024;

/// Writes or removes the file of a job.
pub(super) fn run(shared: &Shared, job: &Job) -> Result<Committed, Refusal> {
    let file = &job.file;
    if file.contents.len() as u64 > blob::MAX_BYTES {
        return Err(Refusal(format!(
            "{} would have {} bytes, more than the {} that one file may get, so nothing was written",
            file.path,
            file.contents.len(),
            blob::MAX_BYTES
        )));
    }
    let mut opened = shared.fence.open(&file.path, file.reach).map_err(refuse)?;
    let before = opened.read_regular(blob::MAX_BYTES).map_err(refuse)?;
    let before_hash = before.as_ref().map(|before| hash::sha256(&before.bytes));
    expect(file, before_hash.as_deref())?;
    if job.act == Act::Write && before.as_ref().is_some_and(|before| before.bytes == file.contents) {
        return Ok(committed(&opened, job, before.as_ref(), before_hash));
    }
    let commit = keep(shared, job, &opened, before.as_ref(), before_hash)?;
    shared.append(&Record::Commit(commit.clone()))?;
    if let Err(error) = act(&mut opened, job) {
        // If this cannot be recorded either, undo will find the file as it was and leave it.
        let _ = shared.append(&Record::Void(Void { commit: job.id, reason: error.0.clone() }));
        return Err(refuse(error));
    }
    let done = committed(&opened, job, before.as_ref(), commit.after.as_deref().map(str::to_owned));
    shared.memory().commits.push(commit);
    Ok(done)
}

fn expect(file: &FileWrite, now: Option<&str>) -> Result<(), Refusal> {
    let path = &file.path;
    match (&file.expect, now) {
        (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(Refusal(format!(
            "{path} has come into being since it was looked at, so nothing was written; read it and decide again"
        ))),
        (Expect::Hash(wanted), Some(now)) if wanted == now => Ok(()),
        (Expect::Hash(_), Some(_)) => Err(Refusal(format!(
            "{path} has changed since it was read, so nothing was written; read it again and repeat the change on what is there now"
        ))),
        (Expect::Hash(_), None) => Err(Refusal(format!(
            "{path} is no longer there, so nothing was written; look for it, or write it as a new file"
        ))),
    }
}

/// Keeps the previous contents and says what is about to happen.
fn keep(
    shared: &Shared,
    job: &Job,
    opened: &Opened,
    before: Option<&Regular>,
    before_hash: Option<String>,
) -> Result<record::Commit, Refusal> {
    let kept =
        |error| Refusal(format!("nothing was written, because the previous contents are not safe: {error}"));
    if let (Some(before), Some(hash)) = (before, &before_hash) {
        shared.blobs.put_as(hash, &before.bytes).map_err(kept)?;
    }
    let after = (job.act == Act::Write).then(|| hash::sha256(&job.file.contents));
    if let Some(after) = after.as_ref().filter(|_| job.file.contents.len() <= KEEP_NEW_BYTES) {
        shared.blobs.put_as(after, &job.file.contents).map_err(kept)?;
    }
    Ok(record::Commit {
        id: job.id,
        turn: job.at.turn,
        call: job.at.call.clone(),
        plugin: job.source.plugin.clone(),
        runtime: job.source.runtime.clone(),
        path: opened.path.to_string_lossy().into_owned(),
        before: before_hash.map(Into::into),
        after: after.map(Into::into),
        mode: before.map(|before| before.mode),
        missing: u32::try_from(opened.missing.len()).unwrap_or(u32::MAX),
        undoes: job.undoes,
    })
}

fn act(opened: &mut Opened, job: &Job) -> Result<(), FenceError> {
    match job.act {
        Act::Remove => opened.remove().map(|_| ()),
        Act::Write => {
            opened.create_dirs()?;
            opened.replace(&job.file.contents, None)
        }
    }
}

fn committed(opened: &Opened, job: &Job, before: Option<&Regular>, hash: Option<String>) -> Committed {
    let old = before.map(|before| before.bytes.as_slice()).unwrap_or_default();
    let shown = diff::shown(&job.file.path, old, &job.file.contents);
    Committed {
        path: Some(opened.path.clone()),
        hash,
        diff: shown.text,
        added: shown.added,
        removed: shown.removed,
        created: before.is_none(),
    }
}

fn refuse(error: FenceError) -> Refusal {
    Refusal(error.0)
}
