//! Taking a turn's file writes back. A file that is still as the turn left it gets what it held before; every
//! other is left alone and named. What `bash` and external tools changed is not touched.

use std::path::Path;

use bytes::Bytes;

use crate::hook::context::Chain;
use crate::model::port::{Expect, FileWrite, Payload, Proposal, Reach, Refusal, Source};
use crate::session::blob;
use crate::session::commit::diff::{Net, net, relative};
use crate::session::commit::{Act, At, Gate, Offer, Shared};
use crate::session::store::record::{Commit, Left, Record, Undo};
use crate::text::hash;

/// Which turn's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last turn that has writes which were not taken back yet.
    Last,
    /// That turn.
    Turn(u64),
}

impl Gate {
    /// Takes a turn's writes back. `turn` is the turn in which the undo itself is made (0 outside turns).
    pub async fn undo(&self, which: Which, turn: u64) -> Result<Undo, Refusal> {
        let (target, writes) = self.pick(which)?;
        let mut undo = Undo { turn: target, ..Undo::default() };
        for write in writes {
            let path = relative(&self.0.fence, &write.first.path);
            match self.restore(&write, target, turn).await {
                Ok(()) => undo.restored.push(path),
                Err(Refusal(reason)) => undo.left.push(Left { path, reason }),
            }
        }
        self.0.append(&Record::Undo(undo.clone()))?;
        self.0.memory().undos.push(undo.clone());
        Ok(undo)
    }

    /// The turn and its net writes that are still to be taken back.
    fn pick(&self, which: Which) -> Result<(u64, Vec<Net>), Refusal> {
        let memory = self.0.memory();
        let turn = match which {
            Which::Turn(turn) => turn,
            Which::Last => {
                let own = memory.commits.iter().rev().filter(|commit| commit.undoes.is_none());
                let mut turns = own.map(|commit| commit.turn);
                let open = turns.find(|turn| !pending(&memory.commits, *turn).is_empty());
                open.ok_or_else(|| {
                    Refusal("no turn of this session has file writes left to take back".into())
                })?
            }
        };
        let writes = pending(&memory.commits, turn);
        if writes.is_empty() {
            let why = if net(&memory.commits, turn).is_empty() {
                "wrote no file through Crystal (what bash changed cannot be taken back)"
            } else {
                "has been taken back already"
            };
            return Err(Refusal(format!("turn {turn} {why}")));
        }
        Ok((turn, writes))
    }

    async fn restore(&self, write: &Net, target: u64, turn: u64) -> Result<(), Refusal> {
        let (shared, last) = (self.0.clone(), write.clone());
        let look = tokio::task::spawn_blocking(move || wanted(&shared, &last)).await;
        let wanted = look.map_err(|error| Refusal(format!("it was not looked at: {error}")))??;
        let file = FileWrite {
            path: write.last.path.clone(),
            contents: wanted.contents.clone().unwrap_or_default(),
            expect: write.last.after.as_ref().map_or(Expect::Absent, |hash| Expect::Hash(hash.to_string())),
            // The operator asks for the undo, and the turn's own write was approved.
            reach: Reach::Approved,
        };
        let source = Source { plugin: "crystal".into(), runtime: "crystal/main".into() };
        let act = if wanted.contents.is_some() { Act::Write } else { Act::Remove };
        let offer = Offer {
            id: self.0.store.ids().commit(),
            at: At { turn, call: None },
            chain: Chain::default(),
            act,
            proposal: Proposal { source, payload: Payload::File(file) },
            mode: wanted.mode,
        };
        self.pass(offer, Some(target)).await?;
        if act == Act::Remove {
            self.0.remove_dirs(Path::new(&write.first.path), write.first.missing);
        }
        Ok(())
    }
}

/// What a file is to hold again; none when it is to be removed.
struct Wanted {
    contents: Option<Bytes>,
    mode: Option<u32>,
}

/// Checks that the file is as the turn left it, and finds what it held before.
fn wanted(shared: &Shared, write: &Net) -> Result<Wanted, Refusal> {
    let opened = shared.fence.open(&write.last.path, Reach::Approved).map_err(|error| Refusal(error.0))?;
    let now = opened.read_regular(blob::MAX_BYTES).map_err(|error| Refusal(error.0))?;
    let hash = now.as_ref().map(|now| hash::sha256(&now.bytes));
    if hash.as_deref() != write.last.after.as_deref() {
        let what = if now.is_none() { "it is no longer there" } else { "it has changed since" };
        return Err(Refusal(what.into()));
    }
    let contents = match &write.first.before {
        None => None,
        Some(before) => Some(shared.blobs.get(before).ok_or_else(|| {
            Refusal(
                "its previous contents are no longer kept (crystal sessions prune removes old ones)".into(),
            )
        })?),
    };
    Ok(Wanted { contents, mode: now.map(|now| now.mode) })
}

/// The turn's net writes that no undo took back.
fn pending(commits: &[Commit], turn: u64) -> Vec<Net> {
    let undone = |net: &Net| {
        let back = commits.iter().filter(|commit| commit.undoes == Some(turn));
        back.into_iter().any(|commit| commit.path == net.first.path && commit.id > net.last.id)
    };
    net(commits, turn).into_iter().filter(|net| !undone(net)).collect()
}

impl Shared {
    /// Removes directories that were made with a file, innermost first, as far as they are empty.
    fn remove_dirs(&self, file: &Path, made: u32) {
        for dir in file.ancestors().skip(1).take(usize::try_from(made).unwrap_or_default()) {
            let Some(opened) = dir.to_str().and_then(|dir| self.fence.open(dir, Reach::Approved).ok()) else {
                return;
            };
            // A directory that stays is no harm, and its reason is that someone uses it.
            if !opened.remove_dir().unwrap_or(false) {
                return;
            }
        }
    }
}
