//! One runtime: its context, then steps until it is done. `crystal/main`, the agent the operator talks to, is the only one yet.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::hook::context::Context;
use crate::hook::handler::Plugin;
use crate::hook::prompt::{PostContextAssembly, Prompt, RewritePrompt, Segment};
use crate::hook::turn::{
    Manifest, PostRuntime, PreRuntime, Rewritten, RuntimeResult, RuntimeStatus, StopReason,
};
use crate::model::item::{Item, ItemId, Items};
use crate::session::Session;
use crate::session::moments::runtime_result;
use crate::session::prompt::{self, Facts};
use crate::session::report::Report;
use crate::session::schema::CORRECTIONS;
use crate::session::step::StepEnd;
use crate::session::store::id::Ids;
use crate::session::turn::{Ending, Turn};

/// The runtime that answers the operator.
pub(super) const MAIN: &str = "crystal/main";

/// A runtime while it runs.
#[derive(Debug)]
pub(super) struct Running {
    /// Its name.
    pub(super) name: Arc<str>,
    /// Steps it made.
    pub(super) steps: u64,
    /// Corrections left: of an output schema, or asked for by handlers.
    pub(super) corrections: u32,
    /// Whether an empty answer was asked for once more.
    pub(super) retried_empty: bool,
    /// The plugins whose `prompt` hook appended.
    pub(super) segments: Arc<[Segment]>,
    /// The raw hooks that rewrote the system text.
    pub(super) rewrote: Vec<Plugin>,
    /// A history that a handler put in the place of the stored one, for this runtime alone.
    pub(super) history: Option<History>,
}

/// A replaced history.
#[derive(Debug)]
pub(super) struct History {
    /// What stands for the stored items.
    pub(super) items: Items,
    /// How many stored items it stands for, the system item included.
    pub(super) covers: usize,
}

impl Running {
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            steps: 0,
            corrections: CORRECTIONS,
            retried_empty: false,
            segments: Arc::new([]),
            rewrote: Vec::new(),
            history: None,
        }
    }
}

impl Session {
    /// Runs a runtime to its end.
    pub(super) async fn runtime(&mut self, turn: &mut Turn, manifest: Manifest) -> (RuntimeResult, Ending) {
        let hooks = Arc::clone(&self.parts.hooks);
        let mut running = Running::new(Arc::clone(&manifest.name));
        let cx = self.context(turn, Some(&running));
        let mut skipped = false;
        // A turn that was interrupted before it had a system text has not begun.
        let ending = if turn.resumed && self.transcript.system().is_some() {
            self.steps(turn, &mut running).await
        } else {
            let before = PreRuntime { manifest, input: self.said(turn) };
            match hooks.fire(&cx, before).await.abort {
                Some(abort) => {
                    let ending = Ending::blocked(&running.name, &abort);
                    skipped = ending.stop == StopReason::Aborted;
                    ending
                }
                None => {
                    self.assemble(&cx, &mut running).await;
                    self.steps(turn, &mut running).await
                }
            }
        };
        let result = runtime_result(turn, &running, &ending, skipped);
        let after = PostRuntime { result, resumed: turn.resumed, rewritten: Rewritten::default() };
        let PostRuntime { result, rewritten, .. } = hooks.fire(&cx, after).await.payload;
        self.rewrite(turn, result, rewritten, ending)
    }

    /// What a runtime comes to after handlers rewrote its result: its output stands for what the model said, and is held
    /// to the schema again.
    fn rewrite(
        &self,
        turn: &mut Turn,
        mut result: RuntimeResult,
        rewritten: Rewritten,
        ending: Ending,
    ) -> (RuntimeResult, Ending) {
        let ending = if rewritten.status { ended(&result, ending) } else { ending };
        if rewritten.output {
            turn.last_text = match &result.output {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
        }
        let changed = rewritten.output || rewritten.status;
        if changed
            && ending.stop == StopReason::Completed
            && let Err(problem) = self.satisfies(turn)
        {
            let message = format!(
                "the result that a handler of PostRuntime rewrote does not satisfy the output schema: {problem}"
            );
            result.status = RuntimeStatus::Failed;
            result.error = Some(json!({ "code": "output-schema-invalid", "message": message }));
            result.completion = Value::Null;
            result.pending_proposals.clear();
            result.effects.clear();
            return (result, Ending::unacceptable(message));
        }
        if let Some(text) = turn.last_text.as_deref().filter(|_| rewritten.output) {
            self.parts.report.report(Report::Text(text));
        }
        (result, ending)
    }

    /// Holds the turn's answer to the output schema, where there is one.
    fn satisfies(&self, turn: &mut Turn) -> Result<(), String> {
        if let Some(schema) = &self.parts.options.output_schema {
            turn.last_text = Some(schema.check(turn.last_text.as_deref().unwrap_or_default())?);
        }
        Ok(())
    }

    async fn steps(&mut self, turn: &mut Turn, running: &mut Running) -> Ending {
        loop {
            match self.step(turn, running).await {
                Ok(StepEnd::Again) => {}
                Ok(StepEnd::Done) => return Ending::completed(),
                Err(ending) => return ending,
            }
        }
    }

    /// Composes the system text, once a turn, and lets handlers see the context before the first call.
    async fn assemble(&mut self, cx: &Context, running: &mut Running) {
        let hooks = Arc::clone(&self.parts.hooks);
        let appended = hooks.fire(cx, Prompt(self.prompt_facts())).await;
        running.segments = appended
            .changed_by
            .iter()
            .map(|plugin| Segment { plugin_id: Arc::clone(&plugin.dir), id: "prompt".into() })
            .collect();
        let facts = appended.payload.0;
        let composed = self.compose(&facts.instructions).into();
        let rewritten = hooks.fire(cx, RewritePrompt { facts, composed }).await;
        running.rewrote = rewritten.changed_by;
        self.set_system(rewritten.payload.composed);
        if hooks.has::<PostContextAssembly>() {
            self.assembled(cx, running).await;
        }
    }

    async fn assembled(&mut self, cx: &Context, running: &mut Running) {
        let hooks = Arc::clone(&self.parts.hooks);
        let items = self.transcript.items();
        let stored: Items = Arc::new(items.iter().skip(1).cloned().collect());
        let assembly = PostContextAssembly {
            system_prompt: self.transcript.system().and_then(|item| item.text().cloned()).unwrap_or_default(),
            frame: "".into(),
            messages: Arc::clone(&stored),
            prompt_template: None,
            prompt_segments: Arc::clone(&running.segments),
            held: self.held(),
        };
        let covers = items.len();
        drop(items);
        let fired = hooks.fire(cx, assembly).await.payload;
        self.set_system(fired.system_prompt);
        if !Arc::ptr_eq(&fired.messages, &stored) {
            let items = self.own_ids(&stored, &fired.messages);
            running.history = Some(History { items, covers });
        }
    }

    /// A new item under an id of the host's own form gets one that the host will not give out again.
    fn own_ids(&self, stored: &Items, given: &Items) -> Items {
        let known: HashSet<&ItemId> = stored.iter().map(|item| &item.id).collect();
        let item = |item: &Arc<Item>| match known.contains(&item.id) || !Ids::gives(&item.id) {
            true => Arc::clone(item),
            false => Arc::new(Item { id: self.parts.store.ids().item(), ..Item::clone(item) }),
        };
        Arc::new(given.iter().map(item).collect())
    }

    fn compose(&self, instructions: &str) -> String {
        let date = jiff::ZonedDateTime::now().strftime("%Y-%m-%d").to_string();
        let schema = self.parts.options.output_schema.as_ref().map(|schema| schema.schema.to_string());
        prompt::compose(&Facts {
            mode: self.mode,
            workspace: &self.parts.workspace,
            git_root: self.parts.git_root.as_deref(),
            date: &date,
            model: &self.parts.endpoint.model.name,
            instructions,
            output_schema: schema.as_deref(),
        })
    }

    fn set_system(&mut self, text: Arc<str>) {
        self.transcript.set_system(self.parts.store.ids(), text);
        if let Some(written) = self.transcript.system().map(|item| self.parts.store.system(item)) {
            self.wrote(written);
        }
    }
}

/// The ending of a runtime whose status a handler rewrote.
fn ended(result: &RuntimeResult, ending: Ending) -> Ending {
    let why = result.error.as_ref().and_then(|error| error.get("message")).and_then(Value::as_str);
    let why = |did: &str| match why {
        Some(why) => format!("a handler of PostRuntime {did} the runtime: {why}"),
        None => format!("a handler of PostRuntime {did} the runtime"),
    };
    match (result.status, ending.stop) {
        (RuntimeStatus::Completed, _) => Ending::completed(),
        (RuntimeStatus::Failed, StopReason::Completed | StopReason::Aborted) => {
            Ending::because(StopReason::Failed, why("failed"))
        }
        (RuntimeStatus::Failed, _) => ending,
        (RuntimeStatus::Skipped, _) => Ending::because(StopReason::Aborted, why("skipped")),
    }
}

/// What the model is told when its final answer does not satisfy the schema.
pub(super) fn correction(problem: &str) -> String {
    format!(
        "Your last message does not satisfy the JSON Schema of the final answer: {problem}. \
         Answer again with one JSON value that satisfies it, and nothing else."
    )
}

impl Session {
    /// The end of a runtime whose model stopped calling tools: its text, held to the schema where there is one.
    pub(super) fn final_answer(
        &mut self,
        turn: &mut Turn,
        running: &mut Running,
        text: &str,
    ) -> Result<StepEnd, Ending> {
        if text.trim().is_empty() && turn.last_text.is_none() {
            return self.empty_answer(running);
        }
        let Some(schema) = self.parts.options.output_schema.clone() else { return Ok(StepEnd::Done) };
        match schema.check(text) {
            Ok(answer) => {
                turn.last_text = Some(answer);
                Ok(StepEnd::Done)
            }
            Err(problem) if running.corrections == 0 => Err(Ending::unacceptable(format!(
                "the final answer still does not satisfy the output schema after {CORRECTIONS} corrections: {problem}"
            ))),
            Err(problem) => {
                running.corrections -= 1;
                let note = format!(
                    "the answer does not satisfy the output schema and is asked for again: {problem}"
                );
                self.parts.report.report(Report::Note(&note));
                self.add_user(turn.number, correction(&problem).into(), Vec::new());
                Ok(StepEnd::Again)
            }
        }
    }

    /// The end of a tool loop that a handler ended: what the model said last is its answer.
    pub(super) fn ended_early(&self, turn: &mut Turn) -> Result<StepEnd, Ending> {
        match self.satisfies(turn) {
            Ok(()) => Ok(StepEnd::Done),
            Err(problem) => Err(Ending::unacceptable(format!(
                "a handler ended the tool loop before an answer satisfied the output schema: {problem}"
            ))),
        }
    }

    /// A model that says nothing at all is asked once more; nothing of the empty answer is kept.
    fn empty_answer(&mut self, running: &mut Running) -> Result<StepEnd, Ending> {
        if running.retried_empty {
            return Err(Ending::because(
                StopReason::Failed,
                "the model gave an empty answer twice: no text and no tool call",
            ));
        }
        running.retried_empty = true;
        self.parts.report.report(Report::Note("the model gave an empty answer and is asked once more"));
        Ok(StepEnd::Again)
    }
}
