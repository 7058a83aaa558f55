//! The table itself, and the page written from it.

use std::collections::BTreeSet;
use std::path::Path;

use crystal::hook::table::{EVENTS, List, Run, Scope, Takes};
use crystal::hook::{approval, commit, compaction, model, moment::Moment, prompt, session, step, tool, turn};

#[test]
fn the_reference_page_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hooks.md");
    let page = crystal::hook::reference::reference();
    if std::fs::read_to_string(&path).ok().as_deref() != Some(page.as_str()) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
        panic!("docs/hooks.md was stale and has been rewritten; commit it");
    }
}

#[test]
fn every_row_is_one_type_and_every_type_one_row() {
    let places = [
        session::SessionStarted::PLACE,
        session::SessionEnded::PLACE,
        session::SessionStart::PLACE,
        session::SessionEnd::PLACE,
        prompt::Prompt::PLACE,
        prompt::RewritePrompt::PLACE,
        prompt::UserMessage::PLACE,
        prompt::PostContextAssembly::PLACE,
        turn::TurnStarted::PLACE,
        turn::TurnFinished::PLACE,
        turn::TurnStart::PLACE,
        turn::TurnStop::PLACE,
        turn::PreSchedule::PLACE,
        turn::PreRuntime::PLACE,
        turn::PostRuntime::PLACE,
        model::RebuildModel::PLACE,
        model::TransformModel::PLACE,
        model::ModelResponse::PLACE,
        step::PreStep::PLACE,
        step::PreLlmCall::PLACE,
        step::PostLlmResponse::PLACE,
        tool::ToolCall::PLACE,
        tool::ToolResult::PLACE,
        tool::PreToolUse::PLACE,
        tool::PostToolUse::PLACE,
        approval::Approval::PLACE,
        approval::RewriteApproval::PLACE,
        compaction::Compaction::PLACE,
        compaction::RewriteCompaction::PLACE,
        compaction::PreCompaction::PLACE,
        compaction::PostCompaction::PLACE,
        commit::PreStateCommit::PLACE,
        commit::PostStateCommit::PLACE,
    ];
    let once: BTreeSet<_> = places.into_iter().collect();
    assert_eq!(once.len(), places.len(), "two types share a row");
    assert_eq!(once, (0..EVENTS.len()).collect(), "a row has no type");
}

#[test]
fn names_are_unique_documented_and_in_the_case_of_their_list() {
    let mut names = BTreeSet::new();
    for row in EVENTS {
        assert!(names.insert(row.name), "{} is declared twice", row.name);
        assert!(!row.may.is_empty() && !row.given.is_empty() && !row.arguments.is_empty(), "{}", row.name);
        assert!(!row.may.ends_with('.') && !row.may_not.ends_with('.'), "{}", row.name);
        let event = row.name.starts_with(char::is_uppercase);
        assert_eq!(event, row.list == List::Event, "{}", row.name);
        assert!(event || row.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", row.name);
        assert!(
            row.run == Run::Sequential || row.takes == Takes::Nothing,
            "{} reads a reply it ignores",
            row.name
        );
    }
    let count = |list| EVENTS.iter().filter(|row| row.list == list).count();
    assert_eq!((count(List::Hook), count(List::RawHook), count(List::Event)), (12, 4, 17));
}

#[test]
fn the_events_have_the_scope_run_and_guard_that_authors_rely_on() {
    let guards: Vec<_> = EVENTS.iter().filter(|row| row.guards()).map(|row| row.name).collect();
    assert_eq!(guards, ["TurnStart", "PreCompaction", "PreRuntime", "PreToolUse", "PreStateCommit"]);
    let parallel: Vec<_> = EVENTS.iter().filter(|row| row.run == Run::Parallel).map(|row| row.name).collect();
    assert_eq!(parallel, ["SessionStart", "PostCompaction", "PostStateCommit", "TurnStop", "SessionEnd"]);
    let announced: Vec<_> = EVENTS.iter().filter(|row| row.announced()).map(|row| row.name).collect();
    assert_eq!(
        announced,
        [
            "rebuild_model",
            "rewrite_prompt",
            "rewrite_compaction",
            "rewrite_approval",
            "PostContextAssembly",
            "PreLLMCall",
            "PostLLMResponse",
            "PostRuntime",
            "PreStateCommit",
        ]
    );
    let turn = |name| EVENTS.iter().find(|row| row.name == name).unwrap().scope;
    for name in ["TurnStart", "PreCompaction", "PostCompaction", "PreSchedule", "TurnStop"] {
        assert_eq!(turn(name), Scope::Turn, "{name}");
    }
}
