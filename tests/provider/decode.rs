//! What servers get wrong in Chat Completions answers, and what is made of it. Every body is decoded whole, byte by
//! byte, in random pieces and with CRLF line ends.

use crystal::model::response::{FinishReason, Response, Usage};
use crystal::provider::stream::Fault;
use serde_json::{Value, json};

use super::given::{self, Outcome, calls_of, reasoning_of, text_of};
use crate::support::chat;

fn chunk(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn fragment(call: Value) -> Value {
    chunk(json!({"tool_calls": [call]}))
}

/// Decodes chunks followed by a finish reason and the end mark.
fn answer(chunks: &[Value], reason: &str) -> Response {
    let mut events = chunks.to_vec();
    events.push(finish(reason));
    given::decode_events(&events).result.expect("a response")
}

fn said(outcome: &Outcome) -> String {
    match &outcome.result {
        Err(Fault::Said(said)) => said.message.clone(),
        other => panic!("{other:?}"),
    }
}

/// (id, name, arguments) of calls that may run.
fn check_calls(fragments: &[Value], expected: &[(&str, &str, &str)]) {
    let chunks: Vec<Value> = fragments.iter().cloned().map(fragment).collect();
    let response = answer(&chunks, "tool_calls");
    let expected: Vec<_> =
        expected.iter().map(|(id, name, arguments)| (*id, *name, *arguments, true)).collect();
    assert_eq!(calls_of(&response), expected);
}

#[test]
fn text_is_shown_and_kept_in_order() {
    let outcome = given::decode(chat::says("Hello, 世界! 🦀").concat().as_bytes());
    let response = outcome.result.expect("a response");
    assert_eq!(text_of(&response), "Hello, 世界! 🦀");
    assert_eq!(outcome.shown.text, "Hello, 世界! 🦀");
    assert_eq!(response.finish.reason, FinishReason::Stop);
    assert_eq!((response.usage.input, response.usage.output), (Some(100), Some(10)));
}

/// praxis-proxy/praxis#739, FellouAI/eko#287
#[test]
fn a_character_split_between_two_pieces_is_whole() {
    let body = chat::says("漢字");
    let body = body.concat();
    let at = body.find('漢').unwrap();
    for cut in at..at + 6 {
        let (head, tail) = body.as_bytes().split_at(cut);
        let response = given::decode_pieces([head, tail]).result.unwrap();
        assert_eq!(text_of(&response), "漢字");
    }
}

/// miruamel/xuan#194
#[test]
fn data_without_a_space_and_line_separators_inside_text_are_fine() {
    let body = "data:{\"choices\":[{\"delta\":{\"content\":\"a\u{2028}b\u{85}c\"},\"finish_reason\":\"stop\"}]}\n\ndata:[DONE]\n\n";
    assert_eq!(text_of(&given::decode(body.as_bytes()).result.unwrap()), "a\u{2028}b\u{85}c");
}

#[test]
fn an_object_over_several_data_lines_is_one_event() {
    let body = "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"hi\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(text_of(&given::decode(body.as_bytes()).result.unwrap()), "hi");
}

/// rashidrazak/opencode-cmd-provider#170, ENTERPILOT/GoModel#1017
#[test]
fn an_end_without_finish_reason_or_end_mark_is_a_cut() {
    let body = [chat::text("Hel"), chat::text("lo")].concat();
    let outcome = given::decode(body.as_bytes());
    assert_eq!(outcome.result, Err(Fault::Cut));
    assert_eq!(text_of(&outcome.partial.unwrap()), "Hello");
}

#[test]
fn a_cut_inside_an_event_is_a_cut_and_the_open_call_is_incomplete() {
    let open =
        fragment(json!({"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"path\":\"a"}}));
    let body = format!("data: {open}\n\ndata: {{\"choices\":[{{\"del");
    let outcome = given::decode(body.as_bytes());
    assert_eq!(outcome.result, Err(Fault::Cut));
    assert_eq!(calls_of(&outcome.partial.unwrap()), [("a", "write", "{\"path\":\"a", false)]);
}

#[test]
fn a_finished_answer_needs_no_end_mark_and_no_last_blank_line() {
    let body = format!("{}data: {}", chat::text("done"), finish("stop"));
    assert_eq!(text_of(&given::decode(body.as_bytes()).result.unwrap()), "done");
}

#[test]
fn an_end_mark_without_finish_reason_is_the_end() {
    let response = given::decode_events(&[chunk(json!({"content": "done"}))]).result.unwrap();
    assert_eq!((text_of(&response).as_str(), response.finish.raw), ("done", None));
}

#[test]
fn comments_pings_and_unknown_fields_carry_nothing() {
    let body = format!(
        ": busy\n\nid: 7\nretry: 10\n\n: busy\nevent: ping\n\ndata: ping\n\n{}data: {}\n\n{}",
        chat::text("a"),
        json!({"choices": []}),
        chat::says("b").concat()
    );
    assert_eq!(text_of(&given::decode(body.as_bytes()).result.unwrap()), "ab");
}

#[test]
fn a_byte_order_mark_before_the_first_event_is_dropped() {
    let body = format!("\u{feff}{}", chat::says("a").concat());
    assert_eq!(text_of(&given::decode(body.as_bytes()).result.unwrap()), "a");
}

#[test]
fn only_the_first_choice_counts() {
    let two = json!({"choices": [
        {"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}},
    ]});
    let other = json!({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]});
    let response = answer(&[two, other], "stop");
    assert_eq!(text_of(&response), "yes");
}

#[test]
fn usage_keeps_the_last_number_and_nulls_erase_nothing() {
    let usage = |value: Value| json!({"choices": [], "usage": value});
    let response = given::decode_events(&[
        chunk(json!({"content": "a"})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5.0, "completion_tokens": 1}}),
        usage(Value::Null),
        usage(
            json!({"prompt_tokens": null, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}),
        ),
        json!({"choices": [], "x_groq": {"usage": {"completion_tokens_details": {"reasoning_tokens": 1}}}}),
    ]);
    let expected =
        Usage { input: Some(5), output: Some(2), cached: Some(3), reasoning: Some(1), ..Usage::default() };
    assert_eq!(response.result.unwrap().usage, expected);
}

#[test]
fn reasoning_is_taken_once_whatever_field_it_is_in() {
    let both = chunk(json!({"reasoning_content": "Hm", "reasoning": "Hm"}));
    let details = json!([{"type": "reasoning.text", "text": "!", "index": 0}]);
    let again = chunk(json!({"reasoning_content": "m", "reasoning_details": details}));
    let response = answer(&[both, again, chunk(json!({"content": "Yes"}))], "stop");
    assert_eq!((reasoning_of(&response).as_str(), text_of(&response).as_str()), ("Hmm", "Yes"));
    let only_details = answer(&[chunk(json!({"reasoning_details": details}))], "stop");
    assert_eq!(reasoning_of(&only_details), "!");
}

#[test]
fn reasoning_tags_at_the_start_are_told_from_text() {
    let chunks: Vec<Value> = ["<th", "ink>\nlet me", " see</thi", "nk>\n\nIt is <think>"]
        .map(|piece| chunk(json!({"content": piece})))
        .to_vec();
    let response = answer(&chunks, "stop");
    assert_eq!(reasoning_of(&response), "\nlet me see");
    assert_eq!(text_of(&response), "It is <think>");
}

#[test]
fn content_may_be_an_array_of_parts() {
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]);
    let text = json!([{"type": "text", "text": "Yes"}, {"type": "reference", "ids": [1]}]);
    let response = answer(&[chunk(json!({"content": thinking})), chunk(json!({"content": text}))], "stop");
    assert_eq!((reasoning_of(&response).as_str(), text_of(&response).as_str()), ("Hm", "Yes"));
}

#[test]
fn a_whole_message_beside_or_after_the_deltas_is_not_text_twice() {
    let beside = |delta: &str, whole: &str| json!({"choices": [{"delta": {"content": delta}, "message": {"content": whole}}]});
    let after =
        json!({"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]});
    let response = given::decode_events(&[beside("He", "He"), beside("llo", "Hello"), after]).result.unwrap();
    assert_eq!(text_of(&response), "Hello");
}

#[test]
fn messages_that_grow_without_deltas_are_one_text() {
    let whole = |text: &str| json!({"choices": [{"message": {"content": text}}]});
    let response = answer(&[whole("He"), whole("Hello"), whole("Hello")], "stop");
    assert_eq!(text_of(&response), "Hello");
}

#[test]
fn a_whole_answer_to_a_stream_request_is_read() {
    let call =
        json!({"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}});
    let body = chat::whole(json!({"content": "Reading", "tool_calls": [call]}), "tool_calls").to_string();
    let outcome = given::decode(body.as_bytes());
    let response = outcome.result.unwrap();
    assert_eq!(text_of(&response), "Reading");
    assert_eq!(calls_of(&response), [("a", "read", "{\"path\":\"x\"}", true)]);
    assert_eq!(outcome.shown.calls, ["read"]);
}

#[test]
fn a_refusal_is_told_and_counts_as_filtered() {
    let response = answer(&[chunk(json!({"refusal": "I will"})), chunk(json!({"refusal": " not"}))], "stop");
    assert_eq!(text_of(&response), "I will not");
    assert_eq!(response.finish.reason, FinishReason::Filtered);
}

/// ding113/claude-code-hub#649
#[test]
fn an_error_event_in_a_good_stream_is_an_error() {
    let body = "event: error\ndata: {\"error\":{\"code\":\"1302\",\"message\":\"High concurrency\"}}\n\ndata: [DONE]\n\n";
    assert_eq!(said(&given::decode(body.as_bytes())), "High concurrency");
}

#[test]
fn errors_are_seen_before_choices_and_keep_what_had_come() {
    let mut broken = chunk(json!({"content": ""}));
    broken["error"] = json!({"message": "Out of memory", "code": 502});
    let outcome = given::decode_events(&[chunk(json!({"content": "Hel"})), broken]);
    assert_eq!(said(&outcome), "Out of memory");
    assert_eq!(text_of(&outcome.partial.unwrap()), "Hel");
    let plain = given::decode_events(&[json!({"error": "gone"})]);
    assert_eq!(said(&plain), "gone");
    let flat = given::decode_events(&[json!({"object": "error", "message": "flat", "code": 400})]);
    assert_eq!(said(&flat), "flat");
}

#[test]
fn a_null_error_beside_choices_is_none() {
    let mut fine = chunk(json!({"content": "a"}));
    fine["error"] = Value::Null;
    assert_eq!(text_of(&answer(&[fine], "stop")), "a");
}

#[test]
fn finish_reasons_are_normalised_and_failures_among_them_are_errors() {
    let reason = |word: &str| {
        let response = answer(&[chunk(json!({"content": "a"}))], word);
        assert_eq!(response.finish.raw.as_deref(), Some(word));
        response.finish.reason
    };
    assert_eq!(reason("eos"), FinishReason::Stop);
    assert_eq!(reason("length"), FinishReason::Length);
    assert_eq!(reason("function_call"), FinishReason::ToolCalls);
    assert_eq!(reason("sensitive"), FinishReason::Filtered);
    assert_eq!(reason("something_new"), FinishReason::Other);
    for word in ["error", "network_error"] {
        let outcome = given::decode_events(&[chunk(json!({"content": "a"})), finish(word)]);
        assert!(said(&outcome).contains(word));
        assert_eq!(text_of(&outcome.partial.unwrap()), "a");
    }
}

#[test]
fn an_empty_answer_is_an_answer() {
    assert_eq!(answer(&[], "stop").parts, []);
}

/// edison7009/EchoBird#375
#[test]
fn what_is_no_completion_is_named_and_not_guessed_at() {
    let foreign = |body: &str| match given::decode(body.as_bytes()).result {
        Err(Fault::Foreign(excerpt)) => excerpt,
        other => panic!("{other:?}"),
    };
    assert_eq!(foreign("<html><body>Sign in</body></html>"), "Sign in");
    assert_eq!(foreign("{\"status\":\"ok\"}"), "{\"status\":\"ok\"}");
    assert_eq!(foreign("hello there\n\n"), "hello there");
    assert_eq!(foreign(""), "");
    assert_eq!(foreign("data: {\"status\":\"ok\"}\n\n"), "{\"status\":\"ok\"}");
}

#[test]
fn a_strange_value_costs_itself_and_not_the_chunk() {
    let body = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"content\":\"b\"}}]}\n\n",
        "data: {\"choices\":{\"no\":\"list\"},\"usage\":7}\n\n",
        "data: {\"choices\":[{\"index\":\"0\",\"delta\":{\"content\":12,\"tool_calls\":[7,null]},\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"c\",\"tool_calls\":null},\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(text_of(&given::decode(body.as_bytes()).result.unwrap()), "bc");
}

#[test]
fn a_broken_object_in_a_good_stream_is_a_broken_answer() {
    let body = format!("{}data: {{\"choices\":[}}\n\n", chat::text("a"));
    let outcome = given::decode(body.as_bytes());
    assert!(matches!(outcome.result, Err(Fault::Broken(_))), "{outcome:?}");
}

/// apache/maka#1976, LibreChat-AI/agents#260
#[test]
fn one_index_with_a_new_id_and_name_is_another_call() {
    check_calls(
        &[
            json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}),
            json!({"index": 0, "id": "b", "function": {"name": "read", "arguments": "{\"path\":\"b\"}"}}),
        ],
        &[("a", "read", "{\"path\":\"a\"}"), ("b", "read", "{\"path\":\"b\"}")],
    );
}

/// QwenLM/Qwen-Agent#943
#[test]
fn interleaved_fragments_find_their_call_by_index() {
    check_calls(
        &[
            json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"p"}}),
            json!({"index": 1, "id": "b", "function": {"name": "two", "arguments": "{\"q"}}),
            json!({"index": 0, "id": null, "function": {"name": null, "arguments": "\":1}"}}),
            json!({"index": 1, "function": {"arguments": null}}),
            json!({"index": 1, "id": "", "function": {"name": "", "arguments": "\":2}"}}),
        ],
        &[("a", "one", "{\"p\":1}"), ("b", "two", "{\"q\":2}")],
    );
}

#[test]
fn an_index_is_a_key_and_not_a_place() {
    check_calls(
        &[
            json!({"index": 1, "id": "a", "function": {"name": "one", "arguments": "{"}}),
            json!({"index": "7", "id": "b", "function": {"name": "two", "arguments": "{"}}),
            json!({"index": 1.0, "function": {"arguments": "}"}}),
            json!({"index": 7, "function": {"arguments": "}"}}),
        ],
        &[("a", "one", "{}"), ("b", "two", "{}")],
    );
}

#[test]
fn without_an_index_the_id_and_then_the_latest_call_decide() {
    check_calls(
        &[
            json!({"id": "a", "function": {"name": "one", "arguments": "{\"x\":"}}),
            json!({"function": {"arguments": "1}"}}),
            json!({"id": "b", "function": {"name": "two", "arguments": "{\"y\":"}}),
            json!({"id": "b", "function": {"arguments": "2}"}}),
        ],
        &[("a", "one", "{\"x\":1}"), ("b", "two", "{\"y\":2}")],
    );
}

#[test]
fn without_index_and_id_the_place_in_the_chunk_decides() {
    let first = chunk(json!({"tool_calls": [
        {"function": {"name": "one", "arguments": "{\"x\""}}, {"function": {"name": "two", "arguments": "{\"y\""}},
    ]}));
    let second = chunk(json!({"tool_calls": [
        {"function": {"arguments": ":1}"}}, {"function": {"arguments": ":2}"}},
    ]}));
    let response = answer(&[first, second], "tool_calls");
    assert_eq!(calls_of(&response), [("", "one", "{\"x\":1}", true), ("", "two", "{\"y\":2}", true)]);
}

#[test]
fn whole_calls_without_id_or_with_one_index_are_as_many_calls() {
    check_calls(
        &[
            json!({"index": 0, "id": "", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}),
            json!({"index": 0, "id": "", "function": {"name": "read", "arguments": "{\"path\":\"b\"}"}}),
        ],
        &[("", "read", "{\"path\":\"a\"}"), ("", "read", "{\"path\":\"b\"}")],
    );
}

#[test]
fn ids_may_come_late_and_may_be_the_same() {
    check_calls(
        &[
            json!({"index": 0, "function": {"name": "one", "arguments": ""}}),
            json!({"index": 0, "id": "a", "function": {"arguments": "{}"}}),
            json!({"index": 1, "id": "a", "function": {"name": "two", "arguments": "{}"}}),
        ],
        &[("a", "one", "{}"), ("a", "two", "{}")],
    );
}

#[test]
fn names_may_be_repeated_come_in_pieces_or_come_last() {
    let call = |name: &str, arguments: &str| json!({"index": 0, "id": "a", "function": {"name": name, "arguments": arguments}});
    let expected = [("a", "read_file", "{\"x\":1}")];
    check_calls(&[call("read_file", ""), call("read_file", "{\"x\""), call("read_file", ":1}")], &expected);
    check_calls(&[call("read", ""), call("_file", ""), call("", "{\"x\":1}")], &expected);
    check_calls(&[call("", "{\"x\":1}"), call("read_file", "")], &expected);
}

#[test]
fn complete_arguments_sent_once_more_are_dropped() {
    let call = |arguments: &str| json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": arguments}});
    check_calls(
        &[call("{\"path\""), call(":\"a\"}"), call("{\"path\":\"a\"}")],
        &[("a", "read", "{\"path\":\"a\"}")],
    );
}

#[test]
fn objects_glued_together_are_several_calls() {
    check_calls(
        &[
            json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"path\":\"}{\"}"}}),
            json!({"index": 0, "function": {"arguments": " {\"path\":\"b\"}"}}),
        ],
        &[("a", "read", "{\"path\":\"}{\"}"), ("", "read", "{\"path\":\"b\"}")],
    );
}

#[test]
fn every_empty_form_of_arguments_is_an_empty_object() {
    for arguments in [json!(""), json!("null"), json!(null), json!({}), json!("{}"), json!("  ")] {
        let call = json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": arguments}});
        check_calls(&[call], &[("a", "now", "{}")]);
    }
    check_calls(&[json!({"index": 0, "id": "a", "function": {"name": "now"}})], &[("a", "now", "{}")]);
}

#[test]
fn arguments_may_be_an_object_instead_of_a_text() {
    let call = json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": {"path": "a"}}});
    check_calls(&[call], &[("a", "read", "{\"path\":\"a\"}")]);
}

#[test]
fn the_old_form_of_a_call_is_read() {
    let response = answer(
        &[
            chunk(json!({"function_call": {"name": "read", "arguments": "{\"a\""}})),
            chunk(json!({"function_call": {"arguments": ":1}"}})),
        ],
        "function_call",
    );
    assert_eq!(calls_of(&response), [("", "read", "{\"a\":1}", true)]);
}

/// NousResearch/hermes-agent#35151, aaif-goose/goose#9946
#[test]
fn arguments_cut_by_the_output_limit_are_incomplete_and_earlier_calls_are_not() {
    let call = |index: usize, arguments: &str| {
        fragment(
            json!({"index": index, "id": format!("c{index}"), "function": {"name": "w", "arguments": arguments}}),
        )
    };
    let cut = answer(&[call(0, "{\"a\":1}"), call(1, "{\"path\":\"a.txt\",\"con")], "length");
    assert_eq!(
        calls_of(&cut),
        [("c0", "w", "{\"a\":1}", true), ("c1", "w", "{\"path\":\"a.txt\",\"con", false)]
    );
    let empty = answer(&[call(0, ""), call(1, "")], "length");
    assert_eq!(calls_of(&empty), [("c0", "w", "{}", true), ("c1", "w", "{}", false)]);
}

/// MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#55
#[test]
fn broken_arguments_of_a_finished_answer_are_kept_as_written() {
    let broken =
        fragment(json!({"index": 0, "id": "a", "function": {"name": "w", "arguments": "{\"a\":\"x"}}));
    assert_eq!(calls_of(&answer(&[broken], "tool_calls")), [("a", "w", "{\"a\":\"x", true)]);
}

/// skye-harris/hass_local_openai_llm#92
#[test]
fn a_repeated_finish_reason_does_not_repeat_the_call() {
    let call = fragment(json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}));
    let mut again = finish("tool_calls");
    again["usage"] = json!({"prompt_tokens": 1, "completion_tokens": 1});
    let response = answer(&[call, again], "tool_calls");
    assert_eq!(calls_of(&response).len(), 1);
}

#[test]
fn a_call_is_announced_once_with_its_whole_name() {
    let outcome = given::decode_events(&[
        fragment(json!({"index": 0, "id": "a", "function": {"name": "re"}})),
        fragment(json!({"index": 0, "function": {"name": "ad", "arguments": ""}})),
        fragment(json!({"index": 0, "function": {"arguments": "{}"}})),
        fragment(json!({"index": 1, "id": "b", "function": {"name": "grep", "arguments": "{}"}})),
        finish("tool_calls"),
    ]);
    assert_eq!(outcome.shown.calls, ["read", "grep"]);
}

#[test]
fn signatures_are_kept_with_the_part_they_came_with() {
    let extra = json!({"google": {"thought_signature": "sig"}});
    let call = fragment(json!({
        "index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}, "extra_content": extra,
    }));
    let details = json!([{"type": "reasoning.encrypted", "data": "xyz"}]);
    let response = answer(&[chunk(json!({"reasoning_details": details})), call], "tool_calls");
    let states: Vec<_> = response.parts.iter().map(|part| part.state.clone()).collect();
    assert_eq!(states, [Some(json!({"reasoning_details": details})), Some(json!({"extra_content": extra}))]);
}

#[test]
fn more_calls_than_anyone_means_are_refused() {
    let many: Vec<Value> = (0..600)
        .map(|n| json!({"index": n, "id": format!("c{n}"), "function": {"name": "now", "arguments": "{}"}}))
        .collect();
    let outcome =
        given::decode_pieces([format!("data: {}\n\n", chunk(json!({"tool_calls": many}))).as_bytes()]);
    assert!(matches!(outcome.result, Err(Fault::Broken(_))));
}
