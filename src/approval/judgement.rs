//! A judged call: its classification, what a mode needs to know beside it, and the parts it consists of.

use crate::approval::grant::Rule;
use crate::model::judgement::{Authority, Classification, Risk};
use crate::model::port::Reach;

/// What is known of a call before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Risk, authority and one line for the operator; hooks see and change this part only.
    pub classification: Classification,
    /// Which row of the mode table applies.
    pub kind: Kind,
    /// Why this call is asked in every mode and whatever was granted; none for the ordinary call.
    pub always_ask: Option<String>,
    /// The parts of a shell line, in order; empty for other tools.
    pub parts: Vec<Part>,
    /// What a yes could be remembered as; none when it may hold once only.
    pub rule: Option<Rule>,
    /// How far the tool must be let, once the call is approved.
    pub reach: Reach,
}

/// Kinds of call that the mode table tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `read`, `glob`, `grep`, `skill`.
    Look,
    /// `todoread`, `todowrite`, `question`: only the session itself; never asked.
    Session,
    /// `edit`, `write`.
    File,
    /// `bash`.
    Shell,
    /// A tool of a plugin or of an external tool set.
    External,
}

/// One part of a shell line: a simple command, a redirection, or syntax that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part as the shell will run it, quotes removed.
    pub text: String,
    /// How it was judged.
    pub risk: Risk,
    /// How far it reaches.
    pub authority: Authority,
    /// Why.
    pub reason: String,
}

impl Judgement {
    /// The part that weighs most; none for other tools than `bash`.
    pub fn worst(&self) -> Option<&Part> {
        self.parts.iter().rev().max_by_key(|part| (part.risk, part.authority))
    }
}
