//! plugin.toml: every field, every mistake with its line, and the comparison with what was registered.

use crystal::plugin::manifest::{FileGrant, Language, Manifest, Version};
use serde_json::json;

use crate::plugin::bench::{Bench, Both, each};

#[test]
fn every_field_is_read() {
    let text = r#"
name = "No Force Push"
version = "0.2.0"
description = "Refuses force pushes."
entry = "src/main.rhai"
min_version = "0.1"
enabled = false
required = true
future = "ignored"

[contributes]
events = ["PreToolUse", "PostToolUse:post"]
hooks = ["tool_call"]
tools = ["branch_name"]
protocols = []

[permissions]
files = ["workspace:read", "data"]
run = ["git"]
net = ["api.example.com"]
env = ["CI"]
model = true

[limits]
memory_mb = 32

[settings]
branches = ["main"]
deep = { a = 1.5, b = [true] }
"#;
    let manifest = Manifest::parse("no-force-push", text).unwrap();
    assert_eq!(manifest.name, "No Force Push");
    assert_eq!(
        (manifest.version.as_str(), manifest.description.as_str()),
        ("0.2.0", "Refuses force pushes.")
    );
    assert_eq!((manifest.entry.as_str(), manifest.language), ("src/main.rhai", Language::Rhai));
    assert_eq!(manifest.min_version, Some(Version(0, 1, 0)));
    assert!(!manifest.enabled && manifest.required);
    assert_eq!(manifest.contributes.list("events").unwrap(), ["PreToolUse", "PostToolUse:post"]);
    assert_eq!(manifest.contributes.list("tools").unwrap(), ["branch_name"]);
    assert_eq!(manifest.contributes.list("commands"), None);
    assert_eq!(manifest.permissions.files, [FileGrant::WorkspaceRead, FileGrant::Data]);
    assert_eq!(manifest.permissions.run, ["git"]);
    assert_eq!(manifest.permissions.net, ["api.example.com"]);
    assert_eq!(manifest.permissions.env, ["CI"]);
    assert!(manifest.permissions.model);
    assert_eq!(manifest.memory_mb, 32);
    assert_eq!(manifest.settings, json!({ "branches": ["main"], "deep": { "a": 1.5, "b": [true] } }));
}

#[test]
fn what_is_left_out_has_its_default() {
    let manifest = Manifest::parse("small", "entry = \"init.lua\"").unwrap();
    assert_eq!((manifest.name.as_str(), manifest.language), ("small", Language::Luau));
    assert!(manifest.enabled && !manifest.required && !manifest.permissions.model);
    assert_eq!((manifest.memory_mb, manifest.settings), (64, json!({})));
    assert!(manifest.permissions.run.is_empty() && manifest.contributes.list("tools").is_none());
}

#[test]
fn every_mistake_names_its_line() {
    let cases = [
        ("name = \"x\"", "plugin.toml:1: 'entry' is missing"),
        ("entry = \"main.py\"", "plugin.toml:1: entry 'main.py' ends in neither .lua nor .rhai"),
        ("entry = 3", "plugin.toml:1: 'entry' must be text"),
        ("\n\nentry = ", "plugin.toml:3: "),
        ("entry = \"a.lua\"\nenabled = \"no\"", "plugin.toml:2: 'enabled' must be true or false"),
        (
            "entry = \"a.lua\"\nmin_version = \"99.0.0\"",
            "plugin.toml:2: it needs Crystal 99.0.0, and this is ",
        ),
        ("entry = \"a.lua\"\nmin_version = \"new\"", "plugin.toml:2: 'new' is no version"),
        (
            "entry = \"a.lua\"\n[limits]\nmemory_mb = 0",
            "plugin.toml:3: 'memory_mb' must be a whole number from 1 to 4096",
        ),
        ("entry = \"a.lua\"\n[contributes]\ntools = \"x\"", "plugin.toml:3: 'tools' must be a list of texts"),
        (
            "entry = \"a.lua\"\n[contributes]\n\ntools = [\"a b\"]",
            "plugin.toml:4: 'a b' is no name for tools",
        ),
        (
            "entry = \"a.lua\"\n[contributes]\ntools = [\"a\", \"a\"]",
            "plugin.toml:3: 'tools' names 'a' twice",
        ),
        (
            "entry = \"a.lua\"\n[contributes]\nevents = [\"PreToolUse:late\"]",
            "plugin.toml:3: 'PreToolUse:late' is no name for events",
        ),
        ("entry = \"a.lua\"\n[permissions]\nfiles = [\"all\"]", "plugin.toml:3: 'all' is no file permission"),
        (
            "entry = \"a.lua\"\n[permissions]\nrun = [\"/bin/sh\"]",
            "plugin.toml:3: '/bin/sh' is no program name",
        ),
        ("entry = \"a.lua\"\nlimits = 3", "plugin.toml:2: 'limits' must be a table"),
        (
            "entry = \"a.lua\"\n[settings]\nday = 2020-01-01",
            "plugin.toml:3: 'day' holds what settings cannot",
        ),
    ];
    for (text, expected) in cases {
        let error = Manifest::parse("p", text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error} instead of {expected}");
    }
}

#[test]
fn lists_must_match_what_was_registered() {
    each(async |language| {
        let source = Both {
            luau: "crystal.tool { name = 'a', description = 'd', run = print }",
            rhai: "crystal::tool(#{ name: \"a\", description: \"d\", run: || \"\" });",
        };
        let entry = language.entry();
        let cases = [
            ("tools = [\"a\"]", None),
            ("", None),
            ("tools = [\"a\", \"b\"]", Some("plugin.toml:3: [contributes] tools names 'b', which")),
            ("tools = []", Some("registers 'a', which [contributes] tools does not name")),
            ("protocols = [\"x\"]", Some("plugin.toml:3: [contributes] protocols names 'x', which")),
        ];
        for (list, expected) in cases {
            let bench = Bench::new();
            bench.file("p", "plugin.toml", format!("entry = \"{entry}\"\n[contributes]\n{list}\n"));
            bench.file("p", entry, source.of(language));
            let error = bench.load("p").await.err().map(|error| error.to_string());
            match expected {
                None => assert_eq!(error, None),
                Some(words) => assert!(error.as_deref().unwrap_or("").contains(words), "{error:?}"),
            }
        }
    });
}

#[test]
fn a_directory_without_a_manifest_is_no_plugin() {
    each(async |language| {
        let bench = Bench::new();
        bench.file("p", language.entry(), "");
        let error = bench.load("p").await.err().unwrap().to_string();
        assert_eq!(error, "plugin 'p' was left out: 'plugin.toml' is not in the plugin directory");
        assert!(bench.load("nowhere").await.err().unwrap().to_string().contains("cannot be opened"));
    });
}
