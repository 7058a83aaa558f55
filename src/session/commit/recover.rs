//! After a kill: the last recorded write of an interrupted turn may not have been made.

use std::ffi::OsStr;
use std::path::Path;

use crate::fence::Fence;
use crate::fence::file::Kind;
use crate::model::port::Reach;
use crate::session::blob;
use crate::session::store::Store;
use crate::session::store::load::Loaded;
use crate::session::store::record::{Commit, Record, Void};
use crate::text::hash;

/// Takes the last commit out of `commits` and records it as void if the file still is as it was before. Only the
/// last can be unmade: the gate writes one file at a time.
pub(super) fn last(fence: &Fence, store: &Store, loaded: &Loaded, commits: &mut Vec<Commit>) {
    let Some(commit) = commits.last() else { return };
    let cut_off = loaded.interrupted.as_ref().is_some_and(|open| open.start.turn == commit.turn);
    if !cut_off {
        return;
    }
    // Before anything is recorded: a second kill must not leave the first one's litter behind a void record. A write of
    // what was there already cannot be told from one that was not made, so the look does not depend on that.
    sweep(fence, commit);
    if !unmade(fence, commit) {
        return;
    }
    let reason = "the process ended before the file was written".to_owned();
    // Where this cannot be recorded, the next opening finds the same.
    let _ = store.append(&Record::Void(Void { commit: commit.id, reason }));
    commits.pop();
}

/// Removes the temporary file that the killed write left beside its target. Its name says that it is Crystal's.
fn sweep(fence: &Fence, commit: &Commit) {
    let Some(dir) = Path::new(&commit.path).parent() else { return };
    let open = |path: &Path| fence.open(path.to_str()?, Reach::Approved).ok();
    let entries = open(dir).and_then(|dir| dir.list().ok()).unwrap_or_default();
    for entry in entries.iter().filter(|entry| entry.kind == Kind::File && is_temporary(&entry.name)) {
        // One that cannot be removed is only litter.
        let _ = open(&dir.join(&entry.name)).map(|file| file.remove());
    }
}

fn is_temporary(name: &OsStr) -> bool {
    let inner = name.to_str().and_then(|name| name.strip_prefix(".crystal-")?.strip_suffix(".tmp"));
    inner.is_some_and(|inner| inner.len() == 16 && inner.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn unmade(fence: &Fence, commit: &Commit) -> bool {
    let Ok(opened) = fence.open(&commit.path, Reach::Approved) else { return false };
    let Ok(now) = opened.read_regular(blob::MAX_BYTES) else { return false };
    let now = now.map(|now| hash::sha256(&now.bytes));
    now.as_deref() == commit.before.as_deref() && now.as_deref() != commit.after.as_deref()
}
