//! A writer that is killed at any moment loses at most the record it was writing.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crystal::session::store::Store;

use crate::session::desk::{Desk, turn_start, user, write};

const SWITCH: &str = "CRYSTAL_TEST_WRITER";
const ROUNDS: u64 = 25;

/// The child: writes records (and, every few, a file through the gate), and says each number once its append returned.
#[test]
fn writer() {
    let Some(dir) = std::env::var_os(SWITCH).map(PathBuf::from) else { return };
    let desk = Desk::new();
    let (store, loaded) = Store::create(&dir, desk.header()).unwrap();
    store.append(&turn_start(1, "go")).unwrap();
    let (gate, store) = desk.gate(store, &loaded);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for n in 0_u64.. {
        let text = format!("number {n} {}", "x".repeat(usize::try_from(n * 37 % 20_000).unwrap()));
        store.append(&user(store.ids().item().as_str(), &text)).unwrap();
        writeln!(std::io::stdout(), "\nappended {n}").unwrap();
        if n % 5 == 0 {
            runtime.block_on(write(&gate, 1, "f.txt", &text)).unwrap();
        }
    }
}

#[test]
fn nothing_that_was_appended_before_a_kill_is_missing() {
    for round in 0..ROUNDS {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["session::kill::writer", "--exact", "--nocapture"])
            .env(SWITCH, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Where the kill falls differs from round to round: after so many records, at whatever the child does then.
        let wanted = 3 + round * 11 % 97;
        let killed = Arc::new(AtomicBool::new(false));
        let mut last = None;
        while let Some(Ok(line)) = lines.next() {
            if let Some(n) = line.strip_prefix("appended ").and_then(|n| n.parse::<u64>().ok()) {
                last = Some(n);
            }
            if last >= Some(wanted) && !killed.swap(true, Ordering::Relaxed) {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let last = last.expect("the child wrote");
        let path = crystal::session::store::list::files(dir.path()).unwrap().remove(0);
        let (store, loaded) = Store::open(&path).unwrap();
        for n in 0..=last {
            let item = &loaded.items[usize::try_from(n).unwrap()];
            assert!(item.text().unwrap().starts_with(&format!("number {n} ")), "record {n} of {last}");
        }
        assert!(loaded.interrupted.is_some());
        store.append(&user("i999999", "after")).unwrap();
    }
}
