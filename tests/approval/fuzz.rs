//! The reader never panics, and what it cannot read is never let pass.

use proptest::prelude::*;

use super::world::{Rating, World, rating};
use crystal::model::judgement::Risk;

/// thClaws/thClaws#141
#[test]
fn every_prefix_of_a_line_with_wide_characters_is_judged() {
    let world = World::new();
    let line = "echo \"a — b\" && echo \"c–d\"; echo 漢字 | cat # é";
    for (end, _) in line.char_indices().chain([(line.len(), ' ')]) {
        let prefix = &line[..end];
        world.bash(prefix);
        for appended in "'\"`\\($<&|;".chars() {
            let call = world.bash(&format!("{prefix}{appended}"));
            // In the comment at the end nothing has to be balanced.
            let unbalanced = "'\"`\\($<|".contains(appended) && !prefix.contains('#');
            let open = prefix.matches('"').count() % 2 == 1;
            if unbalanced && appended != '$' && !(open && appended != '\\') {
                assert_ne!(rating(&call), Rating::Reads, "{prefix}{appended}");
            }
        }
    }
    assert_eq!(rating(&world.bash(line)), Rating::Reads);
}

/// Deep or long lines cost neither the stack nor the machine.
#[test]
fn pathological_lines_cannot_be_told() {
    let world = World::new();
    let lines = [
        "(".repeat(30_000),
        format!("{}ls{}", "( ".repeat(3_000), " )".repeat(3_000)),
        format!("echo {}ls{}", "$(".repeat(5_000), ")".repeat(5_000)),
        format!("{}ls", "env ".repeat(10_000)),
        format!("{}ls", "sudo ".repeat(10_000)),
        format!("{}ls", "! ".repeat(20_000)) + "\u{7}",
        format!("{}true; {}", "if ".repeat(5_000), "then ".repeat(5_000)),
        format!("{{{}}}", "{a,b}".repeat(2_000)),
        format!("echo {}", "{a,b}".repeat(2_000)),
        format!("cat {}*", "./".repeat(20_000)),
        "ls; ".repeat(16_000),
        "x".repeat(70_000),
        format!("echo $(({}1", "(".repeat(20_000)),
        "~99999999999999999999".into(),
        format!("{}rm x", "for i in 1 2 3 4 5 6 7 8; do ".repeat(20)),
    ];
    for line in lines {
        assert_ne!(rating(&world.bash(&line)), Rating::Reads, "{}", &line[..40.min(line.len())]);
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn no_text_makes_the_reader_panic() {
    let world = World::new();
    proptest!(config(), |(line in "\\PC{0,60}", shell in shell_like())| {
        world.bash(&line);
        world.bash(&shell);
    });
}

#[test]
fn an_appended_removal_is_never_lost() {
    let world = World::new();
    proptest!(config(), |(line in shell_like())| {
        let call = world.bash(&format!("{line}; rm -rf x"));
        // Where quotes, a comment or a here-document may swallow it, it is text and removes nothing.
        let swallowed = line.contains(['\'', '"', '`', '#', '\\']) || line.contains("<<");
        prop_assert!(swallowed || call.classification.risk >= Risk::Write, "{line}: {:?}", call.parts);
    });
}

#[test]
fn an_appended_removal_on_its_own_line_is_never_lost() {
    let world = World::new();
    proptest!(config(), |(line in "[a-z ;&|(){}<>$=*~!-]{0,40}")| {
        let call = world.bash(&format!("{line}\nrm -rf x"));
        let swallowed = line.contains("<<");
        prop_assert!(swallowed || call.classification.risk >= Risk::Write, "{line}: {:?}", call.parts);
    });
}

/// Texts made of what shell lines are made of.
fn shell_like() -> impl Strategy<Value = String> {
    let words = [
        "ls",
        "cat f",
        "rm",
        "-rf",
        " ",
        " ",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        "\"",
        "'",
        "\\",
        "$x",
        "${x}",
        "${",
        "<<EOF\n",
        "EOF\n",
        "<<<",
        "<(",
        ">",
        ">>",
        "2>&1",
        "if",
        "then",
        "fi",
        "for x in a",
        "do",
        "done",
        "while",
        "case",
        "esac",
        "in",
        ";;",
        "[[",
        "]]",
        "[",
        "]",
        "((",
        "))",
        "$((",
        "!",
        "#",
        "*",
        "?",
        "~",
        "=",
        "x=1",
        "é",
        "git",
        "sudo",
        "bash -c ",
        "eval",
        "\t",
        "{a,b}",
        "$'",
        "..",
        "/",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..14)
        .prop_map(|words| words.join(" ").replace("  ", ""))
}
