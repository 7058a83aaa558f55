//! Providers that fail: each failure is one clear sentence, exit 2, a bounded number of requests, and a sound session.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Gate, Reply, Server};

/// A failing provider: what it answers until it is mended, and how it is configured.
struct Failing {
    place: Place,
    server: Server,
    mended: std::sync::Arc<AtomicBool>,
}

impl Failing {
    fn new(fields: Value, answer: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        let mended = std::sync::Arc::new(AtomicBool::new(false));
        let well = std::sync::Arc::clone(&mended);
        let server = Server::answering(move |_, _| match well.load(Ordering::SeqCst) {
            true => Reply::sse(chat::says("well again")),
            false => answer(),
        });
        let place = Place::new();
        place.provider_with(&server.base_uri(), fields);
        Self { place, server, mended }
    }

    fn text(&self) -> Ended {
        self.place.crystal(&["run", "--provider", "mock", "--workspace-trust", "assume", "go"])
    }

    /// Runs in both forms and asserts what holds for every failure: exit 2; these words in one sentence on standard error
    /// and nothing on standard output; in JSON an error, a stop and no success; so many requests each time; a session that
    /// goes on once the provider is well, without anything of the failed answer.
    #[track_caller]
    fn fails(&self, requests: usize, words: &[&str]) {
        let ended = self.text();
        ended.exits(2);
        assert_eq!(ended.out, "", "a failure is no output");
        let last = ended.err.trim_end().lines().last().unwrap_or_default().to_owned();
        let retries = ended.err.lines().filter(|line| line.contains("; attempt ")).count();
        assert_eq!(ended.err.trim_end().lines().count(), retries + 1, "{}", ended.err);
        assert_eq!(retries + 1, requests, "{}", ended.err);
        for word in words {
            assert!(last.contains(word), "{word}: {last}");
        }
        assert!(last.len() < 600 && !last.contains("sk-mock-key"), "{last}");
        assert_eq!(self.server.requests().len(), requests);

        let ended = self.place.run("again", &["--continue"]);
        ended.exits(2);
        assert_eq!(ended.of_type("stopped")[0]["reason"], "failed");
        assert_eq!(ended.of_type("error").len(), 1);
        assert_eq!(ended.result()["exit"], 2);
        assert_eq!(self.server.requests().len(), 2 * requests);

        self.mended.store(true, Ordering::SeqCst);
        let ended = self.place.run("once more", &["--continue"]);
        ended.exits(0);
        assert_eq!(ended.result()["text"], "well again");
        let body = self.server.requests().pop().unwrap().json();
        let roles: Vec<&str> =
            body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "user", "user"], "nothing of a failed answer is stored");
    }
}

/// One attempt, or two; waits between attempts cost a second.
fn attempts(count: u32) -> Value {
    json!({ "attempts": count })
}

fn impatient() -> Value {
    json!({ "attempts": 1, "timeouts": { "connect": 2, "firstByte": 0.3, "idle": 0.3 } })
}

#[test]
fn a_provider_that_never_answers() {
    let gate = Gate::default();
    let failing = Failing::new(impatient(), {
        let gate = gate.clone();
        move || {
            gate.block();
            Reply::sse(chat::says("too late"))
        }
    });
    let ended = failing.text();
    gate.open();
    ended.exits(2);
    assert!(ended.out.is_empty() && ended.err.contains("no answer for 0.3 s"), "{}", ended.err);
}

/// anthropics/claude-code#61001
#[test]
fn a_provider_that_goes_silent_in_mid_answer_shows_what_had_come_and_marks_it() {
    let failing = Failing::new(impatient(), || Reply::sse([chat::text("Hel")]).hold());
    let ended = failing.text();
    ended.exits(2);
    assert_eq!(ended.out, "Hel\n", "what had come is kept");
    assert!(ended.err.contains("broke off") && ended.err.contains("nothing for 0.3 s"), "{}", ended.err);
    let json = failing.place.run("again", &["--continue"]);
    json.exits(2);
    assert_eq!(json.result()["text"], "Hel");
    assert_eq!(json.of_type("stopped")[0]["reason"], "failed");
    failing.mended.store(true, Ordering::SeqCst);
    failing.place.run("more", &["--continue"]).exits(0);
    let body = failing.server.requests().pop().unwrap().body;
    assert!(
        !String::from_utf8(body).unwrap().contains("Hel\""),
        "a half answer is never sent as a whole one"
    );
}

#[test]
fn a_provider_that_sends_only_headers() {
    Failing::new(impatient(), || Reply::sse(Vec::<String>::new()).hold())
        .fails(1, &["mock", "nothing for 0.3 s"]);
}

/// rashidrazak/opencode-cmd-provider#170, ENTERPILOT/GoModel#1017
#[test]
fn a_clean_close_without_an_end_is_no_answer() {
    let failing = Failing::new(attempts(2), || Reply::sse([chat::text("Hel"), chat::text("lo")]));
    let ended = failing.text();
    ended.exits(2);
    assert_eq!(failing.server.requests().len(), 2);
    assert_eq!(ended.out, "Hello\n", "shown once, however often it came");
    assert!(ended.err.contains("broke off before its end"), "{}", ended.err);
    let stored = std::fs::read_to_string(&failing.place.sessions()[0]).unwrap();
    assert!(!stored.contains("Hello"), "{stored}");
    Failing::new(attempts(1), || Reply::sse(Vec::<String>::new())).fails(1, &["mock"]);
    Failing::new(attempts(1), || Reply::status(200)).fails(1, &["mock"]);
}

/// ltmoerdani/opencode-copilot-chat#170
#[test]
fn an_end_mark_ends_the_turn_though_the_connection_stays_open() {
    let server = Server::start([Reply::sse(chat::says("there")).hold()]);
    let place = Place::with(&server);
    let ended = place.run("go", &[]);
    ended.exits(0);
    assert_eq!(ended.result()["text"], "there");
}

/// ding113/claude-code-hub#649
#[test]
fn an_error_inside_a_good_stream_is_an_error() {
    let body = "event: error\ndata: {\"error\":{\"code\":\"1302\",\"message\":\"High concurrency\"}}\n\n";
    Failing::new(attempts(2), move || Reply::sse([body, chat::DONE])).fails(2, &["mock", "High concurrency"]);
}

/// edison7009/EchoBird#375
#[test]
fn a_page_instead_of_a_stream_is_cut_to_its_words() {
    let page = format!("<html><body>Sign in{}</body></html>", "<p>and more</p>".repeat(5000));
    let bad = page.clone();
    Failing::new(attempts(2), move || Reply::body(200, "text/html", &page))
        .fails(1, &["200", "text/html", "Sign in"]);
    Failing::new(attempts(2), move || Reply::body(502, "text/html", &bad))
        .fails(2, &["502", "text/html", "Sign in"]);
    Failing::new(attempts(2), || Reply::json(200, &json!({ "error": { "message": "bad key" } })))
        .fails(1, &["bad key"]);
}

#[test]
fn garbage_is_no_answer_in_any_form() {
    let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let inside = noise.clone();
    Failing::new(attempts(1), move || Reply::bare(&noise)).fails(1, &["mock"]);
    Failing::new(attempts(1), move || Reply::body(200, "text/event-stream", &inside)).fails(1, &["mock"]);
    Failing::new(attempts(1), || Reply::sse(["data: {\"choices\": [\n\n", chat::DONE])).fails(1, &["mock"]);
    Failing::new(attempts(1), || Reply::body(200, "application/octet-stream", [0_u8; 64]))
        .fails(1, &["mock"]);
}

#[test]
fn headers_without_an_end_are_bounded() {
    // As many as fit, at once.
    let many: String = (0..20_000).map(|n| format!("x-filling-{n}: {}\r\n", "x".repeat(100))).collect();
    Failing::new(attempts(1), move || Reply::bare(format!("HTTP/1.1 200 OK\r\n{many}"))).fails(1, &["mock"]);
    // One after the other, for as long as anyone listens.
    Failing::new(impatient(), || Reply::bare("HTTP/1.1 200 OK\r\n").beat("x-more: 1\r\n"))
        .fails(1, &["mock"]);
}

#[test]
fn a_provider_that_hangs_up_at_once() {
    Failing::new(attempts(1), || Reply::bare("").cut()).fails(1, &["mock", "127.0.0.1"]);
    Failing::new(attempts(1), || Reply::bare("").reset()).fails(1, &["mock", "127.0.0.1"]);
}

/// anthropics/claude-code#79500, google-gemini/gemini-cli#6125
#[test]
fn errors_for_ever_end_after_the_attempts_that_were_allowed() {
    let broken = || Reply::json(500, &json!({ "error": { "message": "it broke" } }));
    Failing::new(attempts(2), broken).fails(2, &["500", "it broke"]);
    let busy =
        || Reply::json(429, &json!({ "error": { "message": "slow down" } })).header("retry-after", "0");
    Failing::new(attempts(3), busy).fails(3, &["429", "slow down"]);
    // Nobody waits an hour for an attempt: the limit is told at once.
    let capped =
        || Reply::json(429, &json!({ "error": { "message": "daily cap" } })).header("retry-after", "3600");
    Failing::new(attempts(3), capped).fails(1, &["429", "daily cap", "3600 s"]);
}

#[test]
fn an_account_without_money_is_not_asked_twice() {
    let body = json!({ "error": { "message": "You exceeded your quota", "type": "insufficient_quota", "code": "insufficient_quota" } });
    Failing::new(attempts(3), move || Reply::json(429, &body)).fails(1, &["429", "quota"]);
}

#[test]
fn attempts_have_bounds() {
    let place = Place::new();
    for wrong in [json!(0), json!(21), json!("two"), json!(1.5)] {
        place.provider_with("http://127.0.0.1:1", json!({ "attempts": wrong }));
        let ended = place.crystal(&["run", "--provider", "mock", "go"]);
        ended.exits(1);
        assert!(ended.err.contains("attempts") && ended.err.contains("from 1 to 20"), "{}", ended.err);
    }
}
