//! A parsed line, followed in the order bash would run it; every part is judged where it may run.

use std::cell::Cell;

use crate::approval::judgement::Part;
use crate::approval::shell::arithmetic;
use crate::approval::shell::builtin;
use crate::approval::shell::changed;
use crate::approval::shell::expand::{self, Arg};
use crate::approval::shell::parse;
use crate::approval::shell::path::{self, Access};
use crate::approval::shell::program::{Context, Stdin};
use crate::approval::shell::state::{State, Value};
use crate::approval::shell::syntax::{
    Assignment, Chain, Command, Join, List, Node, Piece, Pipeline, Redirect, Script, Simple, Word,
};
use crate::approval::shell::variable;
use crate::approval::shell::verdict::Verdict;
use crate::fence::Fence;
use crate::model::judgement::{Authority, Risk};

/// The most commands that are judged for one line, repetitions of a loop's readings included.
const BUDGET: usize = 4000;

/// Follows a line from the workspace's root.
pub(super) fn follow(script: &Script, fence: &Fence) -> Walk {
    let budget = Cell::new(BUDGET);
    let mut walker =
        Walker { fence, documents: &script.documents, depth: 0, budget: &budget, walk: Walk::default() };
    let mut state = State::new(fence.root().to_path_buf());
    walker.list(&script.list, &mut state, &Stdin::Nothing);
    walker.walk
}

/// Judges code that another shell is given as a word: it sees the directory and the environment, no variables.
pub(super) fn nested(code: &str, cx: &Context<'_>) -> Verdict {
    // Each shell in a shell may nest less, so that the sum of all stays small.
    let script = match parse::parse(code, (cx.depth + 1) * 6) {
        Ok(script) => script,
        Err(why) => return Verdict::unknown(why.0),
    };
    let mut walker = Walker {
        fence: cx.fence,
        documents: &script.documents,
        depth: cx.depth + 1,
        budget: cx.budget,
        walk: Walk::default(),
    };
    walker.list(&script.list, &mut cx.state.for_child(), cx.stdin);
    walker
        .walk
        .parts
        .into_iter()
        .map(|(_, verdict)| verdict)
        .reduce(Verdict::and)
        .unwrap_or_else(|| Verdict::read("runs nothing"))
}

/// What was found on the way.
#[derive(Default)]
pub(super) struct Walk {
    /// Texts and verdicts of the parts, in order.
    pub(super) parts: Vec<(String, Verdict)>,
    /// Whether some part that does more than read has words that are made when the line runs.
    pub(super) varies: bool,
}

impl Walk {
    pub(super) fn part(text: &str, verdict: Verdict) -> Part {
        Part { text: text.into(), risk: verdict.risk, authority: verdict.authority, reason: verdict.reason }
    }
}

struct Walker<'a> {
    fence: &'a Fence,
    documents: &'a [Word],
    depth: usize,
    budget: &'a Cell<usize>,
    walk: Walk,
}

impl Walker<'_> {
    fn list(&mut self, list: &List, state: &mut State, stdin: &Stdin) {
        for chain in &list.0 {
            if chain.background {
                self.chain(chain, &mut state.clone(), stdin);
            } else {
                self.chain(chain, state, stdin);
            }
        }
    }

    /// `&&` goes on where the command before succeeded, `||` where it failed. Only `cd` can tell the two apart.
    fn chain(&mut self, chain: &Chain, state: &mut State, stdin: &Stdin) {
        let mut failed = self.link(&chain.first, state, stdin);
        let mut ended: Vec<State> = Vec::new();
        for (join, pipeline) in &chain.rest {
            match join {
                Join::And => ended.push(failed),
                Join::Or => {
                    let succeeded = std::mem::replace(state, failed);
                    for state_then in ended.drain(..) {
                        state.join(state_then);
                    }
                    ended.push(succeeded);
                }
            }
            failed = self.link(pipeline, state, stdin);
        }
        state.join(failed);
        for state_then in ended {
            state.join(state_then);
        }
    }

    /// Runs one pipeline; the state becomes that of its success, and that of its failure is returned.
    fn link(&mut self, pipeline: &Pipeline, state: &mut State, stdin: &Stdin) -> State {
        let before = state.directories.clone();
        self.pipeline(pipeline, state, stdin);
        let mut failed = state.clone();
        let mut stayed = state.clone();
        stayed.directories = before;
        failed.join(stayed);
        failed
    }

    fn pipeline(&mut self, pipeline: &Pipeline, state: &mut State, stdin: &Stdin) {
        if let [only] = pipeline.0.as_slice() {
            return self.command(only, state, stdin);
        }
        let start = self.walk.parts.len();
        let mut stdin = stdin.clone();
        for command in &pipeline.0 {
            self.command(command, &mut state.clone(), &stdin);
            stdin = self.made_since(start);
        }
    }

    /// What the parts since `start` print: something made, and perhaps by another machine.
    fn made_since(&self, start: usize) -> Stdin {
        let parts = self.walk.parts.get(start..).unwrap_or_default();
        let downloaded = parts.iter().any(|(_, verdict)| verdict.authority == Authority::Network);
        if downloaded { Stdin::Downloaded } else { Stdin::Made }
    }

    fn command(&mut self, command: &Command, state: &mut State, stdin: &Stdin) {
        if self.budget.get() == 0 {
            return self.push("…".into(), Verdict::unknown("it runs too many commands to follow"));
        }
        let mut stdin = stdin.clone();
        for redirect in &command.redirects {
            if let Some(given) = self.redirect(redirect, state) {
                stdin = given;
            }
        }
        match &command.node {
            Node::Simple(simple) => self.simple(simple, &command.redirects, state, &stdin),
            Node::Group(body) => self.list(body, state, &stdin),
            Node::Subshell(body) => self.list(body, &mut state.clone(), &stdin),
            Node::For { name, values, body } => self.counted(name, values, body, state, &stdin),
            Node::While { condition, body } => {
                let before = state.clone();
                changed::forget(state, &[condition, body]);
                self.list(condition, state, &stdin);
                self.list(body, state, &stdin);
                state.join(before);
            }
            Node::If { arms, otherwise } => self.conditional(arms, otherwise, state, &stdin),
            Node::Case { subject, arms } => self.case(subject, arms, state, &stdin),
            Node::Test(words) => self.test(words, state),
            Node::Arithmetic(text) => self.arithmetic(text, state),
        }
    }

    fn counted(&mut self, name: &str, values: &[Word], body: &List, state: &mut State, stdin: &Stdin) {
        for word in values {
            self.substitutions(&word.pieces, state);
        }
        let before = state.clone();
        let readings = expand::words(values, state, self.fence);
        let texts = readings.and_then(|readings| {
            readings.into_iter().flatten().map(|arg| arg.text().map(String::from)).collect::<Option<Vec<_>>>()
        });
        changed::forget(state, &[body]);
        let set = variable::assigned(name);
        if set.risk > Risk::Read {
            self.push(format!("for {name}"), set);
        }
        state.set(name, texts.map_or(Value::Unknown, Value::texts));
        self.list(body, state, stdin);
        state.join(before);
    }

    fn conditional(&mut self, arms: &[(List, List)], otherwise: &List, state: &mut State, stdin: &Stdin) {
        let mut ends: Vec<State> = Vec::new();
        for (condition, branch) in arms {
            self.list(condition, state, stdin);
            let mut taken = state.clone();
            self.list(branch, &mut taken, stdin);
            ends.push(taken);
        }
        self.list(otherwise, state, stdin);
        for end in ends {
            state.join(end);
        }
    }

    fn case(&mut self, subject: &Word, arms: &[(Vec<Word>, List)], state: &mut State, stdin: &Stdin) {
        self.substitutions(&subject.pieces, state);
        let before = state.clone();
        for (patterns, branch) in arms {
            for pattern in patterns {
                self.substitutions(&pattern.pieces, &before);
            }
            let mut taken = before.clone();
            self.list(branch, &mut taken, stdin);
            state.join(taken);
        }
    }

    fn test(&mut self, words: &[Word], state: &State) {
        const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        let numeric = words.iter().any(|word| NUMERIC.contains(&word.source.as_str()));
        let mut verdict = Verdict::read("only tests");
        let mut before = "";
        for word in words {
            self.substitutions(&word.pieces, state);
            let value = expand::value(word, state, self.fence);
            if ["-v", "-R"].contains(&word.source.as_str()) {
                verdict = verdict.and(Verdict::unknown("-v evaluates what it is given"));
            }
            // Operands of numeric tests are evaluated, and a subscript in them can run a command.
            if numeric && !is_plain(word) && !value.is_numeric() {
                verdict =
                    verdict.and(Verdict::unknown("a test evaluates a value that is made when the line runs"));
            }
            if before.len() == 2 && before.starts_with('-') {
                verdict = verdict.and(match &value {
                    Value::Texts(texts) => self.paths(texts, state),
                    Value::Number => Verdict::read("only tests"),
                    Value::Unknown => path::outside(&word.source, Access::Read, "is made when the line runs"),
                });
            }
            before = &word.source;
        }
        let text = words.iter().map(|word| word.source.as_str()).collect::<Vec<_>>().join(" ");
        self.push(format!("[[ {text} ]]"), verdict);
    }

    fn paths(&self, texts: &[String], state: &State) -> Verdict {
        let judge = |text: &String| path::judge(self.fence, state.directories.as_deref(), text, Access::Read);
        texts.iter().map(judge).reduce(Verdict::and).unwrap_or_else(|| Verdict::read("only tests"))
    }

    fn arithmetic(&mut self, text: &str, state: &mut State) {
        if let Some(why) = arithmetic::apply(text, state) {
            self.push(format!("(({text}))"), Verdict::unknown(why));
        }
    }

    fn simple(&mut self, simple: &Simple, redirects: &[Redirect], state: &mut State, stdin: &Stdin) {
        for assignment in &simple.assignments {
            self.substitutions(&assignment.value.pieces, state);
        }
        for word in &simple.words {
            self.substitutions(&word.pieces, state);
        }
        let Some(first) = simple.words.first() else {
            return self.assignments(&simple.assignments, state);
        };
        let source = sources(simple);
        if first.literal().is_none() {
            return self.push(
                source,
                Verdict::unknown(format!("the program's name {} is made when the line runs", first.source)),
            );
        }
        let Some(readings) = expand::words(&simple.words, state, self.fence) else {
            return self.push(source, Verdict::unknown("it has too many readings to follow"));
        };
        let text = match readings.as_slice() {
            [only] => shown(simple, only),
            _ => source,
        };
        let before = state.clone();
        let mut verdict: Option<Verdict> = None;
        let mut after: Option<State> = None;
        for args in &readings {
            let mut next = before.clone();
            let rated = self.rate(args, redirects, &mut next, stdin);
            self.walk.varies |=
                rated.risk > Risk::Read && args.iter().any(|arg| !matches!(arg, Arg::Text(_)));
            verdict = Some(verdict.map_or(rated.clone(), |verdict| verdict.and(rated)));
            match &mut after {
                Some(after) => after.join(next),
                None => after = Some(next),
            }
        }
        *state = after.unwrap_or(before);
        let verdict = verdict.unwrap_or_else(|| Verdict::read("runs nothing"));
        let verdict = self.patterns(&simple.words, state).into_iter().fold(verdict, Verdict::and);
        let verdict = simple
            .assignments
            .iter()
            .fold(verdict, |verdict, assignment| verdict.and(self.prefixed(assignment, first, state)));
        self.push(text, verdict);
    }

    /// A pattern lists directories, even for a program that only prints its words.
    fn patterns(&self, words: &[Word], state: &State) -> Option<Verdict> {
        let wild = |word: &&Word| {
            word.source.contains('/') && word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
        };
        let words: Vec<Word> = words.iter().filter(wild).cloned().collect();
        let readings = expand::words(&words, state, self.fence)?;
        let texts: Vec<String> =
            readings.iter().flatten().filter_map(|arg| arg.text().map(String::from)).collect();
        let verdict = self.paths(&texts, state);
        (verdict.risk > Risk::Read || verdict.authority > Authority::Workspace).then_some(verdict)
    }

    fn rate(&self, args: &[Arg], redirects: &[Redirect], state: &mut State, stdin: &Stdin) -> Verdict {
        if self.budget.get() == 0 {
            return Verdict::unknown("it runs too many commands to follow");
        }
        let before = state.clone();
        let cx = Context { fence: self.fence, state: &before, stdin, depth: self.depth, budget: self.budget };
        builtin::judge(args, redirects, &cx, state)
    }

    /// A variable set for one command.
    fn prefixed(&self, assignment: &Assignment, program: &Word, state: &State) -> Verdict {
        if assignment.name == "IFS" && program.source == "read" {
            return Verdict::read("sets how read splits");
        }
        match expand::value(&assignment.value, state, self.fence) {
            Value::Texts(texts) if texts.len() == 1 => {
                variable::exported(&assignment.name, texts.first().map(String::as_str))
            }
            _ => variable::exported(&assignment.name, None),
        }
    }

    fn assignments(&mut self, assignments: &[Assignment], state: &mut State) {
        for assignment in assignments {
            let value = if assignment.append {
                Value::Unknown
            } else {
                expand::value(&assignment.value, state, self.fence)
            };
            state.set(&assignment.name, value);
            let sign = if assignment.append { "+=" } else { "=" };
            self.push(
                format!("{}{sign}{}", assignment.name, assignment.value.source),
                variable::assigned(&assignment.name),
            );
        }
    }

    /// Judges a redirection; what it gives the command to read is returned where it gives anything.
    fn redirect(&mut self, redirect: &Redirect, state: &State) -> Option<Stdin> {
        let start = self.walk.parts.len();
        let word = match redirect {
            Redirect::Duplicate => return None,
            Redirect::Document(number) => self.documents.get(*number)?,
            Redirect::Read(word) | Redirect::Write(word) | Redirect::Here(word) => word,
        };
        self.substitutions(&word.pieces, state);
        let process = word.pieces.iter().any(|piece| matches!(piece, Piece::Process(_)));
        match redirect {
            Redirect::Here(_) | Redirect::Document(_) => Some(match expand::value(word, state, self.fence) {
                Value::Texts(texts) => match texts.as_slice() {
                    [only] => Stdin::Text(only.clone()),
                    _ => Stdin::Made,
                },
                Value::Number | Value::Unknown => Stdin::Made,
            }),
            Redirect::Read(_) if process => Some(self.made_since(start)),
            Redirect::Write(_) if process => None,
            Redirect::Read(_) => {
                self.target(word, "<", Access::Read, state);
                Some(Stdin::Nothing)
            }
            _ => {
                self.target(word, ">", Access::Write, state);
                None
            }
        }
    }

    fn target(&mut self, word: &Word, sign: &str, access: Access, state: &State) {
        let readings = expand::words(std::slice::from_ref(word), state, self.fence).unwrap_or_default();
        let mut verdict: Option<Verdict> = None;
        for arg in readings.iter().flatten() {
            let rated = match arg {
                Arg::Text(text) => path::judge(self.fence, state.directories.as_deref(), text, access),
                _ => path::outside(&arg.shown(), access, "is made when the line runs"),
            };
            self.walk.varies |= access == Access::Write && !matches!(arg, Arg::Text(_));
            verdict = Some(verdict.map_or(rated.clone(), |verdict| verdict.and(rated)));
        }
        let verdict =
            verdict.unwrap_or_else(|| path::outside(&word.source, access, "is made when the line runs"));
        if verdict.risk > Risk::Read || verdict.authority > Authority::Workspace {
            self.push(format!("{sign} {}", word.source), verdict);
        }
    }

    /// Judges every command inside a word's expansions.
    fn substitutions(&mut self, pieces: &[Piece], state: &State) {
        for piece in pieces {
            match piece {
                Piece::Substitution(list, _) => self.list(list, &mut state.clone(), &Stdin::Nothing),
                Piece::Process(list) => self.list(list, &mut state.clone(), &Stdin::Made),
                // What it assigns is seen before any later use, since names in arithmetic only hold numbers.
                Piece::Arithmetic(text) => self.arithmetic(text, &mut state.clone()),
                _ => {}
            }
        }
    }

    fn push(&mut self, text: String, verdict: Verdict) {
        self.budget.set(self.budget.get().saturating_sub(1));
        self.walk.parts.push((text, verdict));
    }
}

/// A command as the shell will run it, quotes removed.
fn shown(simple: &Simple, args: &[Arg]) -> String {
    let set = simple
        .assignments
        .iter()
        .map(|assignment| format!("{}={}", assignment.name, assignment.value.source));
    set.chain(args.iter().map(Arg::shown)).collect::<Vec<_>>().join(" ")
}

fn sources(simple: &Simple) -> String {
    let set = simple
        .assignments
        .iter()
        .map(|assignment| format!("{}={}", assignment.name, assignment.value.source));
    set.chain(simple.words.iter().map(|word| word.source.clone())).collect::<Vec<_>>().join(" ")
}

fn is_plain(word: &Word) -> bool {
    word.literal().is_some_and(|text| !text.contains('['))
}
