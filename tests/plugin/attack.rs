//! Hostile and broken scripts: each costs one failed call, on the thread that plugins really use.

use std::time::Duration;

use crystal::plugin::host::{Function, Given, Place, Scene, When};
use crystal::plugin::vm::fault::Health;
use serde_json::json;

use crate::plugin::bench::{Bench, Both, LANGUAGES, Language, Loaded, each};

const SHORT: Duration = Duration::from_millis(100);

/// Runs a hostile body against a deadline; the VM must live on and answer afterwards.
async fn survives(language: Language, body: &str, words: &[&str]) {
    let body = match language {
        Language::Luau => format!("if args.rest then return 'alive' end {body}"),
        Language::Rhai => format!("if args.rest == true {{ return \"alive\"; }} {body}"),
    };
    let plugin = Bench::new().tool(language, &body).await;
    let output = plugin.call(json!({}), SHORT).await;
    assert!(output.failed, "{body}: {}", output.text);
    assert!(words.iter().any(|word| output.text.contains(word)), "{body}: {}", output.text);
    let after = plugin.ask(json!({ "rest": true })).await;
    assert_eq!(after.text, "alive", "{body}");
    assert_eq!(plugin.0.health(), Health::Live);
}

const LATE: &[&str] = &["ran for longer than its limit of 100 ms"];

#[test]
fn loops_stop_at_the_deadline_however_they_are_wrapped() {
    each(async |language| {
        let cases: &[Both] = &[
            Both { luau: "while true do end", rhai: "loop { }" },
            // kikito/lua-sandbox#12: a script that catches its own time limit.
            Both {
                luau: "while true do pcall(function() while true do end end) end",
                rhai: "loop { try { loop { } } catch { } }",
            },
            Both {
                luau: "xpcall(function() while true do end end, function() while true do end end) while true do end",
                rhai: "let f = || { loop { } }; try { f.call() } catch { } loop { }",
            },
            Both {
                luau: "local co = coroutine.wrap(function() while true do pcall(function() while true do end end) end end) co() ",
                rhai: "let n = 0; for i in 0..9223372036854775807 { n = i; }",
            },
            Both {
                luau: "local s = ('a'):rep(30) while true do s:find('.-.-.-.-.-b') end",
                rhai: "let s = \"a\"; while s.len() < 10000 { s += \"a\"; } loop { s.contains(\"b\"); }",
            },
        ];
        for case in cases {
            survives(language, case.of(language), LATE).await;
        }
    });
}

#[test]
fn a_result_that_comes_after_the_deadline_does_not_count() {
    each(async |language| {
        let body = Both {
            luau: "pcall(function() while true do end end) return 'as if nothing had happened'",
            rhai: "try { loop { } } catch { } \"as if nothing had happened\"",
        };
        let output = Bench::new().tool(language, body.of(language)).await.call(json!({}), SHORT).await;
        assert!(output.failed && output.text.contains(LATE[0]), "{}", output.text);
    });
}

#[test]
fn memory_bombs_end_in_an_error() {
    each(async |language| {
        let words = &[
            "more memory",
            "memory",
            "too large",
            "ran for longer",
            "Size of",
            "Length of",
            "longer than 4 MiB",
        ];
        let cases: &[Both] = &[
            Both {
                luau: "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
                rhai: "let t = []; loop { let s = \"\"; s.pad(1000, 'x'); t.push(s); }",
            },
            Both {
                luau: "local s = 'x' while true do s = s .. s end",
                rhai: "let s = \"x\"; loop { s += s; }",
            },
            Both { luau: "return ('x'):rep(1e9)", rhai: "let s = \"\"; s.pad(10000000000, 'x'); s" },
            Both {
                luau: "local t = {} while true do t = { t, pcall(function() end) } end",
                rhai: "let m = #{}; loop { m = #{ a: m }; }",
            },
            Both {
                luau: "local f = function() end while true do local g = f f = function() return g end end",
                rhai: "fn w(f) { || f } let f = 1; loop { f = w(f); }",
            },
            Both {
                luau: "local b = {} while true do b[#b + 1] = buffer.create(1e6) end",
                rhai: "let b = []; loop { b.push(blob(100000, 1)); }",
            },
            Both {
                luau: "local c = {} while true do c[#c + 1] = coroutine.create(print) end",
                rhai: "let a = []; loop { a = [a]; }",
            },
            Both {
                luau: "local s = ('a'):rep(1e6) while true do s = s:gsub('a', 'aa') end",
                rhai: "let s = \"aaaaaaaa\"; loop { s.replace(\"a\", \"aaaaaaaa\"); }",
            },
        ];
        for case in cases {
            let body = case.of(language);
            // Rhai functions live at the top of a script.
            let plugin = match body.split_once("} let f = 1;") {
                Some((function, rest)) => {
                    let source = format!("{function}}}\n{}", language.tool(&format!("let f = 1; {rest}")));
                    Loaded(Bench::new().plugin(language, &source).await.unwrap())
                }
                None => Bench::new().tool(language, body).await,
            };
            let output = plugin.call(json!({}), Duration::from_secs(4)).await;
            assert!(
                output.failed && words.iter().any(|word| output.text.contains(word)),
                "{body}: {}",
                output.text
            );
        }
    });
}

#[test]
fn a_script_that_catches_its_memory_error_is_still_stopped() {
    let body = "while true do pcall(function() local t = {} while true do t[#t + 1] = ('x'):rep(100) .. #t end end) end";
    each(async |_| survives(Language::Luau, body, LATE).await);
}

/// mlua-rs/mlua#733
#[test]
fn host_functions_at_the_memory_limit_raise_ordinary_errors() {
    each(async |language| {
        let body = Both {
            luau: "if args.rest then return 'alive' end
                   local held = {}
                   while pcall(function() held[#held + 1] = ('x'):rep(4096) .. #held end) do end
                   for round = 1, 200 do
                       for name, f in crystal do if type(f) == 'function' then pcall(f, 'x') pcall(f, {}) end end
                       pcall(require, 'crystal.text')
                   end
                   held = nil
                   return 'alive'",
            rhai: "if args.rest == true { return \"alive\"; }
                   let a = \"\"; a.pad(4000000, 'x'); let b = \"\"; b.pad(4000000, 'x'); let c = \"\"; c.pad(4000000, 'x');
                   let d = \"\"; d.pad(3000000, 'x');
                   for round in 0..200 {
                       try { crystal::log(\"x\") } catch { }
                       try { crystal::settings() } catch { }
                       try { crystal::array([1]) } catch { }
                       try { crystal::int(\"7\") } catch { }
                       try { crystal::tool(#{}) } catch { }
                   }
                   \"alive\"",
        };
        let plugin = Bench::new().tool(language, body.of(language)).await;
        let output = plugin.ask(json!({})).await;
        assert!(output.text == "alive" || output.text.contains("memory"), "{}", output.text);
        assert_eq!(plugin.ask(json!({ "rest": true })).await.text, "alive");
    });
}

/// rhaiscript/rhai#102, rhaiscript/rhai#880
#[test]
fn deep_recursion_and_arithmetic_are_script_errors() {
    each(async |language| {
        let cases: &[(Both, &[&str])] = &[
            (
                Both {
                    luau: "local function f() return 1 + f() end return f()",
                    rhai: "let f = (); f = |g| { g.call(g) }; f.call(f)",
                },
                &["stack overflow", "Stack overflow"],
            ),
            (
                Both {
                    luau: "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) return t[1]",
                    rhai: "9223372036854775807 + 1",
                },
                &["overflow"],
            ),
            (
                Both { luau: "local function f(s) return s:gsub('.', f) end return f('a')", rhai: "1 / 0" },
                &["overflow", "zero"],
            ),
            (
                Both {
                    luau: "local function f() return pcall(f) end f() error('done')",
                    rhai: "let x = -9223372036854775808; -x",
                },
                &["overflow", "done"],
            ),
        ];
        for (case, words) in cases {
            let plugin = Bench::new().tool(language, case.of(language)).await;
            let output = plugin.ask(json!({})).await;
            assert!(output.failed && words.iter().any(|word| output.text.contains(word)), "{}", output.text);
        }
    });
}

#[test]
fn deep_nesting_in_the_source_is_an_error_of_the_script() {
    each(async |language| {
        for (open, close) in [("(", ")"), ("{", "}"), ("[", "]")] {
            let source = format!("local x = {}1{}", open.repeat(5000), close.repeat(5000));
            let error = Bench::new().plugin(language, &source.replace("local", "let")).await.err();
            let other = Bench::new().plugin(language, &source).await.err();
            assert!(error.is_some() && other.is_some());
        }
    });
}

#[test]
fn long_plain_searches_come_back_in_time() {
    let body = "local a = ('a'):rep(1e6) local b = ('a'):rep(5e5) .. 'b'
                local at = a:find(b, 1, true)
                local parts = a:split(b)
                return tostring(at) .. #parts";
    each(async |_| {
        let output = Bench::new().tool(Language::Luau, body).await.ask(json!({})).await;
        assert_eq!(output.text, "nil1");
    });
}

#[test]
fn the_replaced_find_and_split_answer_as_the_language_does() {
    let body = "local out = {}
        local function put(...) table.insert(out, table.concat({ tostring((...)), tostring((select(2, ...))) }, ',')) end
        put(('hello'):find('l')) put(('hello'):find('l', 4)) put(('hello'):find('l', -1)) put(('hello'):find('o', -1))
        put(('a.b'):find('.', 1, true)) put(('a.b'):find('%.')) put(('abc'):find('')) put(('abc'):find('', 4)) put(('abc'):find('', 5))
        put((('a,b,,c'):split(','))[4], #('a,b,,c'):split(',')) put((('abc'):split(''))[2], #('abc'):split('')) put(#(''):split(','), 0)
        put(('key=value'):find('(%w+)=')) put(('x'):find('y'))
        return table.concat(out, ' ')";
    each(async |_| {
        let output = Bench::new().tool(Language::Luau, body).await.ask(json!({})).await;
        assert_eq!(output.text, "3,3 4,4 nil,nil 5,5 2,2 2,2 1,0 4,3 nil,nil c,4 b,3 1,0 1,4 nil,nil");
    });
}

#[test]
fn nothing_that_reaches_outside_is_there() {
    let absent = [
        "io",
        "package",
        "dofile",
        "loadfile",
        "load",
        "loadstring",
        "getfenv",
        "setfenv",
        "newproxy",
        "gcinfo",
        "collectgarbage",
        "os",
        "debug",
        "integer",
    ];
    let body = format!(
        "local found = {{}} for _, name in {{ '{}' }} do if _G[name] ~= nil then table.insert(found, name) end end
         if string.dump then table.insert(found, 'string.dump') end return 'found: ' .. table.concat(found, ' ')",
        absent.join("', '")
    );
    each(async |_| {
        let output = Bench::new().tool(Language::Luau, &body).await.ask(json!({})).await;
        assert_eq!(output.text, "found: ");
        for body in
            ["string.find = nil", "crystal.log = nil", "getmetatable('').__index = nil", "table.x = 1"]
        {
            let output = Bench::new().tool(Language::Luau, body).await.ask(json!({})).await;
            assert!(output.failed, "{body}");
        }
        for body in ["eval(\"1\")", "sleep(1)", "sleep(0.5)", "import \"/etc/passwd\" as x;"] {
            let source = Language::Rhai.tool(body);
            let failed = match Bench::new().plugin(Language::Rhai, &source).await {
                Err(_) => true,
                Ok(plugin) => Loaded(plugin).ask(json!({})).await.failed,
            };
            assert!(failed, "{body}");
        }
    });
}

#[test]
fn oversized_sources_and_bytecode_are_refused() {
    each(async |language| {
        let big = match language {
            Language::Luau => "local x = 1\n".repeat(100_000),
            Language::Rhai => "let x = 1;\n".repeat(30_000),
        };
        let error = Bench::new().plugin(language, &big).await.err().unwrap().to_string();
        assert!(error.contains("is larger than"), "{error}");
        let bench = Bench::new();
        bench.script("p", language, "");
        bench.file("p", language.entry(), [0u8, 159, 146, 150]);
        let error = bench.load("p").await.err().unwrap().to_string();
        assert!(error.contains("is not UTF-8 text"), "{error}");
    });
}

#[test]
fn bad_plugins_say_where_and_a_good_one_loads_beside_them() {
    each(async |language| {
        let bench = Bench::new();
        let bad = [
            (Both { luau: "crystal.tool {\n  name = ", rhai: "crystal::tool(#{\n  name: " }, "init.", ":2: "),
            (Both { luau: "local x = nil\nx.y()", rhai: "let x = ();\nx.y();" }, "init.", ":2: "),
            (Both { luau: "error({})", rhai: "throw #{};" }, "left out", ""),
        ];
        for (source, one, two) in bad {
            let error = bench.plugin(language, source.of(language)).await.err().unwrap().to_string();
            assert!(
                error.starts_with("plugin 'p' was left out: ") && error.contains(one) && error.contains(two),
                "{error}"
            );
        }
        // A script that returns something or nothing at all registers nothing, which is no error.
        for source in [Both { luau: "return 42", rhai: "42" }, Both { luau: "", rhai: "" }] {
            assert!(bench.plugin(language, source.of(language)).await.unwrap().contributions().is_empty());
        }
        // A directory in the entry script's place.
        std::fs::remove_file(bench.directory("p").join(language.entry())).unwrap();
        std::fs::create_dir(bench.directory("p").join(language.entry())).unwrap();
        let error = bench.load("p").await.err().unwrap().to_string();
        assert!(error.contains("is no regular file"), "{error}");
        bench.script("good", language, &language.tool("return \"fine\""));
        assert_eq!(Loaded(bench.load("good").await.unwrap()).ask(json!({})).await.text, "fine");
    });
}

#[test]
fn a_loop_at_the_top_of_a_script_ends_with_the_load() {
    each(async |language| {
        let source = Both { luau: "while true do end", rhai: "loop { }" };
        let error = Bench::new().plugin(language, source.of(language)).await.err().unwrap().to_string();
        assert!(error.contains("ran for longer than its limit of 5 s"), "{error}");
    });
}

fn function(name: &'static str, run: impl Fn() + Sync + 'static) -> Function {
    let run = move |_: &Scene<'_>, _: Vec<Given>| {
        run();
        Ok(crystal::plugin::host::Answer::Nothing)
    };
    Function {
        place: Place::Crystal,
        name,
        parameters: &[],
        result: "",
        permission: None,
        when: When::Always,
        doc: "For tests.",
        run: Box::leak(Box::new(run)),
    }
}

#[test]
fn a_panic_in_a_host_function_is_an_error_of_that_call() {
    each(async |language| {
        let bench = Bench::new().with(function("burst", || panic!("host trouble")));
        let body = Both {
            luau: "if args.burst then crystal.burst() end return 'fine'",
            rhai: "if args.burst { crystal::burst(); } \"fine\"",
        };
        let plugin = bench.tool(language, body.of(language)).await;
        let output = plugin.ask(json!({ "burst": true })).await;
        assert!(
            output.failed && output.text.contains("crystal.burst: the host failed: host trouble"),
            "{}",
            output.text
        );
        assert_eq!(plugin.ask(json!({ "burst": false })).await.text, "fine");
    });
}

#[test]
fn a_vm_that_hangs_in_native_code_is_given_up_and_others_go_on() {
    each(async |language| {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let bench = Bench::new().with(function("hang", move || {
            let _ = held.lock().unwrap().recv();
        }));
        let body = Both { luau: "crystal.hang() return 'x'", rhai: "crystal::hang(); \"x\"" };
        let hung = bench.tool(language, body.of(language)).await;
        bench.script("q", language, &language.tool("return \"fine\""));
        let other = Loaded(bench.load("q").await.unwrap());
        let output = hung.call(json!({}), SHORT).await;
        assert!(output.failed && output.text.contains(LATE[0]), "{}", output.text);
        assert_eq!(other.ask(json!({})).await.text, "fine");
        // Queued behind the hanging call: answered when the VM is given up.
        let queued = hung.ask(json!({})).await;
        assert!(
            queued.text.contains("it is retired: it did not stop after its time was over"),
            "{}",
            queued.text
        );
        assert!(matches!(hung.0.health(), Health::Retired(_)));
        // From now on at once.
        assert!(hung.ask(json!({})).await.text.contains("it is retired"));
        assert_eq!(other.ask(json!({})).await.text, "fine");
        drop(release);
    });
}

#[test]
fn ten_thousand_replies_leave_the_memory_as_it_was() {
    // The limit is 16 MiB; each reply makes and drops some 50 KB, so a drift of 4 % would end it.
    let cases = [Both {
        luau: "local t = {} for i = 1, 40 do t[i] = args.text .. i end return table.concat(t)",
        rhai: "let s = \"\"; for i in 0..40 { s += args.text + i; } s",
    }];
    for language in LANGUAGES {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for case in &cases {
                let plugin = Bench::new().tool(language, case.of(language)).await;
                let text = "0123456789".repeat(100);
                for _ in 0..10_000 {
                    let output = plugin.ask(json!({ "text": text })).await;
                    assert!(!output.failed, "{}", output.text);
                }
            }
        });
    }
}

#[test]
fn errors_caught_in_a_loop_do_not_loosen_the_memory_limit() {
    // Each refused call drops a message of the host; none of that may be credited to the script.
    let source = "fn wrap(f) { || f }
        crystal::tool(#{ name: \"t\", description: \"d\", run: |args| {
            for i in 0..args.rounds {
                try { crystal::tool(#{}) } catch { }
                try { import \"nothing/here\" as x; } catch { }
            }
            let f = 1;
            loop { f = wrap(f); }
        } });";
    each(async |_| {
        let plugin = Loaded(Bench::new().plugin(Language::Rhai, source).await.unwrap());
        let output = plugin.ask(json!({ "rounds": 3000 })).await;
        assert!(output.text.contains("more memory than its limit of 16 MiB"), "{}", output.text);
    });
}
