//! `crystal sessions` as people run it.

use std::path::Path;
use std::process::{Command, Output};

use crystal::session::store::Store;
use crystal::session::store::record::{Record, Title};
use serde_json::Value;

use crate::session::desk::{Desk, assistant, call, result, turn_end, turn_start, user, write};

fn run(desk: &Desk, args: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_crystal"))
        .arg("sessions")
        .args(args)
        .arg("--home")
        .arg(desk.home())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn id(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

fn talk(desk: &Desk) -> std::path::PathBuf {
    desk.session(&[
        turn_start(1, "look"),
        user("i1", "look"),
        assistant("i2", "I look", "r1"),
        call("i3", "c00000001", "r1"),
        result("i4", "c00000001", "has ``` in it"),
        assistant("i5", "done", "r2"),
        turn_end(1),
        Record::Title(Title { title: "Looking".into() }),
    ])
}

#[test]
fn list_show_and_ids_by_beginning_or_last() {
    let desk = Desk::new();
    assert_eq!(run(&desk, &["list"]), (0, "no sessions\n".into(), String::new()));
    let path = talk(&desk);
    let (exit, out, _) = run(&desk, &["list", "--workspace", desk.workspace().to_str().unwrap()]);
    assert!(
        exit == 0 && out.starts_with("ID") && out.contains("Looking") && out.contains(id(&path)),
        "{out}"
    );
    let (_, out, _) = run(&desk, &["list", "--format", "json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed[0]["id"], id(&path));
    let (_, out, _) = run(&desk, &["list", "--format", "text"]);
    assert_eq!(out, format!("{}  Looking\n", id(&path)));
    for name in [id(&path), &id(&path)[..17], "last", path.to_str().unwrap()] {
        let (exit, out, err) = run(&desk, &["show", name]);
        assert!(exit == 0 && out.contains("Looking") && err.is_empty(), "{name}: {out}{err}");
    }
    let (exit, out, err) = run(&desk, &["show", "1999"]);
    assert!(exit == 1 && out.is_empty() && err.contains("there is no session 1999"), "{err}");
    talk(&desk);
    let (exit, _, err) = run(&desk, &["show", "2"]);
    assert!(exit == 1 && err.contains("fits 2 sessions"), "{err}");
}

#[test]
fn an_export_has_the_whole_conversation_and_overwrites_nothing() {
    let desk = Desk::new();
    let path = talk(&desk);
    let (exit, out, _) = run(&desk, &["export", "last"]);
    assert_eq!(exit, 0);
    let places: Vec<_> =
        ["# Looking", "## User", "I look", "## Call of read", "````text\nhas ``` in it\n````", "done"]
            .iter()
            .map(|part| out.find(part).unwrap_or_else(|| panic!("{part:?} is not in {out}")))
            .collect();
    assert!(places.is_sorted());
    let file = desk.file("out.json");
    let args = ["export", id(&path), "--json", file.to_str().unwrap()];
    assert_eq!(run(&desk, &args).0, 0);
    let exported: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(exported["items"].as_array().unwrap().len(), 5);
    assert_eq!(exported["session"]["id"], id(&path));
    let (exit, _, err) = run(&desk, &args);
    assert!(exit == 1 && err.contains("there already"), "{err}");
}

#[test]
fn a_fork_is_listed_and_a_session_in_use_is_not_removed() {
    let desk = Desk::new();
    let path = talk(&desk);
    let (exit, out, _) = run(&desk, &["fork", id(&path)]);
    assert_eq!(exit, 0);
    let fork = out.trim();
    assert!(run(&desk, &["show", fork]).1.contains(&format!("fork of     {}", id(&path))));
    let held = Store::open(&path).unwrap();
    let (exit, _, err) = run(&desk, &["rm", id(&path), fork]);
    assert!(exit == 1 && err.contains("open in another process"), "{err}");
    assert!(path.exists() && !desk.sessions().join(format!("{fork}.jsonl")).exists());
    drop(held);
    assert_eq!(run(&desk, &["rm", id(&path)]).0, 0);
    assert!(!path.exists());
}

#[test]
fn a_turns_writes_are_shown_and_taken_back() {
    let desk = Desk::new();
    std::fs::write(desk.file("f.txt"), "old\n").unwrap();
    let (gate, store) = desk.new_gate();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(write(&gate, 1, "f.txt", "new\n")).unwrap();
    let name = store.id().to_string();
    let (exit, out, _) = run(&desk, &["diff", &name]);
    assert!(exit == 0 && out.contains("-old\n+new\n"), "{out}");
    drop((gate, store));
    let (exit, _, err) = run(&desk, &["diff", &name, "--turn", "5"]);
    assert!(exit == 1 && err.contains("no turn 5"), "{err}");
    let (exit, out, _) = run(&desk, &["undo", &name]);
    assert_eq!((exit, out.as_str()), (0, "turn 1\nrestored  f.txt\n"));
    assert_eq!(std::fs::read_to_string(desk.file("f.txt")).unwrap(), "old\n");
    let (exit, _, err) = run(&desk, &["undo", &name]);
    assert!(exit == 1 && err.contains("no turn"), "{err}");
}

#[test]
fn prune_says_first_and_removes_then() {
    let desk = Desk::new();
    let hash = desk.blobs().put(b"old").unwrap();
    let blob = desk.sessions().join("blobs").join(&hash[..2]).join(&hash);
    let old = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::options().append(true).open(&blob).unwrap().set_modified(old).unwrap();
    let (_, out, _) = run(&desk, &["prune", "--dry-run"]);
    assert!(out.contains(&hash) && out.contains("would remove 1 file (3 B)") && blob.exists(), "{out}");
    let (_, out, _) = run(&desk, &["prune"]);
    assert!(out.contains("removed 1 file") && !blob.exists(), "{out}");
}
