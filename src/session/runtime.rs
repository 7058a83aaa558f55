//! One runtime: its context, then steps until it is done. `crystal/main`, the agent the operator talks to, is the only one yet.

use std::sync::Arc;

use crate::hook::context::Context;
use crate::hook::prompt::{PostContextAssembly, Prompt, RewritePrompt, Segment};
use crate::hook::turn::{
    Manifest, PostRuntime, PreRuntime, Rewritten, RuntimeResult, RuntimeStatus, StopReason,
};
use crate::model::item::Items;
use crate::session::Session;
use crate::session::moments::runtime_result;
use crate::session::prompt::{self, Facts};
use crate::session::report::Report;
use crate::session::schema::CORRECTIONS;
use crate::session::step::StepEnd;
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
        let ending = if turn.resumed {
            self.steps(turn, &mut running).await
        } else {
            let before = PreRuntime { manifest, input: self.said(turn) };
            match hooks.fire(&cx, before).await.abort {
                Some(abort) => {
                    skipped = true;
                    Ending::aborted(&running.name, &abort)
                }
                None => {
                    self.assemble(&cx, &mut running).await;
                    self.steps(turn, &mut running).await
                }
            }
        };
        let result = runtime_result(turn, &running, &ending, skipped);
        let after = PostRuntime { result, resumed: turn.resumed, rewritten: Rewritten::default() };
        let fired = hooks.fire(&cx, after).await.payload;
        if fired.rewritten.output {
            turn.last_text = fired
                .result
                .output
                .as_str()
                .map(str::to_owned)
                .or_else(|| Some(fired.result.output.to_string()));
        }
        let ending = if fired.rewritten.status { rewritten(fired.result.status, ending) } else { ending };
        (fired.result, ending)
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
        let composed = hooks.fire(cx, RewritePrompt { facts, composed }).await.payload.composed;
        self.set_system(composed);
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
            running.history = Some(History { items: fired.messages, covers });
        }
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
        if let Some(item) = self.transcript.system() {
            let written = self.parts.store.system(item).map(drop);
            self.note_failure(written);
        }
    }
}

/// The ending of a runtime whose status a handler rewrote.
fn rewritten(status: RuntimeStatus, ending: Ending) -> Ending {
    match status {
        RuntimeStatus::Completed => Ending::completed(),
        RuntimeStatus::Failed if ending.stop == StopReason::Completed => {
            Ending::because(StopReason::Failed, "a handler of PostRuntime failed the runtime")
        }
        RuntimeStatus::Skipped => {
            Ending::because(StopReason::Aborted, "a handler of PostRuntime skipped the runtime")
        }
        RuntimeStatus::Failed => ending,
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
            Err(problem) if running.corrections == 0 => Err(Ending::corrections_used_up(format!(
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
