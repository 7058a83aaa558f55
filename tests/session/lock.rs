//! One writer a session; readers and forks need no lock.

use crystal::session::store::error::StoreError;
use crystal::session::store::load;
use crystal::session::store::{Store, fork};

use crate::session::desk::{Desk, append_bytes, texts, user};

/// earendil-works/pi#9596
#[test]
fn a_second_writer_is_told_who_writes_and_may_fork() {
    let desk = Desk::new();
    let path = desk.session(&[user("i1", "one")]);
    let (first, _) = Store::open(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(&error, StoreError::Locked { pid: Some(pid), .. } if *pid == std::process::id()));
    assert!(error.to_string().contains("fork"), "{error}");
    let copy = fork::fork(&path, &desk.sessions()).unwrap();
    let (second, loaded) = Store::open(&copy).unwrap();
    first.append(&user("i2", "of the first")).unwrap();
    second.append(&user("i2", "of the fork")).unwrap();
    assert_eq!(texts(&load::read(&path).unwrap()), ["one", "of the first"]);
    assert_eq!(texts(&load::read(&copy).unwrap()), ["one", "of the fork"]);
    let parent = loaded.header.parent.unwrap();
    assert_eq!((&parent.session, parent.record), (first.id(), 2));
    assert_ne!(second.id(), first.id());
}

#[test]
fn the_lock_goes_with_its_writer_and_leaves_no_file() {
    let desk = Desk::new();
    let path = desk.session(&[]);
    for _ in 0..3 {
        let (store, _) = Store::open(&path).unwrap();
        assert!(path.with_extension("lock").exists());
        drop(store);
        assert!(!path.with_extension("lock").exists());
    }
}

#[test]
fn a_lock_file_of_a_dead_process_locks_nobody_out() {
    let desk = Desk::new();
    let path = desk.session(&[]);
    std::fs::write(path.with_extension("lock"), "1\n").unwrap();
    Store::open(&path).unwrap();
}

#[test]
fn a_reader_stops_at_the_last_newline_and_changes_nothing() {
    let desk = Desk::new();
    let path = desk.session(&[user("i1", "one")]);
    let _writer = Store::open(&path).unwrap();
    append_bytes(&path, b"{\"type\":\"item\",\"turn\":1,\"it");
    let before = std::fs::read(&path).unwrap();
    let loaded = load::read(&path).unwrap();
    assert_eq!((texts(&loaded), loaded.notices.len()), (vec!["one".to_owned()], 0));
    let copy = fork::fork(&path, &desk.sessions()).unwrap();
    assert_eq!(texts(&load::read(&copy).unwrap()), ["one"]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
