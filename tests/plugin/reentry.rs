//! Scripts that come back to themselves through the host, as a plugin's tool that fires its own hooks does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crystal::plugin::host::{Answer, Function, Given, Parameter, Place, Scene, Shape, When};
use crystal::plugin::load::LoadedPlugin;
use crystal::plugin::register::Images;
use crystal::plugin::vm::desk::WaitError;
use serde_json::{Value, json};

use crate::plugin::bench::{Bench, Both, Loaded, context, each, run};

/// Plugins by name, for calls that come out of a script.
type Registry = Arc<Mutex<Vec<LoadedPlugin>>>;

/// A host function `crystal.invoke({ plugin, arguments, limit_ms? })` that calls another plugin's first tool and waits.
fn invoke(registry: &Registry) -> Function {
    let registry = Arc::clone(registry);
    let run = move |scene: &Scene<'_>, mut arguments: Vec<Given>| {
        let Some(Given::Record(record)) = arguments.pop() else { return Err("a table".to_owned()) };
        let name = record.fields.get("plugin").and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = record.fields.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let limit = record.fields.get("limit_ms").and_then(Value::as_u64).unwrap_or(30_000);
        let plugin = registry.lock().unwrap().iter().find(|plugin| plugin.directory() == name).cloned();
        let work = async move {
            let Some(plugin) = plugin else { return std::future::pending().await };
            let tool = Arc::clone(&plugin.registered().tools(Images::Taken)[0]);
            let mut cx = context(std::path::Path::new("/"));
            cx.bash_timeout = Some(Duration::from_millis(200));
            run(&*tool, &arguments, &cx).await.text
        };
        match scene.desk.wait(Duration::from_millis(limit), work) {
            Ok(text) => Ok(Answer::Value(text.into())),
            Err(error @ WaitError::Limit(_)) => Err(format!("gave up: {error}")),
            Err(error) => Err(error.to_string()),
        }
    };
    Function {
        place: Place::Crystal,
        name: "invoke",
        parameters: &[Parameter { name: "call", shape: Shape::Record, optional: false }],
        result: "text",
        permission: None,
        when: When::Always,
        doc: "For tests.",
        run: Box::leak(Box::new(run)),
    }
}

/// `n` in its arguments counts down through the plugins that `next` names.
fn counting(next: &'static str) -> Both {
    let luau = format!(
        "crystal.tool {{ name = 't', description = 'd', run = function(args)
             if args.spin then while true do end end
             if args.n == 0 then return '0' end
             return args.n .. ' ' .. crystal.invoke {{ plugin = '{next}', arguments = {{ n = args.n - 1 }} }}
         end }}"
    );
    let rhai = format!(
        "crystal::tool(#{{ name: \"t\", description: \"d\", run: |args, ctx| {{
             if args.spin == true {{ loop {{ }} }}
             if args.n == 0 {{ return \"0\"; }}
             `${{args.n}} ` + crystal::invoke(#{{ plugin: \"{next}\", arguments: #{{ n: args.n - 1 }} }})
         }} }});"
    );
    Both { luau: luau.leak(), rhai: rhai.leak() }
}

#[test]
fn a_plugin_reaches_itself_through_the_host() {
    each(async |language| {
        let registry = Registry::default();
        let bench = Bench::new().with(invoke(&registry));
        let plugin = bench.plugin(language, counting("p").of(language)).await.unwrap();
        registry.lock().unwrap().push(plugin.clone());
        assert_eq!(Loaded(plugin).ask(json!({ "n": 5 })).await.text, "5 4 3 2 1 0");
        registry.lock().unwrap().clear();
    });
}

#[test]
fn two_plugins_reach_each_other_through_the_host() {
    each(async |language| {
        let registry = Registry::default();
        let bench = Bench::new().with(invoke(&registry));
        for (name, next) in [("a", "b"), ("b", "a")] {
            bench.script(name, language, counting(next).of(language));
            let plugin = bench.load(name).await.unwrap();
            registry.lock().unwrap().push(plugin);
        }
        let first = Loaded(registry.lock().unwrap()[0].clone());
        assert_eq!(first.ask(json!({ "n": 7 })).await.text, "7 6 5 4 3 2 1 0");
        registry.lock().unwrap().clear();
    });
}

#[test]
fn a_plugin_that_comes_back_for_ever_is_refused_at_the_eighth_level() {
    each(async |language| {
        let registry = Registry::default();
        let bench = Bench::new().with(invoke(&registry));
        let plugin = bench.plugin(language, counting("p").of(language)).await.unwrap();
        registry.lock().unwrap().push(plugin.clone());
        let output = Loaded(plugin).ask(json!({ "n": 1000 })).await;
        assert!(output.text.starts_with("1000 999 998 997 996 995 994 993 tool 't'"), "{}", output.text);
        assert!(output.text.contains("more than 8 levels deep"), "{}", output.text);
        registry.lock().unwrap().clear();
    });
}

#[test]
fn waiting_costs_no_script_time_and_strangers_wait_their_turn() {
    each(async |language| {
        let registry = Registry::default();
        let bench = Bench::new().with(invoke(&registry));
        let body = Both {
            luau: "if args.wait then
                       local ok, message = pcall(crystal.invoke, { plugin = 'nobody', limit_ms = 400 })
                       crystal.log('waited')
                       return tostring(message)
                   end
                   crystal.log('stranger')
                   return 'stranger'",
            rhai: "if args.wait {
                       let message = \"\";
                       try { crystal::invoke(#{ plugin: \"nobody\", limit_ms: 400 }); } catch (error) { message = error.to_string(); }
                       crystal::log(\"waited\");
                       return message;
                   }
                   crystal::log(\"stranger\");
                   \"stranger\"",
        };
        let plugin = bench.tool(language, body.of(language)).await;
        let waiting = plugin.call(json!({ "wait": true }), Duration::from_millis(150));
        let stranger = plugin.call(json!({ "wait": false }), Duration::from_millis(150));
        let (waited, stranger) = tokio::join!(waiting, stranger);
        assert!(waited.text.contains("gave up: no answer within 0.4 s"), "{}", waited.text);
        assert_eq!(stranger.text, "stranger");
        assert_eq!(bench.lines(), ["p: waited", "p: stranger"]);
    });
}

#[test]
fn a_nested_call_has_a_deadline_of_its_own() {
    each(async |language| {
        let registry = Registry::default();
        let bench = Bench::new().with(invoke(&registry));
        let body = Both {
            luau: "if args.spin then while true do end end
                   return 'outer: ' .. crystal.invoke { plugin = 'p', arguments = { spin = true } }",
            rhai: "if args.spin == true { loop { } }
                   \"outer: \" + crystal::invoke(#{ plugin: \"p\", arguments: #{ spin: true } })",
        };
        let plugin = bench.tool(language, body.of(language)).await;
        registry.lock().unwrap().push(plugin.0.clone());
        let output = plugin.call(json!({}), Duration::from_millis(100)).await;
        assert!(
            output.text.starts_with("outer: ") && output.text.contains("limit of 200 ms"),
            "{}",
            output.text
        );
        registry.lock().unwrap().clear();
    });
}

#[test]
fn cancelling_a_waiting_call_ends_its_wait() {
    each(async |language| {
        let registry = Registry::default();
        let bench = Bench::new().with(invoke(&registry));
        let body = Both {
            luau: "if args.quick then return 'quick' end
                   crystal.log('waiting') crystal.invoke { plugin = 'nobody' } return 'never'",
            rhai: "if args.quick == true { return \"quick\"; }
                   crystal::log(\"waiting\"); crystal::invoke(#{ plugin: \"nobody\" }); \"never\"",
        };
        let plugin = bench.tool(language, body.of(language)).await;
        let cx = context(bench.folder.path());
        let tool = plugin.tool();
        let none = json!({});
        let call = run(&*tool, &none, &cx);
        let cancel = async {
            while bench.lines().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            cx.cancel.cancel();
        };
        let (output, ()) = tokio::join!(call, cancel);
        assert!(output.text.contains("cancelled"), "{}", output.text);
        // Its own limit would have been half a minute.
        assert_eq!(plugin.ask(json!({ "quick": true })).await.text, "quick");
    });
}
