//! Recorded traffic, where it is at hand: the folder that `CRYSTAL_WIRE` names, else `shared/wire` beside the checkout.
//! Each body must decode to what stands beside it, however it is cut.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crystal::model::response::{CallError, FinishReason, Response};
use crystal::provider::http::failure::Called;
use crystal::provider::http::said::Said;
use crystal::provider::stream::Fault;
use crystal::provider::wait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::given::{self, Outcome};

#[test]
fn recorded_answers_decode_to_what_was_expected_of_them() {
    let Some(folder) = folder() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(case) = name.strip_suffix(".expected.json") {
            check(&folder, case);
            count += 1;
        }
    }
    assert!(count > 0, "{} holds no cases", folder.display());
}

#[allow(clippy::print_stderr)]
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/wire");
    let root = std::env::var_os("CRYSTAL_WIRE").map_or_else(beside, PathBuf::from);
    let folder = root.join("openai");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("no recorded traffic at {}: set CRYSTAL_WIRE to check it", root.display());
    None
}

fn read(folder: &Path, case: &str, ending: &str) -> Option<Vec<u8>> {
    std::fs::read(folder.join(format!("{case}.{ending}"))).ok()
}

fn read_json(folder: &Path, case: &str, ending: &str) -> Value {
    read(folder, case, ending).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap())
}

fn check(folder: &Path, case: &str) {
    let expected = read_json(folder, case, "expected.json");
    let http = read_json(folder, case, "http.json");
    let body = read(folder, case, "sse").or_else(|| read(folder, case, "json")).unwrap();
    let status = http.pointer("/response/status").and_then(Value::as_u64).unwrap_or(200) as u16;
    if status != 200 {
        return check_refusal(case, status, &http, &body, &expected);
    }
    let whole = given::decode(&body);
    check_outcome(case, &whole, &expected);
    // Every place of a small body, many of a large one.
    let step = if body.len() < 6000 { 1 } else { 97 };
    for at in (1..body.len()).step_by(step) {
        let (head, tail) = body.split_at(at);
        assert_eq!(given::decode_pieces([head, tail]), whole, "{case} cut at {at}");
    }
}

fn check_outcome(case: &str, outcome: &Outcome, expected: &Value) {
    let response = match (&outcome.result, expected.get("error")) {
        (Ok(response), None) => response.clone(),
        (Err(Fault::Cut), None) => {
            assert_eq!(expected["stream_cut"], true, "{case}");
            *outcome.partial.clone().unwrap()
        }
        (Err(Fault::Said(said)), Some(error)) => {
            check_said(case, said, error);
            outcome.partial.clone().map(|partial| *partial).unwrap_or_default()
        }
        (Err(Fault::Foreign(_)), Some(_)) => Response::default(),
        other => panic!("{case}: {other:?}"),
    };
    check_response(case, &response, expected);
    assert_eq!(outcome.shown.reasoning, given::reasoning_of(&response), "{case}: shown as it was decoded");
    assert_eq!(outcome.shown.text, given::text_of(&response), "{case}: shown as it was decoded");
}

fn check_said(case: &str, said: &Said, error: &Value) {
    assert_eq!(said.message, error["message"].as_str().unwrap().trim_end_matches('.'), "{case}");
    assert_eq!(said.code, scalar(&error["code"]), "{case}");
    assert_eq!(said.kind, scalar(&error["type"]), "{case}");
}

fn scalar(value: &Value) -> Option<String> {
    if value.is_null() { None } else { Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)) }
}

fn check_response(case: &str, response: &Response, expected: &Value) {
    match expected.get("refusal") {
        Some(refusal) => {
            assert_eq!(given::text_of(response), refusal.as_str().unwrap(), "{case}");
            assert_eq!(response.finish.reason, FinishReason::Filtered, "{case}");
        }
        None => assert_eq!(given::text_of(response), expected["text"], "{case}"),
    }
    assert_eq!(given::reasoning_of(response), expected["reasoning"], "{case}");
    let calls: Vec<Value> = given::calls_of(response)
        .into_iter()
        .map(|(id, name, arguments, complete)| match complete {
            true => {
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                json!({"id": id, "name": name, "arguments": arguments})
            }
            false => json!({"id": id, "name": name, "arguments": arguments, "arguments_complete": false}),
        })
        .collect();
    assert_eq!(Value::from(calls), expected["tool_calls"], "{case}");
    assert_eq!(json!(response.finish.raw.as_deref()), expected["finish"], "{case}");
    let usage = json!({
        "input": response.usage.input, "output": response.usage.output,
        "cached": response.usage.cached, "reasoning": response.usage.reasoning,
    });
    assert_eq!(usage, expected["usage"], "{case}");
    for replay in expected["replay"].as_array().into_iter().flatten() {
        let state =
            response.parts.iter().find_map(|part| part.state.as_ref()).expect("something to send back");
        match replay["kind"].as_str().unwrap() {
            "reasoning_details" => assert_eq!(state["reasoning_details"], replay["details"], "{case}"),
            _ => assert_eq!(
                state["extra_content"]["google"]["thought_signature"], replay["signature"],
                "{case}"
            ),
        }
    }
}

fn check_refusal(case: &str, status: u16, http: &Value, body: &[u8], expected: &Value) {
    let mut headers = HeaderMap::new();
    for (name, value) in http["response"]["headers"].as_object().into_iter().flatten() {
        let value = HeaderValue::from_str(value.as_str().unwrap()).unwrap();
        headers.insert(HeaderName::try_from(name.as_str()).unwrap(), value);
    }
    let endpoint = given::endpoint("http://there");
    let called = Called { endpoint: &endpoint, uri: "http://there/chat/completions" };
    let CallError { status: got, code, message, .. } = called.refused(status, &headers, body);
    let error = &expected["error"];
    assert_eq!(got, Some(status), "{case}");
    let words = error["message"].as_str().unwrap().trim_end_matches('.');
    assert!(message.contains(words), "{case}: {message}");
    assert_eq!(code, scalar(&error["code"]).or(scalar(&error["type"])), "{case}");
    if let Some(wait) = expected["retry_after_s"].as_f64() {
        let said = Said::read(&String::from_utf8_lossy(body));
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let asked = wait::asked(&header, said.body.as_ref(), &said.message, when(&header));
        assert_eq!(asked.unwrap().as_secs_f64().round(), wait.round(), "{case}");
    }
}

/// When the recorded answer was sent.
fn when(header: &dyn Fn(&str) -> Option<String>) -> SystemTime {
    match header("date").and_then(|date| jiff::fmt::rfc2822::parse(&date).ok()) {
        Some(date) => UNIX_EPOCH + Duration::from_secs(date.timestamp().as_second() as u64),
        None => SystemTime::now(),
    }
}
