//! Files that a crash, a disk or a hand has damaged, and files that are no sessions.

use std::path::Path;

use crystal::session::store::Store;
use crystal::session::store::load;
use crystal::session::store::record::{Note, Record};

use crate::session::desk::{Desk, append_bytes, texts, user};

/// Opens, says `hi`, closes; returns the notices of the opening.
fn say_hi(path: &Path) -> Vec<String> {
    let (store, loaded) = Store::open(path).unwrap();
    store.append(&user(store.ids().item().as_str(), "hi")).unwrap();
    loaded.notices
}

fn survives_a_torn_end(tail: &[u8]) {
    let desk = Desk::new();
    let path = desk.session(&[user("i1", "one"), user("i2", "two")]);
    append_bytes(&path, tail);
    let notices = say_hi(&path);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("torn"), "{notices:?}");
    let (_store, loaded) = Store::open(&path).unwrap();
    assert_eq!(texts(&loaded), ["one", "two", "hi"]);
    assert_eq!(loaded.notices, [""; 0], "told once");
    let aside = std::fs::read(path.with_extension("torn")).unwrap();
    assert_eq!(aside.strip_suffix(b"\n").unwrap(), tail, "the bytes were moved aside");
}

/// github/copilot-cli#4098
#[test]
fn a_record_that_was_cut_off_takes_nothing_else_with_it() {
    survives_a_torn_end(b"{\"type\":\"assistant\",\"te");
}

/// Tracer-Cloud/opensre#6356
#[test]
fn a_tail_that_ends_inside_a_character_is_moved_aside() {
    survives_a_torn_end(b"{\"type\":\"user\",\"text\":\"\xe6\xbc");
}

#[test]
fn a_tail_of_zeros_is_moved_aside() {
    survives_a_torn_end(&[0; 300]);
}

/// PrimeIntellect-ai/prime-agent#959
#[test]
fn a_last_record_without_its_newline_is_kept_and_completed() {
    let desk = Desk::new();
    let path = desk.session(&[user("i1", "one"), user("i2", "two")]);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(say_hi(&path), [""; 0]);
    let (_store, loaded) = Store::open(&path).unwrap();
    assert_eq!(texts(&loaded), ["one", "two", "hi"]);
    assert!(std::fs::read(&path).unwrap().starts_with(&whole));
}

/// anthropics/claude-code#50347
#[test]
fn a_damaged_line_in_the_middle_is_skipped_told_and_left_on_disk() {
    let desk = Desk::new();
    let item = |n: usize| user(&format!("i{n}"), &format!("item {n}"));
    let path = desk.session(&(1..=10).map(item).collect::<Vec<_>>());
    append_bytes(&path, b"{\"broken\n");
    {
        let (store, _) = Store::open(&path).unwrap();
        (11..=20).for_each(|n| store.append(&item(n)).unwrap());
    }
    let before = std::fs::read(&path).unwrap();
    let (_store, loaded) = Store::open(&path).unwrap();
    assert_eq!(loaded.items.len(), 20);
    assert_eq!(
        loaded.notices,
        ["line 12 of the session file is damaged: it was skipped and stays in the file"]
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn records_and_fields_of_a_newer_crystal_are_kept_and_do_no_harm() {
    let desk = Desk::new();
    let path = desk.session(&[user("i1", "one")]);
    append_bytes(&path, b"{\"type\":\"hologram\",\"at\":\"2031-01-01T00:00:00Z\",\"x\":[1,2]}\n");
    append_bytes(
        &path,
        b"{\"at\":\"2031-01-01T00:00:00Z\",\"type\":\"title\",\"title\":\"T\",\"colour\":\"red\"}\n",
    );
    let before = std::fs::read(&path).unwrap();
    assert_eq!(say_hi(&path), [""; 0]);
    let loaded = load::read(&path).unwrap();
    assert_eq!(texts(&loaded), ["one", "hi"]);
    assert_eq!(loaded.title.as_deref(), Some("T"));
    assert!(std::fs::read(&path).unwrap().starts_with(&before));
}

#[test]
fn a_newer_format_opens_read_only_and_says_why() {
    let desk = Desk::new();
    let path = desk.session(&[user("i1", "one")]);
    let text = std::fs::read_to_string(&path).unwrap().replacen("\"format\":1", "\"format\":9", 1);
    std::fs::write(&path, &text).unwrap();
    let (store, loaded) = Store::open(&path).unwrap();
    assert_eq!(texts(&loaded), ["one"]);
    assert!(loaded.read_only.unwrap().contains("format 9"));
    let refused = store.append(&Record::Note(Note { text: "x".into() })).unwrap_err().to_string();
    assert!(refused.contains("read-only") && refused.contains("update Crystal"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

fn is_refused(path: &Path, cause: &str) {
    let before = path.is_file().then(|| std::fs::read(path).ok()).flatten();
    let error = Store::open(path).unwrap_err().to_string();
    assert!(error.contains(&path.display().to_string()), "names the file: {error}");
    assert!(error.contains(cause), "names the cause: {error}");
    assert!(!path.with_extension("lock").exists());
    assert_eq!(path.is_file().then(|| std::fs::read(path).ok()).flatten(), before);
}

/// anthropics/claude-code#23373
#[test]
fn what_is_no_session_is_told_by_file_and_cause() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    is_refused(dir.path(), "it is a directory");
    is_refused(&dir.path().join("none.jsonl"), "no such file");
    is_refused(&make("empty.jsonl", b""), "it is empty");
    is_refused(&make("other.jsonl", b"{\"sessionId\":\"x\",\"kind\":\"user\"}\n"), "no session header");
    is_refused(&make("other2.jsonl", b"{\"type\":\"user\",\"text\":\"x\"}\n"), "not a session header");
    is_refused(&make("binary.jsonl", b"\x7fELF\0\0\n"), "no session header");
    is_refused(&make("torn.jsonl", b"{\"type\":\"session\",\"form"), "not complete");
    let closed = make("closed.jsonl", b"{}\n");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads it all the same.
    if std::fs::File::open(&closed).is_err() {
        is_refused(&closed, "permission denied");
    }
}

#[test]
fn session_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    let path = desk.session(&[]);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&desk.sessions()), 0o700);
    let hash = desk.blobs().put(b"secret").unwrap();
    assert_eq!(mode(&desk.sessions().join("blobs").join(&hash[..2]).join(hash)), 0o600);
}
