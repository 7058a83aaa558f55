//! Taking a turn's writes back, and showing them.

use crystal::session::commit::undo::Which;
use crystal::session::store::record::{Observed, ObservedChange, ObservedKind};
use crystal::session::store::{Store, load};

use crate::session::desk::{Desk, turn_start, write};

#[tokio::test]
async fn an_undo_restores_what_nobody_changed_since_and_names_the_rest() {
    let desk = Desk::new();
    let (gate, store) = desk.new_gate();
    let read = |name: &str| std::fs::read_to_string(desk.file(name)).ok();
    for name in ["kept", "touched"] {
        std::fs::write(desk.file(name), "old").unwrap();
    }
    write(&gate, 1, "kept", "first").await.unwrap();
    write(&gate, 1, "kept", "second").await.unwrap();
    write(&gate, 1, "touched", "new").await.unwrap();
    write(&gate, 1, "made/by/turn", "new").await.unwrap();
    std::fs::write(desk.file("touched"), "mine").unwrap();
    let undo = gate.undo(Which::Last, 0).await.unwrap();
    assert_eq!(undo.restored, ["kept", "made/by/turn"]);
    assert_eq!(
        (undo.left[0].path.as_str(), undo.left[0].reason.as_str()),
        ("touched", "it has changed since")
    );
    assert_eq!((read("kept"), read("touched")), (Some("old".into()), Some("mine".into())));
    assert!(!desk.file("made").exists(), "directories made with the file go with it");
    let loaded = load::read(store.path()).unwrap();
    assert_eq!(loaded.untold_undos(), [undo]);
    store.append(&turn_start(2, "next")).unwrap();
    assert_eq!(load::read(store.path()).unwrap().untold_undos(), []);
}

#[tokio::test]
async fn undos_go_back_turn_by_turn_also_after_reopening_and_end() {
    let desk = Desk::new();
    let (gate, store) = desk.new_gate();
    write(&gate, 1, "f", "one").await.unwrap();
    write(&gate, 2, "f", "two").await.unwrap();
    write(&gate, 3, "g", "three").await.unwrap();
    let early = gate.undo(Which::Turn(1), 0).await.unwrap();
    assert_eq!(early.left.len(), 1, "a later turn wrote the file");
    assert_eq!(gate.undo(Which::Last, 0).await.unwrap().turn, 3);
    let path = store.path().to_path_buf();
    drop((gate, store));
    let (store, loaded) = Store::open(&path).unwrap();
    let (gate, _) = desk.gate(store, &loaded);
    assert_eq!(gate.undo(Which::Last, 0).await.unwrap().turn, 2);
    assert_eq!(std::fs::read_to_string(desk.file("f")).unwrap(), "one");
    assert_eq!(gate.undo(Which::Last, 0).await.unwrap().turn, 1);
    assert!(!desk.file("f").exists() && !desk.file("g").exists());
    let done = gate.undo(Which::Last, 0).await.unwrap_err();
    assert!(done.0.contains("no turn"), "{done}");
    assert!(gate.undo(Which::Turn(2), 0).await.unwrap_err().0.contains("already"));
    assert!(gate.undo(Which::Turn(9), 0).await.unwrap_err().0.contains("wrote no file"));
}

#[tokio::test]
async fn an_undo_whose_contents_were_pruned_says_so_and_touches_nothing() {
    let desk = Desk::new();
    let (gate, _) = desk.new_gate();
    std::fs::write(desk.file("f"), "old").unwrap();
    write(&gate, 1, "f", "new").await.unwrap();
    std::fs::remove_dir_all(desk.sessions().join("blobs")).unwrap();
    let undo = gate.undo(Which::Last, 0).await.unwrap();
    assert!(undo.restored.is_empty() && undo.left[0].reason.contains("no longer kept"));
    assert_eq!(std::fs::read_to_string(desk.file("f")).unwrap(), "new");
    let diff = gate.diff(1).await.unwrap();
    assert!(diff.files[0].problem.is_some());
}

#[tokio::test]
async fn a_turns_diff_spans_its_writes_and_lists_what_commands_changed() {
    let desk = Desk::new();
    let (gate, _) = desk.new_gate();
    std::fs::write(desk.file("f"), "a\nb\n").unwrap();
    write(&gate, 1, "f", "a\nx\n").await.unwrap();
    write(&gate, 1, "f", "a\ny\n").await.unwrap();
    write(&gate, 2, "f", "a\nz\n").await.unwrap();
    let change = ObservedChange { path: "built".into(), what: ObservedKind::Created };
    gate.observe(Observed { turn: 1, call: None, changes: vec![change.clone()], more: 2 }).unwrap();
    let diff = gate.diff(1).await.unwrap();
    assert_eq!(diff.files.len(), 1);
    let text = &diff.files[0].diff.text;
    assert!(
        text.contains("-b") && text.contains("+y") && !text.contains('x') && !text.contains('z'),
        "{text}"
    );
    assert_eq!((diff.observed[0].changes.clone(), diff.observed[0].more), (vec![change], 2));
    assert_eq!(gate.last_changed(), Some(2));
    gate.undo(Which::Last, 0).await.unwrap();
    assert_eq!(gate.diff(1).await.unwrap(), diff, "an undo changes no turn's diff");
}
