//! Edits of documents of every shape: only the field meant changes.

use std::path::Path;

use crystal::home::document::{Document, remove, set};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// White space and comments as people scatter them, each comment with a mark of its own.
fn trivia() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\t".to_owned()),
        "[a-z]{6}".prop_map(|mark| format!("/* {mark} */")),
        "[a-z]{6}".prop_map(|mark| format!("// {mark} \"{{\n")),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = String> {
    let simple = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e3".to_owned()),
        Just(r#""a \u0041 \" //b""#.to_owned()),
        Just("true".to_owned()),
    ];
    simple.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec((inner.clone(), trivia()), 0..3)
                .prop_map(|list| format!("[{}]", joined(list.into_iter().map(|(v, t)| format!("{v}{t}"))))),
            prop::collection::vec((trivia(), inner, trivia()), 0..3).prop_map(|fields| {
                let fields = fields.into_iter().enumerate();
                format!("{{{}}}", joined(fields.map(|(i, (a, v, b))| format!("{a}\"k{i}\":{v}{b}"))))
            }),
        ]
    })
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

fn document() -> impl Strategy<Value = String> {
    let field = (trivia(), value(), trivia());
    (prop::bool::ANY, trivia(), prop::collection::vec(field, 0..5), prop::bool::ANY, trivia(), trivia())
        .prop_map(|(mark, before, fields, comma, inside, after)| {
            let some = !fields.is_empty();
            let fields =
                joined(fields.into_iter().enumerate().map(|(i, (a, v, b))| format!("{a}\"f{i}\": {v}{b}")));
            let mark = if mark { "\u{feff}" } else { "" };
            let comma = if comma && some { "," } else { "" };
            format!("{mark}{before}{{{fields}{comma}{inside}}}{after}")
        })
}

fn parsed(text: &str) -> Map<String, Value> {
    Document::parse(Path::new("x"), text.as_bytes()).unwrap().root().clone()
}

fn comments(text: &str) -> Vec<&str> {
    let mut marks: Vec<&str> = text
        .match_indices("/* ")
        .chain(text.match_indices("// "))
        .filter_map(|(at, _)| text.get(at + 3..at + 9))
        .collect();
    marks.sort_unstable();
    marks
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_change_is_the_change_meant_and_nothing_else(text in document(), key in 0..6_usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        let key = format!("f{key}");
        let read = || std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text).unwrap();
        let before = parsed(&text);

        set(&path, &[&key], &json!("new")).unwrap();
        let mut expected = before.clone();
        expected.insert(key.clone(), json!("new"));
        prop_assert_eq!(parsed(&read()), expected);
        prop_assert_eq!(read().starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        if before.get(&key).is_none_or(|old| !old.is_object() && !old.is_array()) {
            let now = read();
            prop_assert_eq!(comments(&now), comments(&text));
        }

        // What has a simple value gets exactly its old bytes back.
        if let Some(old) = before.get(&key).filter(|old| old.is_boolean() || old.is_null()) {
            set(&path, &[&key], old).unwrap();
            prop_assert_eq!(read(), text.clone());
        }

        remove(&path, &[&key]).unwrap();
        let mut expected = before.clone();
        expected.shift_remove(&key);
        prop_assert_eq!(parsed(&read()), expected);
    }
}
