//! One step: one model call and its batch of tool calls.

use std::sync::Arc;

use tokio::time::Instant;

use crate::model::item::{Body, Item};
use crate::model::request::{Request, Sampling, ToolChoice};
use crate::model::response::{CallError, CallErrorKind, Delta, FinishReason, Response};
use crate::provider::retry::{self, Retry};
use crate::session::Session;
use crate::session::batch::Flow;
use crate::session::report::{Context, Report, StepFinish, Stop};
use crate::session::runtime::Running;
use crate::session::store::record::{Record, Span, Step};
use crate::session::transcript::Candidate;
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
        turn.budget.take_model_call().map_err(|why| Ending::because(Stop::Budget, why))?;
        turn.steps += 1;
        running.steps += 1;
        self.parts.report.report(Report::StepStart { step: turn.steps, runtime: &running.name });

        let request = self.request(running);
        let mut record = self.step_record(turn, &request);
        let begun = Instant::now();
        let answer = self.call_model(turn, &request).await;
        record.request_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // The items are shared with the request: it goes before they grow.
        drop(request);
        let response = match answer {
            Ok(response) => response,
            Err(failed) => return Err(self.failed_call(turn, record, failed)),
        };
        turn.usage.add(&response.usage);
        self.take_answer(turn, running, record, &response).await
    }

    fn request(&self, running: &Running) -> Request {
        let model = &self.parts.endpoint.model;
        let options = &self.parts.options;
        Request {
            purpose: self.mode.purpose(),
            runtime: Arc::clone(&running.name),
            items: self.transcript.items(),
            tools: Arc::clone(self.catalog.specs()),
            tool_choice: ToolChoice::Auto,
            sampling: Sampling {
                temperature: model.temperature,
                top_p: model.top_p,
                max_tokens: model.max_tokens,
                thinking: options.thinking,
                service_tier: model.service_tier.clone(),
                speed: model.speed.clone(),
            },
            output_schema: None,
            stream: true,
            accepts_images: model.image_input,
            images: self.images(),
        }
    }

    /// The call itself, with retries; a cancel drops it.
    async fn call_model(&mut self, turn: &Turn, request: &Request) -> Result<Response, Failed> {
        let report = Arc::clone(&self.parts.report);
        let notices = Arc::clone(&self.parts.report);
        let mut sink = |delta: Delta| match delta {
            Delta::Text(text) => report.report(Report::TextDelta(&text)),
            Delta::Reasoning(text) => report.report(Report::ReasoningDelta(&text)),
            Delta::Void => report.report(Report::Void),
            Delta::Call { .. } => {}
        };
        let mut notice = |retry: Retry<'_>| {
            notices.report(Report::Retry {
                attempt: retry.attempt,
                wait: retry.wait,
                error: &retry.error.message,
            });
        };
        let call = retry::call(self.client.as_mut(), request, &mut self.policy, &mut sink, &mut notice);
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(Failed::Cancelled),
            answer = call => answer.map_err(Failed::Call),
        }
    }

    /// What the file says of a step, before its outcome is known.
    fn step_record(&self, turn: &Turn, request: &Request) -> Step {
        let store = &self.parts.store;
        let span = |items: &[Arc<Item>]| {
            Some(Span { from: items.first()?.id.clone(), to: items.last()?.id.clone() })
        };
        let system = self.transcript.system().and_then(|item| store.system(item).ok());
        let sent =
            if system.is_some() { request.items.get(1..).unwrap_or_default() } else { &request.items[..] };
        Step {
            turn: turn.number,
            step: turn.steps,
            response: None,
            runtime: Arc::clone(&request.runtime),
            provider: Arc::clone(&self.parts.endpoint.provider),
            model: Arc::clone(&self.parts.endpoint.model.name),
            purpose: request.purpose,
            items: span(sent),
            changes: Vec::new(),
            system,
            catalog: if request.tools.is_empty() { None } else { store.catalog(&request.tools).ok() },
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

    fn failed_call(&mut self, turn: &mut Turn, mut record: Step, failed: Failed) -> Ending {
        let ending = match failed {
            Failed::Cancelled => Ending::cancelled(),
            Failed::Call(error) => {
                self.keep_partial(turn, &error);
                match error.kind {
                    CallErrorKind::Context => Ending::because(Stop::Overflow, error.message),
                    CallErrorKind::Filtered => Ending::because(Stop::Filtered, error.message),
                    _ => Ending::because(Stop::Failed, error.message),
                }
            }
        };
        record.error = ending.message.clone();
        self.note_failure(self.parts.store.append(&Record::Step(Box::new(record))));
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

    async fn take_answer(
        &mut self,
        turn: &mut Turn,
        running: &mut Running,
        mut record: Step,
        response: &Response,
    ) -> Result<StepEnd, Ending> {
        let endpoint = Arc::clone(&self.parts.endpoint);
        let candidate = self.transcript.candidate(
            self.parts.store.ids(),
            response,
            &endpoint.protocol,
            &endpoint.model.name,
        );
        record.response = Some(candidate.response.clone());
        record.finish = Some(response.finish.clone());
        record.usage = response.usage;
        self.note_failure(self.parts.store.append(&Record::Step(Box::new(record))));

        let text = self.report_answer(turn, &candidate);
        let calls = self.transcript.commit(&candidate);
        for item in &candidate.items {
            self.store_item(turn.number, item);
        }
        self.report_finish(turn, response);
        if calls.is_empty() {
            return match response.finish.reason {
                FinishReason::Filtered => Err(Ending::because(Stop::Filtered, filtered(response))),
                FinishReason::Length => Err(Ending::because(
                    Stop::Truncated,
                    "the output limit cut the answer off before it was complete (maxTokens of the model entry raises it)",
                )),
                _ => self.final_answer(turn, running, &text),
            };
        }
        match self.batch(turn, running, calls).await? {
            Flow::Next => Ok(StepEnd::Again),
            Flow::Terminated => Ok(StepEnd::Done),
        }
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

    fn report_finish(&self, turn: &Turn, response: &Response) {
        let used = match (response.usage.input, response.usage.output) {
            (Some(input), output) => input + output.unwrap_or(0),
            _ => self.estimate(),
        };
        self.parts.report.report(Report::StepFinish(&StepFinish {
            reason: response.finish.reason.as_str(),
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
fn said(parts: &[crate::model::response::Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match &part.content {
            crate::model::response::Content::Text(text) => Some(text.as_str()),
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
