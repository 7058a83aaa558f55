//! A plugin's wire protocol: one call is one run of the script's `stream`, whose emits become deltas and one response.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::model::port::BoxFuture;
use crate::model::request::{Request, Sampling, ToolChoice};
use crate::model::response::{CallError, CallErrorKind, Content, Delta, FinishReason, Part, Response};
use crate::plugin::contribution::Contribution;
use crate::plugin::vm::engine::FunctionId;
use crate::plugin::vm::fault::Fault;
use crate::plugin::vm::lend::Emit;
use crate::plugin::vm::message::{Call, Given};
use crate::plugin::vm::{DEADLINE, Vm};
use crate::provider::endpoint::Endpoint;
use crate::provider::{Client, Protocol};

/// A protocol whose `stream` is a script function.
pub struct PluginProtocol {
    vm: Vm,
    token: String,
    function: FunctionId,
}

impl PluginProtocol {
    pub(super) fn new(vm: &Vm, contribution: &Contribution) -> Self {
        Self { vm: vm.clone(), token: contribution.name.clone(), function: contribution.function }
    }
}

impl Protocol for PluginProtocol {
    fn token(&self) -> &str {
        &self.token
    }
    fn client(&self, endpoint: Arc<Endpoint>) -> Result<Box<dyn Client>, CallError> {
        let name = format!("protocol '{}' of plugin '{}'", self.token, self.vm.plugin());
        Ok(Box::new(PluginClient { vm: self.vm.clone(), function: self.function, name, endpoint }))
    }
}

struct PluginClient {
    vm: Vm,
    function: FunctionId,
    name: String,
    endpoint: Arc<Endpoint>,
}

impl Client for PluginClient {
    fn call<'a>(
        &'a mut self,
        request: &'a Request,
        sink: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Response, CallError>> {
        Box::pin(async move {
            let (emits, pieces) = unbounded_channel();
            let call = Call {
                function: self.function,
                name: self.name.clone(),
                arguments: vec![
                    Given::Record(payload(&self.endpoint, request), Arc::clone(&request.items)),
                    Given::Emit(emits),
                ],
                deadline: Some(DEADLINE),
                original: None,
            };
            let mut answer = Answer::default();
            let ran = self.run(call, pieces, &mut answer, sink).await;
            match ran {
                Ok(()) => Ok(answer.finished()),
                Err(failure) => Err(self.error(failure, answer)),
            }
        })
    }
}

/// Why a call gave no answer.
enum Failure {
    Script(Fault),
    /// The script waited for something and nothing came.
    Silent(Duration),
}

impl PluginClient {
    async fn run(
        &self,
        call: Call,
        mut pieces: UnboundedReceiver<Emit>,
        answer: &mut Answer,
        sink: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), Failure> {
        let mut script = std::pin::pin!(self.vm.call(call));
        let silence = self.endpoint.timeouts.silence;
        loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => answer.take(piece, sink),
                result = &mut script => {
                    // The script's last pieces were sent before its result.
                    while let Ok(piece) = pieces.try_recv() {
                        answer.take(piece, sink);
                    }
                    return result.map(|_| ()).map_err(Failure::Script);
                }
                () = tokio::time::sleep(silence) => return Err(Failure::Silent(silence)),
            }
        }
    }

    fn error(&self, failure: Failure, answer: Answer) -> CallError {
        let (kind, reason, retryable) = match failure {
            Failure::Script(fault) => {
                let kind = match fault {
                    Fault::Timeout(_) => CallErrorKind::Timeout,
                    Fault::Shape(_) => CallErrorKind::Garbage,
                    _ => CallErrorKind::Client,
                };
                (kind, fault.to_string(), false)
            }
            Failure::Silent(limit) => {
                (CallErrorKind::Timeout, format!("it emitted nothing for {} s", limit.as_secs()), true)
            }
        };
        let message = format!("{} failed: {reason}", self.name);
        let partial = (!answer.response.parts.is_empty()).then(|| Box::new(answer.response));
        CallError { kind, status: None, code: None, message, retry_after: None, retryable, partial }
    }
}

/// An answer as it grows.
#[derive(Default)]
struct Answer {
    response: Response,
    /// Whether the script said why it stopped.
    ended: bool,
}

impl Answer {
    fn take(&mut self, piece: Emit, sink: &mut (dyn FnMut(Delta) + Send)) {
        match piece {
            Emit::Text(text) => {
                match self.response.parts.last_mut().map(|part| &mut part.content) {
                    Some(Content::Text(before)) => before.push_str(&text),
                    _ => self.push(Content::Text(text.clone())),
                }
                sink(Delta::Text(text));
            }
            Emit::Reasoning(text) => {
                match self.response.parts.last_mut().map(|part| &mut part.content) {
                    Some(Content::Reasoning(before)) => before.push_str(&text),
                    _ => self.push(Content::Reasoning(text.clone())),
                }
                sink(Delta::Reasoning(text));
            }
            Emit::Call { id, name, arguments } => {
                sink(Delta::Call { name: name.clone() });
                self.push(Content::Call { id, name, arguments, complete: true });
            }
            Emit::Usage(usage) => self.response.usage = usage,
            Emit::Finish(finish) => {
                self.response.finish = finish;
                self.ended = true;
            }
        }
    }
    fn push(&mut self, content: Content) {
        self.response.parts.push(Part { content, state: None });
    }
    fn finished(mut self) -> Response {
        let calls = self.response.parts.iter().any(|part| matches!(part.content, Content::Call { .. }));
        if !self.ended && calls {
            self.response.finish.reason = FinishReason::ToolCalls;
        }
        self.response
    }
}

/// What `stream` is given beside `items`.
fn payload(endpoint: &Endpoint, request: &Request) -> Value {
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(
            |tool| json!({ "name": &*tool.name, "description": &*tool.description, "schema": &*tool.schema }),
        )
        .collect();
    json!({
        "purpose": request.purpose.as_str(),
        "runtime": &*request.runtime,
        "accepts_images": request.accepts_images,
        "endpoint": {
            "provider": &*endpoint.provider,
            "base_uri": endpoint.base_uri,
            "model": &*endpoint.model.name,
            "key": endpoint.key.as_ref().map(|key| key.reveal()),
        },
        "sampling": sampling(&request.sampling),
        "tools": tools,
        "tool_choice": match &request.tool_choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::Required => json!("required"),
            ToolChoice::None => json!("none"),
            ToolChoice::Named(name) => json!({ "name": &**name }),
        },
    })
}

/// Only what is set.
fn sampling(sampling: &Sampling) -> Value {
    let mut out = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    set("temperature", sampling.temperature.map(Value::from));
    set("top_p", sampling.top_p.map(Value::from));
    set("max_tokens", sampling.max_tokens.map(Value::from));
    set("thinking", Some(sampling.thinking.as_str().into()));
    set("service_tier", sampling.service_tier.as_deref().map(Value::from));
    set("speed", sampling.speed.as_deref().map(Value::from));
    Value::Object(out)
}
