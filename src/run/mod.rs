//! `crystal run`: one task, without anyone who could be asked.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::app::{self, Opening};
use crate::error::{Exit, Failure};
use crate::home::environment::Environment;
use crate::home::paths::Home;
use crate::home::settings::{Format, Settings};
use crate::hook::turn::StopReason;
use crate::model::port::{Answer, Ask, BoxFuture, Operator};
use crate::model::response::Usage;
use crate::run::input::Input;
use crate::run::json::{JsonLines, Shown};
use crate::run::out::{Out, Stdout};
use crate::run::text::TextTrace;
use crate::session::Session;
use crate::session::report::{Report, Reporter};
use crate::session::turn::{self, Fault, Outcome};

pub mod denied;
pub mod input;
pub mod json;
pub mod logs;
pub mod out;
pub mod signals;
pub mod text;

/// What `crystal run` was asked.
pub struct Job {
    /// The settings.
    pub settings: Settings,
    /// The data directory.
    pub home: Home,
    /// The environment.
    pub environment: Environment,
    /// The task as given on the command line.
    pub task: Option<String>,
}

/// Runs the job to its end.
pub async fn run(job: Job, stdout: Stdout) -> Result<Exit, Failure> {
    let cancel = CancellationToken::new();
    signals::watch(cancel.clone())
        .map_err(|error| Failure::usage(format!("signals cannot be watched: {error}")))?;
    let goes_on = job.settings.resume.is_some() || job.settings.continues;
    let input = tokio::select! {
        input = input::read(job.task.as_deref(), goes_on) => input?,
        () = cancel.cancelled() => return Ok(Exit::Interrupted),
    };
    logs::start(job.home.logs(), &job.settings.log);
    let out = Out::new(stdout, cancel.clone());
    let shown = Shown {
        thinking: job.settings.show_thinking,
        stream: job.settings.stream,
        trace: job.settings.trace,
    };
    let late = Arc::new(Late::default());
    let opening = Opening {
        settings: &job.settings,
        home: &job.home,
        environment: &job.environment,
        report: Arc::clone(&late) as Arc<dyn Reporter>,
        operator: Arc::new(Nobody),
    };
    let opened = app::open(opening).await?;
    let mut session = opened.session;
    let face = Face::new(job.settings.format, &out, &session, shown);
    late.set(face.reporter());
    face.begin(&session);
    for note in opened.notes {
        face.reporter().report(Report::Note(&note));
    }
    if input.stdin_skipped {
        face.reporter().report(Report::Note("standard input was open but silent, and was left unread"));
    }
    session.open().await;
    let outcome = perform(&mut session, input.task.clone(), &cancel).await?;
    session.close().await;
    let exit = exit(&outcome);
    face.end(&session, &outcome, exit, &input);
    if let Some(why) = out.failure() {
        text::note(&format!(
            "standard output cannot be written, so the run stopped; the session is saved as {}: {why}",
            session.id()
        ));
    }
    Ok(if out.closed() { Exit::Interrupted } else { exit })
}

async fn perform(
    session: &mut Session,
    task: Option<String>,
    cancel: &CancellationToken,
) -> Result<Outcome, Failure> {
    match task {
        Some(text) => Ok(session.turn(turn::Input { text, images: Vec::new() }, cancel).await),
        None => session.resume_turn(cancel).await.ok_or_else(|| {
            Failure::usage("no turn of this session was interrupted: give a task to go on with it")
        }),
    }
}

/// The exit code of an outcome.
fn exit(outcome: &Outcome) -> Exit {
    match outcome.ending.stop {
        StopReason::Completed if !outcome.unanswered.is_empty() => Exit::Denied,
        StopReason::Completed => Exit::Done,
        StopReason::Failed => match outcome.ending.fault {
            Fault::Model => Exit::Model,
            Fault::Limit => Exit::Limit,
            Fault::Place => Exit::Usage,
        },
        StopReason::Filtered => Exit::Model,
        StopReason::Budget | StopReason::Overflow | StopReason::Truncated => Exit::Limit,
        StopReason::Aborted => Exit::Denied,
        StopReason::Cancelled => Exit::Interrupted,
    }
}

/// The operator of a pipeline: there is none.
struct Nobody;

impl Operator for Nobody {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Dismissed))
    }
}

/// A reporter whose face is known only after the session is: what comes before is kept in order.
#[derive(Default)]
struct Late {
    face: std::sync::OnceLock<Arc<dyn Reporter>>,
}

impl Late {
    fn set(&self, face: Arc<dyn Reporter>) {
        // Set once, right after the session was opened.
        let _ = self.face.set(face);
    }
}

impl Reporter for Late {
    fn report(&self, report: Report<'_>) {
        match (self.face.get(), &report) {
            (Some(face), _) => face.report(report),
            (None, Report::Note(text)) => text::note(text),
            _ => {}
        }
    }
    fn wants_trace(&self) -> bool {
        self.face.get().is_some_and(|face| face.wants_trace())
    }
}

/// One of the three output formats.
enum Face {
    Text(Arc<TextTrace>),
    Json(Arc<JsonLines>),
    Final(Arc<Quiet>, Arc<Out>),
}

/// `--format final`: notes go to standard error, the answer comes at the end.
struct Quiet;

impl Reporter for Quiet {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Note(text) | Report::Error(text) => text::note(text),
            Report::Retry { attempt, wait, error } => text::retry(attempt, wait, error),
            _ => {}
        }
    }
}

impl Face {
    fn new(format: Format, out: &Arc<Out>, session: &Session, shown: Shown) -> Self {
        match format {
            Format::Text => Self::Text(Arc::new(TextTrace::new(Arc::clone(out), shown))),
            Format::Json => Self::Json(Arc::new(JsonLines::new(Arc::clone(out), session.id(), shown))),
            Format::Final => Self::Final(Arc::new(Quiet), Arc::clone(out)),
        }
    }

    fn reporter(&self) -> Arc<dyn Reporter> {
        match self {
            Self::Text(face) => Arc::clone(face) as Arc<dyn Reporter>,
            Self::Json(face) => Arc::clone(face) as Arc<dyn Reporter>,
            Self::Final(face, _) => Arc::clone(face) as Arc<dyn Reporter>,
        }
    }

    fn begin(&self, session: &Session) {
        if let Self::Json(lines) = self {
            lines.line("session", session.facts());
        }
    }

    fn end(&self, session: &Session, outcome: &Outcome, exit: Exit, input: &Input) {
        match self {
            Self::Json(lines) => {
                if exit != Exit::Done {
                    let message = outcome.ending.message.clone().or_else(|| denied::sentence(outcome));
                    let stopped = json!({ "reason": outcome.ending.stop.as_str(), "message": message });
                    lines.line("stopped", stopped);
                }
                lines.line("result", ResultLine::new(session, outcome, exit, input));
            }
            Self::Final(_, out) => {
                if let Some(text) = outcome.text.as_deref().filter(|text| !text.is_empty()) {
                    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
                    out.write(&[text.as_bytes(), end]);
                }
            }
            Self::Text(_) => {}
        }
        if let (Self::Text(_) | Self::Final(..), Exit::Denied) = (self, exit)
            && let Some(sentence) = denied::sentence(outcome)
        {
            text::note(&sentence);
        }
    }
}

/// The last line of the JSON format.
#[derive(Serialize)]
struct ResultLine<'a> {
    text: &'a str,
    exit: u8,
    usage: Usage,
    model_calls: u64,
    tool_calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Option<&'static str>,
}

impl<'a> ResultLine<'a> {
    fn new(session: &Session, outcome: &'a Outcome, exit: Exit, input: &Input) -> Self {
        Self {
            text: outcome.text.as_deref().unwrap_or_default(),
            exit: exit.code(),
            usage: outcome.usage,
            model_calls: outcome.model_calls,
            tool_calls: outcome.tool_calls,
            cost: session.cost(&outcome.usage).map(|dollars| json!(dollars)),
            stdin: input.stdin_skipped.then_some("skipped"),
        }
    }
}
