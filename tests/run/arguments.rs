//! Tool calls as models really write them.

use serde_json::{Value, json};

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

fn raw_call(id: &str, name: &str, arguments: &str) -> String {
    let function = json!({ "name": name, "arguments": arguments });
    chat::chunk(
        json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function", "function": function }] }),
        None,
    )
}

fn one_call(name: &str, arguments: &str, finish: &str) -> (Place, Ended, Vec<Value>) {
    let server = Server::start([
        Reply::sse([raw_call("x1", name, arguments), chat::finish(finish), chat::DONE.into()]),
        Reply::sse(chat::says("done")),
    ]);
    let place = Place::with(&server);
    place.write("f", "one\ntwo\nthree\n");
    let ended = place.run("go", &["--approval", "edit"]);
    let bodies = server.requests().iter().map(|request| request.json()).collect();
    (place, ended, bodies)
}

fn sound(body: &Value) {
    for message in body["messages"].as_array().unwrap() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let text = call["function"]["arguments"].as_str().unwrap();
            let parsed: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
            assert!(parsed.is_object());
        }
    }
}

/// NousResearch/hermes-agent#35151, aaif-goose/goose#9946
#[test]
fn a_call_cut_by_the_output_limit_does_not_run() {
    let (place, ended, bodies) = one_call("write", "{\"path\":\"a.txt\",\"contents\":\"line1\\nli", "length");
    ended.exits(0);
    assert!(place.read("a.txt").is_none());
    let answer =
        bodies[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(answer.contains("output limit"), "{answer}");
    sound(&bodies[1]);
}

/// MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#55, can1357/oh-my-pi#11104
#[test]
fn broken_arguments_never_go_back_into_the_history() {
    let (_, ended, bodies) = one_call("write", "{\"path\":\"a\",\"contents\":\"x", "tool_calls");
    ended.exits(0);
    sound(&bodies[1]);
    assert_eq!(ended.of_type("tool_use")[0]["status"], "failed");
}

/// dataelement/Clawith#212
#[test]
fn slightly_broken_json_is_understood() {
    let (place, ended, bodies) = one_call("write", "{\"path\":\"a.txt\",\"contents\":\"x\",}", "tool_calls");
    ended.exits(0);
    assert_eq!(place.read("a.txt").unwrap(), "x");
    sound(&bodies[1]);
}

/// earendil-works/pi#783, hotovo/aider-desk#814
#[test]
fn numbers_as_text_are_numbers_and_nonsense_is_named() {
    let (_, ended, _) = one_call("read", "{\"path\":\"f\",\"offset\":\"2\",\"limit\":\"1\"}", "tool_calls");
    let output = ended.of_type("tool_use")[0]["output"].as_str().unwrap().to_owned();
    assert!(output.contains("two") && !output.contains("three"), "{output}");
    for (arguments, field) in [
        ("{\"path\":\"f\",\"offset\":\"abc\"}", "offset"),
        ("{\"path\":\"f\",\"offset\":-1}", "offset"),
        ("{\"path\":\"f\",\"limit\":0}", "limit"),
        ("{\"path\":\"f\",\"offset\":1e20}", "offset"),
        ("{\"path\":\"f\",\"line_offset\":3}", "line_offset"),
        ("{}", "path"),
    ] {
        let (_, ended, _) = one_call("read", arguments, "tool_calls");
        let tool = ended.of_type("tool_use")[0].clone();
        assert_eq!(tool["status"], "failed", "{arguments}");
        assert!(tool["output"].as_str().unwrap().contains(field), "{arguments}: {tool}");
    }
}

/// evalstate/fast-agent#913, aliasrobotics/cai#405, odysseus-dev/odysseus#5202
#[test]
fn an_unknown_tool_is_answered_and_the_others_run() {
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a", "Read", json!({ "path": "f" })),
            ("b", "generic_command", json!({})),
            ("c", "grep", json!({ "pattern": "two" })),
        ])),
        Reply::sse(chat::says("done")),
    ]);
    let place = Place::with(&server);
    place.write("f", "one\ntwo\n");
    let ended = place.run("go", &[]);
    ended.exits(0);
    let tools = ended.of_type("tool_use");
    assert_eq!(tools[0]["status"], "completed");
    assert_eq!(tools[1]["status"], "failed");
    assert!(tools[1]["output"].as_str().unwrap().contains("grep"), "the real names are listed: {}", tools[1]);
    assert!(tools[2]["output"].as_str().unwrap().contains("f:2"), "{}", tools[2]);
    assert_eq!(ended.result()["text"], "done");
}

/// NousResearch/hermes-agent#70724, anthropics/claude-code#28515
#[test]
fn a_server_that_gives_every_call_the_same_id_still_sees_unique_pairs() {
    let call = || Reply::sse(chat::calls(&[("X", "read", json!({ "path": "f" }))]));
    let server = Server::start([call(), call(), call(), Reply::sse(chat::says("done"))]);
    let place = Place::with(&server);
    place.write("f", "one\n");
    place.run("go", &[]).exits(0);
    let last = server.requests()[3].json();
    let messages = last["messages"].as_array().unwrap();
    let mut ids: Vec<_> = messages
        .iter()
        .filter_map(|message| message["tool_calls"][0]["id"].as_str().map(str::to_owned))
        .collect();
    let answered: Vec<_> =
        messages.iter().filter_map(|m| m["tool_call_id"].as_str().map(str::to_owned)).collect();
    assert_eq!(ids, answered);
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

/// skye-harris/hass_local_openai_llm#92
#[test]
fn a_finish_reason_that_comes_twice_runs_the_call_once() {
    let server = Server::start([
        Reply::sse([
            chat::call(0, "a", "bash", &json!({ "command": "echo x >> count" })),
            chat::finish("tool_calls"),
            chat::finish("tool_calls"),
            chat::DONE.into(),
        ]),
        Reply::sse(chat::says("done")),
    ]);
    let place = Place::with(&server);
    place.run("go", &["--approval", "full"]).exits(0);
    assert_eq!(place.read("count").unwrap(), "x\n");
}
