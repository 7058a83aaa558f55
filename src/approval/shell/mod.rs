//! A command line as bash would run it, worst reading first.
//!
//! The line is parsed by an own strict reader ([`parse`], [`scan`]) that accepts a list of bash's syntax and
//! nothing else; it is followed command by command ([`walk`]), words are filled in as far as they are known
//! ([`expand`]), and every command is looked up in one table ([`program`]). What cannot be told counts as the
//! worst it could be. Nothing is run and no file is opened; directories and links are looked at.

mod arithmetic;
mod builtin;
mod changed;
mod expand;
mod glob;
mod parse;
mod path;
mod program;
mod scan;
mod state;
mod syntax;
mod variable;
mod verdict;
mod walk;

use crate::approval::judgement::Part;
use crate::approval::shell::verdict::Verdict;
use crate::approval::shell::walk::Walk;
use crate::fence::Fence;
use crate::model::judgement::{Authority, Risk};

/// The longest line that is read, in bytes; a longer one cannot be told.
pub const MAX_BYTES: usize = 64 * 1024;

/// How a command line was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Every simple command, redirection and unreadable piece, in order.
    pub parts: Vec<Part>,
    /// The worst risk of any part.
    pub risk: Risk,
    /// The farthest reach of any part.
    pub authority: Authority,
    /// One line: what will happen, and the part and reason that decided it.
    pub summary: String,
    /// Why the line is asked whatever mode and grants say (it writes a control place); none else.
    pub always_ask: Option<String>,
    /// The line as a grant remembers it; none when it could not be read in full or changes from run to run.
    pub canonical: Option<String>,
}

/// Reads a command line that starts in the workspace's root.
pub fn read(command: &str, fence: &Fence) -> Reading {
    let walk = match parsed(command) {
        Ok(script) => walk::follow(&script, fence),
        Err(why) => Walk { parts: vec![(command.trim().to_string(), Verdict::unknown(why))], varies: true },
    };
    let parts = walk.parts;
    let overall = parts.iter().map(|(_, verdict)| verdict.clone()).reduce(Verdict::and);
    let overall = overall.unwrap_or_else(|| Verdict::read("runs nothing"));
    let unknown = parts
        .iter()
        .any(|(_, verdict)| verdict.authority == Authority::PrivilegedEscalation && verdict.is_unknown());
    let canonical = (!walk.varies && !unknown).then(|| command.trim().to_string());
    Reading {
        risk: overall.risk,
        authority: overall.authority,
        summary: summary(command, &parts),
        always_ask: overall
            .control
            .as_ref()
            .map(|control| format!("the command {control}; such writes are always asked")),
        canonical,
        parts: parts.into_iter().map(|(text, verdict)| Walk::part(&text, verdict)).collect(),
    }
}

fn parsed(command: &str) -> Result<syntax::Script, String> {
    if command.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    if command.contains('\0') {
        return Err("it has a NUL character".into());
    }
    parse::parse(command, 0).map_err(|why| why.0)
}

/// What will happen, and which part decided how it is judged.
fn summary(command: &str, parts: &[(String, Verdict)]) -> String {
    let whole = line(command);
    // The first of the worst: later ones add nothing to it.
    let worst = parts.iter().rev().max_by_key(|(_, verdict)| (verdict.risk, verdict.authority));
    match (worst, parts.len()) {
        (None, _) => format!("run `{whole}`, which runs nothing"),
        (Some((_, verdict)), 1) => format!("run `{whole}`, which {}", verdict.reason),
        (Some((text, verdict)), _) => format!("run `{whole}`, in which `{}` {}", line(text), verdict.reason),
    }
}

/// A text on one line, cut to a length that can be read at a glance.
fn line(text: &str) -> String {
    let one = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = one.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect();
    if one.chars().count() > SHOWN_CHARS {
        shown.push('…');
    }
    shown
}

/// The most characters of a command in a summary.
const SHOWN_CHARS: usize = 160;
