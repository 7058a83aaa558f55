//! What a run could not do because nobody could be asked, in one sentence for exit code 4.

use crate::model::judgement::Approval;
use crate::session::turn::{Outcome, Unanswered};

/// The most calls that are named for each way out.
const MOST_NAMED: usize = 5;

/// The sentence; none when nothing was denied or dismissed.
pub fn sentence(outcome: &Outcome) -> Option<String> {
    let mut parts = Vec::new();
    for mode in [Some(Approval::Default), Some(Approval::Edit), Some(Approval::Full), None] {
        let calls = named(&outcome.unanswered, mode);
        if calls.is_empty() {
            continue;
        }
        let they = if calls.len() == 1 { "it" } else { "them" };
        let way_out = match (mode, outcome.restricted) {
            (None, _) => format!("no option lets {they} run: do it yourself or in the REPL"),
            (Some(mode), true) => {
                format!("--workspace-trust assume with --approval {mode} lets {they} run")
            }
            (Some(mode), false) => format!("--approval {mode} lets {they} run"),
        };
        parts.push(format!("{} ({way_out})", list(&calls)));
    }
    if outcome.unanswered.contains(&Unanswered::Question) {
        parts.push("a question of the model (say in the task what it should assume)".into());
    }
    (!parts.is_empty()).then(|| format!("nobody could be asked, so this was denied: {}", parts.join("; ")))
}

/// The calls with that way out, each once.
fn named(all: &[Unanswered], wanted: Option<Approval>) -> Vec<&str> {
    let mut calls = Vec::new();
    for unanswered in all {
        if let Unanswered::Call { summary, mode } = unanswered
            && *mode == wanted
            && !calls.contains(&summary.as_str())
        {
            calls.push(summary.as_str());
        }
    }
    calls
}

fn list(calls: &[&str]) -> String {
    let shown = calls.get(..MOST_NAMED).unwrap_or(calls).join(", ");
    match calls.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
