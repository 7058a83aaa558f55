//! The other events: what of a replacement counts, and what stays the host's.

use std::sync::Arc;

use bytes::Bytes;
use crystal::hook::commit::{PostStateCommit, PreStateCommit, Proposed, Subject};
use crystal::hook::compaction::{PostCompaction, PreCompaction};
use crystal::hook::dispatch::Cause;
use crystal::hook::moment::{Edit, Given, Moment, Reply};
use crystal::hook::prompt::{PostContextAssembly, Segment};
use crystal::hook::session::{EndReason, SessionEnd};
use crystal::hook::tool::{PostToolUse, PreToolUse, ToolError, UsedResult};
use crystal::hook::turn::{
    Action, Input, Manifest, PostRuntime, PreRuntime, PreSchedule, Rewritten, RuntimeResult, RuntimeStatus,
    TurnStart, TurnStop,
};
use crystal::model::port::{Committed, Expect, FileWrite, Payload, Reach, Source, Todo, TodoStatus};
use crystal::model::response::Usage;
use serde_json::{Value, json};

use super::script::{Script, Stage, answer, call, conversation, held, ids, replace, reply};

fn input() -> Input {
    let action = Action { kind: "message".into(), text: Some("hi".into()), source: "run".into() };
    Input { operator_message: "hi".into(), actions: vec![action] }
}

fn manifest(name: &str) -> Manifest {
    let facts = json!({ "stage": "main" }).as_object().unwrap().clone();
    Manifest { name: name.into(), facts: Arc::new(facts) }
}

#[test]
fn payloads_have_the_fields_that_authors_rely_on() {
    let start = TurnStart { input: input(), active_runtimes: vec!["crystal/main".into()] };
    let actions = json!([{ "kind": "message", "text": "hi", "source": "run" }]);
    assert_eq!(
        start.offer().arguments,
        [json!({ "operator_message": "hi", "actions": actions, "active_runtimes": ["crystal/main"] })]
    );
    let runtime = PreRuntime { manifest: manifest("crystal/main"), input: input() };
    assert_eq!(
        runtime.offer().arguments,
        [json!({
            "manifest": { "name": "crystal/main", "stage": "main" },
            "input": { "operator_message": "hi", "actions": actions },
        })]
    );
    assert_eq!(PreCompaction { message_count: 4 }.offer().arguments, [json!({ "message_count": 4 })]);
    assert_eq!(
        PostCompaction { compacted: true, summary_id: Some("i9".into()) }.offer().arguments,
        [json!({ "compacted": true, "summary_id": "i9" })]
    );
    assert_eq!(
        PostCompaction { compacted: false, summary_id: None }.offer().arguments,
        [json!({ "compacted": false })]
    );
    assert_eq!(
        SessionEnd { session: "s1".into(), reason: EndReason::Deleted }.offer().arguments,
        [json!({ "session": "s1", "reason": "deleted" })]
    );
    let stop = TurnStop { runtime_results: vec![result()], duration_ms: 12 };
    assert_eq!(stop.offer().arguments[0]["runtime_results"][0]["status"], "failed");
}

#[tokio::test]
async fn a_schedule_is_narrowed_and_reordered_by_name_and_never_grows() {
    let schedule = PreSchedule { triggered: ["a/x", "crystal/main", "b/y"].map(manifest).to_vec() };
    let wanted = json!([
        { "name": "b/y", "stage": "changed" }, "crystal/main", { "name": "c/new" }, { "name": "b/y" },
    ]);
    let (fired, _) = answer(schedule.clone(), replace(json!({ "triggered": wanted }))).await;
    assert_eq!(fired.payload.triggered, ["b/y", "crystal/main"].map(manifest), "the host's own manifests");
    assert_eq!(fired.ignored.len(), 2, "{:?}", fired.ignored);
    let (fired, _) = answer(schedule, replace(json!({ "triggered": [] }))).await;
    assert!(fired.payload.triggered.is_empty());
}

#[tokio::test]
async fn guards_without_fields_block_with_their_reason_and_read_no_replacement() {
    async fn check<M: Moment + PartialEq + std::fmt::Debug>(moment: M) {
        let (fired, _) = answer(moment.clone(), json!({ "action": "abort", "reason": "no" })).await;
        let abort = fired.abort.expect("blocked");
        assert_eq!((abort.reason.as_str(), abort.cause), ("no", Cause::Decided));
        let fields = replace(json!({ "manifest": {}, "operator_message": "", "message_count": 0 }));
        let (fired, _) = answer(moment.clone(), fields).await;
        assert!(fired.abort.is_none());
        assert_eq!(fired.payload, moment);
        assert_eq!(fired.ignored.len(), 3);
    }
    check(TurnStart { input: input(), active_runtimes: vec![] }).await;
    check(PreRuntime { manifest: manifest("crystal/main"), input: input() }).await;
    check(PreCompaction { message_count: 4 }).await;
}

fn assembly() -> PostContextAssembly {
    PostContextAssembly {
        system_prompt: "Frame.\n\nPrompt.".into(),
        frame: "Frame.".into(),
        messages: conversation(),
        prompt_template: Some("{{x}}".into()),
        prompt_segments: [Segment { plugin_id: "acme".into(), id: "prompt".into() }].into(),
        held: held(true),
    }
}

#[tokio::test]
async fn a_context_is_rewritten_and_keeps_the_hosts_frame() {
    for (text, now) in [("Other.", "Frame.\n\nOther."), ("Frame.\n\nOther.", "Frame.\n\nOther.")] {
        let (fired, _) = answer(assembly(), replace(json!({ "system_prompt": text }))).await;
        assert_eq!(&*fired.payload.system_prompt, now);
    }
    let value = replace(json!({ "prompt_template": "x", "prompt_segments": [] }));
    let given = Reply::Given(Given { value, edits: Some(vec![Edit::Remove { at: 0 }]) });
    let (fired, _) = reply(assembly(), given).await;
    assert_eq!(ids(&fired.payload.messages), ["i2", "i3", "i4", "i5", "i6"]);
    assert_eq!(fired.payload.prompt_segments.len(), 1);
    assert_eq!(fired.payload.prompt_template.as_deref(), Some("{{x}}"));
    assert_eq!(fired.ignored.len(), 2);
}

#[tokio::test]
async fn a_call_is_rewritten_before_it_is_judged_and_keeps_its_id() {
    let moment = PreToolUse { call: call("read", r#"{"path":"a"}"#) };
    assert_eq!(
        moment.offer().arguments,
        [json!({ "tool_call": { "id": "call00001", "name": "read", "arguments": "{\"path\":\"a\"}" } })]
    );
    let new = json!({ "id": "other", "name": "write", "arguments": "{\"path\":\"b\"}" });
    let (fired, _) = answer(moment, replace(json!({ "tool_call": new }))).await;
    let now = fired.payload.call;
    assert_eq!((now.id.as_str(), &*now.name, &*now.arguments), ("call00001", "write", r#"{"path":"b"}"#));
    assert_eq!(fired.ignored.len(), 1);
}

fn used() -> PostToolUse {
    let error = ToolError { code: "not_found".into(), message: "no file".into(), hint: Some("list".into()) };
    PostToolUse {
        call: call("read", "{}"),
        result: UsedResult {
            result: "raw".into(),
            parsed_result: Some(json!({ "n": 1 })),
            error: Some(error),
            success: false,
            refused: false,
            approval: "granted".into(),
        },
        terminate: false,
    }
}

#[tokio::test]
async fn of_a_used_result_only_what_the_model_reads_can_be_rewritten() {
    let new = json!({
        "result": "new", "parsed_result": { "n": 2 }, "success": true, "refused": true, "approval": "none",
        "error": null,
    });
    let (fired, _) = answer(used(), replace(json!({ "result": new, "tool_call": {} }))).await;
    let now = fired.payload.result;
    assert_eq!((&*now.result, &now.parsed_result), ("new", &Some(json!({ "n": 2 }))));
    let UsedResult { error, success, refused, approval, .. } = used().result;
    assert_eq!((now.error, now.success, now.refused, now.approval), (error, success, refused, approval));
    assert_eq!(fired.ignored.len(), 5, "{:?}", fired.ignored);
}

#[tokio::test]
async fn one_handler_that_ends_the_tool_loop_is_enough() {
    let stage = Stage::new([
        Script::new("a").gives("PostToolUse", replace(json!({ "terminate": true }))),
        Script::new("b").gives("PostToolUse", replace(json!({ "terminate": false }))),
    ]);
    assert!(stage.fire(used()).await.payload.terminate);
}

fn result() -> RuntimeResult {
    RuntimeResult {
        plugin_id: "crystal".into(),
        runtime_id: "crystal/main".into(),
        run_id: "run1".into(),
        turn_id: "t1".into(),
        status: RuntimeStatus::Failed,
        output: json!("draft"),
        canonical_value: Some(json!({ "draft": true })),
        pending_proposals: vec![json!({ "id": "p1" })],
        effects: vec![json!("e")],
        completion: json!({ "done": 1 }),
        error: Some(json!({ "code": "x", "message": "y" })),
        usage: Usage::default(),
    }
}

async fn ended(new: Value) -> (PostRuntime, Vec<String>) {
    let moment = PostRuntime { result: result(), resumed: false, rewritten: Rewritten::default() };
    let (fired, _) = answer(moment, replace(json!({ "result": new }))).await;
    (fired.payload, fired.ignored)
}

#[tokio::test]
async fn a_runtimes_ids_and_writes_are_its_own() {
    let (now, ignored) = ended(json!({
        "plugin_id": "x", "runtime_id": "x", "run_id": "x", "turn_id": "x",
        "pending_proposals": [], "effects": [], "completion": null, "error": null,
    }))
    .await;
    assert_eq!(now.result, RuntimeResult { error: None, ..result() });
    assert_eq!(ignored.len(), 7, "{ignored:?}");
}

#[tokio::test]
async fn another_status_drops_everything_the_runtime_would_have_written() {
    let (now, _) = ended(json!({ "status": "completed" })).await;
    assert_eq!(now.result.status, RuntimeStatus::Completed);
    assert!(now.result.pending_proposals.is_empty() && now.result.effects.is_empty());
    assert_eq!((now.result.completion, now.result.error), (Value::Null, None));
    assert!(now.rewritten.status && !now.rewritten.output);
}

#[tokio::test]
async fn another_output_drops_the_value_it_no_longer_stands_for() {
    let (now, _) = ended(json!({ "output": "final" })).await;
    assert_eq!((now.result.output, now.result.canonical_value), (json!("final"), None));
    assert!(now.rewritten.output);
    assert_eq!(now.result.pending_proposals.len(), 1, "the status is what it was");
    let (now, _) = ended(json!({ "output": "final", "canonical_value": { "draft": true } })).await;
    assert_eq!(now.result.canonical_value, None, "the old value handed back is not a new one");
    let (now, _) = ended(json!({ "output": "final", "canonical_value": 5 })).await;
    assert_eq!(now.result.canonical_value, Some(json!(5)));
}

#[tokio::test]
async fn a_result_that_cannot_be_read_is_skipped() {
    for new in [json!({ "status": "great" }), json!(5), json!({ "usage": "free" })] {
        assert_eq!(ended(new).await.0.result, result());
    }
    let resumed = PostRuntime { result: result(), resumed: true, rewritten: Rewritten::default() };
    assert_eq!(resumed.offer().arguments[0]["resumed"], true);
}

fn proposal(payload: Payload, mode: Option<u32>) -> PreStateCommit {
    let source = Source { plugin: "crystal".into(), runtime: "crystal/main".into() };
    PreStateCommit { proposal: Proposed { id: "w1".into(), source, payload, mode } }
}

fn file(contents: &'static [u8]) -> PreStateCommit {
    let write = FileWrite {
        path: "src/a.rs".into(),
        contents: Bytes::from_static(contents),
        expect: Expect::Hash("abc".into()),
        reach: Reach::Workspace,
    };
    proposal(Payload::File(write), Some(0o644))
}

fn contents(moment: &PreStateCommit) -> (&str, &[u8]) {
    match &moment.proposal.payload {
        Payload::File(file) => (&file.path, &file.contents),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_write_may_get_other_contents_and_nothing_else() {
    assert_eq!(
        file(b"old").offer().arguments,
        [json!({ "proposal": {
            "id": "w1", "kind": "file", "source": { "plugin": "crystal", "runtime": "crystal/main" },
            "payload": { "path": "src/a.rs", "contents": "old", "previous_hash": "abc", "mode": "644" },
        } })]
    );
    let new = json!({
        "id": "w2", "kind": "state", "source": {},
        "payload": { "path": "src/b.rs", "contents": "new", "mode": "777", "previous_hash": null },
    });
    let (fired, _) = answer(file(b"old"), replace(json!({ "proposal": new }))).await;
    assert_eq!(contents(&fired.payload), ("src/a.rs", b"new".as_slice()));
    assert_eq!((&*fired.payload.proposal.id, fired.payload.proposal.mode), ("w1", Some(0o644)));
    assert_eq!(fired.ignored.len(), 6, "{:?}", fired.ignored);
}

#[tokio::test]
async fn bytes_that_are_no_text_travel_as_base64() {
    let moment = file(b"\xff\x00");
    assert_eq!(moment.offer().arguments[0]["proposal"]["payload"]["contents_base64"], "/wA=");
    let new = json!({ "proposal": { "payload": { "contents_base64": "/w==" } } });
    let (fired, _) = answer(moment, replace(new)).await;
    assert_eq!(contents(&fired.payload).1, b"\xff");
}

#[tokio::test]
async fn todos_and_state_may_get_another_value() {
    let todo = |content: &str| Todo { content: content.into(), status: TodoStatus::Pending };
    let list = json!([{ "content": "b", "status": "pending" }]);
    for payload in [list.clone(), json!({ "todos": list })] {
        let moment = proposal(Payload::Todos(vec![todo("a")]), None);
        let (fired, _) = answer(moment, replace(json!({ "proposal": { "payload": payload } }))).await;
        let Payload::Todos(todos) = fired.payload.proposal.payload else { panic!("todos") };
        assert_eq!(todos, [todo("b")]);
    }
    let moment = proposal(Payload::State { key: "k".into(), value: json!(1) }, None);
    let new = json!({ "proposal": { "payload": { "key": "other", "value": 2 } } });
    let (fired, _) = answer(moment, replace(new)).await;
    let Payload::State { key, value } = fired.payload.proposal.payload else { panic!("state") };
    assert_eq!((key.as_str(), value), ("k", json!(2)));
}

#[tokio::test]
async fn a_payload_that_cannot_be_written_refuses_the_write() {
    for payload in [json!(5), json!({ "contents": 5 }), json!({ "contents_base64": "%" })] {
        let new = replace(json!({ "proposal": { "payload": payload } }));
        let (fired, _) = answer(file(b"old"), new).await;
        assert_eq!(fired.abort.map(|abort| abort.cause), Some(Cause::Failed));
    }
}

#[test]
fn a_committed_and_an_observed_change_are_told_apart() {
    let committed = Committed {
        path: Some("/w/src/a.rs".into()),
        hash: Some("def".into()),
        diff: "-a\n+b\n".into(),
        added: 1,
        removed: 1,
        created: false,
    };
    let moment =
        PostStateCommit { proposal: Subject::Proposed(file(b"b").proposal), result: committed.clone() };
    let told = &moment.offer().arguments[0];
    assert_eq!(told["proposal"]["kind"], "file");
    assert_eq!(
        told["result"],
        json!({ "path": "/w/src/a.rs", "hash": "def", "diff": "-a\n+b\n", "added": 1, "removed": 1, "created": false })
    );
    let source = Source { plugin: "crystal".into(), runtime: "crystal/main".into() };
    let seen = Subject::Observed { id: "w2".into(), source, path: "b.txt".into() };
    let told = PostStateCommit { proposal: seen, result: committed }.offer().arguments;
    assert_eq!(
        (&told[0]["proposal"]["kind"], &told[0]["proposal"]["payload"]["path"]),
        (&json!("observed"), &json!("b.txt"))
    );
}
