//! What a turn wrote: shown, and taken back.

use std::path::Path;
use std::sync::Arc;

use clap::ArgMatches;
use serde_json::{Value, json};

use crate::cli::console::Console;
use crate::cli::sessions::form;
use crate::error::{Exit, Failure};
use crate::fence::Fence;
use crate::home::paths::Home;
use crate::session::blob::Blobs;
use crate::session::commit::Gate;
use crate::session::commit::diff::{self, TurnDiff};
use crate::session::commit::undo::Which;
use crate::session::store::Store;
use crate::session::store::load::{self, Loaded};
use crate::session::store::record::Undo;
use crate::text::display;

/// Prints the files that a turn changed.
pub(super) fn diff(
    args: &ArgMatches,
    session: &Path,
    home: &Home,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let loaded = load::read(session).map_err(Failure::usage)?;
    let (fence, blobs) = (fence(&loaded, home)?, blobs(session));
    let last = || diff::last_changed(&loaded.commits, &loaded.observed);
    let Some(turn) = args.get_one("turn").copied().or_else(last) else {
        console.note("no turn of this session changed a file");
        return Ok(Exit::Done);
    };
    if !loaded.turns.iter().any(|known| known.turn == turn) {
        let message =
            format!("session {} has no turn {turn}; it has {}", loaded.header.id, loaded.turns.len());
        return Err(Failure::usage(message));
    }
    let found = diff::of_turn(&fence, &blobs, &loaded.commits, &loaded.observed, turn);
    if form(args) == "json" {
        console.line(&diff_json(&found).to_string())?;
    } else {
        print(&found, console)?;
    }
    Ok(Exit::Done)
}

/// Takes a turn's writes back and says what was and what was not restored. Exit 1 when nothing was.
pub(super) fn undo(
    args: &ArgMatches,
    session: &Path,
    home: &Home,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let (store, loaded) = Store::open(session).map_err(Failure::usage)?;
    for notice in &loaded.notices {
        console.note(notice);
    }
    let gate = Gate::new(Arc::new(fence(&loaded, home)?), Arc::new(store), blobs(session), &loaded);
    let which = args.get_one("turn").copied().map_or(Which::Last, Which::Turn);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Failure::usage(format_args!("cannot start: {error}")))?;
    let undo = runtime.block_on(gate.undo(which, 0)).map_err(Failure::usage)?;
    if form(args) == "json" {
        console.line(&json!(undo).to_string())?;
    } else {
        told(&undo, console)?;
    }
    Ok(if undo.restored.is_empty() { Exit::Usage } else { Exit::Done })
}

fn fence(loaded: &Loaded, home: &Home) -> Result<Fence, Failure> {
    let workspace = &loaded.header.workspace;
    Fence::new(Path::new(workspace), home.root()).map_err(|error| {
        Failure::usage(format_args!("the workspace {workspace} of this session cannot be opened: {error}"))
    })
}

/// The blobs beside a session file.
fn blobs(session: &Path) -> Blobs {
    Blobs::new(session.parent().unwrap_or(Path::new(".")))
}

fn told(undo: &Undo, console: &mut Console<'_>) -> Result<(), Failure> {
    console.line(&format!("turn {}", undo.turn))?;
    for path in &undo.restored {
        console.line(&format!("restored  {}", display::line(path, usize::MAX)))?;
    }
    for left in &undo.left {
        console.line(&format!("left      {}: {}", display::line(&left.path, usize::MAX), left.reason))?;
    }
    Ok(())
}

fn print(found: &TurnDiff, console: &mut Console<'_>) -> Result<(), Failure> {
    for file in &found.files {
        match &file.problem {
            Some(problem) => {
                console.line(&format!("{}: {problem}", display::line(&file.path, usize::MAX)))?
            }
            None if file.diff.text.is_empty() => {}
            None => console.line(display::strip(file.diff.text.trim_end_matches('\n')).as_ref())?,
        }
    }
    for observed in &found.observed {
        for change in &observed.changes {
            let what = json!(change.what);
            let what = what.as_str().unwrap_or_default();
            let path = display::line(&change.path, usize::MAX);
            console.line(&format!("<{what} by a command: {path}>"))?;
        }
        if observed.more > 0 {
            console.line(&format!("<{} more changes by a command>", observed.more))?;
        }
    }
    Ok(())
}

fn diff_json(found: &TurnDiff) -> Value {
    let files = found.files.iter().map(|file| {
        json!({
            "path": file.path,
            "added": file.diff.added,
            "removed": file.diff.removed,
            "diff": file.diff.text,
            "problem": file.problem,
        })
    });
    json!({ "turn": found.turn, "files": files.collect::<Vec<_>>(), "observed": found.observed })
}
