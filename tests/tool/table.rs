//! The table of built-in tools says the same as the tools.

use std::collections::HashSet;

use crate::tool::given::kit;
use crystal::tool::TOOLS;

#[test]
fn every_row_is_a_tool_of_that_name_with_words_and_a_strict_schema() {
    let mut names = HashSet::new();
    for row in TOOLS {
        let tool = (row.new)(&kit());
        let spec = tool.spec();
        assert_eq!(&*spec.name, row.name);
        assert!(names.insert(row.name), "{} twice", row.name);
        assert!(row.name.chars().all(|char| char.is_ascii_lowercase()));
        assert!(spec.description.ends_with('.') && spec.description.len() < 800, "{}", row.name);
        assert_eq!(spec.schema["type"], "object");
        assert_eq!(spec.schema["additionalProperties"], false);
        assert!(jsonschema::meta::is_valid(&spec.schema), "{}", row.name);
        for (field, schema) in spec.schema["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string() || schema["items"].is_object(), "{}.{field}", row.name);
        }
        assert!(tool.catalogs().work);
    }
}

#[test]
fn plan_offers_no_tool_that_changes_the_workspace() {
    let planned: Vec<_> =
        TOOLS.iter().filter(|row| (row.new)(&kit()).catalogs().plan).map(|row| row.name).collect();
    for name in ["edit", "write", "bash"] {
        assert!(!planned.contains(&name), "{name}");
    }
    for name in ["read", "glob", "grep", "todowrite", "todoread", "question"] {
        assert!(planned.contains(&name), "{name}");
    }
}

#[test]
fn only_tools_that_just_read_run_at_once() {
    for row in TOOLS {
        let changes = ["edit", "write", "bash", "todowrite", "question"].contains(&row.name);
        assert_eq!((row.new)(&kit()).concurrent(), !changes, "{}", row.name);
    }
}
