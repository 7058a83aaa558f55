//! One tool call: prepare (hooks, schema, classification, approval), run, finish (hooks, result). Every failure becomes a
//! result that the model can read; nothing flies through the loop.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::approval::classify::{self, Scene};
use crate::approval::decide::{self, Because, Decision, Prompt, Question};
use crate::approval::denial;
use crate::approval::judgement::Judgement;
use crate::hook::approval::{self, Approval, RewriteApproval};
use crate::hook::context::{Context, HookReport};
use crate::hook::dispatch::Cause;
use crate::hook::tool::{self as moment, PostToolUse, PreToolUse, ResultImage, ToolError, UsedResult};
use crate::hook::turn::StopReason;
use crate::model::item::{ToolCall, ToolResult};
use crate::model::judgement::Grant;
use crate::model::port::{Answer, Ask, ImageStore, Reach, Source};
use crate::session::Session;
use crate::session::report::{Report, Status, ToolUse};
use crate::session::runtime::Running;
use crate::session::transcript::Received;
use crate::session::turn::{Ending, Turn, Unanswered};
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
    asked: ToolCall,
    arguments: Map<String, Value>,
    tool: Arc<dyn Tool>,
    approval: &'static str,
    context: ToolContext,
}

/// What lets a call run.
struct Permit {
    tool: Arc<dyn Tool>,
    arguments: Map<String, Value>,
    reach: Reach,
    approval: &'static str,
}

/// A call with its output, before the hooks that follow it.
pub(super) struct Ran {
    /// The call as it is stored.
    pub(super) call: ToolCall,
    /// The call as it ran, after hooks rewrote it.
    pub(super) asked: ToolCall,
    /// The arguments it ran with.
    pub(super) arguments: Value,
    /// What it gave.
    pub(super) output: Output,
    /// How it ended.
    pub(super) status: Status,
    /// How it was approved; none when it did not run.
    pub(super) approval: Option<&'static str>,
}

/// Why a call does not run.
struct No {
    status: Status,
    text: String,
}

/// What the model reads of a call that a cancel came before.
pub(super) const NOT_RUN: &str = "not run: the turn was interrupted";

impl No {
    fn interrupted() -> Self {
        Self { status: Status::Skipped, text: NOT_RUN.into() }
    }
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
        let Ready { call, asked, arguments, tool, approval, context } = *ready;
        if cancel.is_cancelled() {
            let (output, arguments) = (Output::failed(NOT_RUN), Value::Object(arguments));
            return Ran { call, asked, arguments, output, status: Status::Skipped, approval: None };
        }
        started(&asked.name, &asked);
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
        Ran { call, asked, arguments: Value::Object(arguments), output, status, approval: Some(approval) }
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
        if let Err(unsaved) = self.saved() {
            return Err(Box::new((received, unsaved)));
        }
        if let Err(why) = turn.budget.take_tool_call() {
            return Err(Box::new((received, Ending::because(StopReason::Budget, why))));
        }
        let Received { call, problem } = received;
        let cx = self.context(turn, Some(running));
        let mut asked = call.clone();
        let verdict = match problem {
            // Arguments that cannot be read fire no hook.
            Some(text) => Err(No { status: Status::Failed, text }),
            None => self.permit(turn, &cx, &mut asked).await,
        };
        Ok(match verdict {
            Ok(Permit { tool, arguments, reach, approval }) => {
                asked.name = Arc::clone(&tool.spec().name);
                let context = self.tool_context(turn, running, &call, reach);
                Prepared::Ready(Box::new(Ready { call, asked, arguments, tool, approval, context }))
            }
            Err(No { status, text }) => {
                let arguments = arguments(&asked);
                let output = Output::failed(text);
                Prepared::Answered(Box::new(Ran { call, asked, arguments, output, status, approval: None }))
            }
        })
    }

    /// Whether a call may run: hooks may rewrite it first; then its tool, its arguments and its approval are checked.
    async fn permit(&mut self, turn: &mut Turn, cx: &Context, asked: &mut ToolCall) -> Result<Permit, No> {
        let hooks = Arc::clone(&self.parts.hooks);
        let seen = moment::ToolCall { call: asked.clone(), catalog: Arc::clone(self.catalog.specs()) };
        *asked = hooks.fire(cx, seen).await.payload.call;
        let fired = hooks.fire(cx, PreToolUse { call: asked.clone() }).await;
        *asked = fired.payload.call;
        if let Some(abort) = fired.abort {
            if abort.cause == Cause::Cancelled {
                return Err(No::interrupted());
            }
            let text = format!("refused by plugin '{}': {}", abort.plugin.name, abort.reason);
            return Err(No { status: Status::Refused, text });
        }
        let failed = |text| No { status: Status::Failed, text };
        let tool = Arc::clone(self.catalog.resolve(&asked.name).map_err(failed)?);
        let Value::Object(arguments) = arguments(asked) else {
            return Err(failed("the arguments are not a JSON object".into()));
        };
        let arguments = self.schemas.check(tool.spec(), arguments).map_err(failed)?;
        let scene = Scene { fence: &self.parts.fence, skills: &[] };
        let judged = classify::classify(&tool.spec().name, &arguments, &scene);
        let (judged, prompt) = self.judge(cx, asked, judged).await;
        let reach = judged.reach;
        let approval = self.approve(turn, &tool.spec().name, judged, prompt).await?;
        Ok(Permit { tool, arguments, reach, approval })
    }

    /// approval raises, rewrite_approval sets; the policy uses what comes out.
    async fn judge(&self, cx: &Context, asked: &ToolCall, mut judged: Judgement) -> (Judgement, Prompt) {
        let hooks = Arc::clone(&self.parts.hooks);
        if !hooks.has::<Approval>() && !hooks.has::<RewriteApproval>() {
            return (judged, Prompt::ByMode);
        }
        let facts = approval::Judgement {
            call: asked.clone(),
            facts: judged.classification.clone(),
            mode: self.parts.options.approval,
            require_prompt: false,
            reason: None,
        };
        let raised = hooks.fire(cx, Approval(facts)).await.payload.0;
        let set = hooks.fire(cx, RewriteApproval(raised)).await.payload.0;
        judged.classification = set.facts;
        if let Some(reason) = set.reason {
            judged.classification.summary = format!("{} ({reason})", judged.classification.summary);
        }
        (judged, if set.require_prompt { Prompt::Required } else { Prompt::ByMode })
    }

    /// The approval policy, and the operator where it says so.
    async fn approve(
        &mut self,
        turn: &mut Turn,
        tool: &Arc<str>,
        judgement: Judgement,
        prompt: Prompt,
    ) -> Result<&'static str, No> {
        let options = &self.parts.options;
        let question =
            match decide::decide(options.approval, &judgement, prompt, &self.parts.grants, options.trust) {
                Decision::Run(Because::Mode) => return Ok("mode"),
                Decision::Run(Because::Granted) => return Ok("granted"),
                // Sessions in these modes are refused before they begin; a question is the safe reading all the same.
                Decision::Ask(question) | Decision::Judge(question, _) => question,
            };
        let cancel = turn.cancel.clone();
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(No::interrupted()),
            answer = self.ask(tool, &judgement, &question) => answer,
        };
        match answer {
            Answer::Allow(grant) => {
                if let (Some(rule), Grant::Session | Grant::Always) = (question.remember, grant) {
                    self.parts.grants.add(rule, grant);
                }
                Ok("prompt")
            }
            Answer::Deny(words) => {
                Err(No { status: Status::Denied, text: denial::refused(tool, &judgement, words.as_deref()) })
            }
            Answer::Dismissed | Answer::Answers(_) => {
                let summary = judgement.classification.summary.clone();
                let mode = decide::least_mode(&judgement, prompt, &self.parts.grants);
                turn.unanswered.push(Unanswered::Call { summary, mode });
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

    /// tool_result and PostToolUse see the result of a call that ran; then it is stored and reported. What the host says of
    /// one that did not run is its own. True when a handler ends the tool loop.
    pub(super) async fn finish_call(&mut self, turn: &mut Turn, running: &Running, mut ran: Ran) -> bool {
        if ran.output.dismissed {
            turn.unanswered.push(Unanswered::Question);
        }
        let hooks = Arc::clone(&self.parts.hooks);
        let cx = self.context(turn, Some(running));
        if hooks.has::<moment::ToolResult>() && ran.approval.is_some() {
            self.revise(&cx, &mut ran).await;
        }
        let mut terminate = false;
        if let Some(approval) = ran.approval.filter(|_| hooks.has::<PostToolUse>()) {
            let used = PostToolUse {
                call: ran.asked.clone(),
                result: used_result(&ran, approval),
                terminate: false,
            };
            let used = hooks.fire(&cx, used).await.payload;
            ran.output.text = used.result.result.to_string();
            terminate = used.terminate;
        }
        self.answer(turn, ran);
        terminate
    }

    /// What tool_result makes of text and images.
    async fn revise(&self, cx: &Context, ran: &mut Ran) {
        let hooks = Arc::clone(&self.parts.hooks);
        let result = moment::ToolResult {
            call: ran.asked.clone(),
            text: ran.output.text.as_str().into(),
            images: std::mem::take(&mut ran.output.images).into_iter().map(ResultImage::Held).collect(),
            failed: ran.output.failed,
            held: self.held(),
        };
        let fired = hooks.fire(cx, result).await.payload;
        ran.output.text = fired.text.to_string();
        for image in fired.images {
            match image {
                ResultImage::Held(image) => ran.output.images.push(image),
                ResultImage::New { bytes, .. } => match self.parts.blobs.store(&bytes) {
                    Ok(image) => ran.output.images.push(image),
                    Err(error) => {
                        self.notes.note(format!("an image that a handler gave could not be kept: {error}"))
                    }
                },
            }
        }
    }

    /// Gives a call its one result.
    pub(super) fn answer(&mut self, turn: &Turn, ran: Ran) {
        let Ran { call, asked, arguments, output, status, .. } = ran;
        let text: Arc<str> = output.text.into();
        let item = self.transcript.result(
            self.parts.store.ids(),
            ToolResult {
                call_id: call.id.clone(),
                provider_id: call.provider_id,
                name: Arc::clone(&call.name),
                text: Arc::clone(&text),
                images: output.images,
                failed: output.failed,
            },
        );
        self.store_item(turn.number, &item);
        let used = ToolUse {
            name: asked.name,
            call_id: call.id.to_string(),
            arguments,
            status,
            output: text,
            diff: output.diff,
        };
        self.parts.report.report(Report::ToolUse(&used));
    }
}

/// A result as PostToolUse sees it.
fn used_result(ran: &Ran, approval: &str) -> UsedResult {
    let error = ran.output.failed.then(|| ToolError {
        code: ran.status.as_str().into(),
        message: ran.output.text.clone(),
        hint: None,
    });
    UsedResult {
        result: ran.output.text.as_str().into(),
        parsed_result: None,
        error,
        success: !ran.output.failed,
        refused: false,
        approval: approval.into(),
    }
}
