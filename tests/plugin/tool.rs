//! Tools that scripts offer: registration, results, cancel, life and death of their VM.

use std::time::Duration;

use crystal::plugin::register::Images;
use crystal::plugin::vm::fault::Health;
use serde_json::json;

use crate::plugin::bench::{Bench, Both, Loaded, context, each, run};

#[test]
fn a_tool_returns_text() {
    each(async |language| {
        let body = Both {
            luau: "return 'hello ' .. args.name .. ' in ' .. ctx.session",
            rhai: "\"hello \" + args.name + \" in \" + ctx.session",
        };
        let bench = Bench::new();
        let output = bench.tool(language, body.of(language)).await.ask(json!({ "name": "Ada" })).await;
        assert_eq!(output.text, "hello Ada in s1");
        assert!(!output.failed);
    });
}

#[test]
fn state_lives_between_calls() {
    each(async |language| {
        let source = Both {
            luau: "local n = 0
                   crystal.tool { name = 't', description = 'd', run = function() n += 1 return tostring(n) end }",
            rhai: "let n = 0;
                   crystal::tool(#{ name: \"t\", description: \"d\", run: |args, ctx| { n += 1; n.to_string() } });",
        };
        let bench = Bench::new();
        let plugin = Loaded(bench.plugin(language, source.of(language)).await.unwrap());
        plugin.ask(json!({})).await;
        assert_eq!(plugin.ask(json!({})).await.text, "2");
    });
}

#[test]
fn an_error_names_plugin_file_and_line() {
    each(async |language| {
        let body = Both { luau: "\nerror('no such branch')", rhai: "\nthrow \"no such branch\";" };
        let output = Bench::new().tool(language, body.of(language)).await.ask(json!({})).await;
        assert!(output.failed);
        let place = format!("{}:3: no such branch", language.entry());
        assert!(output.text.contains(&place), "{}", output.text);
        assert!(output.text.starts_with("tool 't' of plugin 'p' failed: "), "{}", output.text);
    });
}

#[test]
fn a_result_that_is_no_text_is_refused() {
    each(async |language| {
        for body in
            [Both { luau: "return 42", rhai: "42" }, Both { luau: "return { a = 1 }", rhai: "#{ a: 1 }" }]
        {
            let output = Bench::new().tool(language, body.of(language)).await.ask(json!({})).await;
            assert!(output.failed && output.text.contains("result"), "{}", output.text);
        }
    });
}

#[test]
fn images_are_kept_for_a_model_that_takes_them() {
    // The signature of a PNG file.
    let data = "iVBORw0KGgo=";
    each(async |language| {
        let body = Both {
            luau: "return { text = 'seen', images = { { media_type = 'image/png', data = args.data } } }",
            rhai: "#{ text: \"seen\", images: [#{ media_type: \"image/png\", data: args.data }] }",
        };
        let bench = Bench::new();
        let plugin = bench.tool(language, body.of(language)).await;
        let output = plugin.ask(json!({ "data": data })).await;
        assert_eq!((output.text.as_str(), output.images.len()), ("seen", 1));
        let mut cx = bench.context();
        cx.accepts_images = false;
        let output = run(&*plugin.tool(), &json!({ "data": data }), &cx).await;
        assert_eq!((output.text.as_str(), output.images.len()), ("seen", 0));
    });
}

#[test]
fn a_tool_is_offered_as_it_was_registered() {
    each(async |language| {
        let source = Both {
            luau: "crystal.tool { name = 'a', description = 'first', catalogs = { 'plan', 'work' },
                       schema = { properties = { x = { type = 'number' } }, required = { 'x' } },
                       run = function() return '' end }
                   crystal.tool { name = 'b', description = 'second', images = true, run = function() return '' end }
                   crystal.tool { name = 'a', description = 'again', run = function() return '' end }",
            rhai: "crystal::tool(#{ name: \"a\", description: \"first\", catalogs: [\"plan\", \"work\"],
                       schema: #{ properties: #{ x: #{ type: \"number\" } }, required: [\"x\"] },
                       run: || \"\" });
                   crystal::tool(#{ name: \"b\", description: \"second\", images: true, run: || \"\" });
                   crystal::tool(#{ name: \"a\", description: \"again\", run: || \"\" });",
        };
        let plugin = Bench::new().plugin(language, source.of(language)).await.unwrap();
        let tools = plugin.registered().tools(Images::Taken);
        let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(&*tools[0].spec().description, "first");
        assert!(tools[0].catalogs().plan && tools[0].catalogs().work);
        assert!(!tools[1].catalogs().plan && tools[1].catalogs().work);
        let schema =
            json!({ "properties": { "x": { "type": "number" } }, "required": ["x"], "type": "object" });
        assert_eq!(*tools[0].spec().schema, schema);
        assert_eq!(plugin.registered().tools(Images::Refused).len(), 1);
        assert_eq!(
            plugin.registered().notes(),
            ["Plugin 'p' registers 'a' twice in tools; the first one counts."]
        );
    });
}

#[test]
fn a_bad_registration_is_an_error_with_its_line() {
    each(async |language| {
        let cases = [
            (
                Both {
                    luau: "crystal.tool { name = '1st', description = 'd', run = print }",
                    rhai: "crystal::tool(#{ name: \"1st\", description: \"d\", run: || 1 });",
                },
                "'1st' is no tool name",
            ),
            (
                Both {
                    luau: "crystal.tool { name = 'a', run = print }",
                    rhai: "crystal::tool(#{ name: \"a\", run: || 1 });",
                },
                "'description' is missing",
            ),
            (
                Both {
                    luau: "crystal.tool { name = 'a', description = 'd' }",
                    rhai: "crystal::tool(#{ name: \"a\", description: \"d\" });",
                },
                "'run' must be a function",
            ),
            (
                Both {
                    luau: "crystal.tool { name = 'a', description = 'd', runs = print }",
                    rhai: "crystal::tool(#{ name: \"a\", description: \"d\", runs: || 1 });",
                },
                "'runs' is no field",
            ),
            (
                Both {
                    luau: "crystal.tool { name = 'a', description = 'd', run = print, catalogs = { 'all' } }",
                    rhai: "crystal::tool(#{ name: \"a\", description: \"d\", run: || 1, catalogs: [\"all\"] });",
                },
                "it knows \"plan\" and \"work\"",
            ),
            (Both { luau: "crystal.tool('a')", rhai: "crystal::tool(\"a\");" }, "'tool' must be a table"),
            (
                Both {
                    luau: "crystal.protocol { name = 'Open AI', stream = print }",
                    rhai: "crystal::protocol(#{ name: \"Open AI\", stream: || 1 });",
                },
                "is no protocol token",
            ),
        ];
        for (source, words) in cases {
            let error = Bench::new().plugin(language, source.of(language)).await.err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
            assert!(error.contains(&format!("'p' was left out: {}:1: ", language.entry())), "{error}");
        }
    });
}

#[test]
fn nothing_is_registered_after_loading() {
    each(async |language| {
        let body = Both {
            luau: "crystal.tool { name = 'late', description = 'd', run = print } return 'done'",
            rhai: "crystal::tool(#{ name: \"late\", description: \"d\", run: || 1 }); \"done\"",
        };
        let plugin = Bench::new().tool(language, body.of(language)).await;
        let output = plugin.ask(json!({})).await;
        assert!(output.failed);
        assert!(
            output.text.contains("crystal.tool works only while the entry script runs"),
            "{}",
            output.text
        );
        assert_eq!(plugin.0.contributions().len(), 1);
    });
}

#[test]
fn a_cancelled_call_stops_and_the_next_one_works() {
    each(async |language| {
        let body =
            Both { luau: "while args.spin do end return 'fine'", rhai: "while args.spin { } \"fine\"" };
        let bench = Bench::new();
        let plugin = bench.tool(language, body.of(language)).await;
        let cx = context(bench.folder.path());
        let tool = plugin.tool();
        let spin = json!({ "spin": true });
        let spinning = run(&*tool, &spin, &cx);
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            cx.cancel.cancel();
        };
        let (output, ()) = tokio::join!(spinning, cancel);
        assert!(output.failed && output.text.contains("cancelled"), "{}", output.text);
        assert_eq!(plugin.ask(json!({ "spin": false })).await.text, "fine");
        assert_eq!(plugin.0.health(), Health::Live);
    });
}

#[test]
fn one_plugins_loop_does_not_keep_another_waiting() {
    each(async |language| {
        let bench = Bench::new();
        let spin = Both { luau: "while true do end", rhai: "loop { }" };
        let hungry = bench.tool(language, spin.of(language)).await;
        let quick = Both { luau: "return 'quick'", rhai: "\"quick\"" };
        bench.script("q", language, &language.tool(quick.of(language)));
        let quick = Loaded(bench.load("q").await.unwrap());
        let both = async {
            let mut texts = Vec::new();
            for _ in 0..20 {
                texts.push(quick.ask(json!({})).await.text);
            }
            texts
        };
        let (spun, texts) = tokio::join!(hungry.call(json!({}), Duration::from_millis(200)), both);
        assert!(spun.text.contains("ran for longer than its limit of 200 ms"), "{}", spun.text);
        assert!(texts.iter().all(|text| text == "quick"));
    });
}

#[test]
fn print_and_log_reach_the_log() {
    each(async |language| {
        let source = Both {
            luau: "print('one', 2) crystal.log('three')",
            rhai: "print(\"one\\t2\"); crystal::log(\"three\");",
        };
        let bench = Bench::new();
        bench.plugin(language, source.of(language)).await.unwrap();
        assert_eq!(bench.lines(), ["p: one\t2", "p: three"]);
    });
}

#[test]
fn settings_are_the_manifests_with_the_operators_over_them() {
    each(async |language| {
        let mut bench = Bench::new();
        let entry = language.entry();
        let manifest = format!("entry = \"{entry}\"\n[settings]\nbranches = [\"main\"]\ndepth = 3\n");
        bench.file("p", "plugin.toml", manifest);
        let body = Both {
            luau: "local s = crystal.settings() return s.branches[1] .. s.depth",
            rhai: "let s = crystal::settings(); s.branches[0] + s.depth",
        };
        bench.file("p", entry, language.tool(body.of(language)));
        bench.options.settings = Some(json!({ "depth": 7 }));
        let plugin = Loaded(bench.load("p").await.unwrap());
        assert_eq!(plugin.ask(json!({})).await.text, "main7");
    });
}
