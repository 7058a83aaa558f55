//! Finding text in files.

use crystal::model::port::Reach;
use crystal::tool::grep::Grep;
use crystal::tool::{Output, Tool};
use serde_json::{Value, json};

use super::given::{Given, again_as_nobody, role};

async fn grep(given: &Given, arguments: Value) -> Output {
    given.call(&Grep::default(), arguments).await
}

async fn lines(given: &Given, pattern: &str) -> String {
    let output = grep(given, json!({ "pattern": pattern })).await;
    assert!(!output.failed, "{}", output.text);
    output.text
}

#[tokio::test]
async fn matches_come_with_file_and_line_ordered_by_path() {
    let given = Given::workspace();
    given.file("b.txt", "x\nneedle two\n").file("a/c.txt", "needle one\r\nend\r\n").file(".git/x", "needle");
    given.file(".hidden", "needle three");
    assert_eq!(
        lines(&given, "needle").await,
        ".hidden:1:needle three\na/c.txt:1:needle one\nb.txt:2:needle two"
    );
    assert_eq!(lines(&given, "one$").await, "a/c.txt:1:needle one", "a line's end is found before CR LF too");
    let output = grep(&given, json!({ "pattern": "needle", "path": "a/c.txt" })).await;
    assert_eq!(output.text, "a/c.txt:1:needle one");
    let output = grep(&given, json!({ "pattern": "needle", "path": "nowhere" })).await;
    assert!(output.failed && output.text.contains("no file or directory nowhere"), "{}", output.text);
}

#[tokio::test]
async fn context_and_glob_narrow_and_widen() {
    let given = Given::workspace();
    given
        .file("a.rs", "1\n2\nneedle\n4\n5\n6\n7\nneedle\n")
        .file("b.txt", "needle\n")
        .file("src/c.rs", "needle\n");
    let output = grep(&given, json!({ "pattern": "needle", "context": 1, "path": "a.rs" })).await;
    assert_eq!(output.text, "a.rs-2-2\na.rs:3:needle\na.rs-4-4\n--\na.rs-7-7\na.rs:8:needle");
    for (glob, expected) in [
        ("*.txt", "b.txt:1:needle"),
        ("src/**", "src/c.rs:1:needle"),
        ("!*.rs", "b.txt:1:needle"),
        ("**/c.{rs,txt}", "src/c.rs:1:needle"),
    ] {
        let output = grep(&given, json!({ "pattern": "needle", "glob": glob })).await;
        assert_eq!(output.text, expected, "{glob}");
    }
    let output = grep(&given, json!({ "pattern": "needle", "glob": "*.py" })).await;
    assert!(
        output.text.starts_with("No matches") && output.text.contains("glob \"*.py\""),
        "{}",
        output.text
    );
    assert!(grep(&given, json!({ "pattern": "needle", "glob": "[" })).await.failed);
}

/// anomalyco/opencode#3524, paperclipai/paperclip#10336
#[tokio::test]
async fn a_pattern_may_begin_with_a_dash() {
    let given = Given::workspace();
    given.file("options.txt", "  --ctx-size N\n");
    assert_eq!(lines(&given, "--ctx-size|--n-predict").await, "options.txt:1:  --ctx-size N");
}

/// magnitudedev/magnitude#103
#[tokio::test]
async fn an_invalid_pattern_is_an_error_with_the_engines_reason() {
    let given = Given::workspace();
    given.file("a.txt", "(\n");
    for (pattern, reason) in
        [("(", "unclosed group"), ("[z-a]", "invalid character class range"), ("a\nb", "one at a time")]
    {
        let output = grep(&given, json!({ "pattern": pattern })).await;
        assert!(output.failed && output.text.contains(reason), "{}", output.text);
    }
}

/// AltimateAI/altimate-code#1094, superagent-ai/grok-cli#263
#[test]
fn files_that_cannot_be_read_cost_a_note_and_no_matches() {
    use std::os::unix::fs::PermissionsExt;
    let Some(directory) = role() else {
        let temp = tempfile::tempdir().unwrap();
        let output =
            again_as_nobody("tool::grep::files_that_cannot_be_read_cost_a_note_and_no_matches", temp.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(temp.path().join("checked").exists());
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let given = Given::workspace();
        given.file("no.txt", "needle\n").file("ok.txt", "needle\n").link("nowhere", "dangling");
        let closed = given.root().join("no.txt");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        let note = "[1 file or directory could not be read (no.txt: permission denied), so part of the tree was not searched]";
        assert_eq!(lines(&given, "needle").await, format!("ok.txt:1:needle\n{note}"));

        given.file("ok.txt", "nothing\n");
        let text = lines(&given, "needle").await;
        assert!(text.starts_with("No matches for \"needle\"") && text.ends_with(note), "{text}");
    });
    std::fs::write(directory.join("checked"), "").unwrap();
}

/// zed-industries/zed#64030, open-webui/open-terminal#144
#[tokio::test]
async fn a_match_in_a_very_long_line_is_cut_around_it() {
    let given = Given::workspace();
    given.file("b.min.js", format!("{}needle{}", "x".repeat(600_000), "y".repeat(600_000)));
    let text = lines(&given, "needle").await;
    assert!(
        text.starts_with("b.min.js:1:…x") && text.contains("needle") && text.len() < 1000,
        "{}",
        text.len()
    );
    assert!(text.contains("[1200006 bytes in this line]"), "{text}");
}

/// sindresorhus/globby#136
#[tokio::test]
async fn loops_of_links_end_and_each_file_is_searched_once() {
    let given = Given::workspace();
    given.file("a/b/f.txt", "needle").link("../..", "a/b/up").link(".", "a/self").link("a/b/f.txt", "same");
    assert_eq!(lines(&given, "needle").await, "a/b/f.txt:1:needle");
    let output = grep(&given, json!({ "pattern": "needle", "path": "same" })).await;
    assert_eq!(output.text, "a/b/f.txt:1:needle", "a link that is named is followed");
}

#[tokio::test]
async fn nothing_outside_is_read_without_approval() {
    let mut given = Given::workspace();
    std::fs::create_dir(given.outside().join("other")).unwrap();
    std::fs::write(given.outside().join("other/secret.txt"), "needle\n").unwrap();
    given
        .link(given.outside().join("other"), "escape")
        .link(given.outside().join("other/secret.txt"), "leak");
    for path in ["escape", "leak", "..", "../other", "/etc"] {
        let output = grep(&given, json!({ "pattern": "needle", "path": path })).await;
        assert!(output.failed && output.text.contains("outside the workspace"), "{path}: {}", output.text);
    }
    assert!(lines(&given, "needle").await.starts_with("No matches"));
    given.reach = Reach::Approved;
    let output = grep(&given, json!({ "pattern": "needle", "path": "escape" })).await;
    assert!(output.text.ends_with("other/secret.txt:1:needle"), "{}", output.text);
}

#[tokio::test]
async fn credentials_are_not_searched() {
    let given = Given::workspace();
    given.file(".ssh/id_rsa", "needle").file("credentials.json", "needle").file("a.txt", "needle");
    let text = lines(&given, "needle").await;
    assert!(text.starts_with("a.txt:1:needle\n[each of 2 paths that holds credentials"), "{text}");
    assert!(grep(&given, json!({ "pattern": "needle", "path": "credentials.json" })).await.failed);
}

#[tokio::test]
async fn ignored_files_are_searched_when_they_are_named() {
    let given = Given::workspace();
    given.file(".gitignore", "dist/\n*.log\n").file("dist/app.js", "needle\n").file("a.log", "needle\n");
    let text = lines(&given, "needle").await;
    assert!(text.starts_with("No matches") && text.contains("ignored ones were not"), "{text}");
    for (path, expected) in [("dist", "dist/app.js:1:needle"), ("a.log", "a.log:1:needle")] {
        assert_eq!(grep(&given, json!({ "pattern": "needle", "path": path })).await.text, expected);
    }
}

#[tokio::test]
async fn binary_files_are_named_and_not_shown_and_utf16_is_read() {
    let given = Given::workspace();
    given
        .file("image.bin", b"\x89PNG\0\0needle\0\n")
        .file("late.bin", [&b"needle\n"[..], &b"filler\n".repeat(40_000), b"\0"].concat());
    let utf16: Vec<u8> = "\u{feff}first\nthe needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    given.file("wide.txt", utf16);
    assert_eq!(
        lines(&given, "needle").await,
        "wide.txt:2:the needle\n[binary files match too, their lines are not shown: image.bin, late.bin]"
    );
    assert!(lines(&given, "absent").await.starts_with("No matches"));
}

#[tokio::test]
async fn five_hundred_lines_at_most_and_the_rest_is_mentioned() {
    let given = Given::workspace();
    given.file("a.txt", "needle\n".repeat(300)).file("b.txt", "needle\n".repeat(200));
    let text = lines(&given, "needle").await;
    assert_eq!((text.lines().count(), text.contains("stopped")), (500, false));
    given.file("c.txt", "needle\n");
    let text = lines(&given, "needle").await;
    assert_eq!(text.lines().count(), 501);
    assert!(text.ends_with("[the search stopped after 500 matching lines and there are more; narrow the pattern, `path` or `glob`]"));
    given.file("a.txt", format!("{}needle\n", "x".repeat(390)).repeat(400));
    let text = lines(&given, "needle").await;
    assert!(text.len() < 100_000 && text.contains("search stopped after"), "{}", text.len());
}

#[tokio::test]
async fn what_is_no_file_is_passed_over() {
    let given = Given::workspace();
    given.file("a.txt", "needle");
    let made = std::process::Command::new("mkfifo").arg(given.root().join("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(lines(&given, "needle").await, "a.txt:1:needle");
    let output = grep(&given, json!({ "pattern": "needle", "path": "pipe" })).await;
    assert!(output.failed && output.text.contains("named pipe"), "{}", output.text);
}

#[tokio::test]
async fn it_only_reads_and_ends_when_cancelled() {
    let given = Given::workspace();
    assert!(Grep::default().concurrent());
    given.file("a.txt", "needle");
    given.cancel.cancel();
    let output = grep(&given, json!({ "pattern": "needle" })).await;
    assert!(output.failed && output.text.contains("cancelled"));
}
