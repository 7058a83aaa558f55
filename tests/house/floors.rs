//! A file imports only from its own floor's folder, what that folder lists, or lower floors.

use std::fs;
use std::path::{Path, PathBuf};

/// Floors from the ground up. A path belongs to the longest matching row.
const FLOORS: &[(&str, u8)] = &[
    ("error", 0),
    ("model", 0),
    ("home", 1),
    ("fence", 1),
    ("process", 1),
    ("text", 1),
    ("hook", 2),
    ("provider", 3),
    ("tool", 3),
    ("approval", 3),
    ("plugin", 4),
    ("session", 5),
    ("app", 6),
    ("run", 7),
    ("cli", 8),
    ("lib", 9),
    ("main", 9),
];

/// Pairs on allowed floors that must not know each other all the same: (file, import).
const STRANGERS: &[(&str, &str)] = &[
    ("provider", "tool"),
    ("provider", "approval"),
    ("provider", "hook"),
    ("tool", "provider"),
    ("tool", "approval"),
    ("tool", "hook"),
    ("approval", "provider"),
    ("approval", "tool"),
    ("approval", "hook"),
    ("session", "plugin"),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn part(path: &str) -> &str {
    path.split(['/', '.', ':']).next().unwrap_or(path)
}

fn floor(part: &str) -> u8 {
    FLOORS
        .iter()
        .find(|(name, _)| *name == part)
        .map(|(_, floor)| *floor)
        .unwrap_or_else(|| panic!("{part} has no floor"))
}

/// Every part of the crate that one source text names, whether in a `use` or inline.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            if let Some(list) = rest.strip_prefix('{') {
                found.extend(list.split(',').map(|name| part(name.trim()).to_owned()));
            } else {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                found.push(rest[..end].to_owned());
            }
        }
    }
    found
}

#[test]
fn no_file_imports_from_a_higher_floor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 20, "the source tree was not found");
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let own = part(&name).to_owned();
        let text = fs::read_to_string(&file).unwrap();
        if text.contains("super::super") {
            wrong.push(format!("{name} climbs with super::super"));
        }
        for import in imports(&text) {
            let Some((import, above)) = FLOORS.iter().find(|(known, _)| *known == import) else { continue };
            let stranger = STRANGERS.iter().any(|(from, to)| *from == own && to == import);
            if *above > floor(&own)
                || (*import != own && *above == floor(&own) && floor(&own) > 1)
                || stranger
            {
                wrong.push(format!("{name} imports crate::{import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the floors:\n{}", wrong.join("\n"));
}

#[test]
fn the_check_sees_inline_paths_and_lists() {
    assert_eq!(imports("let x = crate::plugin::vm::Vm::new();"), ["plugin"]);
    assert_eq!(imports("use crate::{session, app::App};"), ["session", "app"]);
    assert!(imports("// crate::plugin is not named here").is_empty());
}

#[test]
fn engines_are_named_in_their_own_files_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        for (engine, home) in [("mlua::", "plugin/lua"), ("rhai::", "plugin/rhai")] {
            let used = text.lines().any(|line| {
                let line = line.trim_start();
                !line.starts_with("//")
                    && line
                        .match_indices(engine)
                        .any(|(at, _)| !line[..at].ends_with("plugin::") && !line[..at].ends_with("crate::"))
            });
            let ours = text.contains(&format!("use crate::plugin::{}", engine.trim_end_matches(':')));
            assert!(!used || ours || name.starts_with(home), "{name} names {engine}");
        }
    }
}
