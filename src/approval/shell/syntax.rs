//! What a command line may consist of: the accepted part of bash's grammar, and nothing else.

/// A whole line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) list: List,
    /// The bodies of its here-documents.
    pub(super) documents: Vec<Word>,
}

/// Commands in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List(pub(super) Vec<Chain>);

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Join, Pipeline)>,
    /// Ended by `&`.
    pub(super) background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pipeline(pub(super) Vec<Command>);

/// One command and its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) node: Node,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Simple(Simple),
    /// `{ …; }`
    Group(List),
    /// `( … )`
    Subshell(List),
    /// `for NAME in WORDS; do … done`; none stands for the (empty) positional parameters.
    For {
        name: String,
        values: Vec<Word>,
        body: List,
    },
    /// `while` and `until`.
    While {
        condition: List,
        body: List,
    },
    /// Conditions with their branches, then the `else` branch (empty when there is none).
    If {
        arms: Vec<(List, List)>,
        otherwise: List,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, List)>,
    },
    /// The words of `[[ … ]]`, operators included.
    Test(Vec<Word>),
    /// The text of `(( … ))`.
    Arithmetic(String),
}

/// Assignments, then a program and its words; either may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: Word,
    /// `+=`
    pub(super) append: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// `<`
    Read(Word),
    /// `>`, `>>`, `>|`, `&>`, `&>>`, `>& file`, `<>`
    Write(Word),
    /// `2>&1`, `<&3`, `>&-`
    Duplicate,
    /// `<<<` with its word.
    Here(Word),
    /// `<<`, by its number in [`Script::documents`].
    Document(usize),
}

/// One word as written, and what it is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) source: String,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Unquoted text without any special character.
    Bare(String),
    /// Text that quotes or a backslash protected.
    Quoted(String),
    /// Text in `$'…'`.
    Ansi(String),
    /// Unquoted `*`, `?` or `[`.
    Glob(char),
    /// A leading `~` or `~name`, without the slash.
    Tilde(String),
    /// `{a,b}` or `{1..3}`, spelled out.
    Braces(Vec<String>),
    /// `$name`, `${name}`.
    Variable(String, Quotes),
    /// An expansion that gives a number: `$?`, `$#`, `$$`, `$!`, `${#name}`.
    Number,
    /// An expansion whose value is not followed: `$1`, `$@`, `${name%.c}`.
    Opaque(Quotes),
    /// `$(…)` or backquotes.
    Substitution(List, Quotes),
    /// `<(…)` or `>(…)`.
    Process(List),
    /// `$((…))`.
    Arithmetic(String),
}

/// Whether an expansion stands in double quotes, so that its value stays one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    Double,
    None,
}

impl Word {
    /// The word, when it is plain text without any expansion.
    pub(super) fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bare(part) | Piece::Quoted(part) => text.push_str(part),
                _ => return None,
            }
        }
        Some(text)
    }
    /// The word, when it was written without any quotes; only such words can be reserved ones.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Bare(text)] if *text == self.source => Some(text),
            _ => None,
        }
    }
}
