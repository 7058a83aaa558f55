//! Words as the shell will pass them: quotes removed, variables and patterns filled in where they are known.

use crate::approval::shell::glob;
use crate::approval::shell::state::{State, Value};
use crate::approval::shell::syntax::{Piece, Quotes, Word};
use crate::fence::Fence;

/// One word a program gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    /// Exactly this text.
    Text(String),
    /// One word that begins with this text; the rest is made when the line runs.
    Open(String),
    /// Any number of words, made when the line runs.
    Splits,
    /// A file descriptor of a process substitution.
    Process,
}

impl Arg {
    /// The text, when it is known in full.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
    /// The arg as shown to the operator.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Open(prefix) => format!("{prefix}…"),
            Self::Splits => "…".into(),
            Self::Process => "/dev/fd/…".into(),
        }
    }
}

/// The most words of one command, and patterns among them, that are followed.
const MAX_WORDS: usize = 2000;
const MAX_PATTERNS: usize = 32;
/// The most readings of one command that are followed.
const MAX_READINGS: usize = 32;

/// All readings of some words, each a list of what the program gets; none when there are too many.
pub(super) fn words(words: &[Word], state: &State, fence: &Fence) -> Option<Vec<Vec<Arg>>> {
    let patterns =
        words.iter().filter(|word| word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_))));
    if words.len() > MAX_WORDS || patterns.count() > MAX_PATTERNS {
        return None;
    }
    let mut readings: Vec<Vec<Arg>> = vec![Vec::new()];
    for word in words {
        let choices = expand(word, state, fence, Splitting::Yes)?;
        if readings.len() * choices.len() > MAX_READINGS {
            return None;
        }
        readings = readings
            .iter()
            .flat_map(|before| choices.iter().map(move |args| [before.as_slice(), args].concat()))
            .collect();
    }
    Some(readings)
}

/// What a word gives where the shell does not split: an assignment's value, a `case` word, a here-string.
pub(super) fn value(word: &Word, state: &State, fence: &Fence) -> Value {
    if word
        .pieces
        .iter()
        .all(|piece| matches!(piece, Piece::Number | Piece::Arithmetic(_)) || is_empty(piece))
        && word.pieces.iter().any(|piece| !is_empty(piece))
    {
        return Value::Number;
    }
    // Tildes after colons expand in assignments; a path list is not followed.
    if word.pieces.iter().any(|piece| matches!(piece, Piece::Bare(text) if text.contains(":~"))) {
        return Value::Unknown;
    }
    let texts = expand(word, state, fence, Splitting::No).map(|choices| {
        choices.into_iter().map(|args| match args.as_slice() {
            [Arg::Text(text)] => Some(text.clone()),
            _ => None,
        })
    });
    texts.and_then(|texts| texts.collect::<Option<Vec<_>>>()).map_or(Value::Unknown, Value::texts)
}

fn is_empty(piece: &Piece) -> bool {
    matches!(piece, Piece::Bare(text) | Piece::Quoted(text) if text.is_empty())
}

/// Whether unquoted values are split and patterns filled in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Splitting {
    Yes,
    No,
}

/// A word that is being put together.
#[derive(Clone, Default)]
struct Build {
    text: String,
    /// The same with what quotes protected escaped; used when a pattern is in it.
    pattern: String,
    globs: bool,
    open: bool,
    splits: bool,
    process: bool,
}

impl Build {
    fn push(&mut self, text: &str) {
        if !self.open {
            self.text.push_str(text);
            self.pattern.push_str(&glob::escape(text));
        }
    }
    fn unknown(&mut self, quotes: Quotes) {
        self.open = true;
        self.splits |= quotes == Quotes::None;
    }
}

fn expand(word: &Word, state: &State, fence: &Fence, splitting: Splitting) -> Option<Vec<Vec<Arg>>> {
    let mut readings: Vec<Vec<Build>> = vec![vec![Build::default()]];
    for piece in &word.pieces {
        match piece {
            Piece::Bare(text) | Piece::Quoted(text) | Piece::Ansi(text) => {
                each(&mut readings, |b| b.push(text))
            }
            Piece::Number | Piece::Arithmetic(_) => each(&mut readings, |b| b.push("1")),
            Piece::Process(_) => each(&mut readings, |b| b.process = true),
            Piece::Opaque(quotes) | Piece::Substitution(_, quotes) => {
                each(&mut readings, |b| b.unknown(*quotes))
            }
            Piece::Glob(c) => each(&mut readings, |b| {
                b.globs = true;
                b.text.push(*c);
                b.pattern.push(*c);
            }),
            Piece::Tilde(user) => match home(fence).filter(|_| user.is_empty()) {
                Some(home) => each(&mut readings, |b| b.push(&home)),
                None => each(&mut readings, |b| b.unknown(Quotes::Double)),
            },
            Piece::Braces(_) if splitting == Splitting::No => {
                each(&mut readings, |b| b.unknown(Quotes::Double))
            }
            Piece::Braces(texts) => {
                for builds in &mut readings {
                    *builds = builds
                        .iter()
                        .flat_map(|build| texts.iter().map(|text| joined(build, text)))
                        .collect();
                    if builds.len() > 256 {
                        return None;
                    }
                }
            }
            Piece::Variable(name, quotes) => match lookup(name, state, fence) {
                Value::Number => each(&mut readings, |b| b.push("1")),
                Value::Texts(texts)
                    if *quotes == Quotes::Double
                        || splitting == Splitting::No
                        || texts.iter().all(|t| is_one_word(t)) =>
                {
                    readings = readings
                        .iter()
                        .flat_map(|builds| {
                            texts.iter().map(|text| builds.iter().map(|build| joined(build, text)).collect())
                        })
                        .collect();
                }
                Value::Texts(_) | Value::Unknown => each(&mut readings, |b| b.unknown(*quotes)),
            },
        }
        if readings.len() > MAX_READINGS {
            return None;
        }
    }
    Some(readings.into_iter().map(|builds| finish(builds, state, splitting)).collect())
}

fn each(readings: &mut [Vec<Build>], act: impl Fn(&mut Build)) {
    for build in readings.iter_mut().flatten() {
        act(build);
    }
}

fn joined(build: &Build, text: &str) -> Build {
    let mut build = build.clone();
    build.push(text);
    build
}

fn finish(builds: Vec<Build>, state: &State, splitting: Splitting) -> Vec<Arg> {
    let mut args = Vec::new();
    for build in builds {
        match build {
            Build { process: true, .. } => args.push(Arg::Process),
            Build { open: true, splits: true, .. } if splitting == Splitting::Yes => args.push(Arg::Splits),
            Build { open: true, text, .. } => args.push(Arg::Open(text)),
            Build { globs: true, text, pattern, .. } if splitting == Splitting::Yes => {
                match glob::matches(state.directories.as_deref(), &pattern) {
                    Some(found) if found.is_empty() => args.push(Arg::Text(text)),
                    Some(found) => args.extend(found.into_iter().map(Arg::Text)),
                    None => args.push(Arg::Splits),
                }
            }
            Build { text, .. } => args.push(Arg::Text(text)),
        }
    }
    args
}

/// A variable's value: set on this line, or one of the few the shell sets itself.
fn lookup(name: &str, state: &State, fence: &Fence) -> Value {
    if let Some(value) = state.variable(name) {
        return value.clone();
    }
    let known = match name {
        "HOME" => home(fence),
        "PWD" => match state.directories.as_deref() {
            Some([directory]) => directory.to_str().map(String::from),
            _ => None,
        },
        "RANDOM" | "SECONDS" | "UID" | "EUID" | "PPID" => return Value::Number,
        _ => None,
    };
    known.map_or(Value::Unknown, |text| Value::Texts(vec![text]))
}

fn home(fence: &Fence) -> Option<String> {
    fence.judge("~").ok()?.path.to_str().map(String::from)
}

fn is_one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
}
