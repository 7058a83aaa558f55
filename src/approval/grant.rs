//! What the operator allowed for longer than once.
//!
//! A rule covers exactly what was shown when it was saved: a shell line with the same parts in the same order,
//! files directly in one directory, one searched path, or calls of one external tool. It holds in the workspace
//! it was given in, and only while the call is judged no worse than it was then. There are no prefix rules: what
//! an option appended to a known command does cannot be told from the command.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::approval::judgement::Judgement;
use crate::model::judgement::{Authority, Grant, Risk};

/// One remembered yes. Its serialised form is the entry of `permissions.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The workspace it holds in.
    pub workspace: PathBuf,
    /// The tool.
    pub tool: String,
    /// Which of the tool's calls.
    #[serde(flatten)]
    pub what: What,
    /// The worst risk it covers.
    pub risk: Risk,
    /// The farthest reach it covers.
    pub authority: Authority,
}

/// Which calls of a tool a rule covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A shell line that reads the same: every word and operator, after quotes are removed.
    Command(String),
    /// Files directly in this directory (real path).
    Directory(PathBuf),
    /// This path alone (real path).
    Path(PathBuf),
    /// Any arguments.
    #[serde(rename = "calls")]
    Calls(Any),
}

/// The word for any arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Any {
    Any,
}

impl Rule {
    /// What the rule covers, in words for the operator.
    pub fn describe(&self) -> String {
        let what = match &self.what {
            What::Command(command) => format!("exactly this command: {command}"),
            What::Directory(path) => format!("{} on files directly in {}", self.tool, path.display()),
            What::Path(path) => format!("{} on {}", self.tool, path.display()),
            What::Calls(Any::Any) => format!("every call of {}", self.tool),
        };
        format!("{what} (workspace {})", self.workspace.display())
    }
    /// Whether a rule that was saved covers what this one asks for.
    fn covers(&self, asked: &Self) -> bool {
        self.workspace == asked.workspace
            && self.tool == asked.tool
            && self.what == asked.what
            && asked.risk <= self.risk
            && asked.authority <= self.authority
            && asked.risk != Risk::Forbidden
    }
}

/// The rules that hold in a session.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    rules: Vec<(Grant, Rule)>,
}

impl Grants {
    /// Starts with what `permissions.json` remembers; rules of other workspaces are left out.
    pub fn new(always: impl IntoIterator<Item = Rule>, workspace: &Path) -> Self {
        let rules = always.into_iter().filter(|rule| rule.workspace == workspace);
        Self { rules: rules.map(|rule| (Grant::Always, rule)).collect() }
    }
    /// Remembers a yes. One that holds once is not kept.
    pub fn add(&mut self, rule: Rule, grant: Grant) {
        if grant != Grant::Once && rule.risk != Risk::Forbidden {
            self.rules.push((grant, rule));
        }
    }
    /// Whether a call was granted: it may be remembered at all, and a rule covers it as it is judged now.
    pub fn cover(&self, call: &Judgement) -> bool {
        let Some(rule) = &call.rule else { return false };
        let now =
            Rule { risk: call.classification.risk, authority: call.classification.authority, ..rule.clone() };
        call.always_ask.is_none() && self.rules.iter().any(|(_, rule)| rule.covers(&now))
    }
    /// The rules and how long each holds, oldest first.
    pub fn rules(&self) -> impl Iterator<Item = (Grant, &Rule)> {
        self.rules.iter().map(|(grant, rule)| (*grant, rule))
    }
}
