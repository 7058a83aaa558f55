//! Values on their way through a script and back: what a script did not touch comes back token for token.

use std::sync::Mutex;

use crystal::plugin::host::{Answer, Function, Given, Parameter, Place, Scene, Shape, When};
use crystal::plugin::value::{MAX_NODES, Plain, settle};
use serde_json::{Value, json};

use crate::plugin::bench::{Bench, Both, each};

/// A host function `crystal.keep(value)` that remembers what it was given.
fn keeper() -> (Function, &'static Mutex<Vec<Value>>) {
    let kept: &'static Mutex<Vec<Value>> = Box::leak(Box::default());
    let run = move |_: &Scene<'_>, arguments: Vec<Given>| {
        for given in arguments {
            kept.lock().unwrap().push(match given {
                Given::Value(value) => value,
                _ => Value::Null,
            });
        }
        Ok(Answer::Nothing)
    };
    let function = Function {
        place: Place::Crystal,
        name: "keep",
        parameters: &[Parameter { name: "value", shape: Shape::Value, optional: false }],
        result: "",
        permission: None,
        when: When::Always,
        doc: "Remembers.",
        run: Box::leak(Box::new(run)),
    };
    (function, kept)
}

#[test]
fn plain_values_cross_as_they_are() {
    each(async |language| {
        let (function, kept) = keeper();
        let bench = Bench::new().with(function);
        let body = Both { luau: "crystal.keep(args) return 'x'", rhai: "crystal::keep(args); \"x\"" };
        let plugin = bench.tool(language, body.of(language)).await;
        let given = json!({
            "null": null, "yes": true, "text": "grün \u{1F980}\u{0}", "list": [1, null, [], {"a": []}], "empty": [],
            "number": -3, "half": 0.5, "map": {"b": 1, "a": {}},
        });
        let output = plugin.ask(given.clone()).await;
        assert_eq!(output.text, "x");
        let back = kept.lock().unwrap().pop().unwrap();
        assert_eq!(back, given);
    });
}

#[test]
fn what_a_script_makes_itself_is_json() {
    each(async |language| {
        let (function, kept) = keeper();
        let bench = Bench::new().with(function);
        let source = Both {
            luau: "crystal.keep({ list = { 1, 2 }, none = crystal.null, empty = crystal.array {}, table = {},
                                  big = crystal.int '18446744073709551615', whole = 3, part = 2.5 })",
            rhai: "crystal::keep(#{ list: [1, 2], none: (), empty: crystal::array([]), table: #{},
                                    big: crystal::int(\"18446744073709551615\"), whole: 3, part: 2.5 });",
        };
        bench.plugin(language, source.of(language)).await.unwrap();
        let back = kept.lock().unwrap().pop().unwrap();
        let expected = json!({ "list": [1, 2], "none": null, "empty": [], "table": {}, "big": u64::MAX, "whole": 3, "part": 2.5 });
        assert_eq!(back, expected);
        assert!(back["big"].is_u64());
    });
}

#[test]
fn what_has_no_json_is_an_error_that_names_its_place() {
    each(async |language| {
        let (function, _) = keeper();
        let bench = Bench::new().with(function);
        let cases: &[(Both, &str)] = &[
            (
                Both {
                    luau: "crystal.keep { a = { 1, 0/0 } }",
                    rhai: "crystal::keep(#{ a: [1, 0.0/0.0] });",
                },
                "is not a number",
            ),
            (
                Both { luau: "crystal.keep { a = 1/0 }", rhai: "crystal::keep(#{ a: 1.0/0.0 });" },
                "value.a is an infinite number",
            ),
            (
                Both {
                    luau: "crystal.keep { a = { b = print } }",
                    rhai: "crystal::keep(#{ a: #{ b: || 1 } });",
                },
                "value.a.b is a function",
            ),
            (
                Both {
                    luau: "local t = {} for i = 1, 200 do t = { t } end crystal.keep(t)",
                    rhai: "let t = []; for i in 0..200 { t = [t]; } crystal::keep(t);",
                },
                "nested deeper than 128 levels",
            ),
        ];
        for (source, words) in cases {
            let error = bench.plugin(language, source.of(language)).await.err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
            assert!(error.contains(&format!("{}:1: ", language.entry())), "{error}");
        }
    });
}

#[test]
fn tables_that_are_neither_list_nor_map_are_errors() {
    let cases = [
        ("crystal.keep { a = { 1, 2, b = 3 } }", "value.a mixes list items and named fields"),
        ("local t = { 1, 2, 3 } t[5] = 5 crystal.keep(t)", "value is a list with a hole at 4"),
        ("crystal.keep { [0] = 1 }", "value has a number as a key"),
        ("crystal.keep { [true] = 1 }", "value has a boolean as a key"),
        ("crystal.keep { a = '\\255' }", "value.a is not UTF-8 text"),
        ("local t = {} t.self = { t } crystal.keep(t)", "value.self[1] contains itself"),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (function, _) = keeper();
        let bench = Bench::new().with(function);
        for (source, words) in cases {
            let error = bench.plugin(super::bench::Language::Luau, source).await.err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    });
}

#[test]
fn a_value_that_is_small_in_the_script_and_huge_outside_is_refused() {
    each(async |language| {
        let (function, _) = keeper();
        let bench = Bench::new().with(function);
        let source = Both {
            luau: "local t = { 'x' } for i = 1, 60 do t = { t, t } end crystal.keep(t)",
            // Lists are copied, so this one meets the engine's own limits first.
            rhai: "let t = [\"x\"]; for i in 0..60 { t = [t, t]; } crystal::keep(t);",
        };
        let error = bench.plugin(language, source.of(language)).await.err().unwrap().to_string();
        assert!(
            error.contains("larger than") || error.contains("too large") || error.contains("Size of"),
            "{error}"
        );
    });
}

/// What a script returns unchanged after it went through its own kind of numbers.
fn float_only(value: &Value) -> Plain {
    match value {
        Value::Null => Plain::Null,
        Value::Bool(flag) => Plain::Bool(*flag),
        Value::Number(number) => Plain::Number(number.as_f64().unwrap()),
        Value::String(text) => Plain::Text(text.clone()),
        Value::Array(list) if list.is_empty() => Plain::Empty,
        Value::Array(list) => Plain::List(list.iter().map(float_only).collect()),
        Value::Object(map) if map.is_empty() => Plain::Empty,
        Value::Object(map) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, value)| (key.clone(), float_only(value))).collect();
            entries.reverse();
            Plain::Map(entries)
        }
    }
}

const TOKENS: &str = r#"{"z":1.0,"big":9007199254740993,"max":18446744073709551615,"zero":-0.0,"list":[],"map":{},"none":null,"deep":[{"b":1,"a":2.50}],"exp":1e3}"#;

#[test]
fn untouched_values_keep_their_tokens_and_order() {
    let original: Value = serde_json::from_str(TOKENS).unwrap();
    let back = settle(float_only(&original), Some(&original));
    assert_eq!(back.to_string(), original.to_string());
}

#[test]
fn a_changed_value_changes_alone() {
    let original: Value = serde_json::from_str(TOKENS).unwrap();
    let Plain::Map(mut entries) = float_only(&original) else { panic!("an object") };
    for (key, value) in &mut entries {
        match key.as_str() {
            "z" => *value = Plain::Number(2.0),
            "list" => *value = Plain::List(vec![Plain::Number(1.0)]),
            _ => {}
        }
    }
    entries.retain(|(key, _)| key != "none");
    entries.push(("new".into(), Plain::Empty));
    entries.push(("also".into(), Plain::Number(9_007_199_254_740_994.0)));
    let back = settle(Plain::Map(entries), Some(&original));
    let expected = r#"{"z":2,"big":9007199254740993,"max":18446744073709551615,"zero":-0.0,"list":[1],"map":{},"deep":[{"b":1,"a":2.5}],"exp":1000.0,"also":9007199254740994.0,"new":{}}"#;
    assert_eq!(back.to_string(), expected);
}

#[test]
fn an_engine_with_integers_keeps_them_apart_from_floats() {
    let original = json!({ "a": 1, "b": 1.0 });
    let changed = Plain::Map(vec![("a".into(), Plain::Float(1.0)), ("b".into(), Plain::Int(1))]);
    assert_eq!(settle(changed, Some(&original)).to_string(), r#"{"a":1.0,"b":1}"#);
}

#[test]
fn a_list_beyond_the_budget_is_refused_before_it_fills_memory() {
    each(async |language| {
        let (function, kept) = keeper();
        let bench = Bench::new().with(function);
        let source = Both {
            luau: "local t = table.create(250000, true) crystal.keep(t)",
            rhai: "let t = []; t.pad(45000, true); crystal::keep([t, t, t, t, t]);",
        };
        let error = bench.plugin(language, source.of(language)).await.err().unwrap().to_string();
        assert!(error.contains(&MAX_NODES.to_string()) || error.contains("too large"), "{error}");
        assert!(kept.lock().unwrap().is_empty());
    });
}

#[test]
fn a_value_returned_untouched_comes_back_token_for_token() {
    use crystal::plugin::vm::message::{Call, Given as Input};
    each(async |language| {
        let body = Both { luau: "args.seen = true return args", rhai: "args.seen = true; args" };
        let plugin = Bench::new().tool(language, body.of(language)).await;
        let original: Value = serde_json::from_str(TOKENS).unwrap();
        let call = Call {
            function: plugin.0.contributions()[0].function,
            name: "t".into(),
            arguments: vec![Input::Value(original.clone()), Input::Value(json!({}))],
            deadline: None,
            original: Some(original.clone()),
        };
        let back = plugin.0.registered().vm.call(call).await.unwrap();
        let mut expected = original;
        expected["seen"] = true.into();
        assert_eq!(back.to_string(), expected.to_string());
    });
}
