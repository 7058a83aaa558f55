//! Retries: what is tried again, after what wait, and what a reader sees of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crystal::model::response::{CallError, CallErrorKind, Delta, Response};
use crystal::provider::endpoint::Endpoint;
use crystal::provider::retry::{self, Policy};
use serde_json::{Value, json};

use super::given::{self, text_of, user};
use crate::support::chat;
use crate::support::server::{Reply, Server};

/// What one call with retries gave.
struct Run {
    result: Result<Response, CallError>,
    deltas: Vec<Delta>,
    /// (attempt, wait, message) of each notice.
    notices: Vec<(u32, Duration, String)>,
    /// What was really slept.
    slept: Vec<Duration>,
}

/// Runs one call against a server, without waiting, with the middle of all random numbers.
async fn run(endpoint: Endpoint) -> Run {
    let slept = Arc::new(Mutex::new(Vec::new()));
    let mut policy = Policy {
        jitter: Box::new(|| 0.5),
        sleep: {
            let slept = Arc::clone(&slept);
            Box::new(move |wait| {
                slept.lock().unwrap().push(wait);
                Box::pin(std::future::ready(()))
            })
        },
        ..Policy::default()
    };
    let (mut deltas, mut notices) = (Vec::new(), Vec::new());
    let mut client = given::client(endpoint);
    let result = retry::call(
        &mut *client,
        &given::request(vec![user("Hello")]),
        &mut policy,
        &mut |delta| deltas.push(delta),
        &mut |retry| notices.push((retry.attempt, retry.wait, retry.error.message.clone())),
    )
    .await;
    let slept = slept.lock().unwrap().clone();
    Run { result, deltas, notices, slept }
}

async fn run_with(server: &Server) -> Run {
    run(given::endpoint(&server.base_uri())).await
}

fn busy(status: u16) -> Reply {
    Reply::json(status, &json!({"error": {"message": "busy"}}))
}

/// earendil-works/pi#9595
#[tokio::test]
async fn the_wait_that_the_server_asks_for_is_kept_and_shown() {
    let later = || busy(429).header("retry-after", "3");
    let server = Server::start([later(), later(), Reply::sse(chat::says("Hi"))]);
    let run = run_with(&server).await;
    assert_eq!(text_of(&run.result.unwrap()), "Hi");
    let shown: Vec<Duration> = run.notices.iter().map(|(_, wait, _)| *wait).collect();
    assert_eq!(shown, run.slept);
    assert_eq!(shown.len(), 2);
    assert!(shown.iter().all(|wait| *wait >= Duration::from_secs(3)), "{shown:?}");
    assert!(run.notices[0].2.contains("busy"));
}

#[tokio::test]
async fn waits_double_and_attempts_are_bounded() {
    let server = Server::answering(|_, _| busy(503));
    let run = run_with(&server).await;
    assert_eq!(run.result.unwrap_err().status, Some(503));
    assert_eq!(server.requests().len(), 5);
    assert_eq!(run.slept, [1, 2, 4, 8].map(Duration::from_secs));
    let attempts: Vec<u32> = run.notices.iter().map(|(attempt, ..)| *attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_wait_has_a_limit_and_a_usage_cap_is_not_waited_for() {
    let server = Server::start([busy(429).header("retry-after", "300"), Reply::sse(chat::says("Hi"))]);
    let run = run_with(&server).await;
    assert!(run.result.is_ok());
    assert_eq!(run.slept[0].as_secs(), 60);
    let capped = Server::answering(|_, _| busy(429).header("retry-after", "7200"));
    let run = run_with(&capped).await;
    assert!(run.result.unwrap_err().message.contains("7200"));
    assert_eq!(capped.requests().len(), 1);
}

#[tokio::test]
async fn what_waiting_cannot_cure_is_not_tried_again() {
    let refusals: [(u16, Value); 5] = [
        (400, json!({"error": {"message": "no"}})),
        (401, json!({"error": {"message": "no"}})),
        (404, json!({"error": {"message": "no"}})),
        (429, json!({"error": {"message": "no", "code": "insufficient_quota"}})),
        (400, json!({"error": {"message": "no", "code": "context_length_exceeded"}})),
    ];
    for (status, body) in refusals {
        let server = Server::answering(move |_, _| Reply::json(status, &body));
        let run = run_with(&server).await;
        assert!(run.result.is_err() && run.notices.is_empty());
        assert_eq!(server.requests().len(), 1);
    }
}

/// endolith/open-interpreter#291, shiaho777/web-to-app#748
#[tokio::test]
async fn what_a_broken_attempt_had_streamed_is_voided() {
    let server = Server::start([
        Reply::sse([chat::text("Hello wor")]).reset(),
        Reply::sse(chat::says("Hello world!")),
    ]);
    let run = run_with(&server).await;
    assert_eq!(text_of(&run.result.unwrap()), "Hello world!");
    let expected = [Delta::Text("Hello wor".into()), Delta::Void, Delta::Text("Hello world!".into())];
    assert_eq!(run.deltas, expected);
}

#[tokio::test]
async fn an_attempt_that_showed_nothing_needs_no_void() {
    let server = Server::start([busy(500), Reply::sse(chat::says("Hi"))]);
    assert_eq!(run_with(&server).await.deltas, [Delta::Text("Hi".into())]);
}

/// ding113/claude-code-hub#649
#[tokio::test]
async fn an_error_event_is_tried_again_a_bounded_number_of_times() {
    let event = "event: error\ndata: {\"error\":{\"code\":\"1302\",\"message\":\"High concurrency\"}}\n\ndata: [DONE]\n\n";
    let server = Server::answering(move |_, _| Reply::sse([event]));
    let error = run_with(&server).await.result.unwrap_err();
    assert!(error.message.contains("High concurrency"), "{}", error.message);
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn the_last_failure_keeps_what_had_come() {
    let server = Server::answering(|_, _| Reply::sse([chat::text("Hel")]));
    let run = run_with(&server).await;
    let error = run.result.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Cut);
    assert_eq!(text_of(&error.partial.unwrap()), "Hel");
    assert_eq!(run.deltas.last(), Some(&Delta::Text("Hel".into())));
}

#[tokio::test]
async fn dropping_the_call_ends_a_wait() {
    let server = Server::answering(|_, _| busy(503));
    let mut client = given::client(given::endpoint(&server.base_uri()));
    let mut policy = Policy { sleep: Box::new(|_| Box::pin(std::future::pending())), ..Policy::default() };
    let request = given::request(vec![user("Hello")]);
    let waiting = tokio::sync::Notify::new();
    {
        let (mut sink, mut notice) = (|_| {}, |_: retry::Retry<'_>| waiting.notify_one());
        tokio::select! {
            _ = retry::call(&mut *client, &request, &mut policy, &mut sink, &mut notice) => panic!("it waits"),
            () = waiting.notified() => {}
        }
    }
    assert_eq!(server.requests().len(), 1);
}
