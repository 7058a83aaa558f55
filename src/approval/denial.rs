//! What the model is told when a call did not run: what was refused, why, and what it could do instead.

use crate::approval::judgement::{Judgement, Kind};
use crate::model::judgement::Risk;

/// Nobody could be asked.
pub fn unasked(tool: &str, call: &Judgement, reason: &str) -> String {
    format!(
        "Not run: {tool} needs the operator's approval and nobody can be asked here. Reason: {reason}. {}",
        advice(call)
    )
}

/// The operator said no, perhaps with words of their own.
pub fn refused(tool: &str, call: &Judgement, words: Option<&str>) -> String {
    let summary = &call.classification.summary;
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => {
            format!("Not run: the operator refused this {tool} call ({summary}) and said: {words}")
        }
        None => format!(
            "Not run: the operator refused this {tool} call ({summary}). Do not try it again in another form. {}",
            advice(call)
        ),
    }
}

/// The reviewing model said no.
pub fn reviewed(tool: &str, call: &Judgement, rationale: &str) -> String {
    let summary = &call.classification.summary;
    format!("Not run: the reviewer refused this {tool} call ({summary}): {rationale}. {}", advice(call))
}

fn advice(call: &Judgement) -> &'static str {
    match (call.kind, call.classification.risk) {
        (_, Risk::Forbidden) => "Credentials and Crystal's own files are out of bounds; go on without them.",
        (Kind::Shell, _) => {
            "Use the read, glob, grep, edit and write tools where they serve, leave out the part that was refused, or say what the operator should run."
        }
        (Kind::Look | Kind::File, _) => "Stay inside the workspace, or say what the operator should do.",
        (Kind::Session | Kind::External, _) => "Go on without it, or say what the operator should do.",
    }
}
