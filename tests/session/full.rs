//! A disk that is full: the append is reported, nothing is lost, and the session goes on when there is room.

use std::path::PathBuf;
use std::process::Command;

use crystal::session::store::load;
use crystal::session::store::{Store, list};

use crate::session::desk::{Desk, texts, user};

const SWITCH: &str = "CRYSTAL_TEST_FULL";

/// The child, which may write files of 64 KiB at most.
#[test]
fn writer() {
    let Some(dir) = std::env::var_os(SWITCH).map(PathBuf::from) else { return };
    let desk = Desk::new();
    let (store, _) = Store::create(&dir, desk.header()).unwrap();
    store.append(&user("i1", "before")).unwrap();
    let whole = std::fs::read(store.path()).unwrap();
    let large = "x".repeat(200_000);
    for _ in 0..3 {
        let error = store.append(&user("i2", &large)).unwrap_err().to_string();
        assert!(
            error.contains("cannot save") && error.contains(&store.path().display().to_string()),
            "{error}"
        );
        assert_eq!(std::fs::read(store.path()).unwrap(), whole, "what was there is untouched");
    }
    store.append(&user("i3", "after")).unwrap();
}

/// AUTO-MAS-Project/AUTO-MAS#303
#[test]
fn a_full_disk_is_told_and_costs_only_the_record_that_did_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    // The limit stands in for the disk: a write beyond it is cut short, then refused.
    let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" session::full::writer --exact";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(SWITCH, dir.path())
        .env("TMPDIR", dir.path())
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    let path = list::files(dir.path()).unwrap().remove(0);
    let loaded = load::read(&path).unwrap();
    assert_eq!((texts(&loaded), loaded.notices.len()), (vec!["before".to_owned(), "after".to_owned()], 0));
}
