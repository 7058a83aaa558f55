//! One step: one model call and its batch of tool calls.

use std::sync::Arc;

use tokio::time::Instant;

use crate::hook::context::{Context as Moment, HookReport};
use crate::hook::handler::Plugin;
use crate::hook::model::{Answer, ModelResponse};
use crate::hook::step::PostLlmResponse;
use crate::hook::turn::StopReason;
use crate::model::item::{Body, Item, Items};
use crate::model::response::{CallError, CallErrorKind, Content, Delta, FinishReason, Part, Response};
use crate::provider::retry::{self, Retry};
use crate::session::Session;
use crate::session::batch::Flow;
use crate::session::outbound::{self, Draft};
use crate::session::report::{Context, Report, StepFinish};
use crate::session::runtime::Running;
use crate::session::schema::CORRECTIONS;
use crate::session::store::record::{Record, Span, Step};
use crate::session::transcript::{Candidate, Received};
use crate::session::turn::{Ending, Turn};

/// How a step ended.
pub(super) enum StepEnd {
    /// Another step follows.
    Again,
    /// The model is done.
    Done,
}

impl Session {
    /// Makes one model call, commits its answer and runs its calls.
    pub(super) async fn step(&mut self, turn: &mut Turn, running: &mut Running) -> Result<StepEnd, Ending> {
        if turn.cancel.is_cancelled() {
            return Err(Ending::cancelled());
        }
        self.saved()?;
        self.placed()?;
        turn.budget.check_model_call().map_err(|why| Ending::because(StopReason::Budget, why))?;
        running.steps += 1;
        let cx = self.context(turn, Some(running));
        let Some(allowed) = self.pre_step(turn, running, &cx).await? else { return self.ended_early(turn) };

        turn.budget.count_model_call();
        turn.steps += 1;
        self.parts.report.report(Report::StepStart { step: turn.steps, runtime: &running.name });
        let draft = self.draft(running, &cx, allowed).await;
        let mut record = self.step_record(turn, &draft);
        self.saved()?;
        let begun = Instant::now();
        let answer = self.call_model(turn, &draft).await;
        record.request_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Draft { request, changed_by, stored, .. } = draft;
        // The items are shared with the request: all but what handlers want to see goes before they grow.
        let messages = self.parts.hooks.has::<PostLlmResponse>().then(|| Arc::clone(&request.items));
        drop((request, stored));
        let response = match answer {
            Ok(response) => response,
            Err(failed) => return Err(self.failed_call(turn, record, failed, &changed_by)),
        };
        turn.usage.add(&response.usage);
        self.take_answer(turn, running, &cx, record, &response, messages).await
    }

    /// The call itself, with retries; a cancel drops it.
    async fn call_model(&mut self, turn: &Turn, draft: &Draft) -> Result<Response, Failed> {
        let client = self.clients.pick(draft.model.as_ref()).map_err(Failed::Call)?;
        let report = Arc::clone(&self.parts.report);
        let notices = Arc::clone(&self.parts.report);
        let mut sink = |delta: Delta| match delta {
            Delta::Text(text) => report.report(Report::TextDelta(&text)),
            Delta::Reasoning(text) => report.report(Report::ReasoningDelta(&text)),
            Delta::Void => report.report(Report::Void),
            Delta::Call { .. } => {}
        };
        let mut notice = |retry: Retry<'_>| {
            tracing::warn!(
                attempt = retry.attempt,
                error = &*retry.error.message,
                "model call failed and is repeated"
            );
            notices.report(Report::Retry {
                attempt: retry.attempt,
                wait: retry.wait,
                error: &retry.error.message,
            });
        };
        let call = retry::call(client, &draft.request, &mut self.policy, &mut sink, &mut notice);
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Failed::Cancelled),
            answer = call => answer.map_err(Failed::Call),
        }
    }

    /// What the file says of a step, before its outcome is known.
    fn step_record(&mut self, turn: &Turn, draft: &Draft) -> Step {
        let request = &draft.request;
        let store = Arc::clone(&self.parts.store);
        let span = |items: &[Arc<Item>]| {
            Some(Span { from: items.first()?.id.clone(), to: items.last()?.id.clone() })
        };
        let system = self.transcript.system().map(|item| store.system(item));
        let system = system.and_then(|written| self.wrote(written));
        let catalog = (!request.tools.is_empty()).then(|| store.catalog(&request.tools));
        let catalog = catalog.and_then(|written| self.wrote(written));
        let sent = draft.stored.get(usize::from(system.is_some())..).unwrap_or_default();
        Step {
            turn: turn.number,
            step: turn.steps,
            response: None,
            runtime: Arc::clone(&request.runtime),
            provider: Arc::clone(&self.parts.endpoint.provider),
            model: draft.model.clone().unwrap_or_else(|| Arc::clone(&self.parts.endpoint.model.name)),
            purpose: request.purpose,
            items: span(sent),
            changes: outbound::changes(&draft.stored, &request.items),
            system,
            catalog,
            schema: None,
            tool_choice: request.tool_choice.clone(),
            sampling: request.sampling.clone(),
            stream: request.stream,
            accepts_images: request.accepts_images,
            finish: None,
            error: None,
            usage: Default::default(),
            request_ms: 0,
        }
    }

    fn failed_call(
        &mut self,
        turn: &mut Turn,
        mut record: Step,
        failed: Failed,
        changed_by: &[Plugin],
    ) -> Ending {
        let ending = match failed {
            Failed::Cancelled => Ending::cancelled(),
            Failed::Call(error) => {
                self.keep_partial(turn, &error);
                for plugin in changed_by {
                    let name = &plugin.name;
                    self.notes.note(format!(
                        "Raw hook '{name}' changed this model request. The failure may be related."
                    ));
                }
                match error.kind {
                    CallErrorKind::Context => Ending::because(StopReason::Overflow, error.message),
                    CallErrorKind::Filtered => Ending::because(StopReason::Filtered, error.message),
                    _ => Ending::because(StopReason::Failed, error.message),
                }
            }
        };
        record.error = ending.message.clone();
        self.save(Record::Step(Box::new(record)));
        ending
    }

    /// The text of an answer that broke off is shown as what the turn came to; it does not become part of the conversation,
    /// where the next request would pass it off as complete.
    fn keep_partial(&self, turn: &mut Turn, error: &CallError) {
        let Some(partial) = &error.partial else { return };
        let text = said(&partial.parts);
        if !text.is_empty() {
            self.parts.report.report(Report::Note("what follows broke off before its end"));
            self.parts.report.report(Report::Text(&text));
            turn.last_text = Some(text);
        }
    }

    /// model_response and PostLLMResponse see the candidate; then it is committed and its calls are run.
    async fn take_answer(
        &mut self,
        turn: &mut Turn,
        running: &mut Running,
        cx: &Moment,
        mut record: Step,
        response: &Response,
        messages: Option<Items>,
    ) -> Result<StepEnd, Ending> {
        let hooks = Arc::clone(&self.parts.hooks);
        let (protocol, model) = (Arc::clone(&self.parts.endpoint.protocol), Arc::clone(&record.model));
        let mut candidate = self.transcript.candidate(self.parts.store.ids(), response, &protocol, &model);
        record.response = Some(candidate.response.clone());
        record.finish = Some(response.finish.clone());
        record.usage = response.usage;
        let purpose = record.purpose;
        self.save(Record::Step(Box::new(record)));

        let mut finish = response.finish.reason;
        let answer = |items: &[Arc<Item>]| Answer {
            purpose,
            finish_reason: finish,
            items: items.to_vec(),
            usage: response.usage,
        };
        if hooks.has::<ModelResponse>() {
            let _ = hooks.fire(cx, ModelResponse(answer(&candidate.items))).await;
        }
        if let Some(messages) = messages {
            let seen = PostLlmResponse {
                response: answer(&candidate.items),
                messages,
                correction: None,
                held: self.held(),
            };
            let fired = hooks.fire(cx, seen).await;
            let PostLlmResponse { response: answer, correction, .. } = fired.payload;
            if let Some(correction) = correction {
                self.parts.report.report(Report::Void);
                self.report_finish(turn, response, finish);
                return self.send_back(turn, running, &candidate, correction, &fired.changed_by);
            }
            finish = answer.finish_reason;
            if answer.items != candidate.items {
                candidate = candidate.rewritten(self.parts.store.ids(), &answer.items);
            }
        }
        let text = self.report_answer(turn, &candidate);
        let calls = self.commit_answer(turn, &candidate);
        self.report_finish(turn, response, finish);
        if calls.is_empty() {
            return match finish {
                FinishReason::Filtered => Err(Ending::because(StopReason::Filtered, filtered(response))),
                FinishReason::Length => Err(Ending::because(
                    StopReason::Truncated,
                    "the output limit cut the answer off before it was complete (maxTokens of the model entry raises it)",
                )),
                _ => self.final_answer(turn, running, &text),
            };
        }
        match self.batch(turn, running, calls).await? {
            Flow::Next => Ok(StepEnd::Again),
            Flow::Terminated => self.ended_early(turn),
        }
    }

    fn commit_answer(&mut self, turn: &Turn, candidate: &Candidate) -> Vec<Received> {
        let calls = self.transcript.commit(candidate);
        for item in &candidate.items {
            self.store_item(turn.number, item);
        }
        calls
    }

    /// A handler sent the draft back: its text stays, so that the model sees what it is to correct; its calls do not run.
    fn send_back(
        &mut self,
        turn: &Turn,
        running: &mut Running,
        draft: &Candidate,
        correction: Arc<str>,
        by: &[Plugin],
    ) -> Result<StepEnd, Ending> {
        let name = by.last().map_or("", |plugin| &*plugin.name);
        if running.corrections == 0 {
            return Err(Ending::unacceptable(format!(
                "plugin '{name}' still refused the answer after {CORRECTIONS} corrections: {correction}"
            )));
        }
        running.corrections -= 1;
        self.notes.note(format!("Plugin '{name}' sent the answer back: {correction}"));
        let said =
            draft.items.iter().filter(|item| matches!(item.body, Body::Assistant { .. })).cloned().collect();
        self.commit_answer(turn, &draft.with(said));
        self.add_user(turn.number, correction, Vec::new());
        Ok(StepEnd::Again)
    }

    /// Shows the finished blocks of an answer and returns its text.
    fn report_answer(&self, turn: &mut Turn, candidate: &Candidate) -> String {
        let mut said = String::new();
        for item in &candidate.items {
            match &item.body {
                Body::Reasoning { text } if !text.is_empty() => {
                    self.parts.report.report(Report::Reasoning(text))
                }
                Body::Assistant { text } if !text.is_empty() => {
                    self.parts.report.report(Report::Text(text));
                    said.push_str(text);
                }
                _ => {}
            }
        }
        if !said.trim().is_empty() {
            turn.last_text = Some(said.clone());
        }
        said
    }

    fn report_finish(&self, turn: &Turn, response: &Response, finish: FinishReason) {
        let used = match (response.usage.input, response.usage.output) {
            (Some(input), output) => input + output.unwrap_or(0),
            _ => self.estimate(),
        };
        self.parts.report.report(Report::StepFinish(&StepFinish {
            reason: finish.as_str(),
            usage: response.usage,
            context: Context { used, budget: self.parts.endpoint.model.context_window },
            model_calls: turn.budget.model_calls(),
            tool_calls: turn.budget.tool_calls(),
        }));
    }
}

/// Why a model call gave no answer.
enum Failed {
    Cancelled,
    Call(CallError),
}

/// The text of an answer's parts.
fn said(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn filtered(response: &Response) -> String {
    match response.finish.raw.as_deref() {
        Some(raw) => format!("a content filter of the provider stopped the model ({raw})"),
        None => "a content filter of the provider stopped the model".into(),
    }
}
