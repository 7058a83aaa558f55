//! One call over a loopback connection: what is sent, how an answer is read, and what each failure says.

use std::time::Duration;

use crystal::home::secret::Secret;
use crystal::model::request::Request;
use crystal::model::response::{CallError, CallErrorKind, Delta, Response};
use crystal::provider::endpoint::{Endpoint, Timeouts};
use serde_json::json;

use super::given::{self, KEY, text_of, user};
use crate::support::chat;
use crate::support::server::{Gate, Reply, Server};

/// Long enough for any answer, short enough for a test that waits for it to pass.
const SHORT: Duration = Duration::from_millis(60);

async fn call_with(endpoint: Endpoint) -> (Result<Response, CallError>, Vec<Delta>) {
    let (mut client, request) = (given::client(endpoint), hello());
    // Only a clock that does not run lasts that long.
    tokio::time::timeout(Duration::from_secs(30), given::call(&mut *client, &request)).await.expect("an end")
}

async fn call(server: &Server) -> (Result<Response, CallError>, Vec<Delta>) {
    call_with(given::endpoint(&server.base_uri())).await
}

fn hello() -> Request {
    given::request(vec![user("Hello")])
}

/// The failure of one call that gets this reply.
async fn failure(reply: Reply) -> CallError {
    let error = call(&Server::start([reply])).await.0.expect_err("a failure");
    assert!(!error.message.contains(KEY), "{}", error.message);
    assert!(!error.message.ends_with('.'), "{}", error.message);
    error
}

/// Waits, with the runtime going on, until the client has closed a connection.
async fn hung_up(server: Server) {
    tokio::task::spawn_blocking(move || server.wait_for_hang_up(1)).await.unwrap();
}

#[tokio::test]
async fn a_call_sends_what_the_protocol_asks_for() {
    let server = Server::start([Reply::sse(chat::says("Hi"))]);
    let mut endpoint = given::endpoint(&server.base_uri());
    endpoint.organization = Some("org-1".into());
    endpoint.project = Some("proj-1".into());
    endpoint.headers =
        vec![("X-Team".into(), Secret::new("blue")), ("accept".into(), Secret::new("all/things"))];
    let (response, _) = call_with(endpoint).await;
    assert_eq!(text_of(&response.unwrap()), "Hi");
    let request = &server.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    let header = |name: &str| request.header(name).unwrap_or_default();
    assert_eq!(header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(header("accept-encoding"), "identity");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("content-length"), request.body.len().to_string());
    assert_eq!((header("openai-organization"), header("openai-project")), ("org-1", "proj-1"));
    assert_eq!((header("x-team"), header("accept")), ("blue", "all/things"));
    assert_eq!(request.json()["stream"], true);
}

#[tokio::test]
async fn an_endpoint_without_a_key_sends_none() {
    let server = Server::start([Reply::sse(chat::says("Hi"))]);
    let endpoint = Endpoint { key: None, ..given::endpoint(&server.base_uri()) };
    call_with(endpoint).await.0.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn deltas_arrive_while_the_answer_streams() {
    let gate = Gate::default();
    let server = Server::start([Reply::sse([chat::text("Hel")]).wait(&gate).send(chat::says("lo").concat())]);
    let mut client = given::client(given::endpoint(&server.base_uri()));
    let mut shown = String::new();
    let mut sink = |delta| {
        if let Delta::Text(text) = delta {
            shown.push_str(&text);
            // Without this the server sends nothing more, so the call ends only if the first delta came before.
            gate.open();
        }
    };
    let response = client.call(&hello(), &mut sink).await.unwrap();
    assert_eq!((text_of(&response).as_str(), shown.as_str()), ("Hello", "Hello"));
}

#[tokio::test]
async fn one_connection_serves_the_calls_of_a_conversation() {
    let server = Server::start([Reply::sse(chat::says("a")), Reply::sse(chat::says("b"))]);
    let mut client = given::client(given::endpoint(&server.base_uri()));
    for _ in 0..2 {
        given::call(&mut *client, &hello()).await.0.unwrap();
        // The end of the body, which follows the end mark, is read in the background.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    let connections: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0]);
}

/// ltmoerdani/opencode-copilot-chat#170
#[tokio::test]
async fn the_end_mark_ends_the_call_though_the_connection_stays_open() {
    let server = Server::start([Reply::sse(chat::says("Done")).hold()]);
    let (response, _) = call(&server).await;
    assert_eq!(text_of(&response.unwrap()), "Done");
}

#[tokio::test]
async fn an_answer_that_said_why_it_ended_is_whole_though_nothing_follows() {
    let server = Server::start([Reply::sse([chat::text("Done"), chat::finish("stop")]).hold()]);
    let mut endpoint = given::endpoint(&server.base_uri());
    endpoint.timeouts.idle = SHORT;
    let (response, _) = call_with(endpoint).await;
    assert_eq!(text_of(&response.unwrap()), "Done");
}

/// anthropics/claude-code#61001
#[tokio::test]
async fn a_stream_that_goes_silent_is_a_timeout_that_keeps_what_had_come() {
    let server = Server::start([Reply::sse([chat::text("Hel")]).hold()]);
    let mut endpoint = given::endpoint(&server.base_uri());
    endpoint.timeouts.idle = SHORT;
    let error = call_with(endpoint).await.0.unwrap_err();
    assert_eq!((error.kind, error.retryable), (CallErrorKind::Timeout, true));
    assert_eq!(text_of(&error.partial.unwrap()), "Hel");
    hung_up(server).await;
}

#[tokio::test]
async fn comments_show_a_live_connection_but_no_live_model() {
    let server = Server::start([Reply::sse([chat::text("Hel")]).beat(": alive\n\n")]);
    let mut endpoint = given::endpoint(&server.base_uri());
    endpoint.timeouts = Timeouts { silence: SHORT, ..Timeouts::default() };
    let error = call_with(endpoint).await.0.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Timeout);
    assert!(error.message.contains("signs of life"), "{}", error.message);
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_timeout() {
    let gate = Gate::default();
    let server = Server::answering({
        let gate = gate.clone();
        move |_, _| {
            gate.block();
            Reply::sse(chat::says("late"))
        }
    });
    let mut endpoint = given::endpoint(&server.base_uri());
    endpoint.timeouts.first_byte = SHORT;
    let error = call_with(endpoint).await.0.unwrap_err();
    gate.open();
    assert_eq!((error.kind, error.retryable), (CallErrorKind::Timeout, true));
}

/// rashidrazak/opencode-cmd-provider#170, endolith/open-interpreter#291
#[tokio::test]
async fn closed_cut_and_reset_connections_are_cuts() {
    let begun = || Reply::sse([chat::text("Hello wor")]);
    for reply in [begun(), begun().cut(), begun().reset()] {
        let error = failure(reply).await;
        assert_eq!((error.kind, error.retryable), (CallErrorKind::Cut, true), "{}", error.message);
        assert_eq!(text_of(&error.partial.unwrap()), "Hello wor");
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_said_plainly() {
    let gone = Server::start([]).base_uri();
    let error = call_with(given::endpoint(&gone)).await.0.unwrap_err();
    assert_eq!((error.kind, error.retryable), (CallErrorKind::Connect, true));
    assert!(error.message.contains(&gone) && error.message.contains("baseUri"), "{}", error.message);
    for (uri, words) in [("ftp://x", "neither http nor https"), ("nonsense", "providers.json")] {
        let error = call_with(given::endpoint(uri)).await.0.unwrap_err();
        assert!(!error.retryable && error.message.contains(words), "{}", error.message);
    }
}

#[tokio::test]
async fn the_key_is_named_by_how_to_set_it_and_never_shown() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "code": "invalid_api_key"}});
    let error = failure(Reply::json(401, &body)).await;
    assert_eq!((error.kind, error.status, error.retryable), (CallErrorKind::Auth, Some(401), false));
    assert!(error.message.contains("Incorrect API key provided"), "{}", error.message);
    assert!(error.message.contains("crystal keys set acme"), "{}", error.message);
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let cases = [
        (400, json!({"error": {"message": "bad field"}}), CallErrorKind::Client, false),
        (402, json!({"error": {"message": "pay"}}), CallErrorKind::Quota, false),
        (404, json!({"error": {"message": "no model"}}), CallErrorKind::Client, false),
        (413, json!({"error": {"message": "large"}}), CallErrorKind::Context, false),
        (429, json!({"error": {"message": "slow down"}}), CallErrorKind::RateLimit, true),
        (429, json!({"error": {"message": "no", "code": "insufficient_quota"}}), CallErrorKind::Quota, false),
        (
            400,
            json!({"error": {"message": "no", "code": "content_policy_violation"}}),
            CallErrorKind::Filtered,
            false,
        ),
        (
            400,
            json!({"error": {"message": "x", "code": "context_length_exceeded"}}),
            CallErrorKind::Context,
            false,
        ),
        (400, json!({"error": {"message": "maximum context length is 9"}}), CallErrorKind::Context, false),
        (500, json!({"detail": "broken"}), CallErrorKind::Server, true),
        (529, json!({"error": "overloaded"}), CallErrorKind::Server, true),
        (408, json!({}), CallErrorKind::Server, true),
    ];
    for (status, body, kind, retryable) in cases {
        let error = failure(Reply::json(status, &body)).await;
        assert_eq!((error.kind, error.retryable, error.status), (kind, retryable, Some(status)), "{body}");
        assert!(error.message.starts_with(&format!("acme answered {status}")), "{}", error.message);
    }
}

#[tokio::test]
async fn the_server_may_say_itself_whether_to_try_again() {
    let body = json!({"error": {"message": "hm"}});
    assert!(!failure(Reply::json(503, &body).header("x-should-retry", "false")).await.retryable);
    assert!(failure(Reply::json(400, &body).header("x-should-retry", "true")).await.retryable);
}

#[tokio::test]
async fn the_wait_that_is_asked_for_is_reported() {
    let error = failure(Reply::json(429, &json!({"error": "slow"})).header("retry-after", "3")).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
    assert!(error.message.contains("wait 3 s"), "{}", error.message);
}

/// edison7009/EchoBird#375
#[tokio::test]
async fn pages_and_foreign_answers_are_shown_short() {
    let page = format!("<html><head><title>Sign in</title></head>{}</html>", "<p>x</p>".repeat(9000));
    let good = failure(Reply::body(200, "text/html; charset=utf-8", &page)).await;
    assert_eq!((good.kind, good.retryable, good.status), (CallErrorKind::Garbage, false, Some(200)));
    for words in ["200", "text/html", "Sign in", "baseUri"] {
        assert!(good.message.contains(words), "{}", good.message);
    }
    assert!(good.message.len() < 300, "{}", good.message);
    let bad = failure(Reply::body(502, "text/html", &page)).await;
    assert_eq!((bad.kind, bad.retryable), (CallErrorKind::Server, true));
    assert!(bad.message.contains("502 with text/html: Sign in"), "{}", bad.message);
    let error = failure(Reply::json(200, &json!({"error": {"message": "bad key"}}))).await;
    assert!(error.message.contains("bad key") && !error.retryable, "{}", error.message);
    let other = failure(Reply::json(200, &json!({"method": "POST"}))).await;
    assert!(other.message.contains("unexpected answer from http://127.0.0.1"), "{}", other.message);
}

#[tokio::test]
async fn errors_inside_a_good_stream_are_judged_by_their_words() {
    let error =
        |error: serde_json::Value| Reply::sse([chat::text("a"), chat::event(&json!({"error": error}))]);
    let cases = [
        (json!({"code": "1302", "message": "High concurrency"}), CallErrorKind::Server, true),
        (json!({"code": 429, "message": "later"}), CallErrorKind::RateLimit, true),
        (json!({"type": "invalid_request_error", "message": "no"}), CallErrorKind::Client, false),
        (
            json!({"code": "tool_use_failed", "type": "invalid_request_error", "message": "x"}),
            CallErrorKind::Garbage,
            true,
        ),
        (json!({"code": "context_length_exceeded", "message": "no"}), CallErrorKind::Context, false),
        (json!({"code": "insufficient_quota", "message": "no"}), CallErrorKind::Quota, false),
    ];
    for (body, kind, retryable) in cases {
        let error = failure(error(body.clone())).await;
        assert_eq!((error.kind, error.retryable, error.status), (kind, retryable, None), "{body}");
        assert_eq!(text_of(&error.partial.unwrap()), "a");
    }
    let hint = failure(error(json!({"code": "rate_limit_exceeded", "message": "try again in 1.4s"}))).await;
    assert_eq!(hint.retry_after, Some(Duration::from_millis(1400)));
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed_with_the_key() {
    let other = Server::start([Reply::sse(chat::says("stolen"))]);
    let error = failure(Reply::status(307).header("location", &other.base_uri())).await;
    assert!(error.message.contains(&other.base_uri()) && !error.retryable, "{}", error.message);
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let server = Server::start([Reply::sse([chat::text("a")]).hold()]);
    let mut client = given::client(given::endpoint(&server.base_uri()));
    let (request, begun) = (hello(), tokio::sync::Notify::new());
    {
        let mut sink = |_| begun.notify_one();
        tokio::select! {
            _ = client.call(&request, &mut sink) => panic!("the answer never ends"),
            () = begun.notified() => {}
        }
    }
    hung_up(server).await;
}

#[tokio::test]
async fn a_large_body_arrives_whole() {
    let server = Server::start([Reply::sse(chat::says("Hi"))]);
    let words = "0123456789abcdef".repeat(1 << 17);
    let request = given::request((0..4).flat_map(|_| [user(&words), assistant("ok")]).collect());
    let mut client = given::client(given::endpoint(&server.base_uri()));
    given::call(&mut *client, &request).await.0.unwrap();
    let body = server.requests()[0].json();
    assert_eq!(body["messages"].as_array().unwrap().len(), 8);
    assert_eq!(body["messages"][6]["content"].as_str().unwrap().len(), words.len());
}

fn assistant(text: &str) -> crystal::model::item::Body {
    crystal::model::item::Body::Assistant { text: text.into() }
}
