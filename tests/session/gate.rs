//! The commit gate: what it writes, what it refuses, and what it leaves in the session file.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use crystal::model::port::{BoxFuture, Committed, Expect, Payload, Proposal, Refusal, Todo, TodoStatus};
use crystal::session::commit::{Gate, Guard, Offer};
use crystal::session::store::record::{Commit, Record};
use crystal::session::store::{Store, load};
use crystal::text::hash::sha256;
use serde_json::json;

use crate::session::desk::{Desk, proposal, source, turn_start, write};

/// earendil-works/pi#2327
#[tokio::test]
async fn of_two_changes_made_from_the_same_contents_one_is_refused_and_none_is_lost() {
    let desk = Desk::new();
    let (gate, _) = desk.new_gate();
    for round in 0..20 {
        let name = format!("n{round}.txt");
        let path = desk.file(&name);
        let old = (1..=100).map(|n| format!("{n}\n")).collect::<String>();
        std::fs::write(&path, &old).unwrap();
        let expect = || Expect::Hash(sha256(old.as_bytes()));
        let (first, second) = (old.replace("\n50\n", "\nFIFTY\n"), old.replace("\n75\n", "\nSEVENTY-FIVE\n"));
        let (gate1, gate2) = (gate.clone(), gate.clone());
        let (p1, p2) = (proposal(&name, first.clone(), expect()), proposal(&name, second.clone(), expect()));
        let one = tokio::spawn(async move { gate1.at(0, None).commit(p1).await });
        let two = tokio::spawn(async move { gate2.at(0, None).commit(p2).await });
        let (one, two) = (one.await.unwrap(), two.await.unwrap());
        let now = std::fs::read_to_string(&path).unwrap();
        match (one, two) {
            (Ok(_), Err(Refusal(why))) => assert!(now == first && why.contains("changed"), "{why}"),
            (Err(Refusal(why)), Ok(_)) => assert!(now == second && why.contains("changed"), "{why}"),
            both => panic!("{both:?}"),
        }
    }
}

#[tokio::test]
async fn a_write_says_what_it_changed_and_an_expectation_that_fails_writes_nothing() {
    let desk = Desk::new();
    let (gate, store) = desk.new_gate();
    let made = write(&gate, 1, "new/dir/a.txt", "one\ntwo\n").await.unwrap();
    assert!(made.created && made.added == 2 && made.removed == 0);
    assert_eq!(made.path.as_deref(), Some(&*desk.file("new/dir/a.txt")));
    assert_eq!(made.hash, Some(sha256(b"one\ntwo\n")));
    let changed = write(&gate, 1, "new/dir/a.txt", "one\n2\n").await.unwrap();
    assert!(
        !changed.created && changed.diff.contains("-two") && changed.diff.contains("+2"),
        "{}",
        changed.diff
    );
    let size = store.path().metadata().unwrap().len();
    for expect in [Expect::Absent, Expect::Hash(sha256(b"other"))] {
        gate.at(0, None).commit(proposal("new/dir/a.txt", "x", expect)).await.unwrap_err();
    }
    let gone = gate.at(0, None).commit(proposal("gone", "x", Expect::Hash(sha256(b"")))).await.unwrap_err();
    assert!(gone.0.contains("no longer there"), "{gone}");
    assert_eq!(std::fs::read_to_string(desk.file("new/dir/a.txt")).unwrap(), "one\n2\n");
    assert_eq!(store.path().metadata().unwrap().len(), size, "a refused write leaves no record");
}

/// anthropics/claude-code#28376
#[tokio::test]
async fn a_write_through_a_link_keeps_the_link_and_changes_its_target() {
    let desk = Desk::new();
    let (gate, _) = desk.new_gate();
    std::fs::write(desk.file("real"), "original\n").unwrap();
    std::os::unix::fs::symlink("real", desk.file("link")).unwrap();
    write(&gate, 1, "link", "new\n").await.unwrap();
    assert!(desk.file("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(desk.file("real")).unwrap(), "new\n");
}

/// zai-org/feedback#87, fugue-labs/gollem#47
#[tokio::test]
async fn a_files_mode_survives_writes_and_no_temporary_file_stays() {
    let desk = Desk::new();
    let (gate, _) = desk.new_gate();
    for mode in [0o755, 0o600] {
        let path = desk.file(&format!("{mode:o}.sh"));
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        write(&gate, 1, path.to_str().unwrap(), "#!/bin/sh\necho\n").await.unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
    }
    std::fs::create_dir(desk.file("dir")).unwrap();
    write(&gate, 1, "dir", "x").await.unwrap_err();
    assert_eq!(std::fs::read_dir(desk.workspace()).unwrap().count(), 3);
}

#[tokio::test]
async fn outside_the_workspace_nothing_is_written_without_approval() {
    let desk = Desk::new();
    let (gate, _) = desk.new_gate();
    let refused = write(&gate, 1, "../outside.txt", "x").await.unwrap_err();
    assert!(refused.0.contains("outside the workspace"), "{refused}");
    let home = desk.sessions().join("x.jsonl");
    write(&gate, 1, home.to_str().unwrap(), "x").await.unwrap_err();
    assert!(!desk.workspace().join("../outside.txt").exists() && !home.exists());
}

/// QwenLM/qwen-code#3822
#[tokio::test]
async fn an_edit_of_a_large_file_hardly_grows_the_session_file() {
    let desk = Desk::new();
    let (gate, store) = desk.new_gate();
    let large = "word ".repeat(4_000_000);
    std::fs::write(desk.file("large.txt"), &large).unwrap();
    let before = store.path().metadata().unwrap().len();
    let done = write(&gate, 1, "large.txt", &format!("{large}last")).await.unwrap();
    assert!(done.diff.len() < 300_000, "the diff is cut: {}", done.diff.len());
    assert!(store.path().metadata().unwrap().len() - before < 1_000_000);
    gate.undo(crystal::session::commit::undo::Which::Last, 0).await.unwrap();
    assert!(std::fs::read_to_string(desk.file("large.txt")).unwrap() == large, "its contents were kept");
}

#[tokio::test]
async fn todos_and_plugin_values_come_back_when_the_session_is_opened_again() {
    let desk = Desk::new();
    let (gate, store) = desk.new_gate();
    let todos = vec![Todo { content: "one".into(), status: TodoStatus::Pending }];
    let propose =
        |plugin: &str, payload| gate.at(0, None).commit(Proposal { source: source(plugin), payload });
    propose("crystal", Payload::Todos(todos.clone())).await.unwrap();
    let state = |key: &str, value| Payload::State { key: key.into(), value };
    propose("mine", state("k", json!([1]))).await.unwrap();
    propose("mine", state("gone", json!(1))).await.unwrap();
    propose("mine", state("gone", json!(null))).await.unwrap();
    propose("other", state("k", json!(2))).await.unwrap();
    let path = store.path().to_path_buf();
    drop((gate, store));
    let (store, loaded) = Store::open(&path).unwrap();
    let (gate, _) = desk.gate(store, &loaded);
    assert_eq!(gate.at(1, None).todos(), todos);
    assert_eq!(gate.state("mine", "k"), Some(json!([1])));
    assert_eq!(gate.state("mine", "gone"), None);
    assert_eq!(gate.state("other", "k"), Some(json!(2)));
}

/// Refuses what says `no`, puts `good` in the place of `bad`, tries to lead `astray` elsewhere, and remembers.
#[derive(Default)]
struct Watch(Mutex<Vec<String>>);

impl Guard for Watch {
    fn before<'a>(&'a self, offer: &'a Offer) -> BoxFuture<'a, Result<Option<Payload>, Refusal>> {
        Box::pin(async move {
            let Payload::File(file) = &offer.proposal.payload else { return Ok(None) };
            let mut other = file.clone();
            match &*file.contents {
                b"no" => return Err(Refusal("not that".into())),
                b"bad" => other.contents = "good".into(),
                b"astray" => (other.path, other.contents) = ("elsewhere.txt".into(), "stays".into()),
                b"large" => other.contents = vec![b'x'; 65 * 1024 * 1024].into(),
                _ => return Ok(None),
            }
            Ok(Some(Payload::File(other)))
        })
    }
    fn after<'a>(&'a self, offer: &'a Offer, committed: &'a Committed) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Payload::File(file) = &offer.proposal.payload else { return };
            let contents = String::from_utf8_lossy(&file.contents);
            let name = committed.path.as_ref().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            self.0.lock().unwrap().push(format!("{name}: {contents}"));
        })
    }
}

#[tokio::test]
async fn a_guard_can_refuse_or_replace_contents_but_never_the_place() {
    let desk = Desk::new();
    let (store, loaded) = Store::create(&desk.sessions(), desk.header()).unwrap();
    let watch = Arc::new(Watch::default());
    let gate = Gate::guarded(desk.fence(), Arc::new(store), desk.blobs(), &loaded, Some(watch.clone()));
    let refused = write(&gate, 1, "a.txt", "no").await.unwrap_err();
    assert_eq!(refused.0, "not that");
    assert!(!desk.file("a.txt").exists());
    let done = write(&gate, 1, "b.txt", "bad").await.unwrap();
    assert!(done.diff.contains("+good"), "what is shown is what is written: {}", done.diff);
    write(&gate, 1, "c.txt", "astray").await.unwrap();
    assert!(!desk.file("elsewhere.txt").exists());
    let limit = write(&gate, 1, "d.txt", "large").await.unwrap_err();
    assert!(limit.0.contains("more than"), "{limit}");
    assert_eq!(*watch.0.lock().unwrap(), ["b.txt: good", "c.txt: stays"]);
}

#[tokio::test]
async fn a_write_that_a_kill_prevented_is_void_at_the_next_opening() {
    let desk = Desk::new();
    std::fs::write(desk.file("f"), "old").unwrap();
    std::fs::write(desk.file(".crystal-00112233445566ff.tmp"), "ne").unwrap();
    std::fs::write(desk.file(".crystal-notes.tmp"), "mine").unwrap();
    let commit = Commit {
        id: 4,
        turn: 1,
        call: None,
        plugin: "crystal".into(),
        runtime: "crystal/main".into(),
        path: desk.file("f").to_str().unwrap().into(),
        before: Some(sha256(b"old").into()),
        after: Some(sha256(b"new").into()),
        mode: None,
        missing: 0,
        undoes: None,
    };
    let path = desk.session(&[turn_start(1, "go"), Record::Commit(commit)]);
    let (store, loaded) = Store::open(&path).unwrap();
    assert_eq!(loaded.commits.len(), 1);
    let (gate, store) = desk.gate(store, &loaded);
    assert_eq!(gate.last_changed(), None);
    assert!(!desk.file(".crystal-00112233445566ff.tmp").exists() && desk.file(".crystal-notes.tmp").exists());
    drop((gate, store));
    assert_eq!(load::read(&path).unwrap().commits, []);
    let (store, loaded) = Store::open(&path).unwrap();
    let (gate, _) = desk.gate(store, &loaded);
    write(&gate, 1, "f", "new").await.unwrap();
    assert_eq!(load::read(&path).unwrap().commits[0].id, 5, "numbers are not used twice");
}
