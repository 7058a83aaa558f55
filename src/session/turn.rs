//! THE LOOP. One operator input becomes one turn: begin, schedule, run the runtimes, end.
//!
//! Every moment at which a handler may run is one visible `fire`, here, in `runtime`, `step` or `call`, in the order of the
//! reference page. Nothing here knows a terminal, a settings file or a script.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::approval::decide::Trust;
use crate::hook::context::Context;
use crate::hook::dispatch::{Abort, Cause};
use crate::hook::turn::{PreSchedule, StopReason, TurnFinished, TurnStart, TurnStarted, TurnStop};
use crate::model::item::Image;
use crate::model::judgement::Approval;
use crate::model::response::Usage;
use crate::session::Session;
use crate::session::budget::{self, Budget};
use crate::session::moments::main_manifest;
use crate::session::report::Report;
use crate::session::runtime::MAIN;
use crate::session::store::record::{self, Record, TurnEnd};

/// What the operator says.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Images, already stored.
    pub images: Vec<Image>,
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it stopped, and the sentence that goes with anything but `completed`.
    pub ending: Ending,
    /// The last text of the model.
    pub text: Option<String>,
    /// What the turn cost.
    pub usage: Usage,
    /// Model calls made.
    pub model_calls: u64,
    /// Tool calls made.
    pub tool_calls: u64,
    /// What was denied because nobody could be asked, and dismissed questions, in order.
    pub unanswered: Vec<Unanswered>,
    /// Whether the workspace was restricted, so that `edit` and `full` acted as `default`.
    pub restricted: bool,
}

/// Something that would have needed an operator's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// A question of the model.
    Question,
    /// A call that needed approval.
    Call {
        /// What it would have done, on one line.
        summary: String,
        /// The least mode in which such a call runs unasked in a trusted workspace; none when there is none.
        mode: Option<Approval>,
    },
}

/// Why a turn, a runtime or a step cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The stop reason.
    pub stop: StopReason,
    /// One sentence; none when there is nothing to explain.
    pub message: Option<String>,
    /// Where a failure lies; means something with [`StopReason::Failed`] only.
    pub fault: Fault,
}

/// Where the failure of a turn lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// At the model, or at a handler that stood in its place.
    Model,
    /// At a limit of the turn's own: its corrections were used up.
    Limit,
    /// At the place where it runs: the session file cannot be written, or the workspace has gone.
    Place,
}

impl Ending {
    /// The model was done.
    pub fn completed() -> Self {
        Self { stop: StopReason::Completed, message: None, fault: Fault::Model }
    }
    /// It stopped for that reason.
    pub fn because(stop: StopReason, message: impl Into<String>) -> Self {
        Self { stop, message: Some(message.into()), fault: Fault::Model }
    }
    /// It failed because its answer is none that can stand, and no correction is left to ask for.
    pub fn unacceptable(message: impl Into<String>) -> Self {
        Self { stop: StopReason::Failed, message: Some(message.into()), fault: Fault::Limit }
    }
    /// It failed because the place where it runs is no longer fit for it.
    pub fn displaced(message: impl Into<String>) -> Self {
        Self { stop: StopReason::Failed, message: Some(message.into()), fault: Fault::Place }
    }
    /// A guard ended it, or was still deciding when somebody cancelled it.
    pub fn blocked(what: &str, abort: &Abort) -> Self {
        if abort.cause == Cause::Cancelled {
            return Self::cancelled();
        }
        Self::because(
            StopReason::Aborted,
            format!("plugin '{}' ended {what}: {}", abort.plugin.name, abort.reason),
        )
    }
    /// Somebody cancelled it.
    pub fn cancelled() -> Self {
        Self::because(StopReason::Cancelled, "interrupted")
    }
}

/// What one turn carries from step to step.
#[derive(Debug)]
pub struct Turn {
    /// Its number in the session, from 1.
    pub number: u64,
    /// The operator input it belongs to, from 1.
    pub logical: u64,
    /// The operator's text as stored.
    pub text: Arc<str>,
    /// What it may spend.
    pub budget: Budget,
    /// What it spent on models.
    pub usage: Usage,
    /// Ends it.
    pub cancel: CancellationToken,
    /// What was denied for want of an operator, and dismissed questions.
    pub unanswered: Vec<Unanswered>,
    /// The model's last text.
    pub last_text: Option<String>,
    /// Steps so far, those of an earlier process included.
    pub steps: u64,
    /// Whether it goes on with a turn that was interrupted.
    pub resumed: bool,
}

impl Session {
    /// Runs one turn on what the operator said.
    pub async fn turn(&mut self, input: Input, cancel: &CancellationToken) -> Outcome {
        self.turns += 1;
        self.inputs += 1;
        let turn = Turn {
            number: self.turns,
            logical: self.inputs,
            text: input.text.as_str().into(),
            budget: Budget::new(self.parts.options.limits),
            usage: Usage::default(),
            cancel: cancel.child_token(),
            unanswered: Vec::new(),
            last_text: None,
            steps: 0,
            resumed: false,
        };
        self.bounded(turn, Some(input)).await
    }

    /// Goes on with the turn that was interrupted when this session was last open; none when none was.
    pub async fn resume_turn(&mut self, cancel: &CancellationToken) -> Option<Outcome> {
        let interrupted = self.interrupted.take()?;
        let turn = Turn {
            number: interrupted.start.turn,
            logical: interrupted.start.logical_turn,
            text: interrupted.start.text,
            budget: Budget::new(self.parts.options.limits),
            usage: Usage::default(),
            cancel: cancel.child_token(),
            unanswered: Vec::new(),
            last_text: None,
            steps: interrupted.steps,
            resumed: true,
        };
        Some(self.bounded(turn, None).await)
    }

    /// Runs the turn under its time budget: when time is up everything is cancelled, and the ending says so.
    async fn bounded(&mut self, mut turn: Turn, input: Option<Input>) -> Outcome {
        let duration = self.parts.options.limits.duration;
        let deadline = turn.budget.deadline();
        let cancel = turn.cancel.clone();
        let mut late = false;
        let ending = {
            let mut going = std::pin::pin!(self.run(&mut turn, input));
            loop {
                tokio::select! {
                    biased;
                    ending = &mut going => break ending,
                    () = at(deadline), if !late => {
                        late = true;
                        cancel.cancel();
                    }
                }
            }
        };
        let ending = if late && ending.stop == StopReason::Cancelled {
            Ending::because(StopReason::Budget, budget::time_is_up(duration))
        } else {
            ending
        };
        self.finish(turn, ending).await
    }

    async fn run(&mut self, turn: &mut Turn, input: Option<Input>) -> Ending {
        let hooks = Arc::clone(&self.parts.hooks);
        let cx = self.context(turn, None);
        self.parts.warden.enter(cx.clone());

        if let Some(input) = input {
            turn.text = hooks.fire(&cx, self.user_message(&input)).await.payload.text;
            self.store_input(turn, input);
        }
        let _ = hooks.fire(&cx, TurnStarted(self.turn_facts(turn))).await;
        let start = TurnStart { input: self.said(turn), active_runtimes: vec![MAIN.into()] };
        if let Some(abort) = hooks.fire(&cx, start).await.abort {
            return Ending::blocked("the turn", &abort);
        }
        let chosen = PreSchedule { triggered: vec![main_manifest(self.mode)] };
        let chosen = hooks.fire(&cx, chosen).await.payload.triggered;

        let begun = Instant::now();
        let mut ending = Ending::completed();
        let mut runtime_results = Vec::new();
        for manifest in chosen {
            let (result, end) = self.runtime(turn, manifest).await;
            runtime_results.push(result);
            ending = end;
            if ending.stop != StopReason::Completed {
                break;
            }
        }
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let _ = hooks.fire(&cx, TurnStop { runtime_results, duration_ms }).await;
        ending
    }

    /// Stores what the operator said, as it will be sent.
    fn store_input(&mut self, turn: &Turn, input: Input) {
        let start = record::TurnStart {
            turn: turn.number,
            logical_turn: turn.logical,
            text: Arc::clone(&turn.text),
            mode: self.mode,
            approval: self.parts.options.approval,
        };
        self.save(Record::TurnStart(start));
        self.add_user(turn.number, Arc::clone(&turn.text), input.images);
    }

    /// Ends the turn in the file and for the handlers, whatever happened in it.
    async fn finish(&mut self, turn: Turn, ending: Ending) -> Outcome {
        // A turn that lost its place stays open in the file, to be continued there.
        if ending.fault != Fault::Place {
            let end = TurnEnd { turn: turn.number, stop_reason: ending.stop.as_str().into() };
            self.save(Record::TurnEnd(end));
        }
        let ending = match self.saved() {
            Err(unsaved) if ending.stop == StopReason::Completed => unsaved,
            _ => ending,
        };
        if let Some(message) = &ending.message {
            self.parts.report.report(Report::Error(message));
        }
        tracing::info!(
            session = &*self.parts.id,
            turn = turn.number,
            stop = ending.stop.as_str(),
            model_calls = turn.budget.model_calls(),
            tool_calls = turn.budget.tool_calls(),
            "turn ended"
        );
        let hooks = Arc::clone(&self.parts.hooks);
        // A cancelled turn is told of its end all the same.
        let cx = Context { cancel: CancellationToken::new(), ..self.context(&turn, None) };
        // What is written between turns is guarded, too, and not by a cancel that is over.
        self.parts.warden.enter(cx.clone());
        let finished = TurnFinished { turn: self.turn_facts(&turn), stop_reason: ending.stop };
        let _ = hooks.fire(&cx, finished).await;
        self.usage.add(&turn.usage);
        Outcome {
            ending,
            text: turn.last_text,
            usage: turn.usage,
            model_calls: turn.budget.model_calls(),
            tool_calls: turn.budget.tool_calls(),
            unanswered: turn.unanswered,
            restricted: self.parts.options.trust == Trust::Restricted,
        }
    }
}

/// The moment of a deadline; never, without one.
async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
