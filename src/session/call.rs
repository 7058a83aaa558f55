//! One tool call: prepare (hooks, schema, classification, approval), run, finish (hooks, result). Every failure becomes a
//! result that the model can read; nothing flies through the loop.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::approval::classify::{self, Scene};
use crate::approval::decide::{self, Decision, Prompt, Question};
use crate::approval::denial;
use crate::approval::judgement::Judgement;
use crate::model::item::{ToolCall, ToolResult};
use crate::model::judgement::Grant;
use crate::model::port::{Answer, Ask, ImageStore, Reach, Source};
use crate::session::Session;
use crate::session::report::{Report, Status, Stop, ToolUse};
use crate::session::runtime::Running;
use crate::session::transcript::Received;
use crate::session::turn::{Ending, Turn};
use crate::tool::{Output, Tool, ToolContext};

/// A call that went through everything before its run.
pub(super) enum Prepared {
    /// It may run.
    Ready(Box<Ready>),
    /// It has its answer already.
    Answered(Box<Ran>),
}

/// A call that may run.
pub(super) struct Ready {
    call: ToolCall,
    name: Arc<str>,
    arguments: Map<String, Value>,
    tool: Arc<dyn Tool>,
    context: ToolContext,
}

/// A call with its output, before the hooks that follow it.
pub(super) struct Ran {
    /// The stored call.
    pub call: ToolCall,
    /// The name it ran under.
    pub name: Arc<str>,
    /// The arguments it ran with.
    pub arguments: Value,
    /// What it gave.
    pub output: Output,
    /// How it ended.
    pub status: Status,
}

/// Why a call does not run.
struct No {
    status: Status,
    text: String,
}

impl Prepared {
    /// Whether it may run beside others.
    pub(super) fn concurrent(&self) -> bool {
        match self {
            Self::Ready(ready) => ready.tool.concurrent(),
            Self::Answered(_) => true,
        }
    }
    /// The stored call.
    pub(super) fn into_call(self) -> ToolCall {
        match self {
            Self::Ready(ready) => ready.call,
            Self::Answered(ran) => ran.call,
        }
    }
    /// Runs it, or stops it when `cancel` says so.
    pub(super) async fn run(
        self,
        cancel: &CancellationToken,
        started: &(dyn Fn(&str, &ToolCall) + Sync),
    ) -> Ran {
        let ready = match self {
            Self::Ready(ready) => ready,
            Self::Answered(ran) => return *ran,
        };
        let Ready { call, name, arguments, tool, context } = *ready;
        started(&name, &call);
        let output = tokio::select! {
            biased;
            output = tool.run(&arguments, &context) => Some(output),
            () = cancel.cancelled() => None,
        };
        let (output, status) = match output {
            Some(output) if cancel.is_cancelled() && output.failed => (output, Status::Cancelled),
            Some(output) if output.failed => (output, Status::Failed),
            Some(output) => (output, Status::Completed),
            None => (
                Output::failed("interrupted while it ran; what it had done by then is unknown"),
                Status::Cancelled,
            ),
        };
        Ran { call, name, arguments: Value::Object(arguments), output, status }
    }
}

/// The arguments of a stored call, for reports: what was parsed, or the model's own text.
pub(super) fn arguments(call: &ToolCall) -> Value {
    match &call.malformed {
        Some(raw) => Value::String(raw.to_string()),
        None => serde_json::from_str(&call.arguments).unwrap_or(Value::Null),
    }
}

impl Session {
    /// Takes a call through hooks, schema, classification and approval. When a budget stands in its way it comes back
    /// unprepared, with the ending.
    pub(super) async fn prepare(
        &mut self,
        turn: &mut Turn,
        running: &Running,
        received: Received,
    ) -> Result<Prepared, Box<(Received, Ending)>> {
        if turn.cancel.is_cancelled() {
            return Err(Box::new((received, Ending::cancelled())));
        }
        if let Err(why) = turn.budget.take_tool_call() {
            return Err(Box::new((received, Ending::because(Stop::Budget, why))));
        }
        let Received { call, problem } = received;
        let arguments = arguments(&call);
        let verdict = match problem {
            Some(text) => Err(No { status: Status::Failed, text }),
            None => self.permit(turn, &call, arguments.clone()).await,
        };
        Ok(match verdict {
            Ok((tool, arguments, reach)) => {
                let name = Arc::clone(&tool.spec().name);
                let context = self.tool_context(turn, running, &call, reach);
                Prepared::Ready(Box::new(Ready { call, name, arguments, tool, context }))
            }
            Err(No { status, text }) => {
                let (name, output) = (Arc::clone(&call.name), Output::failed(text));
                Prepared::Answered(Box::new(Ran { call, name, arguments, output, status }))
            }
        })
    }

    /// Whether a call may run: the tool, the checked arguments and how far it may reach.
    async fn permit(
        &mut self,
        turn: &mut Turn,
        call: &ToolCall,
        arguments: Value,
    ) -> Result<(Arc<dyn Tool>, Map<String, Value>, Reach), No> {
        let failed = |text| No { status: Status::Failed, text };
        let tool = Arc::clone(self.catalog.resolve(&call.name).map_err(failed)?);
        let Value::Object(arguments) = arguments else {
            return Err(failed("the arguments are not a JSON object".into()));
        };
        let arguments = self.schemas.check(tool.spec(), arguments).map_err(failed)?;
        let scene = Scene { fence: &self.parts.fence, skills: &[] };
        let judgement = classify::classify(&tool.spec().name, &arguments, &scene);
        let reach = judgement.reach;
        self.approve(turn, &tool.spec().name, judgement, Prompt::ByMode).await?;
        Ok((tool, arguments, reach))
    }

    /// The approval policy, and the operator where it says so.
    async fn approve(
        &mut self,
        turn: &mut Turn,
        tool: &Arc<str>,
        judgement: Judgement,
        prompt: Prompt,
    ) -> Result<(), No> {
        let options = &self.parts.options;
        let question =
            match decide::decide(options.approval, &judgement, prompt, &self.parts.grants, options.trust) {
                Decision::Run(_) => return Ok(()),
                // Sessions in these modes are refused before they begin; a question is the safe reading all the same.
                Decision::Ask(question) | Decision::Judge(question, _) => question,
            };
        match self.ask(tool, &judgement, &question).await {
            Answer::Allow(grant) => {
                if let (Some(rule), Grant::Session | Grant::Always) = (question.remember, grant) {
                    self.parts.grants.add(rule, grant);
                }
                Ok(())
            }
            Answer::Deny(words) => {
                Err(No { status: Status::Denied, text: denial::refused(tool, &judgement, words.as_deref()) })
            }
            Answer::Dismissed | Answer::Answers(_) => {
                turn.unanswered = true;
                Err(No { status: Status::Denied, text: denial::unasked(tool, &judgement, &question.reason) })
            }
        }
    }

    async fn ask(&self, tool: &Arc<str>, judgement: &Judgement, question: &Question) -> Answer {
        let ask = Ask::Approval {
            tool: Arc::clone(tool),
            classification: judgement.classification.clone(),
            reason: question.reason.clone(),
            remember: question.remember.as_ref().map(|rule| rule.describe()),
            diff: None,
        };
        self.parts.operator.ask(ask).await
    }

    fn tool_context(&self, turn: &Turn, running: &Running, call: &ToolCall, reach: Reach) -> ToolContext {
        ToolContext {
            source: Source { plugin: "crystal".into(), runtime: Arc::clone(&running.name) },
            session: Arc::clone(&self.parts.id),
            fence: Arc::clone(&self.parts.fence),
            reach,
            commit: self.parts.gate.at(turn.number, Some(call.id.clone())),
            operator: Arc::clone(&self.parts.operator),
            images: Arc::clone(&self.parts.blobs) as Arc<dyn ImageStore>,
            seen: Arc::clone(&self.parts.seen),
            accepts_images: self.parts.endpoint.model.image_input,
            bash_timeout: self.parts.options.bash_timeout,
            cancel: turn.cancel.clone(),
        }
    }

    /// Stores and reports the result of a call. True when a handler ends the tool loop.
    pub(super) async fn finish_call(&mut self, turn: &mut Turn, ran: Ran) -> bool {
        if ran.output.dismissed {
            turn.unanswered = true;
        }
        self.answer(turn, ran);
        false
    }

    /// Gives a call its one result.
    pub(super) fn answer(&mut self, turn: &Turn, ran: Ran) {
        let Ran { call, name, arguments, output, status } = ran;
        let text: Arc<str> = output.text.into();
        let item = self.transcript.result(
            self.parts.store.ids(),
            ToolResult {
                call_id: call.id.clone(),
                provider_id: call.provider_id,
                name: Arc::clone(&name),
                text: Arc::clone(&text),
                images: output.images,
                failed: output.failed,
            },
        );
        self.store_item(turn.number, &item);
        let used = ToolUse {
            name,
            call_id: call.id.to_string(),
            arguments,
            status,
            output: text,
            diff: output.diff,
        };
        self.parts.report.report(Report::ToolUse(&used));
    }
}
