//! `edit` changes what was meant and nothing else.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::tool::desk::{Desk, names_in};

/// Edits a file and compares all its bytes.
async fn check(before: &[u8], old: &str, new: &str, after: &[u8]) {
    let desk = Desk::new();
    desk.put("f.txt", before);
    desk.done("edit", json!({"path": "f.txt", "old_string": old, "new_string": new})).await;
    assert_eq!(String::from_utf8_lossy(&desk.get("f.txt")), String::from_utf8_lossy(after));
    assert_eq!(desk.get("f.txt"), after);
    assert_eq!(names_in(&desk.path("")), ["f.txt"]);
}

/// Tries an edit that must change nothing and returns what the model is told.
async fn miss(before: &str, old: &str, new: &str) -> String {
    let desk = Desk::new();
    desk.put("f.txt", before);
    let text = desk.refused("edit", json!({"path": "f.txt", "old_string": old, "new_string": new})).await;
    assert_eq!(desk.get("f.txt"), before.as_bytes());
    text
}

/// anthropics/claude-code#62713, openclaw/openclaw#116011
#[tokio::test]
async fn lines_that_are_not_touched_keep_their_endings() {
    check(b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n").await;
}

/// anthropics/claude-code#62713
#[tokio::test]
async fn the_diff_of_a_one_line_edit_covers_one_line() {
    let desk = Desk::new();
    desk.put("m.txt", "a\r\nb\nc\r\n");
    let output = desk.done("edit", json!({"path": "m.txt", "old_string": "b", "new_string": "B"})).await;
    let diff = output.diff.unwrap();
    let changed = |sign| diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
    assert_eq!((changed('+'), changed('-')), (1, 1), "{diff}");
}

/// Gitlawb/zero#376, earendil-works/pi#360
#[tokio::test]
async fn plain_newlines_match_crlf_and_new_lines_take_the_files_ending() {
    check(b"one\r\ntwo\r\nthree\r\n", "one\ntwo", "one\n2", b"one\r\n2\r\nthree\r\n").await;
    check(b"one\r\ntwo\r\n", "one", "one\nand\nmore", b"one\r\nand\r\nmore\r\ntwo\r\n").await;
    check(b"one\ntwo\n", "one\r\ntwo", "1\r\n2", b"1\n2\n").await;
}

/// anthropics/claude-code#60174, MoonshotAI/kimi-code#3825
#[tokio::test]
async fn the_byte_order_mark_and_non_ascii_text_survive() {
    let (before, after) = ("\u{feff}hello\n中文\n", "\u{feff}hello2\n中文\n");
    check(before.as_bytes(), "hello", "hello2", after.as_bytes()).await;
    check(before.as_bytes(), "\u{feff}hello", "hello2", after.as_bytes()).await;
    check(before.as_bytes(), "\u{feff}hello", "\u{feff}hello2", after.as_bytes()).await;
    let desk = Desk::new();
    desk.put("b.txt", before);
    let shown = desk.done("read", json!({"path": "b.txt"})).await.text;
    assert_eq!(shown, "     1\thello\n     2\t中文\n");
}

/// anomalyco/opencode#45892, withastro/flue#506
#[tokio::test]
async fn nothing_in_the_new_text_is_expanded() {
    let (old, new) = (r#"log("done");"#, r#"log("$& $1 $$ ${0} $` $' \1 \\n &amp;");"#);
    check(format!("{old}\n").as_bytes(), old, new, format!("{new}\n").as_bytes()).await;
    let desk = Desk::new();
    desk.put("f.txt", format!("{old}\n{old}\n"));
    let edit = json!({"path": "f.txt", "old_string": old, "new_string": new, "replace_all": true});
    let output = desk.done("edit", edit).await;
    assert_eq!(desk.get("f.txt"), format!("{new}\n{new}\n").as_bytes());
    assert!(output.text.contains("2 matches") && output.text.contains("lines 1, 2"), "{}", output.text);
}

/// anthropics/claude-code#52813
#[tokio::test]
async fn an_escape_in_source_is_its_characters() {
    let (old, new) = (r"s.replace(/\u00A0/g, ' ');", r"s.replace(/\u00A0/g, '_');");
    check(format!("const k = {old}\n").as_bytes(), old, new, format!("const k = {new}\n").as_bytes()).await;
}

/// zed-industries/zed#52661, anomalyco/opencode#21297
#[tokio::test]
async fn the_final_newline_stays_as_it_was() {
    check(b"a\nb\n", "b\n", "c\n", b"a\nc\n").await;
    check(b"a\nb", "b", "c", b"a\nc").await;
    check(b"a\r\nb", "b", "c", b"a\r\nc").await;
}

#[tokio::test]
async fn an_empty_new_text_deletes() {
    check(b"a\nb\nc\n", "b\n", "", b"a\nc\n").await;
}

/// anthropics/claude-code#26141
#[tokio::test]
async fn straight_quotes_do_not_match_typographic_ones_and_the_message_says_so() {
    let text = miss("She said, \u{201c}Hello.\u{201d}\n", "said, \"Hello.\"", "said, \"Hi.\"").await;
    assert!(text.contains("other quotes") && text.contains("\u{201c}Hello.\u{201d}"), "{text}");
}

/// anomalyco/opencode#31786, ProfSynapse/nexus#182
#[tokio::test]
async fn another_unicode_form_does_not_match_and_the_message_says_so() {
    let text =
        miss("name = \"Jose\u{301}\"\nother = \"\u{e9}\"\n", "name = \"Jos\u{e9}\"", "name = \"Ana\"").await;
    assert!(text.contains("Unicode form"), "{text}");
}

/// anomalyco/opencode#14046
#[tokio::test]
async fn a_block_whose_middle_was_invented_is_not_found_and_the_nearest_lines_are_shown() {
    let file = "fn a() {\n    one();\n    two();\n}\nfn b() {\n    three();\n}\n";
    let text = miss(file, "fn a() {\n    made_up();\n    not_here();\n}", "fn a() {}").await;
    assert!(text.contains("not found"), "{text}");
    assert!(text.contains("     1\tfn a() {\n     2\t    one();\n"), "{text}");
}

#[tokio::test]
async fn a_miss_says_what_differs() {
    for (file, old, part) in [
        ("\tx = 1;\n\ty = 2;\n", "    x = 1;\n    y = 2;", "white space"),
        ("let x = 1;\n", "     1\tlet x = 1;", "line numbers"),
        ("say(\"hi\")\n", "say(\\\"hi\\\")", "escaped once too often"),
        ("a < b && c\n", "a &lt; b &amp;&amp; c", "HTML entities"),
        ("SELECT 1\n", "select 1", "upper and lower case"),
        ("a\nb", "b\n", "line breaks that are not there"),
        ("", "x", "the file is empty"),
        ("abc\n", "completely different", "read the file again"),
    ] {
        let text = miss(file, old, "new").await;
        assert!(text.contains("not found") && text.contains(part), "{old:?}: {text}");
    }
}

/// earendil-works/pi#360, zed-industries/zed#63124
#[tokio::test]
async fn the_same_text_behind_both_line_endings_is_two_matches() {
    let text = miss("x = 1\r\ny = 2\r\nx = 1\n", "x = 1\n", "x = 9\n").await;
    assert!(text.contains("2 times") && text.contains("lines 1, 3"), "{text}");
    let text = miss(&"a".repeat(100_000), &"a".repeat(50_000), "b").await;
    assert!(text.contains("1000 or more times"), "{text}");
    let text = miss("aaa\n", "aa", "b").await;
    assert!(text.contains("2 times"), "{text}");
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_refused() {
    assert!(miss("a\n", "a", "a").await.contains("the same"));
    assert!(miss("a\n", "", "a").await.contains("old_string"));
}

/// earendil-works/pi#2327, google-gemini/gemini-cli#26731
#[tokio::test]
async fn two_edits_of_one_file_never_lose_a_change() {
    let numbers: String = (1..=100).map(|n| format!("{n}\n")).collect();
    for _ in 0..20 {
        let desk = Desk::new();
        desk.put("n.txt", &numbers);
        let edit = |old, new| json!({"path": "n.txt", "old_string": old, "new_string": new});
        let (first, second) = tokio::join!(
            desk.call("edit", edit("\n50\n", "\nFIFTY\n")),
            desk.call("edit", edit("\n75\n", "\nSEVENTY-FIVE\n"))
        );
        let text = String::from_utf8(desk.get("n.txt")).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert_eq!(text.contains("FIFTY\n"), !first.failed, "{}", first.text);
        assert_eq!(text.contains("SEVENTY-FIVE\n"), !second.failed, "{}", second.text);
        assert!(!first.failed || !second.failed);
    }
}

#[tokio::test]
async fn edits_one_after_the_other_both_land() {
    let desk = Desk::new();
    desk.put("n.txt", "1\n2\n3\n");
    desk.done("read", json!({"path": "n.txt"})).await;
    for (old, new) in [("1", "one"), ("3", "three")] {
        desk.done("edit", json!({"path": "n.txt", "old_string": old, "new_string": new})).await;
    }
    assert_eq!(desk.get("n.txt"), b"one\n2\nthree\n");
}

/// anthropics/claude-code#28376, coder/coder#23478
#[tokio::test]
async fn a_link_stays_a_link_and_its_target_is_changed() {
    let desk = Desk::new();
    desk.put("real", "original\n");
    std::os::unix::fs::symlink("real", desk.path("link")).unwrap();
    desk.done("write", json!({"path": "link", "contents": "new\n"})).await;
    desk.done("edit", json!({"path": "link", "old_string": "new", "new_string": "newer"})).await;
    assert!(desk.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(desk.get("real"), b"newer\n");
}

/// zai-org/feedback#87, Digital-Process-Tools/claude-supertool#259, fugue-labs/gollem#47
#[tokio::test]
async fn the_mode_survives_an_edit_and_a_write() {
    for mode in [0o755, 0o600, 0o640] {
        let desk = Desk::new();
        let path = desk.put("s.sh", "#!/bin/sh\necho old\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        desk.done("edit", json!({"path": "s.sh", "old_string": "old", "new_string": "new"})).await;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, mode);
        desk.done("write", json!({"path": "s.sh", "contents": "#!/bin/sh\necho whole\n"})).await;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, mode);
        assert_eq!(names_in(&desk.path("")), ["s.sh"]);
    }
}

#[tokio::test]
async fn a_file_changed_since_it_was_read_is_not_edited() {
    let desk = Desk::new();
    let path = desk.put("f", "a\nb\n");
    desk.done("read", json!({"path": "f", "limit": 1})).await;
    std::fs::write(&path, "a\nb\nuser\n").unwrap();
    let edit = json!({"path": "f", "old_string": "a", "new_string": "A"});
    let text = desk.refused("edit", edit.clone()).await;
    assert!(text.contains("changed since it was read") && text.contains("read it again"), "{text}");
    assert_eq!(desk.get("f"), b"a\nb\nuser\n");
    desk.done("read", json!({"path": "f"})).await;
    desk.done("edit", edit).await;
    assert_eq!(desk.get("f"), b"A\nb\nuser\n");
}

#[tokio::test]
async fn files_that_are_not_utf8_are_left_alone() {
    let desk = Desk::new();
    for (name, bytes, part) in [
        ("bin", &b"a\0b"[..], "binary"),
        ("u16", b"\xff\xfea\0\n\0", "UTF-16LE"),
        ("latin", b"a caf\xe9 here\n", "UTF-8 only"),
    ] {
        desk.put(name, bytes);
        let text = desk.refused("edit", json!({"path": name, "old_string": "a", "new_string": "b"})).await;
        assert!(text.contains(part), "{text}");
        assert_eq!(desk.get(name), bytes);
    }
}

/// JetBrains/koog#1524
#[tokio::test]
async fn an_edit_of_an_empty_file_says_not_found() {
    let text = miss("", "x", "y").await;
    assert!(text.contains("not found") && !text.contains("binary"), "{text}");
}

#[tokio::test]
async fn a_missing_file_is_named_with_the_nearest_name() {
    let desk = Desk::new();
    desk.put("src/config.rs", "x\n");
    let text =
        desk.refused("edit", json!({"path": "src/confg.rs", "old_string": "x", "new_string": "y"})).await;
    assert!(text.contains("no file src/confg.rs") && text.contains("config.rs\""), "{text}");
}
