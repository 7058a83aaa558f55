//! `write` makes a file hold exactly what was given, or leaves it alone.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crystal::model::port::Reach;
use crystal::tool::arguments::parse_arguments;
use serde_json::{Value, json};

use crate::tool::desk::{Desk, names_in};

/// zed-industries/zed#52661, cline/cline#7698, Kilo-Org/kilocode#4052
#[tokio::test]
async fn the_file_holds_exactly_the_contents() {
    let desk = Desk::new();
    let html = "<a title=\"&quot;x&quot;\">&amp;&lt;&#39;</a>\n";
    for contents in ["x", "x\n", "", html, "a\r\nb\n", "$& \\1 \\n", "\u{feff}x"] {
        let _ = std::fs::remove_file(desk.path("f"));
        desk.done("write", json!({"path": "f", "contents": contents})).await;
        assert_eq!(desk.get("f"), contents.as_bytes());
    }
}

/// google-gemini/gemini-cli#26209, google-gemini/gemini-cli#8009
#[tokio::test]
async fn escapes_are_decoded_once() {
    let desk = Desk::new();
    let raw = r#"{"path":"h.py","contents":"print(\"a\\nb\")\nx = '\\\\d'\n"}"#;
    desk.done("write", Value::Object(parse_arguments(raw).unwrap())).await;
    assert_eq!(String::from_utf8(desk.get("h.py")).unwrap(), "print(\"a\\nb\")\nx = '\\\\d'\n");
}

/// QwenLM/qwen-code#3839, zed-industries/zed#42895
#[tokio::test]
async fn a_file_changed_since_it_was_read_is_not_overwritten() {
    let desk = Desk::new();
    let path = desk.put("f", "a\n");
    desk.done("read", json!({"path": "f"})).await;
    std::fs::write(&path, "a\nuser-line\n").unwrap();
    let write = json!({"path": "f", "contents": "a\nmodel\n"});
    let text = desk.refused("write", write.clone()).await;
    assert!(text.contains("changed since it was read"), "{text}");
    assert_eq!(desk.get("f"), b"a\nuser-line\n");
    desk.done("read", json!({"path": "f"})).await;
    desk.done("write", write).await;
    assert_eq!(desk.get("f"), b"a\nmodel\n");
}

#[tokio::test]
async fn its_own_write_does_not_count_as_a_change_by_someone_else() {
    let desk = Desk::new();
    for contents in ["one\n", "two\n", "two\n", "three\n"] {
        desk.done("write", json!({"path": "f", "contents": contents})).await;
    }
    assert_eq!(desk.get("f"), b"three\n");
}

#[tokio::test]
async fn a_link_to_nothing_yet_is_filled_where_it_leads() {
    let desk = Desk::new();
    std::os::unix::fs::symlink("later/real", desk.path("link")).unwrap();
    desk.done("write", json!({"path": "link", "contents": "x"})).await;
    assert!(desk.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(desk.get("later/real"), b"x");
}

/// zed-industries/zed#40391
#[tokio::test]
async fn missing_directories_are_made_and_a_file_in_the_way_is_an_error() {
    let desk = Desk::new();
    let output = desk.done("write", json!({"path": "foo/bar/new.txt", "contents": "x"})).await;
    assert!(output.text.starts_with("Created foo/bar/new.txt"), "{}", output.text);
    assert_eq!(desk.get("foo/bar/new.txt"), b"x");
    desk.put("plain", "x");
    let text = desk.refused("write", json!({"path": "plain/sub/new.txt", "contents": "x"})).await;
    assert!(text.contains("not a directory"), "{text}");
}

/// modelcontextprotocol/servers#4516
#[tokio::test]
async fn what_is_no_regular_file_is_refused_by_its_kind() {
    let mut desk = Desk::new();
    let made = std::process::Command::new("mkfifo").arg(desk.path("p")).status().unwrap();
    assert!(made.success());
    std::fs::create_dir(desk.path("dir")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(desk.path("sock")).unwrap();
    for (path, kind) in [("p", "FIFO"), ("dir", "a directory"), ("sock", "a socket")] {
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("edit", json!({"path": path, "old_string": "a", "new_string": "b"})),
            ("write", json!({"path": path, "contents": "x"})),
        ] {
            let text = desk.refused(tool, arguments).await;
            assert!(text.contains(kind), "{tool}: {text}");
        }
    }
    drop(socket);
    desk.cx.reach = Reach::Approved;
    let text = desk.refused("read", json!({"path": "/dev/zero"})).await;
    assert!(text.contains("character device"), "{text}");
}

/// fugue-labs/gollem#47
#[tokio::test]
async fn a_private_files_temporary_is_private_and_gone_afterwards() {
    let desk = Desk::new();
    let path = desk.put("p.sh", "#!/bin/sh\necho k\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (dir, stop) = (desk.path(""), Arc::new(AtomicBool::new(false)));
    let watch = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let mut widest = 0;
            while !stop.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir(&dir).unwrap().flatten() {
                    widest |= entry.metadata().map_or(0, |meta| meta.mode() & 0o777);
                }
            }
            widest
        })
    };
    for round in 0..50 {
        let contents = format!("#!/bin/sh\necho {round}\n").repeat(1000);
        desk.done("write", json!({"path": "p.sh", "contents": contents})).await;
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(watch.join().unwrap(), 0o600);
    assert_eq!(names_in(&desk.path("")), ["p.sh"]);
}

#[tokio::test]
async fn a_write_that_fails_leaves_nothing_behind() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("dir")).unwrap();
    let opened = desk.cx.fence.open("dir/f", Reach::Workspace).unwrap();
    // A directory takes the name between the look and the rename: the rename fails.
    assert!(opened.metadata().unwrap().is_none());
    std::fs::create_dir_all(desk.path("dir/f/full")).unwrap();
    assert!(opened.replace(b"x", None).is_err());
    assert_eq!(names_in(&desk.path("dir")), ["f"]);
}

#[tokio::test]
async fn too_much_and_misplaced_writes_are_refused() {
    let desk = Desk::new();
    desk.put("bin", b"a\0b");
    for (path, contents, part) in [
        ("big", "x".repeat(2 * 1024 * 1024 + 1), "2097152"),
        ("dir/", "x".into(), "names a directory"),
        ("bin", "x".into(), "binary"),
    ] {
        let text = desk.refused("write", json!({"path": path, "contents": contents})).await;
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(names_in(&desk.path("")), ["bin"]);
    desk.done("write", json!({"path": "most", "contents": "x".repeat(2 * 1024 * 1024)})).await;
}

#[tokio::test]
async fn a_write_shows_its_diff() {
    let desk = Desk::new();
    desk.put("f", "a\nb\n");
    let output = desk.done("write", json!({"path": "f", "contents": "a\nc\n"})).await;
    let diff = output.diff.unwrap();
    assert!(diff.contains("-b\n") && diff.contains("+c\n"), "{diff}");
}
