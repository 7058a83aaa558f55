//! Going through a session's records one by one, for export, rebuilding and display. Nothing is written.

use std::path::Path;

use crate::session::store::error::StoreError;
use crate::session::store::line::{self, Stamped};
use crate::session::store::load::Lines;

/// Calls `each` with every intact record and its line number (from 1, the header), up to the last newline.
/// Damaged lines are passed over. `each` ends the reading with an error of its own.
pub fn records<E: From<StoreError>>(
    path: &Path,
    mut each: impl FnMut(u64, Stamped) -> Result<Next, E>,
) -> Result<(), E> {
    let mut lines = Lines::open(path)?;
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let Ok(stamped) = line::read_stamped(text) else { continue };
        if each(number, stamped)? == Next::Stop {
            break;
        }
    }
    Ok(())
}

/// Whether to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Next {
    More,
    Stop,
}
