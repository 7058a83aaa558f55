//! Other tools than `bash`, judged by what they touch.

use crystal::approval::classify::{Scene, classify};
use crystal::approval::judgement::Kind;
use crystal::model::judgement::{Authority, Risk};
use crystal::model::port::Reach;
use serde_json::json;

use super::world::{Rating, World, rating};

#[test]
fn file_tools_are_judged_by_their_path() {
    let world = World::new();
    let rate = |tool: &str, path: &str| rating(&world.call(tool, json!({ "path": path, "pattern": "x" })));
    assert_eq!(rate("read", "src/main.rs"), Rating::Reads);
    assert_eq!(rate("read", "AGENTS.md"), Rating::Reads);
    assert_eq!(rate("write", "src/new.rs"), Rating::Writes);
    assert_eq!(rate("edit", "f"), Rating::Writes);
    for path in ["../project-other/s.txt", "link/s.txt", "/etc/passwd", "~/notes.txt", "link/new/x"] {
        assert_eq!(rate("read", path), Rating::ReadsOutside, "{path}");
        assert_eq!(rate("glob", path), Rating::ReadsOutside, "{path}");
        assert_eq!(rate("write", path), Rating::WritesOutside, "{path}");
    }
    for tool in ["read", "glob", "grep", "edit", "write"] {
        assert_eq!(rate(tool, "~/.ssh/id_rsa"), Rating::Forbidden, "{tool}");
        assert_eq!(rate(tool, "~/.crystal/config.json"), Rating::Forbidden, "{tool}");
    }
    for path in [".git/config", "AGENTS.md", ".crystal/plugins/x", ".crystal.md", "src/CLAUDE.md"] {
        assert_eq!(rate("write", path), Rating::Control, "{path}");
    }
}

#[test]
fn an_outside_path_tells_the_tool_how_far_it_may_go() {
    let world = World::new();
    assert_eq!(world.call("read", json!({ "path": "f" })).reach, Reach::Workspace);
    assert_eq!(world.call("read", json!({ "path": "../project-other/s.txt" })).reach, Reach::Approved);
}

#[test]
fn a_search_without_a_path_searches_the_workspace() {
    let world = World::new();
    assert_eq!(rating(&world.call("grep", json!({ "pattern": "/etc" }))), Rating::Reads);
    assert_eq!(rating(&world.call("glob", json!({ "pattern": "**/*.rs" }))), Rating::Reads);
}

/// A pattern may leave the directory it starts in.
#[test]
fn a_pattern_that_names_a_place_outside_is_seen() {
    let world = World::new();
    for pattern in ["../*", "/etc/*", "link/*", "src/../../*", "~/.ssh/*"] {
        assert_ne!(rating(&world.call("glob", json!({ "pattern": pattern }))), Rating::Reads, "{pattern}");
    }
}

#[test]
fn session_tools_never_leave_the_session() {
    let world = World::new();
    for tool in ["todoread", "todowrite", "question"] {
        let call = world.call(tool, json!({}));
        assert_eq!((call.kind, rating(&call)), (Kind::Session, Rating::Reads));
    }
}

#[test]
fn unknown_tools_are_taken_to_write() {
    let call = World::new().call("deploy", json!({ "path": "f" }));
    assert_eq!(call.kind, Kind::External);
    assert_eq!(
        (call.classification.risk, call.classification.authority),
        (Risk::Write, Authority::Workspace)
    );
}

#[test]
fn reads_inside_skill_directories_pass() {
    let world = World::new();
    let skills = [world.root().parent().unwrap().join("project-other")];
    let scene = Scene { fence: &world.fence, skills: &skills };
    let judge =
        |tool: &str| classify(tool, json!({ "path": "../project-other/s.txt" }).as_object().unwrap(), &scene);
    let call = judge("read");
    assert_eq!((rating(&call), call.reach), (Rating::Reads, Reach::Approved));
    assert_eq!(rating(&judge("write")), Rating::WritesOutside);
}
