//! What handlers are told at the moments of a session: contexts and payloads, put together in one place so that the loop
//! shows nothing but the order.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::hook::clock::Clock;
use crate::hook::context::{Chain, Context, HookReport, RuntimeRef, TraceRecord};
use crate::hook::prompt::{Attachment, PromptFacts, UserMessage};
use crate::hook::rebuild::Held;
use crate::hook::session::{EndReason, SessionEnd, SessionEnded, SessionStart, SessionStarted};
use crate::hook::turn::{Action, Input as Said, Manifest, RuntimeResult, RuntimeStatus, StopReason};
use crate::hook::{session, turn as moment};
use crate::model::request::Mode;
use crate::session::Session;
use crate::session::report::{Report, Reporter};
use crate::session::runtime::{MAIN, Running};
use crate::session::store::Store;
use crate::session::store::record::{Note, Record};
use crate::session::turn::{Ending, Input, Turn};

/// Notes and trace records of handlers, on their way to the listener and the session file.
pub(super) struct Notes {
    pub(super) report: Arc<dyn Reporter>,
    pub(super) store: Arc<Store>,
}

impl HookReport for Notes {
    fn note(&self, text: String) {
        self.report.report(Report::Note(&text));
        // A note that cannot be stored was shown all the same.
        let _ = self.store.append(&Record::Note(Note { text }));
    }
    fn trace(&self, record: TraceRecord) {
        self.report.report(Report::Hook(&record));
    }
    fn wants_trace(&self) -> bool {
        self.report.wants_trace()
    }
}

impl Session {
    /// The circumstances of a moment of a turn, in a runtime or outside one.
    pub(super) fn context(&self, turn: &Turn, running: Option<&Running>) -> Context {
        Context {
            turn: turn.id(),
            logical_turn: Some(turn.logical),
            runtime: running.map(|running| RuntimeRef {
                plugin: "crystal".into(),
                runtime: Arc::clone(&running.name),
                concealed: false,
            }),
            purpose: running.map(|_| self.mode.purpose()),
            cancel: turn.cancel.clone(),
            ..self.bare_context()
        }
    }

    /// The circumstances of a moment outside turns.
    pub(super) fn bare_context(&self) -> Context {
        Context {
            session: Arc::clone(&self.parts.id),
            turn: "".into(),
            logical_turn: None,
            locale: Arc::clone(&self.parts.locale),
            runtime: None,
            active_plugins: Arc::clone(&self.parts.active_plugins),
            mode: self.mode,
            workspace: self.workspace_text(),
            approval: self.parts.options.approval,
            purpose: None,
            cancel: tokio_util::sync::CancellationToken::new(),
            report: Arc::clone(&self.notes) as Arc<dyn HookReport>,
            chain: Chain::default(),
            clock: Clock::default(),
        }
    }

    /// Tells the handlers that the session is there; a new one is announced as stored, too.
    pub async fn open(&mut self) {
        let (hooks, cx) = (Arc::clone(&self.parts.hooks), self.bare_context());
        self.parts.warden.enter(cx.clone());
        let _ = hooks.fire(&cx, SessionStarted(self.session_facts())).await;
        if self.turns == 0 {
            let _ = hooks.fire(&cx, SessionStart { session: Arc::clone(&self.parts.id) }).await;
        }
    }

    /// Tells the handlers that the session ends.
    pub async fn close(&mut self) {
        let (hooks, cx) = (Arc::clone(&self.parts.hooks), self.bare_context());
        let _ = hooks.fire(&cx, SessionEnded(self.session_facts())).await;
        let end = SessionEnd { session: Arc::clone(&self.parts.id), reason: EndReason::Ended };
        let _ = hooks.fire(&cx, end).await;
    }

    fn session_facts(&self) -> session::Session {
        session::Session {
            workspace: self.workspace_text(),
            id: Arc::clone(&self.parts.id),
            approval: self.parts.options.approval,
            locale: Arc::clone(&self.parts.locale),
        }
    }

    /// What the operator says, before it is stored.
    pub(super) fn user_message(&self, input: &Input) -> UserMessage {
        let attachments = input.images.iter().enumerate().map(|(place, image)| Attachment {
            media_type: image.media_type,
            name: format!("Image #{}", place + 1),
        });
        UserMessage {
            text: input.text.as_str().into(),
            mode: self.mode,
            session: Arc::clone(&self.parts.id),
            attachments: attachments.collect(),
        }
    }

    pub(super) fn turn_facts(&self, turn: &Turn) -> moment::Turn {
        moment::Turn {
            number: turn.number,
            text: Arc::clone(&turn.text),
            mode: self.mode,
            session: Arc::clone(&self.parts.id),
        }
    }

    /// What the turn goes by, as events see it.
    pub(super) fn said(&self, turn: &Turn) -> Said {
        let action =
            Action { kind: "message".into(), text: Some(Arc::clone(&turn.text)), source: "operator".into() };
        let actions = if turn.resumed { Vec::new() } else { vec![action] };
        Said { operator_message: Arc::clone(&turn.text), actions }
    }

    pub(super) fn prompt_facts(&self) -> PromptFacts {
        PromptFacts {
            mode: self.mode.into(),
            workspace: self.workspace_text(),
            session: Arc::clone(&self.parts.id),
            instructions: "".into(),
        }
    }

    /// The images that replacements may name, and whether this turn's calls take any.
    pub(super) fn held(&self) -> Held {
        Held { images: self.images(), accepts_images: self.parts.endpoint.model.image_input }
    }

    fn workspace_text(&self) -> Arc<str> {
        self.parts.workspace.to_string_lossy().into()
    }
}

impl Turn {
    /// Its id in payloads and contexts (`t1`, …).
    pub(super) fn id(&self) -> Arc<str> {
        format!("t{}", self.number).into()
    }
}

/// The main runtime as PreSchedule and PreRuntime see it.
pub(super) fn main_manifest(mode: Mode) -> Manifest {
    let mut facts = Map::new();
    facts.insert("kind".into(), "agent".into());
    facts.insert("stage".into(), "main".into());
    facts.insert("mode".into(), mode.as_str().into());
    Manifest { name: MAIN.into(), facts: Arc::new(facts) }
}

/// What a runtime came to, as PostRuntime and TurnStop see it.
pub(super) fn runtime_result(
    turn: &Turn,
    running: &Running,
    ending: &Ending,
    skipped: bool,
) -> RuntimeResult {
    let status = match ending.stop {
        _ if skipped => RuntimeStatus::Skipped,
        StopReason::Completed => RuntimeStatus::Completed,
        _ => RuntimeStatus::Failed,
    };
    let failed = status != RuntimeStatus::Completed;
    RuntimeResult {
        plugin_id: "crystal".into(),
        runtime_id: Arc::clone(&running.name),
        run_id: format!("{}.{}", turn.id(), running.name).into(),
        turn_id: turn.id(),
        status,
        output: turn.last_text.as_deref().map_or(Value::Null, Value::from),
        canonical_value: None,
        pending_proposals: Vec::new(),
        effects: Vec::new(),
        completion: json!({ "stop_reason": ending.stop.as_str() }),
        error: failed.then(|| json!({ "code": ending.stop.as_str(), "message": ending.message })),
        usage: turn.usage,
    }
}
