//! The system prompt: a built-in text for the mode, then the facts of this session.
//!
//! It is composed once per turn and on a change of mode, so that it is the same, byte for byte, at every step and
//! provider caches hold.

use std::fmt::Write as _;
use std::path::Path;

use crate::model::request::Mode;

const WORK: &str = include_str!("prompts/work.md");
const PLAN: &str = include_str!("prompts/plan.md");

/// What the prompt says about the session.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The mode.
    pub mode: Mode,
    /// The workspace root.
    pub workspace: &'a Path,
    /// The git root above it, if any.
    pub git_root: Option<&'a Path>,
    /// The local date, `YYYY-MM-DD`.
    pub date: &'a str,
    /// The model.
    pub model: &'a str,
    /// What plugins appended; empty for nothing.
    pub instructions: &'a str,
    /// JSON Schema of the final answer, as text.
    pub output_schema: Option<&'a str>,
}

/// The composed system text, before hooks.
pub fn compose(facts: &Facts<'_>) -> String {
    let mut text = match facts.mode {
        Mode::Work => WORK.to_owned(),
        Mode::Plan => PLAN.to_owned(),
    };
    text.push_str("\n# This session\n\n");
    let workspace = facts.workspace.display();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "- Workspace (the working directory of every command): {workspace}");
    match facts.git_root {
        Some(root) if root == facts.workspace => text.push_str("- It is the root of a git repository.\n"),
        Some(root) => {
            let _ = writeln!(text, "- It lies in the git repository {}.", root.display());
        }
        None => text.push_str("- It is not in a git repository.\n"),
    }
    let _ = writeln!(text, "- Platform: {} on {}", std::env::consts::OS, std::env::consts::ARCH);
    let _ = writeln!(text, "- Date: {}", facts.date);
    let _ = writeln!(text, "- Model: {}", facts.model);
    if !facts.instructions.is_empty() {
        let _ = writeln!(text, "\n# Instructions\n\n{}", facts.instructions.trim_end());
    }
    if let Some(schema) = facts.output_schema {
        let _ = write!(
            text,
            "\n# The final answer\n\nYour last message must be one JSON value that satisfies this JSON Schema, and nothing else: \
             no prose around it, no code fence.\n\n{schema}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(mode: Mode) -> Facts<'static> {
        Facts {
            mode,
            workspace: Path::new("/w"),
            git_root: Some(Path::new("/w")),
            date: "2026-01-02",
            model: "m-1",
            instructions: "",
            output_schema: None,
        }
    }

    #[test]
    fn plan_mode_names_no_writing_tool_and_work_mode_does() {
        let plan = compose(&facts(Mode::Plan));
        assert!(!plan.contains("`bash`") && !plan.contains("`edit`"));
        assert!(compose(&facts(Mode::Work)).contains("`edit`"));
    }

    #[test]
    fn the_same_facts_give_the_same_bytes() {
        assert_eq!(compose(&facts(Mode::Work)), compose(&facts(Mode::Work)));
        assert!(compose(&facts(Mode::Work)).contains("2026-01-02"));
    }

    #[test]
    fn a_schema_is_told_to_the_model() {
        let text = compose(&Facts { output_schema: Some("{\"type\":\"object\"}"), ..facts(Mode::Work) });
        assert!(text.ends_with("{\"type\":\"object\"}\n"));
    }
}
