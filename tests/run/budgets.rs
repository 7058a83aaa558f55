//! What a turn may spend.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::Place;
use crate::support::server::{Reply, Server};

fn endless() -> Server {
    Server::answering(|_, _| Reply::sse(chat::calls(&[("", "read", json!({ "path": "f" }))])))
}

#[test]
fn model_calls_end_the_turn_at_their_number() {
    let server = endless();
    let place = Place::with(&server);
    place.write("f", "x");
    let ended = place.run("go", &["--model-calls", "3"]);
    ended.exits(3);
    assert_eq!(server.requests().len(), 3);
    assert_eq!(ended.of_type("stopped")[0]["reason"], "budget");
    assert!(ended.of_type("stopped")[0]["message"].as_str().unwrap().contains("--model-calls"));
}

#[test]
fn tool_calls_end_the_turn_and_every_call_still_has_its_result() {
    let server = Server::start([
        Reply::sse(chat::calls(&[
            ("a", "read", json!({ "path": "f" })),
            ("b", "read", json!({ "path": "f" })),
            ("c", "read", json!({ "path": "f" })),
        ])),
        Reply::sse(chat::says("after")),
    ]);
    let place = Place::with(&server);
    place.write("f", "x");
    let ended = place.run("go", &["--tool-calls", "2"]);
    ended.exits(3);
    let states: Vec<_> =
        ended.of_type("tool_use").iter().map(|tool| tool["status"].as_str().unwrap().to_owned()).collect();
    assert_eq!(states, ["completed", "completed", "skipped"]);
    place.run("and now", &["--continue"]).exits(0);
    let messages = server.requests()[1].json()["messages"].clone();
    assert_eq!(messages.as_array().unwrap().iter().filter(|message| message["role"] == "tool").count(), 3);
}

#[test]
fn time_ends_a_running_command_and_the_turn() {
    let server =
        Server::start([Reply::sse(chat::calls(&[("a", "bash", json!({ "command": "sleep 77.25" }))]))]);
    let place = Place::with(&server);
    let ended = place.run("go", &["--approval", "full", "--duration", "1"]);
    ended.exits(3);
    assert!(ended.of_type("stopped")[0]["message"].as_str().unwrap().contains("--duration"), "{}", ended.out);
    assert!(!crate::run::interrupts::running("sleep 77.25"));
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    let place = Place::new();
    for args in
        [["--model-calls", "0"], ["--tool-calls", "many"], ["--duration", "-1"], ["--bash-timeout", "nan"]]
    {
        let ended = place.crystal(&["run", "--provider", "offline", args[0], args[1], "go"]);
        ended.exits(1);
        assert!(ended.err.contains(args[0]), "{}", ended.err);
    }
}
