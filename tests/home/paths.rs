//! Where the data directory is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crystal::home::environment::Environment;
use crystal::home::paths::{Home, workspace_key};

fn root(option: Option<&str>, variables: &[(&str, &str)]) -> Result<String, String> {
    let environment = Environment::given(variables.iter().copied());
    Home::resolve(option.map(Path::new), &environment)
        .map(|home| home.root().display().to_string())
        .map_err(|e| e.to_string())
}

#[test]
fn the_option_wins_over_the_variable_and_that_over_the_default() {
    let variables = [("CRYSTAL_HOME", "/b"), ("HOME", "/home/me")];
    assert_eq!(root(Some("/a"), &variables).unwrap(), "/a");
    assert_eq!(root(None, &variables).unwrap(), "/b");
    assert_eq!(root(None, &variables[1..]).unwrap(), "/home/me/.crystal");
    assert_eq!(root(None, &[("CRYSTAL_HOME", ""), ("HOME", "/home/me")]).unwrap(), "/home/me/.crystal");
}

#[test]
fn the_option_counts_from_the_current_directory() {
    let here = std::env::current_dir().unwrap();
    assert_eq!(root(Some("x"), &[]).unwrap(), here.join("x").display().to_string());
    assert!(root(Some(""), &[]).unwrap_err().contains("--home"));
}

#[test]
fn a_missing_or_relative_variable_is_explained() {
    assert!(root(None, &[]).unwrap_err().contains("pass --home DIR"));
    assert!(root(None, &[("HOME", "me")]).unwrap_err().contains("HOME must be an absolute path"));
    let error = root(None, &[("HOME", "/home/me"), ("CRYSTAL_HOME", "~/crystal")]).unwrap_err();
    assert!(error.contains("CRYSTAL_HOME must be an absolute path, but it is `~/crystal`"), "{error}");
    // What is not needed does not stop anything.
    assert!(root(Some("/a"), &[("HOME", "me")]).is_ok());
}

#[test]
fn nothing_is_made_until_it_is_asked_for_and_then_it_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path().join("deep/home"));
    let _ = (home.config(), home.sessions(), home.logs());
    assert!(!home.root().exists());
    home.create().unwrap();
    assert_eq!(fs::metadata(home.root()).unwrap().permissions().mode() & 0o777, 0o700);
    home.create().unwrap();
}

#[test]
fn a_workspace_key_is_stable_and_safe_as_a_file_name() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = dir.path().join("my project/é");
    fs::create_dir_all(&workspace).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&workspace, &link).unwrap();
    let key = workspace_key(&workspace);
    assert_eq!(workspace_key(&link), key);
    assert_ne!(workspace_key(dir.path()), key);
    assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{key}");
    assert!(workspace_key(Path::new("/")).starts_with("root-"));
}
