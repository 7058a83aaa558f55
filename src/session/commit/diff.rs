//! The writes of a turn as diffs.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::fence::Fence;
use crate::model::port::{Reach, Refusal};
use crate::session::blob::{self, Blobs};
use crate::session::commit::Gate;
use crate::session::store::record::{Commit, Observed};
use crate::text::diff::{Diff, unified};
use crate::text::hash;

/// What a turn did to the workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnDiff {
    /// The turn.
    pub turn: u64,
    /// The files that the gate wrote, in the order of their first write.
    pub files: Vec<FileDiff>,
    /// What others changed (`bash`, external tools).
    pub observed: Vec<Observed>,
}

/// What a turn did to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The path, relative to the workspace where it is inside.
    pub path: String,
    /// The diff from before the turn's first write to after its last one.
    pub diff: Diff,
    /// Why the diff cannot be shown; none when it can.
    pub problem: Option<String>,
}

/// The longest diff that is shown of one file, in bytes.
const MAX_SHOWN: usize = 256 * 1024;

/// The diff of contents that may be no text and may be long.
pub(super) fn shown(path: &str, before: &[u8], after: &[u8]) -> Diff {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        let text = if before == after { String::new() } else { format!("Binary file {path} changed\n") };
        return Diff { text, ..Diff::default() };
    };
    let mut diff = unified(path, before, after);
    if diff.text.len() > MAX_SHOWN {
        let whole = diff.text.len();
        diff.text.truncate(diff.text.floor_char_boundary(MAX_SHOWN));
        diff.text
            .push_str(&format!("\n<{} more bytes of this diff are left out>\n", whole - diff.text.len()));
    }
    diff
}

impl Gate {
    /// The last turn that wrote a file or after which changes were seen; none when there is none.
    pub fn last_changed(&self) -> Option<u64> {
        let memory = self.0.memory();
        last_changed(&memory.commits, &memory.observed)
    }

    /// What a turn wrote, and what was seen to change in it.
    pub async fn diff(&self, turn: u64) -> Result<TurnDiff, Refusal> {
        let shared = self.0.clone();
        let work = tokio::task::spawn_blocking(move || {
            let (commits, observed) = {
                let memory = shared.memory();
                (memory.commits.clone(), memory.observed.clone())
            };
            of_turn(&shared.fence, &shared.blobs, &commits, &observed, turn)
        });
        work.await.map_err(|error| Refusal(format!("the diff was interrupted: {error}")))
    }
}

/// The last turn that wrote a file or after which changes were seen; none when there is none.
pub fn last_changed(commits: &[Commit], observed: &[Observed]) -> Option<u64> {
    let own = commits.iter().filter(|commit| commit.undoes.is_none()).map(|commit| commit.turn);
    own.chain(observed.iter().map(|observed| observed.turn)).max()
}

/// What a turn of a session wrote, from the session's commits, and what was seen to change in it.
pub fn of_turn(
    fence: &Fence,
    blobs: &Blobs,
    commits: &[Commit],
    observed: &[Observed],
    turn: u64,
) -> TurnDiff {
    let files = net(commits, turn).iter().map(|net| file(fence, blobs, net)).collect();
    let observed = observed.iter().filter(|observed| observed.turn == turn).cloned().collect();
    TurnDiff { turn, files, observed }
}

/// A turn's writes of one path taken together.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub(super) first: Commit,
    pub(super) last: Commit,
}

/// The turn's own writes by path, in the order of their first one; undos are no writes of a turn.
pub(super) fn net(commits: &[Commit], turn: u64) -> Vec<Net> {
    let mut nets: Vec<Net> = Vec::new();
    for commit in commits.iter().filter(|commit| commit.turn == turn && commit.undoes.is_none()) {
        match nets.iter_mut().find(|net| net.first.path == commit.path) {
            Some(net) => net.last = commit.clone(),
            None => nets.push(Net { first: commit.clone(), last: commit.clone() }),
        }
    }
    nets
}

fn file(fence: &Fence, blobs: &Blobs, net: &Net) -> FileDiff {
    let path = relative(fence, &net.first.path);
    let kept = |hash: &Option<Arc<str>>| match hash {
        None => Some(Bytes::new()),
        Some(hash) => contents(fence, blobs, &net.first.path, hash),
    };
    match (kept(&net.first.before), kept(&net.last.after)) {
        (Some(before), Some(after)) => FileDiff { diff: shown(&path, &before, &after), path, problem: None },
        _ => FileDiff {
            path,
            diff: Diff::default(),
            problem: Some("its contents of that time are no longer kept".into()),
        },
    }
}

/// A path as an operator reads it: relative to the workspace where it is inside.
pub(super) fn relative(fence: &Fence, path: &str) -> String {
    let inside = Path::new(path).strip_prefix(fence.root());
    inside.map_or_else(|_| path.to_owned(), |inside| inside.to_string_lossy().into_owned())
}

/// Contents by hash: kept, or still on disk.
fn contents(fence: &Fence, blobs: &Blobs, path: &str, hash: &str) -> Option<Bytes> {
    blobs.get(hash).or_else(|| {
        let opened = fence.open(path, Reach::Approved).ok()?;
        let there = opened.read_regular(blob::MAX_BYTES).ok()??;
        (hash::sha256(&there.bytes) == hash).then(|| there.bytes.into())
    })
}
