//! Finding files by name.

use std::time::{Duration, SystemTime};

use crystal::model::port::Reach;
use crystal::tool::glob::Glob;
use crystal::tool::{Output, Tool};
use serde_json::json;

use super::given::{Given, again_as_nobody, role};

async fn glob(given: &Given, pattern: &str) -> Output {
    given.call(&Glob::default(), json!({ "pattern": pattern })).await
}

async fn found(given: &Given, pattern: &str) -> Vec<String> {
    let output = glob(given, pattern).await;
    assert!(!output.failed, "{}", output.text);
    let mut lines: Vec<String> = output.text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn patterns_match_as_a_shell_would() {
    let given = Given::workspace();
    for file in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.txt", ".hidden/e.rs", ".git/f.rs"] {
        given.file(file, "");
    }
    for (pattern, expected) in [
        ("*.rs", &["a.rs"][..]),
        ("./*.rs", &["a.rs"]),
        ("**/*.rs", &[".hidden/e.rs", "a.rs", "src/b.rs", "src/deep/c.rs"]),
        ("src/*.rs", &["src/b.rs"]),
        ("src/**/*.{rs,txt}", &["src/b.rs", "src/deep/c.rs", "src/deep/d.txt"]),
        ("src/d??p/[cx].rs", &["src/deep/c.rs"]),
        ("**/deep/*", &["src/deep/c.rs", "src/deep/d.txt"]),
        ("src/b.rs", &["src/b.rs"]),
    ] {
        assert_eq!(found(&given, pattern).await, expected, "{pattern}");
    }
    let absolute = format!("{}/src/*.rs", given.root().display());
    assert_eq!(found(&given, &absolute).await, ["src/b.rs"]);
    let output = given.call(&Glob::default(), json!({ "pattern": "*.rs", "path": "src" })).await;
    assert_eq!(output.text, "src/b.rs");
}

#[tokio::test]
async fn the_newest_come_first_and_a_thousand_at_most() {
    let given = Given::workspace();
    let now = SystemTime::now();
    for number in 0..1005u64 {
        let name = format!("{number:04}.txt");
        given.file(&name, "");
        let file = std::fs::File::options().write(true).open(given.root().join(name)).unwrap();
        file.set_modified(now - Duration::from_secs(number)).unwrap();
    }
    let output = glob(&given, "*.txt").await;
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!((lines[0], lines[1], lines[999]), ("0000.txt", "0001.txt", "0999.txt"));
    assert!(lines[1000].contains("the newest 1000 of 1005 files are listed"), "{}", lines[1000]);
    assert_eq!(lines.len(), 1001);
}

/// anomalyco/opencode#31994
#[tokio::test]
async fn an_ignored_file_is_found_by_its_path_and_never_denied() {
    let given = Given::workspace();
    given.file(".gitignore", "dist/\n").file("dist/app.js", "").file("src/app.js", "");
    assert_eq!(found(&given, "dist/app.js").await, ["dist/app.js"]);
    assert_eq!(found(&given, "**/*.js").await, ["src/app.js"]);
    assert_eq!(
        found(&given, "dist/**/*.js").await,
        ["dist/app.js"],
        "an ignored directory that is named is meant"
    );
    let output = glob(&given, "d*/*.js").await;
    assert!(
        output.text.contains("ignored files were left out: 1 file") && output.text.contains("dist/app.js")
    );
    let output = given.call(&Glob::default(), json!({ "pattern": "*.js", "path": "dist" })).await;
    assert_eq!(output.text, "dist/app.js");
}

#[tokio::test]
async fn a_miss_says_what_may_have_been_meant() {
    let given = Given::workspace();
    given.file("src/deep/a.rs", "");
    let output = glob(&given, "*.rs").await;
    assert!(!output.failed && output.text.starts_with("No files match \"*.rs\" in ."), "{}", output.text);
    assert!(output.text.contains("1 file deeper down would match **/*.rs, such as src/deep/a.rs"));
    let output = glob(&given, "sr*").await;
    assert!(output.text.contains("only directories match: src/"), "{}", output.text);
    assert!(glob(&given, "none/*.rs").await.text.contains("there is no directory none"));
    for (pattern, part) in [("[", "not valid"), ("*/../*", "`..` after a wildcard"), ("src/{a", "not valid")]
    {
        let output = glob(&given, pattern).await;
        assert!(output.failed && output.text.contains(part), "{pattern}: {}", output.text);
    }
    let output = given.call(&Glob::default(), json!({ "pattern": "*", "path": "nowhere" })).await;
    assert!(output.failed && output.text.contains("no directory nowhere"), "{}", output.text);
}

#[tokio::test]
async fn a_name_with_brackets_is_found_as_it_is() {
    let given = Given::workspace();
    given.file("app/[id]/page.tsx", "").file("new\nline.txt", "");
    assert_eq!(found(&given, "app/[id]/page.tsx").await, ["app/[id]/page.tsx"]);
    assert_eq!(found(&given, "*.txt").await, ["new\\nline.txt"]);
}

/// sindresorhus/globby#136
#[tokio::test]
async fn loops_of_links_end_and_each_file_appears_once() {
    let given = Given::workspace();
    given.file("a/b/f.txt", "needle").link("../..", "a/b/up").link(".", "a/self");
    assert_eq!(found(&given, "**/*.txt").await, ["a/b/f.txt"]);
}

/// octos-org/octos#886, cacheplane/b4run#225
#[tokio::test]
async fn nothing_outside_is_reached_through_links_or_dots() {
    let mut given = Given::workspace();
    std::fs::create_dir(given.outside().join("other")).unwrap();
    std::fs::write(given.outside().join("other/secret.txt"), "").unwrap();
    given.link(given.outside().join("other"), "escape");
    given.link(given.outside().join("other/secret.txt"), "leak.txt").link("nowhere", "dangling.txt");
    given.file("real.txt", "").link("real.txt", "alias.txt");
    for pattern in
        ["escape/*", "escape/secret.txt", "../other/*", "escape/**/*.txt", "leak.txt", "/etc/host*"]
    {
        let output = glob(&given, pattern).await;
        assert!(output.failed && output.text.contains("outside the workspace"), "{pattern}: {}", output.text);
    }
    assert_eq!(found(&given, "**/*.txt").await, ["alias.txt", "real.txt"]);
    given.reach = Reach::Approved;
    let outside = given.outside().join("other/secret.txt").display().to_string();
    assert_eq!(found(&given, "escape/*").await, [outside]);
}

#[tokio::test]
async fn rules_above_the_directory_hold_and_those_above_the_workspace_do_not() {
    let given = Given::workspace();
    std::fs::write(given.outside().join(".gitignore"), "*\n").unwrap();
    given.file(".gitignore", "*.log\n/src/only-here.rs\n").file("src/a.log", "").file("src/b.rs", "");
    given.file("src/only-here.rs", "").file("src/.gitignore", "c.rs\n").file("src/c.rs", "");
    let output = given.call(&Glob::default(), json!({ "pattern": "*", "path": "src" })).await;
    let mut lines: Vec<&str> = output.text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["src/.gitignore", "src/b.rs"]);
}

#[tokio::test]
async fn credentials_are_not_listed() {
    let given = Given::workspace();
    given.file(".ssh/id_rsa", "").file("a.txt", "");
    let output = glob(&given, "**/*").await;
    assert!(!output.text.contains("id_rsa") && output.text.contains("a.txt"), "{}", output.text);
    assert!(output.text.contains("credentials"), "{}", output.text);
    assert!(glob(&given, ".ssh/id_rsa").await.failed);
}

#[test]
fn a_directory_that_cannot_be_read_is_mentioned() {
    let Some(directory) = role() else {
        let temp = tempfile::tempdir().unwrap();
        let output = again_as_nobody("tool::glob::a_directory_that_cannot_be_read_is_mentioned", temp.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(temp.path().join("checked").exists());
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use std::os::unix::fs::PermissionsExt;
        let given = Given::workspace();
        given.file("a.txt", "").file("closed/b.txt", "");
        let closed = given.root().join("closed");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        let output = glob(&given, "**/*.txt").await;
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(output.text.starts_with("a.txt\n[1 file or directory could not be read"), "{}", output.text);
    });
    std::fs::write(directory.join("checked"), "").unwrap();
}

#[tokio::test]
async fn it_only_reads_and_ends_when_cancelled() {
    let given = Given::workspace();
    assert!(Glob::default().concurrent());
    given.cancel.cancel();
    let output = glob(&given, "**/*").await;
    assert!(output.failed && output.text.contains("cancelled"));
}
