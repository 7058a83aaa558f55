//! Characters to words. Whatever is not on the short list of accepted forms is unreadable.
//!
//! The list leaves out what shells read differently from one version to the next (comments and `case` inside
//! substitutions, backslashes in backquotes, line continuation in here-documents), so that there is no second
//! reading under which a line does something else.

use crate::approval::shell::syntax::{List, Piece, Quotes, Word};

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) String);

pub(super) type Read<T> = Result<T, Unreadable>;

pub(super) fn unreadable<T>(why: impl Into<String>) -> Read<T> {
    Err(Unreadable(why.into()))
}

/// The deepest nesting that is followed; far more than anybody writes, far less than a stack holds.
const MAX_DEPTH: usize = 24;

/// A place in a line.
pub(super) struct Scanner<'a> {
    pub(super) chars: &'a [char],
    pub(super) at: usize,
    /// How many substitutions and compound commands are open.
    pub(super) depth: usize,
    /// How many of them are substitutions.
    pub(super) inside: usize,
    /// Here-documents whose bodies start after the next newline.
    pub(super) pending: Vec<Pending>,
    /// Bodies that were read, by number.
    pub(super) documents: Vec<Word>,
}

/// A here-document whose body was not read yet.
pub(super) struct Pending {
    pub(super) end: String,
    pub(super) quoted: Quotes,
    /// `<<-`
    pub(super) tabs: Tabs,
}

/// What happens to leading tabs of a here-document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tabs {
    Kept,
    Stripped,
}

/// What ends an unquoted word.
const OPERATORS: &str = " \t\n;&|<>()";

impl<'a> Scanner<'a> {
    pub(super) fn new(chars: &'a [char], depth: usize) -> Self {
        Self { chars, at: 0, depth, inside: 0, pending: Vec::new(), documents: Vec::new() }
    }
    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }
    pub(super) fn peek_at(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }
    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }
    /// Steps over `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(i, c)| self.peek_at(i) == Some(c));
        if found {
            self.at += text.chars().count();
        }
        found
    }
    pub(super) fn slice(&self, from: usize, to: usize) -> String {
        self.chars.get(from..to).unwrap_or_default().iter().collect()
    }
    pub(super) fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { unreadable("it is nested too deeply") } else { Ok(()) }
    }
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Steps over blanks, line continuations and a comment; stops at a newline.
    pub(super) fn blanks(&mut self) -> Read<()> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#') if self.inside > 0 => return unreadable("it has a comment inside a substitution"),
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// One word; none where an operator or the end comes next.
    pub(super) fn word(&mut self) -> Read<Option<Word>> {
        let start = self.at;
        let mut pieces = Vec::new();
        while let Some(next) = self.peek() {
            if (next == '<' || next == '>') && self.peek_at(1) == Some('(') {
                self.at += 2;
                pieces.push(Piece::Process(self.substitution(')')?));
                continue;
            }
            let continued = next == '\\' && self.peek_at(1) == Some('\n');
            if OPERATORS.contains(next) || (continued && matches!(self.peek_at(2), Some(' ' | '\t'))) {
                break;
            }
            let first = self.at == start;
            self.piece(next, first, &mut pieces)?;
        }
        if self.at == start {
            return Ok(None);
        }
        let source = self.slice(start, self.at);
        // A bracket alone is the program of that name and no pattern.
        let pieces = if source == "[" { vec![Piece::Bare(source.clone())] } else { pieces };
        Ok(Some(Word { source, pieces }))
    }

    fn piece(&mut self, next: char, first: bool, pieces: &mut Vec<Piece>) -> Read<()> {
        match next {
            '\\' => {
                self.at += 1;
                match self.next() {
                    // Bash joins the lines before it looks for words, so that half a word here and half there is one.
                    Some('\n') => return unreadable("a word is continued on the next line"),
                    Some(c) => push_quoted(pieces, &c.to_string()),
                    None => return unreadable("it ends in a backslash"),
                }
            }
            '\'' => {
                self.at += 1;
                let text = self.until('\'')?;
                push_quoted(pieces, &text);
            }
            '"' => {
                self.at += 1;
                // Empty quotes make a word too.
                push_quoted(pieces, "");
                self.double(pieces, Some('"'))?;
            }
            '$' => self.dollar(pieces, Quotes::None)?,
            '`' => {
                self.at += 1;
                pieces.push(self.backquotes(Quotes::None)?);
            }
            '*' | '?' | '[' => {
                self.at += 1;
                pieces.push(Piece::Glob(next));
            }
            '~' if first => {
                self.at += 1;
                let user = self.take(|c| c.is_ascii_alphanumeric() || "+-_.".contains(c));
                pieces.push(Piece::Tilde(user));
            }
            '{' => self.brace(pieces)?,
            c if c.is_control() && c != '\t' => return unreadable("it has a control character"),
            c if c.is_whitespace() && !c.is_ascii() => {
                return unreadable("it has a blank that is not a space");
            }
            c => {
                self.at += 1;
                push_bare(pieces, c);
            }
        }
        Ok(())
    }

    /// The inside of double quotes, or a here-document's body when `end` is none.
    pub(super) fn double(&mut self, pieces: &mut Vec<Piece>, end: Option<char>) -> Read<()> {
        loop {
            match self.peek() {
                None if end.is_none() => return Ok(()),
                None => return unreadable("a double quote is not closed"),
                next if next == end => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => return unreadable("a quoted text is continued with a backslash"),
                        Some(c) if "$`\\".contains(c) || end == Some(c) => {
                            push_quoted(pieces, &c.to_string())
                        }
                        Some(c) => push_quoted(pieces, &format!("\\{c}")),
                        None if end.is_none() => push_quoted(pieces, "\\"),
                        None => return unreadable("a double quote is not closed"),
                    }
                }
                Some('$') => self.dollar(pieces, Quotes::Double)?,
                Some('`') => {
                    self.at += 1;
                    pieces.push(self.backquotes(Quotes::Double)?);
                }
                Some(c) => {
                    self.at += 1;
                    push_quoted(pieces, &c.to_string());
                }
            }
        }
    }

    fn dollar(&mut self, pieces: &mut Vec<Piece>, quotes: Quotes) -> Read<()> {
        self.at += 1;
        match self.peek() {
            Some('(') if self.peek_at(1) == Some('(') => {
                self.at += 2;
                pieces.push(Piece::Arithmetic(self.arithmetic()?));
            }
            Some('(') => {
                self.at += 1;
                pieces.push(Piece::Substitution(self.substitution(')')?, quotes));
            }
            Some('{') => {
                self.at += 1;
                pieces.push(self.parameter(quotes)?);
            }
            Some('\'') if quotes == Quotes::None => {
                self.at += 1;
                pieces.push(Piece::Ansi(self.ansi()?));
            }
            Some('"') if quotes == Quotes::None => return unreadable("it uses $\"…\""),
            Some('[') => return unreadable("it uses $[…]"),
            Some(c) if is_name_start(c) => {
                let name = self.take(is_name);
                pieces.push(Piece::Variable(name, quotes));
            }
            Some('?' | '#' | '$' | '!') => {
                self.at += 1;
                pieces.push(Piece::Number);
            }
            Some(c) if c.is_ascii_digit() || "@*-".contains(c) => {
                self.at += 1;
                pieces.push(Piece::Opaque(quotes));
            }
            _ => push_quoted(pieces, "$"),
        }
        Ok(())
    }

    /// `${…}` after its brace: a name, perhaps with a trimming or default of plain text.
    fn parameter(&mut self, quotes: Quotes) -> Read<Piece> {
        let strange = || unreadable("it uses a form of ${…} that is not followed");
        let start = self.at;
        while let Some(c) = self.peek() {
            if c == '}' {
                break;
            }
            if !(c.is_ascii_alphanumeric() || "_#%:-+/.,*?^ ".contains(c)) {
                return strange();
            }
            self.at += 1;
        }
        let text = self.slice(start, self.at);
        if self.next() != Some('}') {
            return unreadable("${ is not closed");
        }
        if let Some(name) = text.strip_prefix('#') {
            return if is_identifier(name) { Ok(Piece::Number) } else { strange() };
        }
        let name: String = text.chars().take_while(|c| is_name(*c)).collect();
        if !is_identifier(&name) {
            return strange();
        }
        let rest = text.get(name.len()..).unwrap_or_default();
        // A substring's offset is arithmetic, which could run code; plain digits cannot.
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ':');
        let known = match rest.strip_prefix(':') {
            Some(rest) => rest.starts_with(['-', '+']) || (!rest.is_empty() && digits(rest)),
            None => rest.starts_with(['-', '+', '%', '#', '/', '^', ',']),
        };
        match rest {
            "" => Ok(Piece::Variable(name, quotes)),
            _ if known => Ok(Piece::Opaque(quotes)),
            _ => strange(),
        }
    }

    /// The text of an arithmetic expression after `((`, up to its `))`.
    pub(super) fn arithmetic(&mut self) -> Read<String> {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(')') if open == 0 && self.peek_at(1) == Some(')') => break,
                Some(')') if open == 0 => return unreadable("(( is not closed by ))"),
                Some('(') => open += 1,
                Some(')') => open -= 1,
                Some('$') if !self.peek_at(1).is_some_and(is_name_start) => {
                    return unreadable("its arithmetic has more than names, numbers and operators");
                }
                Some(c) if c.is_ascii_alphanumeric() || "_ \t+-*/%<>=!&|^~?:,$".contains(c) => {}
                Some(_) => return unreadable("its arithmetic has more than names, numbers and operators"),
                None => return unreadable("(( is not closed by ))"),
            }
            self.at += 1;
        }
        let text = self.slice(start, self.at);
        self.at += 2;
        Ok(text)
    }

    /// A command list up to `end`.
    pub(super) fn substitution(&mut self, end: char) -> Read<List> {
        self.enter()?;
        self.inside += 1;
        let waiting = self.pending.len();
        let list = self.list(&[])?;
        if self.pending.len() != waiting {
            return unreadable("a here-document is not closed");
        }
        if self.next() != Some(end) {
            return unreadable("a substitution is not closed");
        }
        self.inside -= 1;
        self.leave();
        Ok(list)
    }

    fn backquotes(&mut self, quotes: Quotes) -> Read<Piece> {
        let text = self.until('`')?;
        if text.contains(['\\', '#']) || (quotes == Quotes::Double && text.contains('"')) {
            return unreadable("its backquotes hold more than a plain command");
        }
        let chars: Vec<char> = text.chars().collect();
        let mut inner = Scanner::new(&chars, self.depth);
        inner.enter()?;
        inner.inside = 1;
        Ok(Piece::Substitution(inner.whole()?, quotes))
    }

    fn ansi(&mut self) -> Read<String> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return unreadable("$' is not closed"),
                Some('\'') => return Ok(text),
                Some('\\') => text.push(match self.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(c @ ('\\' | '\'' | '"')) => c,
                    _ => return unreadable("it spells characters as codes in $'…'"),
                }),
                Some(c) => text.push(c),
            }
        }
    }

    /// An unquoted brace: an expansion of plain texts, or the character itself.
    fn brace(&mut self, pieces: &mut Vec<Piece>) -> Read<()> {
        let start = self.at;
        self.at += 1;
        let body = self.take(|c| c.is_ascii_alphanumeric() || "_./,:+=@%^-".contains(c));
        let closed = self.peek() == Some('}');
        let expands = body.contains(',') || body.contains("..");
        if closed && expands {
            self.at += 1;
            pieces.push(Piece::Braces(spell(&body)?));
        } else if expands || self.peek().is_some_and(|c| !OPERATORS.contains(c) && c != '}') {
            return unreadable("its braces are not followed");
        } else {
            self.at = start + 1;
            push_bare(pieces, '{');
        }
        Ok(())
    }

    fn until(&mut self, end: char) -> Read<String> {
        let start = self.at;
        while let Some(c) = self.next() {
            if c == end {
                return Ok(self.slice(start, self.at - 1));
            }
        }
        unreadable(format!("{end} is not closed"))
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.slice(start, self.at)
    }
}

/// The texts of a brace expansion.
fn spell(body: &str) -> Read<Vec<String>> {
    if body.contains(',') {
        return Ok(body.split(',').map(String::from).collect());
    }
    let ends =
        body.split_once("..").and_then(|(a, b)| Some((a.parse::<u16>().ok()?, b.parse::<u16>().ok()?)));
    match ends {
        Some((from, to)) if from <= to && to - from < 100 => Ok((from..=to).map(|n| n.to_string()).collect()),
        _ => unreadable("its braces are not followed"),
    }
}

fn push_bare(pieces: &mut Vec<Piece>, c: char) {
    match pieces.last_mut() {
        Some(Piece::Bare(text)) => text.push(c),
        _ => pieces.push(Piece::Bare(c.into())),
    }
}

pub(super) fn push_quoted(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Quoted(before)) => before.push_str(text),
        _ => pieces.push(Piece::Quoted(text.into())),
    }
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text is a variable's name.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name)
}
