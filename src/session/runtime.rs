//! One runtime: its context, then steps until it is done. `crystal/main`, the agent the operator talks to, is the only one yet.

use std::sync::Arc;

use crate::session::Session;
use crate::session::prompt::{self, Facts};
use crate::session::report::{Report, Stop};
use crate::session::schema::CORRECTIONS;
use crate::session::step::StepEnd;
use crate::session::turn::{Ending, Turn};

/// The runtime that answers the operator.
pub(super) const MAIN: &str = "crystal/main";

/// A runtime while it runs.
#[derive(Debug)]
pub struct Running {
    /// Its name.
    pub name: Arc<str>,
    /// Steps it made.
    pub steps: u64,
    /// Corrections left: of an output schema, or asked for by handlers.
    pub corrections: u32,
    /// Whether an empty answer was asked for once more.
    pub retried_empty: bool,
}

impl Running {
    fn new(name: &str) -> Self {
        Self { name: name.into(), steps: 0, corrections: CORRECTIONS, retried_empty: false }
    }
}

impl Session {
    /// Runs a runtime to its end.
    pub(super) async fn runtime(&mut self, turn: &mut Turn, name: &str) -> Ending {
        let mut running = Running::new(name);
        if !turn.resumed {
            self.compose(turn).await;
        }
        loop {
            match self.step(turn, &mut running).await {
                Ok(StepEnd::Again) => {}
                Ok(StepEnd::Done) => break Ending::completed(),
                Err(ending) => break ending,
            }
        }
    }

    /// Puts the composed system text in place, once a turn.
    async fn compose(&mut self, _turn: &Turn) {
        let date = jiff::ZonedDateTime::now().strftime("%Y-%m-%d").to_string();
        let schema = self.parts.options.output_schema.as_ref().map(|schema| schema.schema.to_string());
        let text = prompt::compose(&Facts {
            mode: self.mode,
            workspace: &self.parts.workspace,
            git_root: self.parts.git_root.as_deref(),
            date: &date,
            model: &self.parts.endpoint.model.name,
            output_schema: schema.as_deref(),
        });
        self.set_system(text.into());
    }

    fn set_system(&mut self, text: Arc<str>) {
        self.transcript.set_system(self.parts.store.ids(), text);
        if let Some(item) = self.transcript.system() {
            let written = self.parts.store.system(item).map(drop);
            self.note_failure(written);
        }
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
                Stop::Failed,
                "the model gave an empty answer twice: no text and no tool call",
            ));
        }
        running.retried_empty = true;
        self.parts.report.report(Report::Note("the model gave an empty answer and is asked once more"));
        Ok(StepEnd::Again)
    }
}
