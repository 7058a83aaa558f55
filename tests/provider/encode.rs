//! What a request looks like on the wire.

use std::sync::Arc;

use bytes::Bytes;
use crystal::model::item::{
    Body, CallId, Image, Item, ItemId, MediaType, Origin, ProviderState, ResponseId, ToolCall, ToolResult,
};
use crystal::model::port::ImageSource;
use crystal::model::request::{Gear, Request, Sampling, ToolChoice};
use crystal::provider::endpoint::{Endpoint, TokenLimit};
use serde_json::{Value, json};

use super::given::{self, item, request, request_of, text_of, user};
use crate::support::chat;
use crate::support::server::{Reply, Server};

/// The body that a request is sent with.
async fn sent_by(change: impl FnOnce(&mut Endpoint), request: &Request) -> Value {
    let server = Server::start([Reply::sse(chat::says("Hi"))]);
    let mut endpoint = given::endpoint(&server.base_uri());
    change(&mut endpoint);
    given::call(&mut *given::client(endpoint), request).await.0.expect("an answer");
    server.requests()[0].json()
}

async fn sent(request: &Request) -> Value {
    sent_by(|_| {}, request).await
}

async fn messages(bodies: Vec<Body>) -> Value {
    sent(&request(bodies)).await["messages"].clone()
}

fn system(text: &str) -> Body {
    Body::System { text: text.into() }
}

fn assistant(text: &str) -> Body {
    Body::Assistant { text: text.into() }
}

fn reasoning(text: &str) -> Body {
    Body::Reasoning { text: text.into() }
}

fn call(id: &str, provider_id: Option<&str>, arguments: &str) -> Body {
    Body::ToolCall(ToolCall {
        id: CallId::new(id),
        name: "read".into(),
        arguments: arguments.into(),
        malformed: None,
        provider_id: provider_id.map(Into::into),
    })
}

fn result(id: &str, provider_id: Option<&str>, text: &str, images: &[&str]) -> Body {
    let image = |id: &&str| Image { id: (*id).into(), media_type: MediaType::Png };
    Body::ToolResult(ToolResult {
        call_id: CallId::new(id),
        provider_id: provider_id.map(Into::into),
        name: "read".into(),
        text: text.into(),
        images: images.iter().map(image).collect(),
        failed: false,
    })
}

fn wire_call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}})
}

/// The same item, from a response, with provider state.
fn from(response: &str, state: Option<(&str, Value)>, number: usize, body: Body) -> Arc<Item> {
    let mut item = Item::new(ItemId::new(format!("i{number}")), body);
    item.origin = Some(Origin { response: ResponseId::new(response), index: number as u32 });
    item.state =
        state.map(|(model, data)| ProviderState { protocol: "openai".into(), model: model.into(), data });
    Arc::new(item)
}

struct OneImage;

impl ImageSource for OneImage {
    fn load(&self, id: &str) -> Option<Bytes> {
        (id == "here").then(|| Bytes::from_static(b"PNG"))
    }
}

#[tokio::test]
async fn a_conversation_becomes_messages() {
    let got = messages(vec![
        system("Be kind."),
        user("Read \"a\"\n"),
        assistant("Reading."),
        call("host00001", Some("their-1"), "{\"path\":\"a\"}"),
        call("host00002", None, "{}"),
        result("host00001", Some("their-1"), "A", &[]),
        result("host00002", None, "B", &[]),
        assistant("Done"),
        user("Thanks"),
    ])
    .await;
    let expected = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Read \"a\"\n"},
        {"role": "assistant", "content": "Reading.",
         "tool_calls": [wire_call("their-1", "{\"path\":\"a\"}"), wire_call("host00002", "{}")]},
        {"role": "tool", "tool_call_id": "their-1", "content": "A"},
        {"role": "tool", "tool_call_id": "host00002", "content": "B"},
        {"role": "assistant", "content": "Done"},
        {"role": "user", "content": "Thanks"},
    ]);
    assert_eq!(got, expected);
}

#[tokio::test]
async fn neighbours_of_one_role_are_one_message() {
    let got =
        messages(vec![system("One."), user("a"), user("b"), assistant("c"), assistant("d"), system("Two.")])
            .await;
    let expected = json!([
        {"role": "system", "content": "One.\n\nTwo."},
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c\n\nd"},
    ]);
    assert_eq!(got, expected);
}

#[tokio::test]
async fn pieces_of_one_response_are_one_text() {
    let items = vec![
        item(0, user("a")),
        from("r1", None, 1, assistant("Hel")),
        from("r1", None, 2, reasoning("hm")),
        from("r1", None, 3, assistant("lo")),
    ];
    let got = sent(&request_of(items)).await;
    assert_eq!(got["messages"][1], json!({"role": "assistant", "content": "Hello"}));
}

/// defilantech/LLMKube#935
#[tokio::test]
async fn empty_messages_are_not_sent() {
    let got =
        messages(vec![assistant(""), user("a"), assistant(""), reasoning("hm"), user(""), user("b")]).await;
    let expected = json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]);
    assert_eq!(got, expected);
    let call_only = messages(vec![user("a"), call("h", None, "{}"), result("h", None, "", &[])]).await;
    assert_eq!(
        call_only[1],
        json!({"role": "assistant", "content": null, "tool_calls": [wire_call("h", "{}")]})
    );
}

#[tokio::test]
async fn images_of_results_follow_all_results_in_a_user_message() {
    let mut request = request(vec![
        user("look"),
        call("h1", None, "{}"),
        call("h2", None, "{}"),
        result("h1", None, "A", &["here"]),
        result("h2", None, "B", &[]),
        user("What is it?"),
    ]);
    request.images = Arc::new(OneImage);
    request.accepts_images = true;
    let got = sent(&request).await;
    let roles: Vec<&str> =
        got["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
    let expected = json!([
        {"type": "text", "text": "Images of the result of read:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
        {"type": "text", "text": "What is it?"},
    ]);
    assert_eq!(got["messages"][4]["content"], expected);
}

#[tokio::test]
async fn images_that_cannot_be_sent_are_named() {
    let image = |id: &str| Image { id: id.into(), media_type: MediaType::Png };
    let mut request =
        request(vec![Body::User { text: "look".into(), images: vec![image("gone"), image("here")] }]);
    request.images = Arc::new(OneImage);
    request.accepts_images = true;
    let content = sent(&request).await["messages"][0]["content"].clone();
    assert!(content[1]["text"].as_str().unwrap().contains("no longer stored"), "{content}");
    assert_eq!(content[2]["type"], "image_url");
    request.accepts_images = false;
    let content = sent(&request).await["messages"][0]["content"].clone();
    assert!(content.as_str().unwrap().contains("takes none"), "{content}");
}

#[tokio::test]
async fn tools_and_settings_are_sent_only_when_they_are_set() {
    let bare = sent(&request(vec![user("a")])).await;
    let expected = json!({
        "model": "scripted", "messages": [{"role": "user", "content": "a"}],
        "stream": true, "stream_options": {"include_usage": true},
    });
    assert_eq!(bare, expected);
    let mut full = request(vec![user("a")]);
    full.tools = Arc::new([given::tool("read")]);
    full.tool_choice = ToolChoice::Named("read".into());
    full.output_schema = Some(Arc::new(json!({"type": "object"})));
    full.stream = false;
    full.sampling = Sampling {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(7),
        service_tier: Some("flex".into()),
        ..Sampling::default()
    };
    let got = {
        let server = Server::start([Reply::json(200, &chat::whole(json!({"content": "Hi"}), "stop"))]);
        let mut client = given::client(given::endpoint(&server.base_uri()));
        let (response, _) = given::call(&mut *client, &full).await;
        assert_eq!(text_of(&response.unwrap()), "Hi");
        server.requests()[0].json()
    };
    let function =
        json!({"name": "read", "description": "does it", "parameters": {"type": "object", "properties": {}}});
    let expected = json!({
        "model": "scripted", "messages": [{"role": "user", "content": "a"}], "stream": false,
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "service_tier": "flex",
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
        "tool_choice": {"type": "function", "function": {"name": "read"}},
        "tools": [{"type": "function", "function": function}],
    });
    assert_eq!(got, expected);
}

#[tokio::test]
async fn the_gear_becomes_an_effort_that_the_model_lists() {
    let effort = async |gear: Gear, efforts: &[Gear], can_disable: bool| {
        let mut request = request(vec![user("a")]);
        request.sampling.thinking = gear;
        let change = |endpoint: &mut Endpoint| {
            endpoint.model.thinking_efforts = efforts.to_vec();
            endpoint.model.thinking_can_disable = can_disable;
        };
        sent_by(change, &request).await["reasoning_effort"].clone()
    };
    let listed = [Gear::Low, Gear::Medium, Gear::Maximum];
    assert_eq!(effort(Gear::Medium, &listed, false).await, "medium");
    assert_eq!(effort(Gear::High, &listed, false).await, "medium");
    assert_eq!(effort(Gear::Maximum, &listed, false).await, "xhigh");
    assert_eq!(effort(Gear::Minimal, &listed, false).await, "low");
    assert_eq!(effort(Gear::Off, &listed, true).await, "none");
    assert_eq!(effort(Gear::Off, &listed, false).await, "low");
    assert_eq!(effort(Gear::Default, &listed, true).await, Value::Null);
    assert_eq!(effort(Gear::High, &[], true).await, Value::Null);
}

#[tokio::test]
async fn the_output_limit_goes_in_the_field_that_the_endpoint_names() {
    let mut request = request(vec![user("a")]);
    request.sampling.max_tokens = Some(9);
    let change = |endpoint: &mut Endpoint| endpoint.token_limit = Some(TokenLimit::MaxCompletionTokens);
    let got = sent_by(change, &request).await;
    assert_eq!((&got["max_completion_tokens"], &got["max_tokens"]), (&json!(9), &Value::Null));
}

/// A server that refuses these fields, one at a time.
fn picky(fields: &'static [&'static str]) -> Server {
    Server::answering(move |request, _| {
        let body = request.json();
        match fields.iter().find(|field| body.get(**field).is_some()) {
            Some(field) => {
                let message = format!("Unsupported parameter: '{field}' is not supported with this model.");
                Reply::json(400, &json!({"error": {"message": message, "code": "unsupported_parameter"}}))
            }
            None => Reply::sse(chat::says("Hi")),
        }
    })
}

#[tokio::test]
async fn refused_fields_are_left_out_and_remembered() {
    let server = picky(&["max_tokens", "temperature", "top_p", "stream_options", "reasoning_effort"]);
    let mut endpoint = given::endpoint(&server.base_uri());
    endpoint.model.thinking_efforts = vec![Gear::Low];
    let mut request = request(vec![user("a")]);
    request.sampling = Sampling {
        temperature: Some(0.5),
        top_p: Some(0.5),
        max_tokens: Some(9),
        thinking: Gear::Low,
        ..Sampling::default()
    };
    let mut client = given::client(endpoint);
    given::call(&mut *client, &request).await.0.unwrap();
    assert_eq!(server.requests().len(), 6);
    given::call(&mut *client, &request).await.0.unwrap();
    let all = server.requests();
    assert_eq!(all.len(), 7);
    let expected = json!({
        "model": "scripted", "messages": [{"role": "user", "content": "a"}],
        "stream": true, "max_completion_tokens": 9,
    });
    assert_eq!(all[6].json(), expected);
}

#[tokio::test]
async fn a_server_that_refuses_both_limits_is_not_asked_for_ever() {
    let server = picky(&["max_tokens", "max_completion_tokens"]);
    let mut request = request(vec![user("a")]);
    request.sampling.max_tokens = Some(9);
    let error =
        given::call(&mut *given::client(given::endpoint(&server.base_uri())), &request).await.0.unwrap_err();
    assert!(error.message.contains("max_completion_tokens"), "{}", error.message);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_value_out_of_range_is_reported_and_not_dropped() {
    let body =
        json!({"error": {"message": "Invalid 'temperature': must be at most 2.", "param": "temperature"}});
    let server = Server::answering(move |_, _| Reply::json(400, &body));
    let mut request = request(vec![user("a")]);
    request.sampling.temperature = Some(9.0);
    let error =
        given::call(&mut *given::client(given::endpoint(&server.base_uri())), &request).await.0.unwrap_err();
    assert!(error.message.contains("at most 2"), "{}", error.message);
    assert_eq!(server.requests().len(), 1);
}

/// anomalyco/opencode#6418, vybestack/llxprt-code#2335
#[tokio::test]
async fn state_goes_back_to_the_model_that_made_it_and_to_no_other() {
    let details =
        json!([{"type": "reasoning.text", "text": "hm", "signature": "s"}, {"type": "reasoning.encrypted"}]);
    let extra = json!({"google": {"thought_signature": "t"}});
    let items = |model: &str| {
        vec![
            item(0, user("a")),
            from("r1", Some((model, json!({"reasoning_details": details}))), 1, reasoning("hm")),
            from("r1", Some((model, json!({"extra_content": extra}))), 2, call("h", None, "{}")),
            item(3, result("h", None, "A", &[])),
        ]
    };
    let replay = |endpoint: &mut Endpoint| endpoint.replay_reasoning = true;
    let own = sent_by(replay, &request_of(items("scripted"))).await["messages"][1].clone();
    assert_eq!(own["reasoning_details"], details);
    assert_eq!(own["reasoning_content"], "hm");
    assert_eq!(own["tool_calls"][0]["extra_content"], extra);
    let other = sent_by(replay, &request_of(items("another"))).await["messages"][1].clone();
    assert_eq!(other, json!({"role": "assistant", "content": null, "tool_calls": [wire_call("h", "{}")]}));
}

#[tokio::test]
async fn readable_reasoning_goes_back_only_where_the_endpoint_wants_it() {
    let request = request(vec![user("a"), reasoning("hm"), assistant("b"), user("c")]);
    let replay = |endpoint: &mut Endpoint| endpoint.replay_reasoning = true;
    let with = sent_by(replay, &request).await["messages"][1].clone();
    assert_eq!(with, json!({"role": "assistant", "content": "b", "reasoning_content": "hm"}));
    let without = sent(&request).await["messages"][1].clone();
    assert_eq!(without, json!({"role": "assistant", "content": "b"}));
}

#[tokio::test]
async fn a_later_request_says_the_same_as_a_first_one_would() {
    let words = "lorem ipsum ".repeat(900);
    let mut all = vec![item(0, system("Be kind."))];
    for round in 0..12 {
        let id = format!("h{round}");
        all.push(item(all.len(), user(&words)));
        all.push(item(all.len(), assistant("On it.")));
        all.push(item(all.len(), call(&id, None, "{}")));
        all.push(item(all.len(), result(&id, None, &words, &["here"])));
    }
    let mut histories: Vec<Vec<Arc<Item>>> = (1..=all.len()).map(|end| all[..end].to_vec()).collect();
    // A hook changed an item; the conversation was compacted; the system text is another one, then gone.
    let mut changed = all.clone();
    changed[20] = item(20, user("changed"));
    histories.push(changed);
    histories.push(all[..3].iter().chain(&all[30..]).cloned().collect());
    let mut other = all.clone();
    other[0] = item(99, system("Be brief."));
    histories.push(other);
    histories.push(all[1..].to_vec());
    histories.push(all.clone());
    let server = Server::answering(|_, _| Reply::sse(chat::says("Hi")));
    let mut kept = given::client(given::endpoint(&server.base_uri()));
    for (number, history) in histories.into_iter().enumerate() {
        let mut request = request_of(history);
        request.images = Arc::new(OneImage);
        request.accepts_images = number % 7 != 3;
        given::call(&mut *kept, &request).await.0.unwrap();
        given::call(&mut *given::client(given::endpoint(&server.base_uri())), &request).await.0.unwrap();
        let sent = server.requests();
        let [.., by_kept, by_new] = &sent[..] else { panic!("two requests") };
        assert_eq!(by_kept.json(), by_new.json(), "history {number}");
    }
}
