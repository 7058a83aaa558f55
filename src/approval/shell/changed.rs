//! What a repeated piece of a line may change before it is seen: a loop's body runs after itself.

use crate::approval::shell::arithmetic;
use crate::approval::shell::state::{State, Value, is_number};
use crate::approval::shell::syntax::{Command, List, Node, Piece, Simple, Word};

/// Makes the state hold at every repetition of these lists.
pub(super) fn forget(state: &mut State, lists: &[&List]) {
    let mut found = Found::default();
    for list in lists {
        found.list(list);
    }
    if found.moves {
        state.directories = None;
    }
    for (name, numeric) in found.names {
        let keeps = numeric && state.variable(&name).is_some_and(Value::is_numeric);
        state.set(&name, if keeps { Value::Number } else { Value::Unknown });
    }
    if found.sources {
        state.forget_all();
        state.tamper("a script was read into the shell".into());
    }
}

#[derive(Default)]
struct Found {
    names: Vec<(String, bool)>,
    moves: bool,
    sources: bool,
}

impl Found {
    fn list(&mut self, list: &List) {
        for chain in &list.0 {
            for pipeline in
                std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, pipeline)| pipeline))
            {
                pipeline.0.iter().for_each(|command| self.command(command));
            }
        }
    }
    fn command(&mut self, command: &Command) {
        match &command.node {
            Node::Simple(simple) => self.simple(simple),
            Node::Group(body) | Node::Subshell(body) => self.list(body),
            Node::For { name, body, .. } => {
                self.names.push((name.clone(), false));
                self.list(body);
            }
            Node::While { condition, body } => {
                self.list(condition);
                self.list(body);
            }
            Node::If { arms, otherwise } => {
                for (condition, branch) in arms {
                    self.list(condition);
                    self.list(branch);
                }
                self.list(otherwise);
            }
            Node::Case { arms, .. } => arms.iter().for_each(|(_, branch)| self.list(branch)),
            Node::Test(_) => {}
            Node::Arithmetic(text) => self.arithmetic(text),
        }
    }
    fn simple(&mut self, simple: &Simple) {
        for assignment in &simple.assignments {
            let numeric = !assignment.append && is_numeric(&assignment.value);
            // Assignments inside an expression reach the shell too.
            self.pieces(&assignment.value.pieces);
            self.names.push((assignment.name.clone(), numeric));
        }
        let program = simple.words.first().and_then(Word::literal).unwrap_or_default();
        match program.as_str() {
            "cd" | "pushd" | "popd" => self.moves = true,
            "source" | "." => self.sources = true,
            "read" | "export" | "unset" => {
                for word in simple.words.iter().skip(1) {
                    let name = word.source.split('=').next().unwrap_or_default();
                    self.names.push((name.into(), false));
                }
                self.names.push(("REPLY".into(), false));
            }
            _ => {}
        }
        simple.words.iter().for_each(|word| self.pieces(&word.pieces));
    }
    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            if let Piece::Arithmetic(text) = piece {
                self.arithmetic(text);
            }
        }
    }
    fn arithmetic(&mut self, text: &str) {
        for name in arithmetic::names(text) {
            self.names.push((name.into(), true));
        }
    }
}

fn is_numeric(word: &Word) -> bool {
    word.literal().is_some_and(|text| is_number(&text))
        || (!word.pieces.is_empty()
            && word.pieces.iter().all(|piece| match piece {
                Piece::Number | Piece::Arithmetic(_) => true,
                Piece::Bare(text) | Piece::Quoted(text) => text.is_empty(),
                _ => false,
            }))
}
