//! Dependencies are permissive, and docs/third-party.md lists them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than a notice. Any one alternative of an `OR` is enough.
const PERMISSIVE: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
];

/// Crates whose licence is not in the list above, and why each may stay.
const EXCEPTIONS: &[(&str, &str)] = &[("smartstring", "MPL-2.0: used unchanged, below Rhai")];

fn permissive(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|all| {
        all.trim()
            .trim_matches(['(', ')'])
            .split(" OR ")
            .any(|one| PERMISSIVE.contains(&one.trim().trim_matches(['(', ')'])))
    })
}

fn dependencies() -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let used: Vec<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package["name"] != "crystal" && used.contains(&package["id"].as_str().unwrap()))
        .map(|package| {
            let name =
                format!("{} {}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
            (name, package["license"].as_str().unwrap_or("none stated").to_owned())
        })
        .collect()
}

#[test]
fn every_dependency_is_permissive_and_listed() {
    let found = dependencies();
    assert!(found.len() > 100);
    let mut page = String::from(
        "# Third-party licences\n\nWhat Crystal is built from, with each licence as its authors state it. Generated; a test keeps it true.\n\n| crate | licence |\n|---|---|\n",
    );
    for (name, licence) in &found {
        let known = EXCEPTIONS.iter().any(|(exception, _)| name.split(' ').next() == Some(exception));
        assert!(
            permissive(licence) || known,
            "{name} has the licence {licence}: not permissive and not a named exception"
        );
        writeln!(page, "| {name} | {licence} |").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/third-party.md");
    if fs::read_to_string(&path).unwrap_or_default() != page {
        fs::write(&path, page).unwrap();
        panic!("docs/third-party.md was stale and has been written again: commit it");
    }
}

#[test]
fn one_alternative_is_enough_and_every_conjunct_counts() {
    assert!(permissive("GPL-3.0 OR MIT"));
    assert!(permissive("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!permissive("MIT AND GPL-3.0"));
    assert!(!permissive("MPL-2.0"));
}
