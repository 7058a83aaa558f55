//! Wire protocols in scripts: the same fixture in both languages, driven as the host drives any protocol.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crystal::home::secret::Secret;
use crystal::model::item::{Body, CallId, Item, ItemId, ToolCall, ToolResult};
use crystal::model::port::ImageSource;
use crystal::model::request::{Purpose, Request, Sampling, ToolChoice, ToolSpec};
use crystal::model::response::{CallError, CallErrorKind, Content, Delta, FinishReason, Response};
use crystal::plugin::load::{LoadedPlugin, Options, load_dir};
use crystal::plugin::vm::fault::Health;
use crystal::provider::endpoint::{Endpoint, Model, Timeouts};
use serde_json::json;

use crate::plugin::bench::{Language, each};

struct NoImages;

impl ImageSource for NoImages {
    fn load(&self, _: &str) -> Option<bytes::Bytes> {
        None
    }
}

pub fn user(text: &str) -> Body {
    Body::User { text: text.into(), images: Vec::new() }
}

pub fn called(id: &str, name: &str, arguments: &str) -> Body {
    Body::ToolCall(ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
        malformed: None,
        provider_id: None,
    })
}

pub fn result(id: &str, name: &str, text: &str) -> Body {
    Body::ToolResult(ToolResult {
        call_id: CallId::new(id),
        provider_id: None,
        name: name.into(),
        text: text.into(),
        images: Vec::new(),
        failed: false,
    })
}

pub fn request(bodies: Vec<Body>, tools: &[&str]) -> Request {
    let items = bodies.into_iter().enumerate();
    let spec = |name: &&str| ToolSpec {
        name: (*name).into(),
        description: "d".into(),
        schema: Arc::new(json!({ "type": "object" })),
    };
    Request {
        purpose: Purpose::Work,
        runtime: "crystal/main".into(),
        items: Arc::new(
            items.map(|(i, body)| Arc::new(Item::new(ItemId::new(format!("i{i}")), body))).collect(),
        ),
        tools: tools.iter().map(spec).collect(),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        output_schema: None,
        stream: true,
        accepts_images: false,
        images: Arc::new(NoImages),
    }
}

pub fn endpoint(protocol: &str) -> Arc<Endpoint> {
    Arc::new(Endpoint {
        provider: "test".into(),
        protocol: protocol.into(),
        base_uri: "http://127.0.0.1:1".into(),
        key: Some(Secret::new("k-123")),
        organization: None,
        project: None,
        headers: Vec::new(),
        replay_reasoning: false,
        token_limit: None,
        model: Model { name: "m1".into(), context_window: 1000, ..Model::default() },
        timeouts: Timeouts::default(),
        attempts: 1,
    })
}

async fn echo(language: Language) -> LoadedPlugin {
    let name = match language {
        Language::Luau => "echo-luau",
        Language::Rhai => "echo-rhai",
    };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugin/fixtures").join(name);
    load_dir(&directory, Options::new().unwrap()).await.unwrap()
}

/// One call; what streamed and what came.
pub async fn call(plugin: &LoadedPlugin, request: &Request) -> (Vec<Delta>, Result<Response, CallError>) {
    let protocol = Arc::clone(&plugin.registered().protocols()[0]);
    let mut client = protocol.client(endpoint(protocol.token())).unwrap();
    let mut deltas = Vec::new();
    let outcome = client.call(request, &mut |delta| deltas.push(delta)).await;
    (deltas, outcome)
}

async fn act(plugin: &LoadedPlugin, word: &str) -> (Vec<Delta>, Result<Response, CallError>) {
    call(plugin, &request(vec![user(word)], &["glob"])).await
}

fn contents(response: &Response) -> Vec<Content> {
    response.parts.iter().map(|part| part.content.clone()).collect()
}

#[test]
fn an_answer_streams_and_ends_as_one_response() {
    each(async |language| {
        let plugin = echo(language).await;
        let (deltas, response) = act(&plugin, "say").await;
        assert_eq!(
            deltas,
            [Delta::Reasoning("hm".into()), Delta::Text("hel".into()), Delta::Text("lo".into())]
        );
        let response = response.unwrap();
        assert_eq!(contents(&response), [Content::Reasoning("hm".into()), Content::Text("hello".into())]);
        assert_eq!(response.finish.reason, FinishReason::Stop);
        assert_eq!(
            (response.usage.input, response.usage.output, response.usage.cached),
            (Some(10), Some(2), None)
        );
    });
}

#[test]
fn tool_calls_come_whole() {
    each(async |language| {
        let (deltas, response) = act(&echo(language).await, "ask").await;
        let names = ["glob", "grep", "list"].map(|name| Delta::Call { name: name.into() });
        assert_eq!(deltas[1..], names);
        let response = response.unwrap();
        let call = |id: &str, name: &str, arguments: &str| Content::Call {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            complete: true,
        };
        let expected = [
            call("c1", "glob", r#"{"depth":2,"pattern":"*.rs"}"#),
            call("", "grep", r#"{"pattern": "x"#),
            call("", "list", "{}"),
        ];
        assert_eq!(contents(&response)[1..], expected);
        assert_eq!(response.finish.reason, FinishReason::ToolCalls);
    });
}

#[test]
fn stream_sees_endpoint_items_and_sampling() {
    each(async |language| {
        let bodies = vec![
            Body::System { text: "s".into() },
            user("hello"),
            called("call00001", "read", r#"{"path":"a.txt"}"#),
            result("call00001", "read", "text of a"),
            user("tell"),
        ];
        let (_, response) = call(&echo(language).await, &request(bodies, &[])).await;
        let expected = "1:system; 2:user; 3:tool_call; 4:tool_result; 5:user; read=a.txt; true; \
                        test m1 http://127.0.0.1:1 k-123; work default";
        assert_eq!(contents(&response.unwrap()), [Content::Text(expected.into())]);
    });
}

#[test]
fn the_reason_it_stopped_is_the_scripts_word() {
    each(async |language| {
        let (_, response) = act(&echo(language).await, "finish").await;
        let finish = response.unwrap().finish;
        assert_eq!((finish.reason, finish.raw.as_deref()), (FinishReason::Length, Some("max_output")));
    });
}

#[test]
fn a_failed_call_names_plugin_file_and_line_and_keeps_what_had_come() {
    each(async |language| {
        let plugin = echo(language).await;
        for (word, words) in [
            ("fail", "no such model"),
            ("wrong", "emit.finish: 'tired' is no reason"),
            ("nothing of the kind", ""),
        ] {
            let (_, outcome) = act(&plugin, word).await;
            let error = outcome.unwrap_err();
            assert_eq!(error.kind, CallErrorKind::Client);
            let start =
                format!("protocol 'echo' of plugin '{}' failed: {}:", plugin.directory(), language.entry());
            assert!(error.message.starts_with(&start) && error.message.contains(words), "{}", error.message);
            assert_eq!(error.partial.is_some(), word == "fail");
        }
    });
}

#[test]
fn dropping_a_call_interrupts_the_script() {
    each(async |language| {
        let plugin = echo(language).await;
        let protocol = Arc::clone(&plugin.registered().protocols()[0]);
        let mut client = protocol.client(endpoint("echo")).unwrap();
        let spin = request(vec![user("spin")], &[]);
        let (begun, mut first) = tokio::sync::mpsc::unbounded_channel();
        let mut sink = move |delta| begun.send(delta).unwrap();
        tokio::select! {
            _ = client.call(&spin, &mut sink) => panic!("it ends only when it is dropped"),
            delta = first.recv() => assert_eq!(delta, Some(Delta::Text("begun".into()))),
        }
        drop(client);
        let (_, response) = act(&plugin, "say").await;
        assert!(response.is_ok());
        assert_eq!(plugin.health(), Health::Live);
    });
}

#[test]
fn a_slice_that_never_ends_is_a_timeout() {
    each(async |language| {
        let plugin = echo(language).await;
        let (deltas, outcome) = act(&plugin, "spin").await;
        assert_eq!(deltas, [Delta::Text("begun".into())]);
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Timeout);
        assert!(error.message.contains("it ran for longer than its limit of 5 s"), "{}", error.message);
        assert!(act(&plugin, "say").await.1.is_ok());
    });
}

#[test]
fn an_endless_answer_is_cut() {
    each(async |language| {
        let (_, outcome) = act(&echo(language).await, "flood").await;
        let error = outcome.unwrap_err();
        assert!(error.message.contains("emit.text: an answer may hold 16 MiB"), "{}", error.message);
    });
}

#[test]
fn handles_go_stale_with_their_call() {
    each(async |language| {
        let plugin = echo(language).await;
        act(&plugin, "keep").await.1.unwrap();
        let (deltas, response) = act(&plugin, "stale").await;
        let contents = contents(&response.unwrap());
        let [Content::Text(text)] = contents.as_slice() else { panic!("{contents:?}") };
        assert!(text.contains("emit.text: this answer is over"), "{text}");
        assert!(text.contains("these items are stale"), "{text}");
        assert_eq!(deltas.len(), 1);
    });
}

#[test]
fn a_call_costs_what_it_reads_of_the_conversation() {
    // Ten thousand items whose texts together exceed the VM's memory several times.
    each(async |language| {
        let plugin = echo(language).await;
        let mut bodies = vec![user(&"x".repeat(8192)); 10_000];
        bodies.push(user("say"));
        let (_, response) = call(&plugin, &request(bodies, &[])).await;
        assert!(response.is_ok());
    });
}

#[test]
fn a_script_that_waits_for_nothing_is_given_up_after_the_endpoints_silence() {
    use crystal::plugin::host::{Answer, Function, Place, When};
    each(async |language| {
        let run = |scene: &crystal::plugin::host::Scene<'_>, _: Vec<crystal::plugin::host::Given>| {
            let never = std::future::pending::<()>();
            let waited = scene.desk.wait(Duration::from_secs(60), never);
            waited.map(|()| Answer::Nothing).map_err(|error| error.to_string())
        };
        let function = Function {
            place: Place::Crystal,
            name: "ponder",
            parameters: &[],
            result: "",
            permission: None,
            when: When::Always,
            doc: "For tests.",
            run: Box::leak(Box::new(run)),
        };
        let bench = crate::plugin::bench::Bench::new().with(function);
        let source = crate::plugin::bench::Both {
            luau: "crystal.protocol { name = 'echo', stream = function() crystal.ponder() end }",
            rhai: "crystal::protocol(#{ name: \"echo\", stream: |r, e| { crystal::ponder(); } });",
        };
        let plugin = bench.plugin(language, source.of(language)).await.unwrap();
        let mut silent = (*endpoint("echo")).clone();
        silent.timeouts.silence = Duration::from_millis(50);
        let protocol = Arc::clone(&plugin.registered().protocols()[0]);
        let mut client = protocol.client(Arc::new(silent)).unwrap();
        let error = client.call(&request(vec![user("x")], &[]), &mut |_| ()).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Timeout);
        assert!(error.message.contains("emitted nothing"), "{}", error.message);
    });
}
