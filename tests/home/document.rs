//! Documents that people edit by hand keep everything that a change does not mean.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crystal::home::document::{Document, append, remove, set};
use serde_json::{Value, json};
use tempfile::TempDir;

fn file(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    fs::write(&path, text).unwrap();
    (dir, path)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn becomes(before: &str, change: impl FnOnce(&Path), after: &str) {
    let (dir, path) = file(before);
    change(&path);
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(names(dir.path()), ["config.json"], "something was left beside the file");
}

const LIVED_IN: &str = r#"// mine
{
  "future_key": {"a": [1, 2,], /* keep */ "b": 1e3},

  "model": "old", // the fast one
  "approval": "default",
}
"#;

/// Microck/opencode-studio#8
#[test]
fn setting_a_field_changes_nothing_else() {
    becomes(
        LIVED_IN,
        |path| set(path, &["model"], &json!("new")).unwrap(),
        &LIVED_IN.replace("\"old\"", "\"new\""),
    );
}

#[test]
fn a_new_field_keeps_comments_order_and_the_trailing_comma() {
    becomes(
        LIVED_IN,
        |path| set(path, &["provider"], &json!("deepseek")).unwrap(),
        &LIVED_IN.replace(
            "\"approval\": \"default\",\n",
            "\"approval\": \"default\",\n  \"provider\": \"deepseek\",\n",
        ),
    );
}

#[test]
fn setting_the_value_that_is_there_writes_nothing() {
    let (_dir, path) = file(LIVED_IN);
    let before = fs::metadata(&path).unwrap().ino();
    set(&path, &["model"], &json!("old")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), before, "the file was replaced");
}

#[test]
fn nested_fields_are_made_and_removed() {
    becomes(
        "{}\n",
        |path| set(path, &["pluginSettings", "home", "notes"], &json!({"on": true})).unwrap(),
        "{\n  \"pluginSettings\": {\n    \"home\": {\n      \"notes\": {\n        \"on\": true\n      }\n    }\n  }\n}\n",
    );
    becomes(
        LIVED_IN,
        |path| {
            remove(path, &["approval"]).unwrap();
            remove(path, &["never", "there"]).unwrap();
        },
        &LIVED_IN.replace("  \"approval\": \"default\",\n", ""),
    );
}

#[test]
fn appending_adds_once() {
    becomes(
        "{\n  // first\n  \"grants\": [\n    1 // one\n  ]\n}\n",
        |path| {
            append(path, &["grants"], &json!(2)).unwrap();
            append(path, &["grants"], &json!(2)).unwrap();
        },
        "{\n  // first\n  \"grants\": [\n    1, // one\n    2\n  ]\n}\n",
    );
}

/// anthropics/claude-code#9906
#[test]
fn a_byte_order_mark_and_windows_line_endings_are_read_and_kept() {
    let windows = LIVED_IN.replace('\n', "\r\n");
    becomes(
        &format!("\u{feff}{windows}"),
        |path| {
            assert_eq!(Document::read(path).unwrap().unwrap().root()["model"], "old");
            set(path, &["model"], &json!("new")).unwrap();
            set(path, &["provider"], &json!("x")).unwrap();
        },
        &format!(
            "\u{feff}{}",
            windows.replace("\"old\"", "\"new\"").replace(
                "\"approval\": \"default\",\r\n",
                "\"approval\": \"default\",\r\n  \"provider\": \"x\",\r\n"
            )
        ),
    );
}

/// earendil-works/pi#1060
#[test]
fn a_file_that_does_not_parse_is_reported_with_its_place_and_left_alone() {
    for (text, place) in [
        ("{\n  \"model\": \"x\"\n  \"approval\": \"edit\"\n}", ":2:15"),
        ("{\n  \"model\": ", ":2:12"),
        ("{\n  model: 1\n}", ":2:3"),
        ("{ 'model': 1 }", ":1:3"),
        ("[1, 2]", ":1"),
        ("not json", ":1:1"),
        ("{}{}", ":1:3"),
    ] {
        let (dir, path) = file(text);
        let read = Document::read(&path).unwrap_err().to_string();
        let written = set(&path, &["model"], &json!("new")).unwrap_err().to_string();
        let place = format!("{}{place}", path.display());
        assert!(read.starts_with(&place), "{read} does not begin with {place}");
        assert_eq!(read, written);
        assert!(!read.ends_with('.'), "{read}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(dir.path()), ["config.json"]);
    }
}

#[test]
fn text_that_is_not_utf8_is_reported_with_its_place() {
    let (_dir, path) = file("");
    fs::write(&path, b"{\n  \"model\": \"\xff\"\n}").unwrap();
    let error = Document::read(&path).unwrap_err().to_string();
    assert!(error.contains(":2:13: not UTF-8"), "{error}");
    assert!(set(&path, &["a"], &json!(1)).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"{\n  \"model\": \"\xff\"\n}");
}

#[test]
fn a_field_inside_something_that_is_no_object_is_refused() {
    let (_dir, path) = file("{\"pluginSettings\": 5}");
    let error = set(&path, &["pluginSettings", "home"], &json!({})).unwrap_err().to_string();
    assert!(error.contains("`pluginSettings` must be an object, but it is a number"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"pluginSettings\": 5}");
}

#[test]
fn an_empty_file_and_one_of_comments_become_objects() {
    for text in ["", "\n", "// nothing yet\n", "\u{feff}"] {
        let (_dir, path) = file(text);
        assert!(Document::read(&path).unwrap().unwrap().root().is_empty());
        set(&path, &["model"], &json!("x")).unwrap();
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(Document::read(&path).unwrap().unwrap().root()["model"], "x", "{written:?}");
        assert!(written.contains(text.trim()), "{written:?}");
    }
}

#[test]
fn of_equal_keys_the_last_is_read_and_set() {
    becomes(
        "{\"a\": 1, \"a\": 2}",
        |path| {
            assert_eq!(Document::read(path).unwrap().unwrap().root()["a"], 2);
            set(path, &["a"], &json!(3)).unwrap();
        },
        "{\"a\": 1, \"a\": 3}",
    );
}

#[test]
fn depth_without_end_is_an_error() {
    let deep = format!("{{\"a\": {}", "[".repeat(200_000));
    let (_dir, path) = file(&deep);
    assert!(Document::read(&path).is_err());
    assert!(set(&path, &["b"], &Value::Null).is_err());
}

#[test]
fn lines_are_known_for_fields_and_array_entries() {
    let document = Document::parse(Path::new("x"), LIVED_IN.as_bytes()).unwrap();
    assert_eq!(document.line(&["model"]), Some(5));
    assert_eq!(document.line(&["future_key", "a", "1"]), Some(3));
    assert_eq!(document.line(&["future_key", "a", "2"]), None);
}

#[test]
fn a_link_stays_a_link_and_its_target_is_changed() {
    let (dir, path) = file("{}");
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("real.json");
    fs::rename(&path, &target).unwrap();
    symlink(&target, &path).unwrap();
    set(&path, &["a"], &json!(1)).unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(Document::read(&target).unwrap().unwrap().root()["a"], 1);
    assert_eq!(names(elsewhere.path()), ["real.json"]);
    assert_eq!(names(dir.path()), ["config.json"]);
}

#[test]
fn modes_are_kept_and_new_files_are_private() {
    let (dir, path) = file("{}");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    set(&path, &["a"], &json!(1)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let new = dir.path().join("made/here.json");
    set(&new, &["a"], &json!(1)).unwrap();
    assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(new.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}
