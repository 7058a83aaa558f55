//! Arguments and tool names that are nearly right are understood; the others get an error that says what is.

use crystal::model::request::ToolSpec;
use crystal::tool::schema::{Schemas, resolve};
use serde_json::{Value, json};

use crate::tool::desk::Desk;

fn spec(schema: Value) -> ToolSpec {
    ToolSpec { name: "t".into(), description: "".into(), schema: schema.into() }
}

/// earendil-works/pi#783, hotovo/aider-desk#814
#[tokio::test]
async fn numbers_as_strings_are_read_and_the_rest_is_named() {
    let desk = Desk::new();
    desk.put("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    for offset in [json!("10"), json!(10), json!(10.0), json!(" 10 ")] {
        let text = desk.done("read", json!({"path": "f", "offset": offset, "limit": "1"})).await.text;
        assert!(text.starts_with("    10\t10\n<lines 11-11"), "{text}");
    }
    for (name, value) in [
        ("offset", json!("abc")),
        ("offset", json!(-1)),
        ("limit", json!(0)),
        ("offset", json!(1e20)),
        ("offset", json!(1.5)),
        ("offset", json!("1e3")),
        ("offset", json!("")),
        ("offset", json!(true)),
        ("offset", json!([1])),
    ] {
        let text = desk.refused("read", json!({"path": "f", name: value})).await;
        assert!(
            text.contains(&format!("`{name}`")) && text.contains("an integer of at least 1"),
            "{value}: {text}"
        );
    }
}

/// earendil-works/pi#783
#[tokio::test]
async fn booleans_as_strings_mean_what_they_say() {
    let desk = Desk::new();
    desk.put("f", "a a\n");
    let edit = |all: Value| json!({"path": "f", "old_string": "a", "new_string": "b", "replace_all": all});
    assert!(desk.refused("edit", edit(json!("false"))).await.contains("2 times"));
    assert!(desk.refused("edit", edit(json!("no"))).await.contains("`replace_all`"));
    assert!(desk.refused("edit", edit(json!(0))).await.contains("true or false"));
    desk.done("edit", edit(json!("true"))).await;
    assert_eq!(desk.get("f"), b"b b\n");
}

#[test]
fn only_certain_conversions_are_made() {
    let schemas = Schemas::default();
    let spec = spec(json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"}, "either": {"type": ["string", "integer"]}, "list": {"type": "array"},
            "ratio": {"type": "number"}, "none": {"type": ["integer", "null"]}
        },
        "required": ["text"]
    }));
    let check = |arguments: Value| schemas.check(&spec, arguments.as_object().unwrap().clone());
    let given = json!({"text": "10", "either": "10", "none": null});
    assert_eq!(Value::Object(check(given.clone()).unwrap()), given);
    let made = check(json!({"text": "", "ratio": "1.5", "list": null, "none": "7"})).unwrap();
    assert_eq!(Value::Object(made), json!({"text": "", "ratio": 1.5, "none": 7}));
    for wrong in [json!({"text": 10}), json!({"text": null}), json!({"text": "", "list": "[1]"})] {
        assert!(check(wrong.clone()).is_err(), "{wrong}");
    }
}

/// MoonshotAI/kimi-code#819
#[tokio::test]
async fn unknown_and_missing_parameters_are_told_with_what_is_valid() {
    let desk = Desk::new();
    desk.put("f", "x\n");
    let text = desk.refused("read", json!({"path": "f", "line_offset": 3})).await;
    assert!(text.contains("`line_offset`") && text.contains("valid are path, offset, limit"), "{text}");
    let text = desk.refused("write", json!({"path": "f", "content": "x"})).await;
    assert!(text.contains("perhaps contents was meant"), "{text}");
    assert!(text.contains("`contents` is missing; it must be a string"), "{text}");
    assert_eq!(desk.get("f"), b"x\n");
}

#[test]
fn a_broken_schema_is_an_error_and_no_crash() {
    let text = Schemas::default().check(&spec(json!({"type": 7})), serde_json::Map::new()).unwrap_err();
    assert!(text.contains("schema of the tool t is broken"), "{text}");
}

/// evalstate/fast-agent#913, aliasrobotics/cai#405
#[test]
fn a_tool_name_is_resolved_or_the_real_ones_are_listed() {
    let names = ["read", "grep", "todowrite", "Odd", "odd"];
    for (name, tool) in
        [("read", "read"), ("Read", "read"), ("todo_write", "todowrite"), ("Odd", "Odd"), ("odd", "odd")]
    {
        assert_eq!(resolve(name, &names), Ok(tool));
    }
    for (name, part) in [
        ("generic_command", "read, grep, todowrite"),
        ("ODD", "there is no tool"),
        ("reed", "did you mean read?"),
        ("", "there is no tool"),
    ] {
        let text = resolve(name, &names).unwrap_err();
        assert!(text.contains(part), "{text}");
    }
}
