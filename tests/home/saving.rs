//! Saving under bad conditions: a full disk, a killed process, several writers.
//!
//! The children are this test binary again, told by variables to run one of the ignored tests.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crystal::home::document::{Document, set};
use serde_json::json;

const FILE: &str = "CRYSTAL_TEST_FILE";
const PREFIX: &str = "CRYSTAL_TEST_PREFIX";
const ROUNDS: u64 = 40;

fn child(test: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([&format!("home::saving::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// None when no parent runs this test.
fn given_file() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Large enough that a write takes several steps.
fn large() -> String {
    format!("{{\n  // {}\n  \"round\": 0\n}}\n", "long comment ".repeat(20_000))
}

/// nylas/nylas-mail#897
#[test]
fn a_killed_writer_leaves_the_file_whole_and_at_most_one_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    fs::write(&path, large()).unwrap();
    for kill in 0..12 {
        let mut writer = child("writes_without_end", &path).spawn().unwrap();
        let mut saved = BufReader::new(writer.stdout.take().unwrap()).lines();
        for _ in 0..=kill {
            while !saved.next().unwrap().unwrap().contains("saved") {}
        }
        // The new content has begun to appear beside the old, and is being written.
        let left = names(dir.path());
        while names(dir.path()) == left && writer.try_wait().unwrap().is_none() {}
        writer.kill().unwrap();
        writer.wait().unwrap();
        let document = Document::read(&path).unwrap().unwrap();
        assert!(document.root()["round"].as_u64().unwrap() > 0);
        assert_eq!(fs::read_to_string(&path).unwrap().len() / 1000, large().len() / 1000);
        assert!(names(dir.path()).len() <= 2, "{:?}", names(dir.path()));
    }
    set(&path, &["round"], &json!("done")).unwrap();
    assert_eq!(names(dir.path()), ["config.json"]);
}

#[test]
#[ignore = "a child of another test"]
fn writes_without_end() {
    let Some(path) = given_file() else { return };
    for round in 1.. {
        set(&path, &["round"], &json!(round)).unwrap();
        writeln!(std::io::stdout(), "saved").unwrap();
    }
}

/// OctopusDeploy/Issues#4610
#[test]
fn a_disk_without_room_leaves_the_old_content_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    fs::write(&path, large()).unwrap();
    let test = child("fails_for_want_of_room", &path);
    // A limit on the size of files stands for the full disk; the shell makes it an error rather than a signal.
    let output = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "bash"])
        .arg(test.get_program())
        .args(test.get_args())
        .env(FILE, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_to_string(&path).unwrap(), large());
    assert_eq!(names(dir.path()), ["config.json"]);
}

#[test]
#[ignore = "a child of another test"]
fn fails_for_want_of_room() {
    let Some(path) = given_file() else { return };
    for _ in 0..3 {
        let error = set(&path, &["round"], &json!(1)).unwrap_err().to_string();
        assert!(error.contains(&format!("cannot save {}: ", path.display())), "{error}");
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing_of_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    fs::write(&path, "{\n  // shared\n}\n").unwrap();
    let writers: Vec<_> = ["a", "b", "c"]
        .map(|prefix| child("writes_its_own_fields", &path).env(PREFIX, prefix).spawn().unwrap())
        .into_iter()
        .collect();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let document = Document::read(&path).unwrap().unwrap();
    assert_eq!(document.root().len() as u64, 3 * ROUNDS);
    assert!(fs::read_to_string(&path).unwrap().contains("// shared"));
    assert_eq!(names(dir.path()), ["config.json"]);
}

#[test]
#[ignore = "a child of another test"]
fn writes_its_own_fields() {
    let Some(path) = given_file() else { return };
    let prefix = std::env::var(PREFIX).unwrap();
    for round in 0..ROUNDS {
        set(&path, &[&format!("{prefix}{round}")], &json!(round)).unwrap();
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("taken"), "").unwrap();
    let path = dir.path().join("taken/config.json");
    let error = set(&path, &["a"], &json!(1)).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot save {}: ", path.display())), "{error}");
}
