//! Retention, images by content, and lists that need no whole reading.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crystal::model::item::MediaType;
use crystal::model::port::{ImageSource, ImageStore};
use crystal::session::store::list;
use crystal::session::store::prune::{self, Policy};
use crystal::session::store::record::{Record, Title};

use crate::session::desk::{Desk, append_bytes, turn_start, user};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn age(path: &Path, days: u32) {
    File::options().append(true).open(path).unwrap().set_modified(SystemTime::now() - DAY * days).unwrap();
}

#[test]
fn old_contents_traces_and_logs_go_and_sessions_stay() {
    let desk = Desk::new();
    let session = desk.session(&[user("i1", "one")]);
    let (blobs, logs) = (desk.blobs(), desk.home().join("logs"));
    let (old, new) = (blobs.put(b"old").unwrap(), blobs.put(b"new").unwrap());
    let blob = |hash: &str| desk.sessions().join("blobs").join(&hash[..2]).join(hash);
    std::fs::create_dir_all(&logs).unwrap();
    let (trace, log) = (session.with_extension("trace.jsonl"), logs.join("crystal.log"));
    for path in [&trace, &log] {
        std::fs::write(path, "x").unwrap();
    }
    for path in [&session, &blob(&old), &trace, &log] {
        age(path, 31);
    }
    let plan = prune::plan(&desk.sessions(), &logs, Policy::default(), SystemTime::now()).unwrap();
    assert_eq!((plan.files.len(), plan.bytes(), plan.kept_bytes), (3, 5, 3));
    assert!(blob(&old).exists(), "a plan only looks");
    plan.carry_out().unwrap();
    assert!(session.exists() && blobs.get(&new).is_some());
    assert!(!trace.exists() && !log.exists() && blobs.get(&old).is_none());
}

#[test]
fn beyond_the_limit_the_oldest_go_first_and_use_makes_new() {
    let desk = Desk::new();
    let blobs = desk.blobs();
    let hashes: Vec<_> = (0..4_u8).map(|n| blobs.put(&[n; 100]).unwrap()).collect();
    for (n, hash) in hashes.iter().enumerate() {
        let path = desk.sessions().join("blobs").join(&hash[..2]).join(hash);
        age(&path, 10 - u32::try_from(n).unwrap());
    }
    blobs.put(&[0; 100]).unwrap();
    let policy = Policy { max_bytes: 250, ..Policy::default() };
    prune::plan(&desk.sessions(), &desk.home(), policy, SystemTime::now()).unwrap().carry_out().unwrap();
    let there: Vec<_> = hashes.iter().map(|hash| blobs.get(hash).is_some()).collect();
    assert_eq!(there, [true, false, false, true]);
}

#[test]
fn an_image_is_told_by_its_bytes_and_what_is_none_is_refused() {
    let desk = Desk::new();
    let blobs = desk.blobs();
    let png = b"\x89PNG\r\n\x1a\nrest";
    let image = blobs.store(png).unwrap();
    assert_eq!(image.media_type, MediaType::Png);
    assert_eq!(blobs.store(png).unwrap(), image);
    assert_eq!(&*blobs.load(&image.id).unwrap(), png);
    assert!(blobs.store(b"<svg/>").unwrap_err().contains("no PNG"));
    assert!(blobs.load("../../../etc/passwd").is_none());
    assert!(blobs.load(&"0".repeat(64)).is_none());
}

#[test]
fn a_damaged_blob_is_not_handed_out_and_is_repaired_by_storing_it_again() {
    let desk = Desk::new();
    let blobs = desk.blobs();
    let hash = blobs.put(b"contents").unwrap();
    std::fs::write(desk.sessions().join("blobs").join(&hash[..2]).join(&hash), "cut").unwrap();
    assert!(blobs.get(&hash).is_none());
    blobs.put(b"contents").unwrap();
    assert_eq!(&*blobs.get(&hash).unwrap(), b"contents");
}

#[test]
fn a_list_names_sessions_by_title_else_by_first_words_newest_first() {
    let desk = Desk::new();
    let first = desk.session(&[turn_start(1, "fix  the\nparser \u{1b}[31mnow")]);
    let titled = desk.session(&[turn_start(1, "x"), Record::Title(Title { title: "Early".into() })]);
    append_bytes(&titled, format!("{{\"type\":\"note\",\"text\":\"{}\"}}\n", "y".repeat(400_000)).as_bytes());
    append_bytes(&titled, b"{\"type\":\"title\",\"title\":\"Late\"}\n");
    std::fs::write(desk.sessions().join("broken.jsonl"), "").unwrap();
    std::fs::write(desk.sessions().join("a.trace.jsonl"), "{}\n").unwrap();
    age(&first, 1);
    let (found, problems) = list::list(&desk.sessions(), Some(&desk.workspace())).unwrap();
    assert_eq!(
        found.iter().map(|one| one.title.as_str()).collect::<Vec<_>>(),
        ["Late", "fix the parser now"]
    );
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("broken.jsonl"));
    assert!(list::list(&desk.sessions(), Some(Path::new("/elsewhere"))).unwrap().0.is_empty());
    assert_eq!(list::latest(&desk.sessions(), Some(&desk.workspace())).unwrap(), Some(titled));
}
