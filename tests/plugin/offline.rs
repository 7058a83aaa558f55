//! The bundled protocol `offline`, with the real tools on a real directory and nothing else of the host.

use std::sync::Arc;

use crystal::model::item::{Body, Item, ItemId, ToolResult};
use crystal::model::request::{Mode, Purpose, Request};
use crystal::model::response::Content;
use crystal::plugin::load::{LoadedPlugin, Options, load_bundled};
use serde_json::Value;

use crate::plugin::protocol::{call, called, request, result, user};
use crate::tool::desk::Desk;

const PLAN: &[&str] = &["read", "glob", "grep", "todowrite", "todoread"];
const WORK: &[&str] = &["read", "glob", "grep", "todowrite", "todoread", "edit", "write", "bash"];

/// What a turn did.
struct Turn {
    /// Each tool call, as `name {arguments}`.
    calls: Vec<String>,
    /// The final answer.
    text: String,
}

/// The tool calls, ids aside, and the text of one answer.
async fn step(plugin: &LoadedPlugin, request: &Request) -> (String, Vec<(String, Value)>) {
    let response = call(plugin, request).await.1.unwrap();
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in response.parts {
        match part.content {
            Content::Text(piece) => text.push_str(&piece),
            Content::Call { name, arguments, .. } => {
                calls.push((name, serde_json::from_str(&arguments).unwrap()))
            }
            Content::Reasoning(_) => {}
        }
    }
    (text, calls)
}

/// Runs a turn to its end. `answer` runs one tool call.
async fn turn_with(
    history: Vec<Body>,
    offered: &[&str],
    answer: impl AsyncFn(&str, &Value) -> (String, bool),
) -> Turn {
    let plugin = load_bundled("offline", Options::new().unwrap()).await.unwrap();
    let mut bodies = history;
    let mut turn = Turn { calls: Vec::new(), text: String::new() };
    for _ in 0..20 {
        let mut request = request(bodies.clone(), offered);
        request.purpose = if offered.contains(&"edit") { Mode::Work.purpose() } else { Mode::Plan.purpose() };
        let (text, calls) = step(&plugin, &request).await;
        if calls.is_empty() {
            turn.text = text;
            return turn;
        }
        bodies.push(Body::Assistant { text: text.into() });
        for (name, arguments) in calls {
            let id = format!("call{:05}", turn.calls.len());
            bodies.push(called(&id, &name, &arguments.to_string()));
            turn.calls.push(format!("{name} {arguments}"));
            let (text, failed) = answer(&name, &arguments).await;
            let Body::ToolResult(answered) = result(&id, &name, &text) else { unreachable!() };
            bodies.push(Body::ToolResult(ToolResult { failed, ..answered }));
        }
    }
    panic!("the turn did not end: {:?}", turn.calls);
}

async fn turn(desk: &Desk, task: &str) -> Turn {
    turn_with(vec![Body::System { text: "s".into() }, user(task)], WORK, async |name, arguments| {
        let output = desk.call(name, arguments.clone()).await;
        (output.text, output.failed)
    })
    .await
}

/// A small crate.
fn workspace() -> Desk {
    let desk = Desk::new();
    desk.put(
        "README.md",
        "# Tally\n\n![badge](x)\n\nTally counts the words of a text.\nIt is small.\n\n## Use\n\nRun it.\n",
    );
    desk.put("Cargo.toml", "[package]\nname = \"tally\"\ndescription = \"Counts words\"\n\n[dependencies]\n");
    desk.put(
        "src/main.rs",
        "//! The program.\n\nmod count;\n\nfn main() {\n    // TODO: read standard input\n    println!(\"{}\", count::words(\"a b\"));\n}\n",
    );
    desk.put(
        "src/count.rs",
        "//! Counting.\n\n/// How many words there are.\npub fn words(text: &str) -> usize {\n    // TODO: Unicode\n    text.split(' ').count()\n}\n\npub struct Total;\n",
    );
    desk.put("docs/notes.md", "colour colour\n");
    desk
}

fn runs(case: impl AsyncFn()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(case());
}

#[test]
fn plain_requests_become_tool_calls_and_an_answer() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "What is in this repository?",
            &[
                r#"glob {"pattern":"**/*"}"#,
                r#"read {"limit":80,"path":"README.md"}"#,
                r#"read {"limit":80,"path":"Cargo.toml"}"#,
            ],
            &[
                "`tally`, a Rust crate",
                "Counts words",
                "Tally counts the words of a text. It is small.",
                "5 files: 2 Markdown, 2 Rust, 1 TOML",
                "- src/ (2 files)",
                "cargo test",
            ],
        ),
        (
            "what does this project do",
            &[r#"glob {"pattern":"**/*"}"#, "read", "read"],
            &["Tally counts the words"],
        ),
        (
            "Please list the Rust files.",
            &[r#"glob {"pattern":"**/*.rs"}"#],
            &["There are 2 Rust files:", "src/count.rs\nsrc/main.rs"],
        ),
        ("list files", &[r#"glob {"pattern":"**/*"}"#], &["There are 5 files", "docs/notes.md"]),
        ("What is in src/?", &[r#"glob {"path":"src","pattern":"**/*"}"#], &["There are 2 files in src/"]),
        (
            "How many markdown files are there?",
            &[r#"glob {"pattern":"**/*.md"}"#],
            &["There are 2 Markdown files."],
        ),
        ("How many Python files are there?", &["glob"], &["There are 0 Python files."]),
        (
            "find TODO",
            &[r#"grep {"pattern":"TODO"}"#],
            &["`TODO` is on 2 lines of 2 files", "src/main.rs:6: // TODO: read standard input"],
        ),
        (
            "How many TODOs are there?",
            &[r#"grep {"pattern":"TODO"}"#],
            &["on 2 lines of 2 files", "src/count.rs: 1"],
        ),
        (
            "search for count() in src",
            &[r#"grep {"path":"src","pattern":"count"}"#],
            &["src/main.rs:3: mod count;"],
        ),
        ("find \"text.split(' ')\"", &[r#"grep {"pattern":"text\\.split\\(' '\\)"}"#], &["src/count.rs:6"]),
        ("find nonsense", &["grep"], &["I found no `nonsense`"]),
        (
            "Where is words defined?",
            &["grep", r#"read {"limit":16,"offset":1,"path":"src/count.rs"}"#],
            &["is defined in src/count.rs, line 4", "pub fn words(text: &str) -> usize {"],
        ),
        ("where is nothing_like_it defined", &["grep", "grep"], &["I found no `nothing_like_it`"]),
        ("Where is words used?", &[r#"grep {"pattern":"\\bwords\\b"}"#], &["count::words"]),
        ("show README.md", &[r#"read {"path":"README.md"}"#], &["`README.md`, 10 lines", "## Use"]),
        (
            "show me the readme",
            &[r#"glob {"pattern":"**/[rR][eE][aA][dD][mM][eE]{,.*}"}"#, "read"],
            &["`README.md`, 10 lines"],
        ),
        (
            "cat main.rs",
            &[r#"read {"path":"main.rs"}"#, "glob", r#"read {"path":"src/main.rs"}"#],
            &["`src/main.rs`, 8 lines", "fn main() {"],
        ),
        ("show nowhere.txt", &["read", "glob"], &["There is no file `nowhere.txt`"]),
        (
            "Show lines 4 to 5 of src/count.rs",
            &[r#"read {"limit":2,"offset":4,"path":"src/count.rs"}"#],
            &["from line 4", "// TODO: Unicode"],
        ),
        (
            "explain src/count.rs",
            &[r#"read {"path":"src/count.rs"}"#],
            &["a Rust file of 9 lines", "It says of itself: Counting.", "functions: words", "types: Total"],
        ),
        ("Summarize README.md", &["read"], &["a Markdown file", "- Tally", "  - Use"]),
        ("what does words do?", &["glob", "grep", "read"], &["is defined in src/count.rs"]),
        ("how many lines are in src/main.rs?", &["read"], &["`src/main.rs` has 8 lines."]),
        (
            "find files named notes",
            &[r#"glob {"pattern":"**/[nN][oO][tT][eE][sS]{,.*}"}"#],
            &["docs/notes.md"],
        ),
        ("Find TODO and then show README.md", &["grep", "read"], &["on 2 lines", "`README.md`, 10 lines"]),
        (
            "List the TOML files; how many Rust files are there?",
            &["glob", "glob"],
            &["Cargo.toml", "There are 2 Rust files."],
        ),
        (
            "make a todo list: read the code, fix the bug, and write the docs",
            &["todowrite"],
            &["has 3 entries", "- [ ] write the docs"],
        ),
    ];
    runs(async || {
        for (task, calls, words) in cases {
            let turn = turn(&workspace(), task).await;
            assert_eq!(turn.calls.len(), calls.len(), "{task}: {:?}", turn.calls);
            for (made, expected) in turn.calls.iter().zip(*calls) {
                assert!(
                    made == expected || made.split(' ').next() == Some(expected),
                    "{task}: {made} is not {expected}"
                );
            }
            for word in *words {
                assert!(turn.text.contains(word), "{task}: no {word:?} in\n{}", turn.text);
            }
            assert!(turn.text.contains("not a language model"), "{task}: {}", turn.text);
        }
    });
}

#[test]
fn changes_are_made_in_the_files() {
    let cases: &[(&str, &str, &str, &str)] = &[
        ("Replace \"colour\" with \"color\" in docs/notes.md", "docs/notes.md", "color color\n", "2 places"),
        (
            "In docs/notes.md, change colour to tone.",
            "docs/notes.md",
            "tone tone\n",
            "I replaced `colour` with `tone`",
        ),
        ("in notes.md replace 'colour' by 'it'", "docs/notes.md", "it it\n", "`docs/notes.md`"),
        ("Remove \" colour\" from docs/notes.md", "docs/notes.md", "colour\n", "1 place"),
        (
            "Create hello.txt with \"Hello, world\"",
            "hello.txt",
            "Hello, world\n",
            "I created `hello.txt` with 1 line",
        ),
        (
            "create a file deep/er/x.md containing the text one and two",
            "deep/er/x.md",
            "one and two\n",
            "I created",
        ),
        ("write `let x = 1;` to src/x.rs", "src/x.rs", "let x = 1;\n", "I created"),
        ("Create list.txt with ```\none\ntwo\n```", "list.txt", "one\ntwo\n", "2 lines"),
        (
            "Append \"the end\" to docs/notes.md",
            "docs/notes.md",
            "colour colour\nthe end\n",
            "I added to the end",
        ),
        ("Overwrite docs/notes.md with \"new\"", "docs/notes.md", "new\n", "I replaced `docs/notes.md`"),
        ("Create docs/notes.md with \"other\"", "docs/notes.md", "colour colour\n", "is there already"),
        (
            "replace \"absent\" with \"x\" in docs/notes.md",
            "docs/notes.md",
            "colour colour\n",
            "does not contain `absent`",
        ),
        (
            "replace \"TODO: \" with \"\" in src/main.rs",
            "src/main.rs",
            "//! The program.\n\nmod count;\n\nfn main() {\n    // read standard input\n    println!(\"{}\", count::words(\"a b\"));\n}\n",
            "1 place",
        ),
    ];
    runs(async || {
        for (task, file, contents, words) in cases {
            let desk = workspace();
            let turn = turn(&desk, task).await;
            assert_eq!(String::from_utf8(desk.get(file)).unwrap(), *contents, "{task}: {}", turn.text);
            assert!(turn.text.contains(words), "{task}: {}", turn.text);
        }
    });
}

#[test]
fn commands_run_and_tell_how_they_ended() {
    runs(async || {
        let desk = workspace();
        let done = turn(&desk, "run `echo one && echo two`").await;
        assert_eq!(done.calls, [r#"bash {"command":"echo one && echo two"}"#]);
        assert!(done.text.contains("succeeded") && done.text.contains("one\ntwo"), "{}", done.text);
        let failed = turn(&desk, "Run the command \"exit 3\"").await;
        assert!(failed.text.contains("failed with exit code 3 and printed nothing"), "{}", failed.text);
    });
}

#[test]
fn tests_are_run_as_the_project_says() {
    runs(async || {
        let asked = turn_with(vec![user("Run the tests")], WORK, async |name, _| match name {
            "glob" => ("Makefile\nCargo.toml".to_owned(), false),
            _ => ("running 2 tests\n[exit code 101]".to_owned(), true),
        })
        .await;
        assert_eq!(asked.calls[1], r#"bash {"command":"cargo test"}"#);
        assert!(asked.text.contains("`cargo test` failed with exit code 101"), "{}", asked.text);
        let nothing =
            turn_with(vec![user("run the tests")], WORK, async |_, _| ("No files match".to_owned(), false))
                .await;
        assert!(nothing.text.contains("no file here that says how to test"), "{}", nothing.text);
    });
}

#[test]
fn the_todo_list_is_kept() {
    runs(async || {
        let list = async |name: &str, _: &Value| match name {
            "todoread" => ("1. [completed] read\n2. [pending] fix the bug".to_owned(), false),
            _ => ("ok".to_owned(), false),
        };
        let shown = turn_with(vec![user("show the todo list")], WORK, list).await;
        assert!(shown.text.contains("- [x] read\n- [ ] fix the bug"), "{}", shown.text);
        let added = turn_with(vec![user("Add \"write docs\" to the todo list")], WORK, list).await;
        let expected = r#"todowrite {"todos":[{"content":"read","status":"completed"},{"content":"fix the bug","status":"pending"},{"content":"write docs","status":"pending"}]}"#;
        assert_eq!(added.calls[1], expected);
        let done = turn_with(vec![user("mark fix the bug as done")], WORK, list).await;
        assert!(done.text.contains("Done: fix the bug"), "{}", done.text);
    });
}

#[test]
fn what_is_not_on_offer_is_said() {
    runs(async || {
        for (task, tool) in [
            ("replace \"a\" with \"b\" in x.txt", "edit"),
            ("create x.txt with \"y\"", "write"),
            ("run `ls`", "bash"),
            ("run the tests", "bash"),
        ] {
            let turn = turn_with(vec![user(task)], PLAN, async |_, _| panic!("no tool is called")).await;
            assert!(
                turn.text.contains(&format!("needs the tool `{tool}`, which Plan mode does not offer")),
                "{}",
                turn.text
            );
        }
        // Looking works.
        let turn =
            turn_with(vec![user("find TODO")], PLAN, async |_, _| ("a.rs:1:// TODO".to_owned(), false)).await;
        assert!(turn.text.contains("on 1 line of 1 file"), "{}", turn.text);
    });
}

#[test]
fn refused_and_failed_calls_end_in_a_sentence() {
    runs(async || {
        let cases = [
            ("run `rm -rf x`", "did not run to its end: refused by the operator"),
            ("find TODO", "Searching for `TODO` failed: refused by the operator"),
            ("list files", "Listing the files failed: refused by the operator"),
            ("show a.txt", "Reading `a.txt` failed: refused by the operator"),
            (
                "create a.txt with \"b\"",
                "`a.txt` was not created: refused by the operator\n\nNothing was changed.",
            ),
            ("what is in this repository?", "Listing the files failed"),
        ];
        for (task, words) in cases {
            let turn =
                turn_with(vec![user(task)], WORK, async |_, _| ("refused by the operator".to_owned(), true))
                    .await;
            assert!(turn.text.contains(words), "{task}: {}", turn.text);
        }
        let edit =
            turn_with(vec![user("replace \"a\" with \"b\" in x.txt")], WORK, async |name, _| match name {
                "read" => ("     1\ta".to_owned(), false),
                _ => ("denied: nobody could be asked".to_owned(), true),
            })
            .await;
        assert!(
            edit.text.contains("was not made: denied: nobody could be asked\n\nNothing was changed."),
            "{}",
            edit.text
        );
    });
}

#[test]
fn what_it_does_not_understand_gets_the_list_and_the_way_to_a_real_model() {
    runs(async || {
        for task in
            ["Write me a poem about the sea", "refactor everything to be async", "Hello!", "?", "who are you"]
        {
            let turn = turn_with(vec![user(task)], WORK, async |_, _| panic!("no tool is called")).await;
            for words in [
                "crystal keys set PROVIDER",
                "crystal run --provider PROVIDER",
                "not a language model",
                "Find TODO",
            ] {
                assert!(turn.text.contains(words), "{task}: {}", turn.text);
            }
        }
    });
}

#[test]
fn only_the_last_message_counts() {
    runs(async || {
        let history = vec![
            Body::System { text: "s".into() },
            user("show a.txt"),
            called("call90001", "read", r#"{"path":"a.txt"}"#),
            result("call90001", "read", "     1\told"),
            Body::Assistant { text: "shown".into() },
            user("find TODO"),
        ];
        let turn = turn_with(history, WORK, async |_, _| ("b.rs:2:TODO".to_owned(), false)).await;
        assert_eq!(turn.calls, [r#"grep {"pattern":"TODO"}"#]);
    });
}

#[test]
fn a_long_conversation_is_summarized_for_compaction() {
    runs(async || {
        let plugin = load_bundled("offline", Options::new().unwrap()).await.unwrap();
        let mut compaction =
            request(vec![user("show a.txt"), called("call00001", "read", r#"{"path":"a.txt"}"#)], &[]);
        compaction.purpose = Purpose::Compaction;
        let (text, calls) = step(&plugin, &compaction).await;
        assert!(calls.is_empty() && text.contains("- show a.txt") && text.contains("a.txt"), "{text}");
    });
}

#[test]
fn odd_messages_do_not_break_it() {
    runs(async || {
        let long = "x ".repeat(50_000);
        let quotes = "replace `a\" with 'b in \u{201c}c".to_owned();
        for task in
            [long, quotes, "%d %s %%".into(), "(((".into(), "find [".into(), "\u{0}".into(), "🦀🦀".into()]
        {
            turn_with(vec![user(&task)], WORK, async |_, _| ("No matches".to_owned(), false)).await;
        }
        let none = request(Vec::<Body>::new(), WORK);
        let plugin = load_bundled("offline", Options::new().unwrap()).await.unwrap();
        assert!(step(&plugin, &none).await.0.contains("offline stand-in"));
        let unanswered = Arc::new(Item::new(ItemId::new("i1"), called("call00001", "grep", "{}")));
        let mut cut = request(vec![user("find TODO")], WORK);
        cut.items = Arc::new(cut.items.iter().cloned().chain([unanswered]).collect());
        assert!(step(&plugin, &cut).await.0.contains("the call has no result"));
    });
}

#[test]
fn a_newcomer_sees_the_whole_product_work_in_one_command() {
    let place = crate::support::crystal::Place::new();
    place.write("README.md", "# Tally\n\nTally counts words.\n");
    let offline = |task: &str| {
        let trusted = ["--workspace-trust", "assume", "--approval", "edit", "--format", "json"];
        place.crystal(&[&["run", "--provider", "offline"], &trusted[..], &[task]].concat())
    };
    let ended = offline("What is in this repository?");
    ended.exits(0);
    assert_eq!(ended.of_type("tool_use").len(), 2);
    let text = ended.result()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("README.md says: Tally counts words."), "{text}");
    offline("Replace words with letters in README.md").exits(0);
    assert_eq!(place.read("README.md").unwrap(), "# Tally\n\nTally counts letters.\n");
}
