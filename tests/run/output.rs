//! What goes where: three formats, two streams.

use serde_json::json;

use crate::support::chat;
use crate::support::crystal::Place;
use crate::support::server::{Reply, Server};

fn one_edit() -> Server {
    Server::start([
        Reply::sse([
            chat::reasoning("let me see"),
            chat::text("First the edit."),
            chat::call(0, "a", "edit", &json!({ "path": "f", "old_string": "one", "new_string": "two" })),
            chat::finish("tool_calls"),
            chat::DONE.into(),
        ]),
        Reply::sse([chat::text("All "), chat::text("done."), chat::finish("stop"), chat::DONE.into()]),
    ])
}

fn run(args: &[&str]) -> crate::support::crystal::Ended {
    let server = one_edit();
    let place = Place::with(&server);
    place.write("f", "one\n");
    let mut all = vec!["run", "--provider", "mock", "--workspace-trust", "assume", "--approval", "edit"];
    all.extend(args);
    all.push("go");
    place.crystal(&all)
}

#[test]
fn final_prints_the_last_text_and_nothing_else() {
    let ended = run(&["--format", "final"]);
    ended.exits(0);
    assert_eq!(ended.out, "All done.\n");
}

#[test]
fn text_is_a_trace_with_labels_in_brackets() {
    let ended = run(&[]);
    ended.exits(0);
    assert!(ended.out.contains("First the edit.\n") && ended.out.ends_with("All done.\n"), "{}", ended.out);
    assert!(ended.out.contains("[edit] f\n"), "{}", ended.out);
    assert!(ended.out.contains("-one") && ended.out.contains("+two"), "{}", ended.out);
    assert!(!ended.out.contains("let me see"));
    assert!(run(&["--show-thinking"]).out.contains("let me see"));
    let streamed = run(&["--stream"]);
    assert_eq!(streamed.out.matches("All done.").count(), 1, "{}", streamed.out);
}

/// google/agents-cli#69, nano-step/nano-brain#235
#[test]
fn json_is_one_object_a_line_whatever_else_there_is_to_say() {
    let server = one_edit();
    let place = Place::with(&server);
    place.write("f", "one\n");
    place.write_home("config.json", "{ \"future_key\": 1 }");
    let mut command =
        place.command(&["run", "--provider", "mock", "--format", "json", "--approval", "edit", "go"]);
    let ended = crate::support::crystal::Ended::of(command.env("CRYSTAL_LOG", "trace").output().unwrap());
    assert!(ended.lines().iter().all(|line| line["type"].is_string()));
    assert!(
        ended.of_type("note").iter().any(|note| note["text"].as_str().unwrap().contains("future_key")),
        "{}",
        ended.out
    );
}

#[test]
fn deltas_and_reasoning_come_only_when_asked_for() {
    let plain = run(&["--format", "json"]);
    assert!(plain.of_type("text_delta").is_empty() && plain.of_type("reasoning").is_empty());
    let all = run(&["--format", "json", "--stream", "--show-thinking"]);
    assert_eq!(all.of_type("reasoning")[0]["text"], "let me see");
    let deltas: String =
        all.of_type("text_delta").iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(deltas, "First the edit.All done.");
}

/// aws/agentcore-cli#1391, kucherenko/jscpd#893
#[test]
fn control_sequences_of_the_model_never_reach_a_text_trace() {
    let server = Server::start([Reply::sse(chat::says("a\u{1b}[31mred\u{1b}[0m\u{202e}b\u{7}"))]);
    let place = Place::with(&server);
    let ended = place.crystal(&["run", "--provider", "mock", "go"]);
    ended.exits(0);
    assert!(!ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'));
    assert!(!ended.out.contains('\u{202e}') && ended.out.contains("red"), "{:?}", ended.out);
}

#[test]
fn a_long_answer_in_small_pieces_arrives_whole() {
    let words = "word ".repeat(40_000);
    let mut events: Vec<String> =
        words.as_bytes().chunks(20).map(|piece| chat::text(std::str::from_utf8(piece).unwrap())).collect();
    events.extend([chat::finish("stop"), chat::DONE.into()]);
    let server = Server::start([Reply::sse(events)]);
    let place = Place::with(&server);
    let ended = place.run("go", &[]);
    ended.exits(0);
    assert_eq!(ended.result()["text"].as_str().unwrap(), words);
}
