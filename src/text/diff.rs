//! Unified diffs with their counts.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// What changed between two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Unified diff with three lines of context; empty when nothing changed.
    pub text: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// After this time the rest of a diff is taken coarsely, so that two large unlike files cost little.
const PATIENCE: Duration = Duration::from_millis(500);

/// The diff of a file's contents, with `path` in its header. A new file is compared with an empty one.
pub fn unified(path: &str, before: &str, after: &str) -> Diff {
    if before == after {
        return Diff::default();
    }
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let text = diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    Diff { text, added, removed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_changed_line_alone_and_counts_it() {
        let diff = unified("m.txt", "a\r\nb\nc\r\n", "a\r\nB\nc\r\n");
        assert_eq!((diff.added, diff.removed), (1, 1));
        let changed: Vec<_> = diff
            .text
            .lines()
            .filter(|line| {
                line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
            })
            .collect();
        assert_eq!(changed, ["-b", "+B"]);
    }

    #[test]
    fn a_missing_final_newline_is_told_and_no_change_is_empty() {
        assert!(unified("f", "a\nb", "a\nc").text.contains("No newline"));
        assert_eq!(unified("f", "a", "a"), Diff::default());
    }
}
