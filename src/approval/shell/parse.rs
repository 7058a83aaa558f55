//! Words to commands: lists, pipelines, compound commands and redirections.

use crate::approval::shell::scan::{
    Pending, Read, Scanner, Tabs, Unreadable, is_identifier, push_quoted, unreadable,
};
use crate::approval::shell::syntax::{
    Assignment, Chain, Command, Join, List, Node, Piece, Pipeline, Quotes, Redirect, Script, Simple, Word,
};

/// Words that end a list when they stand where a command would.
const ENDS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// Reserved words whose meaning is not followed.
const REFUSED: &[&str] = &["function", "select", "coproc"];

/// Reads a whole line, which may have several lines.
pub(super) fn parse(command: &str, depth: usize) -> Result<Script, Unreadable> {
    let chars: Vec<char> = command.chars().collect();
    let mut scanner = Scanner::new(&chars, depth);
    scanner.enter()?;
    let list = scanner.whole()?;
    Ok(Script { list, documents: scanner.documents })
}

impl Scanner<'_> {
    /// A list up to the end of the text.
    pub(super) fn whole(&mut self) -> Read<List> {
        let list = self.list(&[])?;
        match self.peek() {
            None if self.pending.is_empty() => Ok(list),
            None => unreadable("a here-document has no body"),
            Some(c) => unreadable(format!("{c} stands where a command is expected")),
        }
    }

    /// Commands up to one of `ends`, a closing parenthesis or the end. What ends it is left unread.
    pub(super) fn list(&mut self, ends: &[&str]) -> Read<List> {
        let mut chains = Vec::new();
        loop {
            self.gap()?;
            match self.peek() {
                None | Some(')') => break,
                Some(';') if ends.contains(&";;") && self.peek_at(1) == Some(';') => break,
                _ => {}
            }
            if let Some(reserved) = self.reserved()? {
                if ends.contains(&reserved.as_str()) {
                    break;
                }
                if ENDS.contains(&reserved.as_str()) {
                    return unreadable(format!("{reserved} stands where a command is expected"));
                }
            }
            let mut chain = self.chain()?;
            self.blanks()?;
            let more = match self.peek() {
                Some('&') => {
                    self.at += 1;
                    chain.background = true;
                    true
                }
                Some(';') if self.peek_at(1) == Some(';') => ends.contains(&";;"),
                Some(';') => {
                    self.at += 1;
                    true
                }
                Some('\n') => true,
                _ => false,
            };
            chains.push(chain);
            if !more {
                break;
            }
        }
        Ok(List(chains))
    }

    /// Steps over blanks and newlines; bodies of here-documents are read where they stand.
    fn gap(&mut self) -> Read<()> {
        loop {
            self.blanks()?;
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.at += 1;
            self.here_bodies()?;
        }
    }

    /// The unquoted word that comes next, without stepping over it.
    fn reserved(&mut self) -> Read<Option<String>> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphabetic() || "{}![]".contains(c)) {
            self.at += 1;
        }
        let text = self.slice(start, self.at);
        let ended = self.peek().is_none_or(|c| " \t\n;&|<>()".contains(c))
            || (self.peek() == Some('\\') && self.peek_at(1) == Some('\n'));
        self.at = start;
        Ok(ended.then_some(text).filter(|text| !text.is_empty()))
    }

    /// Steps over a reserved word that must come next.
    fn expect(&mut self, word: &str) -> Read<()> {
        self.gap()?;
        if self.reserved()?.as_deref() == Some(word) {
            self.at += word.chars().count();
            return Ok(());
        }
        unreadable(format!("{word} is missing"))
    }

    fn chain(&mut self) -> Read<Chain> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks()?;
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                return Ok(Chain { first, rest, background: false });
            };
            self.gap()?;
            rest.push((join, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        loop {
            self.blanks()?;
            match self.reserved()?.as_deref() {
                Some("!") => self.at += 1,
                Some("time") => {
                    self.at += 4;
                    self.blanks()?;
                    if self.slice(self.at, self.at + 3) == "-p " {
                        self.at += 3;
                    }
                }
                _ => break,
            }
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks()?;
            if self.peek() != Some('|') || self.peek_at(1) == Some('|') {
                return Ok(Pipeline(commands));
            }
            self.at += 1;
            self.eat("&");
            self.gap()?;
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> Read<Command> {
        self.blanks()?;
        let node = match self.compound()? {
            Some(node) => node,
            None => return self.simple(),
        };
        let mut redirects = Vec::new();
        loop {
            self.blanks()?;
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(Command { node, redirects }),
            }
        }
    }

    fn compound(&mut self) -> Read<Option<Node>> {
        if self.eat("((") {
            return Ok(Some(Node::Arithmetic(self.arithmetic()?)));
        }
        if self.eat("(") {
            self.enter()?;
            let body = self.body(&[])?;
            if !self.eat(")") {
                return unreadable("( is not closed");
            }
            self.leave();
            return Ok(Some(Node::Subshell(body)));
        }
        let Some(word) = self.reserved()? else { return Ok(None) };
        if REFUSED.contains(&word.as_str()) {
            return unreadable(format!("{word} is not followed"));
        }
        if !["{", "[[", "if", "while", "until", "for", "case"].contains(&word.as_str()) {
            return Ok(None);
        }
        self.at += word.chars().count();
        self.enter()?;
        let node = match word.as_str() {
            "{" => Node::Group(self.block("}")?),
            "[[" => Node::Test(self.test()?),
            "if" => self.conditional()?,
            "for" => self.counted()?,
            "case" => self.case()?,
            _ => {
                let condition = self.body(&["do"])?;
                self.expect("do")?;
                Node::While { condition, body: self.block("done")? }
            }
        };
        self.leave();
        Ok(Some(node))
    }

    /// A list that may not be empty.
    fn body(&mut self, ends: &[&str]) -> Read<List> {
        let list = self.list(ends)?;
        if list.0.is_empty() { unreadable("a command is missing") } else { Ok(list) }
    }

    fn block(&mut self, end: &str) -> Read<List> {
        let body = self.body(&[end])?;
        self.expect(end)?;
        Ok(body)
    }

    fn conditional(&mut self) -> Read<Node> {
        let mut arms = Vec::new();
        loop {
            let condition = self.body(&["then"])?;
            self.expect("then")?;
            arms.push((condition, self.body(&["elif", "else", "fi"])?));
            match self.reserved()?.as_deref() {
                Some("elif") => self.at += 4,
                Some("else") => {
                    self.at += 4;
                    return Ok(Node::If { arms, otherwise: self.block("fi")? });
                }
                _ => {
                    self.expect("fi")?;
                    return Ok(Node::If { arms, otherwise: List::default() });
                }
            }
        }
    }

    fn counted(&mut self) -> Read<Node> {
        self.blanks()?;
        let name = self.word()?.and_then(|word| word.bare().map(String::from)).unwrap_or_default();
        if !is_identifier(&name) {
            return unreadable("the variable of for is not a plain name");
        }
        self.gap()?;
        let mut values = Vec::new();
        if self.reserved()?.as_deref() == Some("in") {
            self.at += 2;
            loop {
                self.blanks()?;
                match self.word()? {
                    Some(word) => values.push(word),
                    None => break,
                }
            }
        }
        if !self.eat(";") && self.peek() != Some('\n') {
            return unreadable("do is missing");
        }
        self.expect("do")?;
        Ok(Node::For { name, values, body: self.block("done")? })
    }

    fn case(&mut self) -> Read<Node> {
        if self.inside > 0 {
            return unreadable("it has case inside a substitution");
        }
        self.blanks()?;
        let Some(subject) = self.word()? else { return unreadable("case has no word") };
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.gap()?;
            if self.reserved()?.as_deref() == Some("esac") {
                self.at += 4;
                return Ok(Node::Case { subject, arms });
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks()?;
                let Some(pattern) = self.word()? else { return unreadable("a pattern is missing") };
                patterns.push(pattern);
                self.blanks()?;
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return unreadable("a pattern is not closed");
            }
            arms.push((patterns, self.list(&[";;", "esac"])?));
            self.gap()?;
            if !self.eat(";;") {
                self.expect("esac")?;
                return Ok(Node::Case { subject, arms });
            }
        }
    }

    /// The words between `[[` and `]]`; operators that are no words (`<`, `(`) are not followed.
    fn test(&mut self) -> Read<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.gap()?;
            if self.eat("&&") || self.eat("||") {
                continue;
            }
            match self.word()? {
                Some(word) if word.source == "]]" => return Ok(words),
                Some(word) if word.source == "=~" => {
                    return unreadable("it matches a regular expression in [[");
                }
                Some(word) => words.push(word),
                None => return unreadable("it has a test that is not followed"),
            }
        }
    }

    fn simple(&mut self) -> Read<Command> {
        let mut simple = Simple::default();
        let mut redirects = Vec::new();
        loop {
            self.blanks()?;
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            let Some(word) = self.word()? else { break };
            if word.source.starts_with('{') && matches!(self.peek(), Some('<' | '>')) {
                return unreadable("it names a file descriptor by a variable");
            }
            match assignment(&word)? {
                Some(assignment) if simple.words.is_empty() => simple.assignments.push(assignment),
                _ => simple.words.push(word),
            }
        }
        if self.peek() == Some('(') {
            return unreadable("it defines a function or an array");
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty() {
            return unreadable("a command is missing");
        }
        Ok(Command { node: Node::Simple(simple), redirects })
    }

    fn redirect(&mut self) -> Read<Option<Redirect>> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let process = matches!(self.peek(), Some('<' | '>')) && self.peek_at(1) == Some('(');
        let both = self.at == start && self.peek() == Some('&') && self.peek_at(1) == Some('>');
        if process || !(both || matches!(self.peek(), Some('<' | '>'))) {
            self.at = start;
            return Ok(None);
        }
        Ok(Some(match () {
            () if self.eat("<<<") => Redirect::Here(self.target()?),
            () if self.eat("<<-") => self.here(Tabs::Stripped)?,
            () if self.eat("<<") => self.here(Tabs::Kept)?,
            () if self.eat("<&") => self.duplicate(Redirect::Read)?,
            () if self.eat(">&") => self.duplicate(Redirect::Write)?,
            () if ["&>>", "&>", ">>", ">|", "<>", ">"].iter().any(|operator| self.eat(operator)) => {
                Redirect::Write(self.target()?)
            }
            () => {
                self.at += 1;
                Redirect::Read(self.target()?)
            }
        }))
    }

    fn target(&mut self) -> Read<Word> {
        self.blanks()?;
        match self.word()? {
            Some(word) => Ok(word),
            None => unreadable("a redirection has no target"),
        }
    }

    fn duplicate(&mut self, file: impl Fn(Word) -> Redirect) -> Read<Redirect> {
        let target = self.target()?;
        let digits = target.source.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
        Ok(if digits { Redirect::Duplicate } else { file(target) })
    }

    /// `<<` after its operator; its body follows the next newline.
    fn here(&mut self, tabs: Tabs) -> Read<Redirect> {
        let target = self.target()?;
        let plain = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.!".contains(c))
        };
        let Some(end) = target.literal().filter(|end| plain(end)) else {
            return unreadable("the end mark of a here-document is not a plain word");
        };
        let quoted = if target.source == end { Quotes::None } else { Quotes::Double };
        // Bodies come in the order of their operators.
        let number = self.documents.len() + self.pending.len();
        self.pending.push(Pending { end, quoted, tabs });
        Ok(Redirect::Document(number))
    }

    fn here_bodies(&mut self) -> Read<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.inside > 0 {
            return unreadable("it has a here-document inside a substitution");
        }
        for pending in std::mem::take(&mut self.pending) {
            let text = self.here_text(&pending)?;
            let mut word = Word { source: String::new(), pieces: Vec::new() };
            push_quoted(&mut word.pieces, "");
            if pending.quoted == Quotes::Double {
                push_quoted(&mut word.pieces, &text);
            } else {
                let chars: Vec<char> = text.chars().collect();
                let mut body = Scanner::new(&chars, self.depth);
                body.inside = 1;
                body.double(&mut word.pieces, None)?;
            }
            self.documents.push(word);
        }
        Ok(())
    }

    /// The lines of a here-document up to its end mark.
    fn here_text(&mut self, pending: &Pending) -> Read<String> {
        let mut text = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
            let mut line = self.slice(start, self.at);
            let last = self.next().is_none();
            if pending.tabs == Tabs::Stripped {
                line = line.trim_start_matches('\t').to_string();
            }
            if line == pending.end {
                if !last {
                    // The newline after the mark separates commands.
                    self.at -= 1;
                }
                return Ok(text);
            }
            if last {
                return unreadable("a here-document is not closed");
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
}

fn assignment(word: &Word) -> Read<Option<Assignment>> {
    let Some(Piece::Bare(first)) = word.pieces.first() else { return Ok(None) };
    let Some((name, rest)) = first.split_once('=') else { return Ok(None) };
    let (name, append) = match name.strip_suffix('+') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if !is_identifier(name) {
        return Ok(None);
    }
    let mut pieces = Vec::new();
    if let Some(tilde) = rest.strip_prefix('~') {
        let end = tilde.find('/').unwrap_or(tilde.len());
        pieces.push(Piece::Tilde(tilde.get(..end).unwrap_or_default().into()));
        pieces.push(Piece::Bare(tilde.get(end..).unwrap_or_default().into()));
    } else {
        pieces.push(Piece::Bare(rest.into()));
    }
    pieces.extend(word.pieces.iter().skip(1).cloned());
    let source = word.source.split_once('=').map(|(_, value)| value.to_string()).unwrap_or_default();
    Ok(Some(Assignment { name: name.into(), value: Word { source, pieces }, append }))
}
