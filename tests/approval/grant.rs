//! What is remembered, what it covers, and what is never remembered.

use std::path::Path;

use crystal::approval::decide::{Because, Decision, Prompt, Trust, decide};
use crystal::approval::grant::{Grants, Rule};
use crystal::approval::judgement::Judgement;
use crystal::model::judgement::{Approval, Grant};
use serde_json::json;

use super::world::World;

fn ask(call: &Judgement, grants: &Grants) -> Decision {
    decide(Approval::Default, call, Prompt::ByMode, grants, Trust::Trusted)
}

/// The rule that "always" would save for a call.
fn offered(call: &Judgement) -> Option<Rule> {
    match ask(call, &Grants::default()) {
        Decision::Ask(question) => question.remember,
        other => panic!("not asked: {other:?}"),
    }
}

fn granted(call: &Judgement) -> Grants {
    let mut grants = Grants::default();
    grants.add(offered(call).unwrap(), Grant::Always);
    grants
}

/// anomalyco/opencode#40158
#[test]
fn always_on_a_compound_command_grants_no_part_of_it() {
    let world = World::new();
    let first = world.bash("git status && rm -rf ./tmp");
    assert!(offered(&first).unwrap().describe().contains("exactly this command: git status && rm -rf ./tmp"));
    let grants = granted(&first);
    assert_eq!(ask(&first, &grants), Decision::Run(Because::Granted));
    for other in [
        "rm -rf ./other",
        "rm -rf ./tmp",
        "git status && rm -rf ./other",
        "git status; rm -rf ./tmp",
        "git status && rm -rf ./tmp f",
    ] {
        assert!(matches!(ask(&world.bash(other), &grants), Decision::Ask(_)), "{other}");
    }
}

/// anthropics/claude-code#88919
#[test]
fn the_same_call_again_is_covered_or_always_is_not_offered() {
    let world = World::new();
    let commands = [
        "echo hi > /tmp/outside.txt",
        "cargo test",
        "curl http://127.0.0.1:1",
        "sudo ls",
        "rm -rf x",
        "eval x",
        "rm \"$x\"",
        "cat ~/.ssh/id_rsa",
        "echo x > AGENTS.md",
        "cat /etc/passwd",
        "rm *.txt",
    ];
    for command in commands {
        let call = world.bash(command);
        if let Some(rule) = offered(&call) {
            let mut grants = Grants::default();
            grants.add(rule, Grant::Always);
            assert_eq!(ask(&world.bash(command), &grants), Decision::Run(Because::Granted), "{command}");
        }
    }
    for once in ["eval x", "rm \"$x\"", "cat ~/.ssh/id_rsa", "echo x > AGENTS.md"] {
        assert_eq!(offered(&world.bash(once)), None, "{once}");
    }
    assert!(offered(&world.bash("echo hi > /tmp/outside.txt")).is_some());
}

#[test]
fn a_file_rule_covers_one_directory_and_one_tool() {
    let world = World::new();
    let write = |path: &str| world.call("write", json!({ "path": path }));
    let grants = granted(&write("src/a.rs"));
    assert_eq!(ask(&write("src/b.rs"), &grants), Decision::Run(Because::Granted));
    for other in ["f", "src/deep/a.rs", "../project-other/s.txt"] {
        assert!(matches!(ask(&write(other), &grants), Decision::Ask(_)), "{other}");
    }
    assert!(matches!(ask(&world.call("edit", json!({ "path": "src/b.rs" })), &grants), Decision::Ask(_)));
}

#[test]
fn a_directory_rule_never_covers_credentials_or_control_places() {
    let world = World::new();
    let grants = granted(&world.call("write", json!({ "path": "new.txt" })));
    assert_eq!(ask(&world.call("write", json!({ "path": "f" })), &grants), Decision::Run(Because::Granted));
    for path in ["AGENTS.md", ".crystal.md", "credentials.json"] {
        assert!(
            matches!(ask(&world.call("write", json!({ "path": path })), &grants), Decision::Ask(_)),
            "{path}"
        );
    }
}

#[test]
fn a_rule_ends_where_the_call_is_judged_worse_than_before() {
    let world = World::new();
    let grants = granted(&world.bash("tee out/x < f"));
    assert_eq!(ask(&world.bash("tee out/x < f"), &grants), Decision::Run(Because::Granted));
    std::os::unix::fs::symlink(world.dir.path().join("outside"), world.root().join("out")).unwrap();
    assert!(matches!(ask(&world.bash("tee out/x < f"), &grants), Decision::Ask(_)));
}

#[test]
fn a_rule_survives_its_file_and_holds_in_its_workspace_only() {
    let world = World::new();
    for call in [
        world.bash("cargo test"),
        world.call("write", json!({ "path": "src/a.rs" })),
        world.call("grep", json!({ "path": "/etc" })),
        world.call("deploy", json!({})),
    ] {
        let rule = offered(&call).unwrap();
        let text = serde_json::to_string(&rule).unwrap();
        let read: Rule = serde_json::from_str(&text).unwrap();
        assert_eq!(read, rule, "{text}");
        assert_eq!(ask(&call, &Grants::new([read.clone()], world.root())), Decision::Run(Because::Granted));
        assert!(matches!(ask(&call, &Grants::new([read], Path::new("/elsewhere"))), Decision::Ask(_)));
    }
}

#[test]
fn a_plugin_that_requires_a_prompt_overrides_a_grant() {
    let world = World::new();
    let call = world.bash("cargo test");
    let decision = decide(Approval::Full, &call, Prompt::Required, &granted(&call), Trust::Trusted);
    assert!(matches!(decision, Decision::Ask(_)));
}
