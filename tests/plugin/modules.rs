//! `require` and `import`: the plugin's own files and the standard library, nothing else.

use serde_json::json;

use crate::plugin::bench::{Bench, Both, Language, Loaded, each};

/// A module that is the text `inside`, or a function that gives it.
fn module(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Luau => ("lua", "return function() return 'inside' end"),
        Language::Rhai => ("rhai", "fn get() { \"inside\" }"),
    }
}

fn load(language: Language, name: &str) -> String {
    match language {
        Language::Luau => format!(
            "local get = require('{name}')\ncrystal.tool {{ name = 't', description = 'd', run = function() return get() end }}"
        ),
        Language::Rhai => format!(
            "import \"{name}\" as m;\ncrystal::tool(#{{ name: \"t\", description: \"d\", run: || m::get() }});"
        ),
    }
}

/// Why a module is refused.
async fn refusal(bench: &Bench, language: Language, name: &str) -> String {
    let error = bench.plugin(language, &load(language, name)).await.err();
    let error = error.unwrap_or_else(|| panic!("{name} was loaded")).to_string();
    assert!(error.contains(&format!("{}:1: ", language.entry())), "{error}");
    error
}

#[test]
fn modules_of_the_plugin_load_by_every_spelling() {
    each(async |language| {
        let (extension, source) = module(language);
        for (file, name) in [
            ("a.", "a"),
            ("a.", "./a"),
            ("lib/a.", "lib.a"),
            ("lib/a.", "lib/a"),
            ("deep/er/init.", "deep/er"),
        ] {
            let bench = Bench::new();
            bench.file("p", &format!("{file}{extension}"), source);
            let plugin = Loaded(bench.plugin(language, &load(language, name)).await.unwrap());
            assert_eq!(plugin.ask(json!({})).await.text, "inside", "{name}");
        }
    });
}

#[test]
fn a_module_runs_once() {
    each(async |language| {
        let bench = Bench::new();
        let source = Both {
            luau: "print('loaded') return function() return 'x' end",
            rhai: "print(\"loaded\"); fn get() { \"x\" }",
        };
        bench.file("p", &format!("a.{}", module(language).0), source.of(language));
        let twice =
            Both { luau: "require('a') require('./a')", rhai: "import \"a\" as a; import \"./a\" as b;" };
        bench.plugin(language, twice.of(language)).await.unwrap();
        assert_eq!(bench.lines(), ["p: loaded"]);
    });
}

#[test]
fn nothing_outside_the_plugin_loads() {
    each(async |language| {
        let (extension, source) = module(language);
        let bench = Bench::new();
        bench.file("other", &format!("a.{extension}"), source);
        let outside = bench.directory("other").join("a");
        for name in
            ["../other/a", "lib/../../other/a", outside.to_str().unwrap(), "a/", "", "..", "~/a", "a\\\\b"]
        {
            let error = refusal(&bench, language, name).await;
            assert!(error.contains("inside the plugin directory"), "{error}");
        }
        let error = refusal(&bench, language, "nowhere").await;
        assert!(error.contains("is not in the plugin directory"), "{error}");
    });
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_nor_in() {
    use std::os::unix::fs::symlink;
    each(async |language| {
        let (extension, source) = module(language);
        let bench = Bench::new();
        bench.file("other", &format!("a.{extension}"), source).file("p", &format!("own.{extension}"), source);
        symlink(
            bench.directory("other").join(format!("a.{extension}")),
            bench.directory("p").join(format!("file.{extension}")),
        )
        .unwrap();
        symlink(bench.directory("other"), bench.directory("p").join("folder")).unwrap();
        symlink(
            bench.directory("p").join(format!("own.{extension}")),
            bench.directory("p").join(format!("alias.{extension}")),
        )
        .unwrap();
        for name in ["file", "folder/a", "alias"] {
            let error = refusal(&bench, language, name).await;
            assert!(error.contains("through a link"), "{error}");
        }
        // The entry script is a file like any other.
        bench.script("q", language, "");
        std::fs::remove_file(bench.directory("q").join(language.entry())).unwrap();
        symlink(bench.directory("p").join(language.entry()), bench.directory("q").join(language.entry()))
            .unwrap();
        assert!(bench.load("q").await.err().unwrap().to_string().contains("through a link"));
    });
}

#[test]
fn a_named_pipe_does_not_hold_the_load() {
    each(async |language| {
        let (extension, _) = module(language);
        let bench = Bench::new();
        bench.script("p", language, "");
        let pipe = bench.directory("p").join(format!("pipe.{extension}"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let error = refusal(&bench, language, "pipe").await;
        assert!(error.contains("no regular file"), "{error}");
    });
}

#[test]
fn circles_are_errors() {
    each(async |language| {
        let bench = Bench::new();
        let extension = module(language).0;
        let circle = |to: &str| match language {
            Language::Luau => format!("require('{to}')"),
            Language::Rhai => format!("import \"{to}\" as x;"),
        };
        bench.file("p", &format!("a.{extension}"), circle("b")).file(
            "p",
            &format!("b.{extension}"),
            circle("a"),
        );
        let error = bench.plugin(language, &circle("a")).await.err().unwrap().to_string();
        assert!(
            error.contains("directly or in a circle") && error.contains(&format!("b.{extension}:1: ")),
            "{error}"
        );
    });
}

#[test]
fn an_error_in_a_module_names_the_module() {
    each(async |language| {
        let bench = Bench::new();
        let extension = module(language).0;
        let source = Both { luau: "\nlocal x = nil\nx.y()", rhai: "\nlet x = ();\nx.y();" };
        bench.file("p", &format!("lib/a.{extension}"), source.of(language));
        let load = Both { luau: "require('lib.a')", rhai: "import \"lib/a\" as a;" };
        let error = bench.plugin(language, load.of(language)).await.err().unwrap().to_string();
        assert!(error.contains(&format!("left out: lib/a.{extension}:3: ")), "{error}");
    });
}

#[test]
fn the_text_module_is_the_same_in_both_languages() {
    each(async |language| {
        let body = Both {
            luau: "local t = require('crystal.text')
                   return table.concat({ t.trim('  a b '), table.concat(t.lines('x\\r\\ny\\n'), '|'), #t.lines(''), #t.words(' a  b '),
                       tostring(t.starts_with('abc', 'ab')), tostring(t.ends_with('abc', '')), tostring(t.contains('a.c', '.')),
                       t.replace('a.a', '.', '%'), t.replace('aa', '', 'x'), t.cut('grün', 3), t.cut('grün', 4) }, ';')",
            rhai: "import \"crystal/text\" as t;
                   let parts = [t::trim(\"  a b \"), t::lines(\"x\\r\\ny\\n\").reduce(|all, line| if all == () { line } else { all + \"|\" + line }),
                       t::lines(\"\").len(), t::words(\" a  b \").len(),
                       t::starts_with(\"abc\", \"ab\"), t::ends_with(\"abc\", \"\"), t::contains(\"a.c\", \".\"),
                       t::replace(\"a.a\", \".\", \"%\"), t::replace(\"aa\", \"\", \"x\"), t::cut(\"grün\", 3), t::cut(\"grün\", 4)];
                   let out = \"\"; for part in parts { out += if out == \"\" { \"\" } else { \";\" } + part; } out",
        };
        let output = Bench::new().tool(language, body.of(language)).await.ask(json!({})).await;
        assert_eq!(output.text, "a b;x|y;0;2;true;true;true;a%a;aa;grü…;grün");
    });
}
