//! After a kill: the last recorded write of an interrupted turn may not have been made.

use crate::fence::Fence;
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
    if !cut_off || !unmade(fence, commit) {
        return;
    }
    let reason = "the process ended before the file was written".to_owned();
    // Where this cannot be recorded, the next opening finds the same.
    let _ = store.append(&Record::Void(Void { commit: commit.id, reason }));
    commits.pop();
}

fn unmade(fence: &Fence, commit: &Commit) -> bool {
    let Ok(opened) = fence.open(&commit.path, Reach::Approved) else { return false };
    let Ok(now) = opened.read_regular(blob::MAX_BYTES) else { return false };
    let now = now.map(|now| hash::sha256(&now.bytes));
    now.as_deref() == commit.before.as_deref() && now.as_deref() != commit.after.as_deref()
}
