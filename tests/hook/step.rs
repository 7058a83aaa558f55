//! The events of one step: what may be narrowed, rewritten and sent back.

use std::sync::Arc;

use crystal::hook::model::Answer;
use crystal::hook::moment::{Edit, Given, Moment, Reply};
use crystal::hook::prompt::Segment;
use crystal::hook::step::{PostLlmResponse, PreLlmCall, PreStep, StepStop};
use crystal::model::request::{Purpose, ToolChoice, ToolSpec};
use crystal::model::response::{FinishReason, Usage};
use serde_json::{Value, json};

use super::script::{Script, Stage, answer, conversation, held, ids, replace, reply};

fn step() -> PreStep {
    PreStep {
        step: 2,
        steps_remaining: Some(5),
        max_steps: Some(6),
        tool_names: ["read", "write", "bash"].map(Into::into).to_vec(),
        tool_choice: ToolChoice::Auto,
        must_call: false,
        stop: None,
    }
}

fn names(step: &PreStep) -> Vec<&str> {
    step.tool_names.iter().map(|name| &**name).collect()
}

#[tokio::test]
async fn a_step_shows_what_it_is_about_to_do() {
    assert_eq!(
        step().offer().arguments,
        [json!({ "step": 2, "steps_remaining": 5, "max_steps": 6,
            "tool_names": ["read", "write", "bash"], "tool_choice": "auto" })]
    );
    let open = PreStep {
        steps_remaining: None,
        max_steps: None,
        tool_choice: ToolChoice::Named("read".into()),
        ..step()
    };
    assert_eq!(open.offer().arguments[0]["max_steps"], Value::Null);
    assert_eq!(open.offer().arguments[0]["tool_choice"], json!({ "name": "read" }));
}

#[tokio::test]
async fn tools_are_only_ever_narrowed_and_foreign_names_are_left_out() {
    let stage = Stage::new([
        Script::new("a").gives("PreStep", replace(json!({ "tools": ["bash", "read", "rm", 5] }))),
        Script::new("b").gives("PreStep", replace(json!({ "tools": ["read", "write"] }))),
    ]);
    let fired = stage.fire(step()).await;
    assert_eq!(names(&fired.payload), ["read"], "what the first took away stays away");
    assert_eq!(fired.ignored.len(), 3, "{:?}", fired.ignored);
    let (fired, _) = answer(step(), replace(json!({ "tools": {} }))).await;
    assert!(fired.payload.tool_names.is_empty(), "a script's empty table");
}

#[tokio::test]
async fn a_tool_choice_is_one_the_step_can_make() {
    for (reply, choice) in [
        (json!({ "tool_choice": "required" }), ToolChoice::Required),
        (json!({ "tool_choice": { "name": "bash" } }), ToolChoice::Named("bash".into())),
        (json!({ "tool_choice": { "name": "rm" } }), ToolChoice::Auto),
        (json!({ "tool_choice": "none" }), ToolChoice::Auto),
        (json!({ "tool_choice": 5 }), ToolChoice::Auto),
        (json!({ "tools": ["read"], "tool_choice": { "name": "bash" } }), ToolChoice::Auto),
        (json!({ "tools": [], "tool_choice": "required" }), ToolChoice::Auto),
    ] {
        let (fired, notes) = answer(step(), replace(reply.clone())).await;
        assert_eq!(fired.payload.tool_choice, choice, "{reply}");
        assert!(notes.is_empty());
    }
    let must = PreStep { must_call: true, tool_choice: ToolChoice::Required, ..step() };
    let (fired, _) = answer(must, replace(json!({ "tool_choice": "auto" }))).await;
    assert_eq!(fired.payload.tool_choice, ToolChoice::Required);
    let named = PreStep { tool_choice: ToolChoice::Named("bash".into()), ..step() };
    let (fired, _) = answer(named, replace(json!({ "tools": ["read"] }))).await;
    assert_eq!(fired.payload.tool_choice, ToolChoice::Auto, "no request demands a tool it does not list");
}

#[tokio::test]
async fn remaining_steps_only_go_down_to_one() {
    for (given, left) in [
        (json!(3), 3),
        (json!(3.0), 3),
        (json!(1), 1),
        (json!(0), 5),
        (json!(-1), 5),
        (json!(2.5), 5),
        (json!(9), 5),
        (json!("3"), 5),
    ] {
        let (fired, _) = answer(step(), replace(json!({ "steps_remaining": given, "step": 9 }))).await;
        assert_eq!(fired.payload.steps_remaining, Some(left), "{given}");
        assert_eq!((fired.payload.step, fired.payload.max_steps), (2, Some(6)));
    }
    let open = PreStep { steps_remaining: None, max_steps: None, ..step() };
    let (fired, _) = answer(open, replace(json!({ "steps_remaining": 40 }))).await;
    assert_eq!(fired.payload.steps_remaining, Some(40));
}

#[tokio::test]
async fn a_step_may_end_the_loop_for_one_of_two_reasons() {
    for (stop, reason) in [
        (json!({ "reason": "tool-finished" }), Some(StepStop::ToolFinished)),
        (json!({ "reason": "cancelled", "message": "enough" }), Some(StepStop::Cancelled)),
        (json!({ "reason": "bored" }), None),
        (json!(true), None),
    ] {
        let (fired, _) = answer(step(), replace(json!({ "stop": stop, "tools": ["read"] }))).await;
        assert_eq!(fired.payload.stop.map(|stop| stop.reason), reason);
        assert_eq!(fired.payload.tool_names.len(), 1, "the rest of the replacement counts");
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("does {name}").into(),
        schema: Arc::new(json!({ "type": "object" })),
    }
}

fn llm_call() -> PreLlmCall {
    PreLlmCall {
        messages: conversation(),
        model: "m1".into(),
        tools: [tool("read")].into(),
        catalog: [tool("read"), tool("write")].into(),
        tools_closed: false,
        stream: true,
        prompt_segments: [Segment { plugin_id: "acme".into(), id: "prompt".into() }].into(),
        held: held(true),
    }
}

#[tokio::test]
async fn one_call_may_be_rewritten() {
    assert_eq!(
        llm_call().offer().arguments,
        [json!({
            "model": "m1",
            "tools": [{ "name": "read", "description": "does read", "schema": { "type": "object" } }],
            "stream": true,
            "prompt_segments": [{ "plugin_id": "acme", "id": "prompt" }],
        })]
    );
    let value = replace(json!({
        "model": "m2",
        "stream": false,
        "tools": ["write", { "name": "new", "schema": { "type": "object" } }],
        "prompt_segments": [],
    }));
    let given = Reply::Given(Given { value, edits: Some(vec![Edit::Remove { at: 2 }]) });
    let (fired, _) = reply(llm_call(), given).await;
    let now = fired.payload;
    assert_eq!((&*now.model, now.stream), ("m2", false));
    assert_eq!(ids(&now.messages), ["i1", "i2", "i4", "i5", "i6"]);
    assert_eq!(now.tools[0], tool("write"), "a name alone means the tool of that name");
    assert_eq!(&*now.tools[1].name, "new");
    assert_eq!(now.prompt_segments.len(), 1);
    assert_eq!(fired.ignored, ["`prompt_segments` cannot be replaced here"]);
}

#[tokio::test]
async fn messages_of_a_call_obey_the_rules_of_rebuild_model() {
    let twice = json!([{ "id": "i1" }, { "id": "i1" }]);
    let (fired, _) = answer(llm_call(), replace(json!({ "messages": twice, "model": "m2" }))).await;
    assert_eq!(*fired.payload.messages, *conversation());
    assert_eq!(&*fired.payload.model, "m1", "nothing of a refused reply counts");
    let (fired, _) = answer(llm_call(), replace(json!({ "messages": [{ "id": "i2" }] }))).await;
    assert_eq!(ids(&fired.payload.messages), ["i2"]);
}

#[tokio::test]
async fn a_call_without_tools_stays_without_and_streaming_is_only_turned_off() {
    let repair = PreLlmCall { tools: [].into(), tools_closed: true, stream: false, ..llm_call() };
    let (fired, _) = answer(repair, replace(json!({ "tools": ["read"], "stream": true }))).await;
    assert!(fired.payload.tools.is_empty() && !fired.payload.stream);
    assert_eq!(fired.ignored.len(), 2);
}

#[tokio::test]
async fn tools_that_cannot_be_offered_cost_the_reply() {
    for tools in [json!(["read", "read"]), json!(["unknown"]), json!([{ "schema": {} }]), json!("read")] {
        let (fired, _) = answer(llm_call(), replace(json!({ "tools": tools, "model": "m2" }))).await;
        assert_eq!(&*fired.payload.model, "m1", "{tools}");
    }
}

fn response() -> PostLlmResponse {
    PostLlmResponse {
        response: Answer {
            purpose: Purpose::Work,
            finish_reason: FinishReason::ToolCalls,
            items: conversation()[2..5].to_vec(),
            usage: Usage { input: Some(9), ..Usage::default() },
        },
        messages: Arc::new(conversation()[..2].to_vec()),
        correction: None,
        held: held(true),
    }
}

#[tokio::test]
async fn an_answer_may_be_replaced() {
    let items = json!([{ "id": "i3" }, { "id": "i4", "text": "No." }]);
    let new = json!({ "items": items, "finish_reason": "stop", "usage": { "input": 0 }, "purpose": "side" });
    let (fired, _) = answer(response(), replace(json!({ "response": new }))).await;
    let now = &fired.payload.response;
    assert_eq!(ids(&now.items), ["i3", "i4"]);
    assert!(now.items[0].state.is_some(), "an item that only names itself stays");
    assert_eq!((&**now.items[1].text().unwrap(), now.items[1].state.as_ref()), ("No.", None));
    assert_eq!(now.finish_reason, FinishReason::Stop);
    assert_eq!((now.usage.input, now.purpose), (Some(9), Purpose::Work), "the host's own");
    assert_eq!(fired.ignored.len(), 2);
}

#[tokio::test]
async fn an_answer_holds_only_what_a_model_says_and_no_id_twice() {
    for item in [
        json!({ "id": "n", "kind": "user", "text": "x" }),
        json!({ "id": "n", "kind": "tool_result", "call_id": "c", "text": "x" }),
        json!({ "id": "i2", "kind": "assistant", "text": "x" }),
    ] {
        let (fired, _) = answer(response(), replace(json!({ "response": { "items": [item] } }))).await;
        assert_eq!(fired.payload.response, response().response, "{item}");
    }
}

#[tokio::test]
async fn an_answer_may_be_sent_back_with_a_correction_that_says_something() {
    let (fired, _) = answer(response(), replace(json!({ "correction": "Name the file." }))).await;
    assert_eq!(fired.payload.correction.as_deref(), Some("Name the file."));
    let (fired, _) = answer(response(), replace(json!({ "correction": " " }))).await;
    assert_eq!(fired.payload.correction, None);
    let sent = Given { value: replace(json!({})), edits: Some(vec![Edit::Remove { at: 0 }]) };
    let (fired, _) = reply(response(), Reply::Given(sent)).await;
    assert_eq!(fired.payload.messages.len(), 2, "they were sent already");
}

#[tokio::test]
async fn the_next_handler_sees_what_the_one_before_decided() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let watch = |moment: &str| {
        let seen = seen.clone();
        Script::new("b").on(moment, move |offer| {
            seen.lock().unwrap().push(offer.arguments[0].clone());
            Ok(Reply::Nothing)
        })
    };
    let stop = json!({ "reason": "cancelled", "message": "enough" });
    let stage =
        Stage::new([Script::new("a").gives("PreStep", replace(json!({ "stop": stop }))), watch("PreStep")]);
    let _ = stage.fire(step()).await;
    let stage = Stage::new([
        Script::new("a").gives("PostLLMResponse", replace(json!({ "correction": "again" }))),
        watch("PostLLMResponse"),
    ]);
    let _ = stage.fire(response()).await;
    let seen = seen.lock().unwrap();
    assert_eq!((&seen[0]["stop"], &seen[1]["correction"]), (&stop, &json!("again")));
    assert!(stage.records()[0].change.as_ref().unwrap().contains("again"), "the trace shows it too");
}
