//! `--output-schema`.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::Place;
use crate::support::server::{Reply, Server};

fn place(server: &Server) -> Place {
    let place = Place::with(server);
    place.write(
        "schema.json",
        &json!({ "type": "object", "required": ["count"], "properties": { "count": { "type": "integer" } } })
            .to_string(),
    );
    place
}

const ARGS: &[&str] =
    &["run", "--provider", "mock", "--format", "final", "--output-schema", "schema.json", "go"];

#[test]
fn the_model_is_told_and_corrected_and_stdout_is_the_json_alone() {
    let server = Server::start([
        Reply::sse(chat::says("There are three.")),
        Reply::sse(chat::says("```json\n{\"count\": 3}\n```")),
    ]);
    let place = place(&server);
    let ended = place.crystal(ARGS);
    ended.exits(0);
    assert_eq!(ended.out, "{\"count\": 3}\n");
    let system = server.requests()[0].json()["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("\"count\""), "the schema is in the system prompt");
    let messages = server.requests()[1].json()["messages"].clone();
    let correction = messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(correction.contains("not JSON"), "{correction}");
}

#[test]
fn after_two_corrections_the_exit_is_3() {
    let server = Server::answering(|_, _| Reply::sse(chat::says("{\"count\": \"three\"}")));
    let place = place(&server);
    let ended = place.crystal(ARGS);
    ended.exits(3);
    assert_eq!(server.requests().len(), 3);
    assert!(ended.err.contains("/count"), "{}", ended.err);
}

#[test]
fn a_schema_that_cannot_be_used_stops_before_anything_is_sent() {
    let server = Server::start([]);
    let place = place(&server);
    place.write("schema.json", "{ \"type\": 7 }");
    place.crystal(ARGS).exits(1);
    place.write("schema.json", "{");
    place.crystal(ARGS).exits(1);
    assert!(server.requests().is_empty() && place.sessions().is_empty());
}
