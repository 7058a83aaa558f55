//! The host table, and that each language shows all of it.

use std::collections::BTreeSet;

use crystal::plugin::host::{HOST, Place};

use crate::plugin::bench::{Bench, Language, each};

/// Words that a script cannot use as a name, in either language.
const RESERVED: &str = "and break do else elseif end false for function if in local nil not or repeat return then true \
    until while continue export type let const is_shared loop switch match fn private import as global this throw try \
    catch eval Fn call curry is_def_fn is_def_var print debug type_of var static shared goto exit case public protected \
    new use with module package super thread spawn go await async sync yield default void null";

#[test]
fn each_language_shows_the_whole_table() {
    each(async |language| {
        let plugin = Bench::new().plugin(language, "").await.unwrap();
        let shown = plugin.registered().vm.exposed().await.unwrap();
        let mut expected: Vec<String> = HOST.iter().map(|function| function.path()).collect();
        expected.sort();
        assert_eq!(shown, serde_json::json!(expected));
    });
}

#[test]
fn every_function_of_the_table_can_be_called_with_each_number_of_arguments() {
    each(async |language| {
        for function in HOST.iter().filter(|function| function.place == Place::Crystal) {
            for count in function.required()..=function.parameters.len() {
                let arguments = vec!["\"7\""; count].join(", ");
                let call = match language {
                    Language::Luau => format!("crystal.{}({arguments})", function.name),
                    Language::Rhai => format!("crystal::{}({arguments});", function.name),
                };
                // It runs, or it says what it wants instead.
                if let Err(error) = Bench::new().plugin(language, &call).await {
                    assert!(error.reason.contains("' must be "), "{call}: {error}");
                }
            }
        }
    });
}

#[test]
fn names_are_unique_usable_and_documented() {
    let reserved: BTreeSet<&str> = RESERVED.split_whitespace().collect();
    let mut seen = BTreeSet::new();
    for function in HOST {
        let path = function.path();
        assert!(seen.insert(path.clone()), "{path} is there twice");
        assert!(!reserved.contains(function.name), "{path} cannot be written in both languages");
        assert!(function.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{path}");
        assert!(function.doc.ends_with('.') && function.doc.len() > 10, "{path} is not documented");
        let optional = function.parameters.iter().skip_while(|parameter| !parameter.optional);
        assert!(optional.into_iter().all(|parameter| parameter.optional), "{path}: required after optional");
        for parameter in function.parameters {
            assert!(!reserved.contains(parameter.name), "{path}: {}", parameter.name);
        }
    }
}
