//! Trust per git root, and grants for always.

use std::fs;

use crystal::home::paths::Home;
use crystal::home::permissions::{self, Entry};
use crystal::home::trust::{Answer, Trust, is_trusted, lookup, record, scope};
use serde_json::json;
use tempfile::TempDir;

fn given() -> (TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path().join("home"));
    (dir, home)
}

#[test]
fn an_answer_holds_in_the_whole_repository_and_nowhere_else() {
    let (dir, home) = given();
    let inner = dir.path().join("repo/src/deep");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
    // A worktree or submodule has a file of that name.
    fs::create_dir_all(dir.path().join("repo/sub")).unwrap();
    fs::write(dir.path().join("repo/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();

    assert_eq!(lookup(&home, &inner).unwrap(), Trust::Unknown);
    record(&home, &inner, Answer::Trust).unwrap();
    assert!(is_trusted(&home, &dir.path().join("repo")).unwrap());
    assert!(is_trusted(&home, &inner).unwrap());
    assert!(!is_trusted(&home, &dir.path().join("repo/sub")).unwrap());
    assert!(!is_trusted(&home, dir.path()).unwrap());

    record(&home, &inner, Answer::Refuse).unwrap();
    assert_eq!(lookup(&home, &dir.path().join("repo")).unwrap(), Trust::Refused);
    assert!(!is_trusted(&home, &inner).unwrap());
}

#[test]
fn a_link_to_a_workspace_has_the_trust_of_the_workspace() {
    let (dir, home) = given();
    let real = dir.path().join("real");
    fs::create_dir_all(&real).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    record(&home, &link, Answer::Trust).unwrap();
    assert!(is_trusted(&home, &real).unwrap());
    assert_eq!(scope(&link), real.canonicalize().unwrap());
}

#[test]
fn a_damaged_file_never_means_trust() {
    let (dir, home) = given();
    record(&home, dir.path(), Answer::Trust).unwrap();
    let good = fs::read_to_string(home.trusted()).unwrap();
    for bad in [good.replace("true", "\"yes\""), good.replace('}', "")] {
        fs::write(home.trusted(), &bad).unwrap();
        let error = is_trusted(&home, dir.path()).unwrap_err().to_string();
        assert!(error.contains("trusted.json:"), "{error}");
    }
}

fn entry(tool: &str) -> Entry {
    Entry { workspace: Some("/w".into()), tool: tool.into(), rule: json!({"program": "make"}) }
}

#[test]
fn grants_come_back_in_order_and_only_once() {
    let (_dir, home) = given();
    assert_eq!(permissions::read(&home).unwrap(), []);
    let everywhere = Entry { workspace: None, ..entry("read") };
    for grant in [entry("bash"), everywhere.clone(), entry("bash")] {
        permissions::append(&home, &grant).unwrap();
    }
    assert_eq!(permissions::read(&home).unwrap(), [entry("bash"), everywhere]);
    // A person's comments survive the next grant.
    let text = fs::read_to_string(home.permissions()).unwrap().replacen('{', "{\n  // why", 1);
    fs::write(home.permissions(), text).unwrap();
    permissions::append(&home, &entry("edit")).unwrap();
    assert_eq!(permissions::read(&home).unwrap().len(), 3);
    assert!(fs::read_to_string(home.permissions()).unwrap().contains("// why"));
}

/// anthropics/claude-code#72454
#[test]
fn damaged_grants_grant_nothing_and_are_not_overwritten() {
    let (_dir, home) = given();
    home.create().unwrap();
    for (text, part) in [
        ("{ \"grants\": [ { \"tool\": \"bash\", \"rule\": 1 }", "permissions.json:1:"),
        ("{\n \"grants\": [\n  { \"tool\": 7, \"rule\": 1 } ] }", "permissions.json:3: `grants` entry 1"),
        ("{\n \"grants\": [\n  { \"tool\": \"bash\", \"rule\": 1, \"workspce\": \"/w\" } ] }", "workspce"),
        ("{ \"grants\": {} }", "`grants` must be an array, but it is an object"),
    ] {
        fs::write(home.permissions(), text).unwrap();
        let read = permissions::read(&home).unwrap_err().to_string();
        assert!(read.contains(part), "{read}");
        assert!(permissions::append(&home, &entry("edit")).is_err());
        assert_eq!(fs::read_to_string(home.permissions()).unwrap(), text);
    }
}
