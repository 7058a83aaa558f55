//! One call of one handler: its deadline and cancel, what its reply or its failure means, its note and its record.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::hook::change::change;
use crate::hook::clock::Clock;
use crate::hook::context::{Chain, Context, Outcome, TraceRecord};
use crate::hook::dispatch::{Cause, Dispatcher, Slot};
use crate::hook::handler::{Fault, Plugin};
use crate::hook::moment::{Accepted, Given, Moment, Rejection, Reply};
use crate::hook::reply::{kind, object, take, take_text};
use crate::hook::table::{Failure, List, Row, Stops};

/// How long past its deadline a handler may take to say so itself, in real time. A script that does not yield is
/// given up by its own thread a second earlier.
const GRACE: Duration = Duration::from_secs(4);

/// A call about to be made.
pub(crate) struct Call<'a> {
    dispatcher: &'a Dispatcher,
    slot: &'a Slot,
    cx: &'a Context,
    row: &'static Row,
    begun: Instant,
}

/// What a call means for the moment.
pub(crate) enum Verdict<M> {
    /// The payload stands.
    Stands { ignored: Vec<String> },
    /// The payload is another.
    Changed { payload: M, ignored: Vec<String> },
    /// What was about to happen does not happen.
    Blocks { reason: String, cause: Cause },
}

/// Why a call came to nothing.
enum Miss {
    /// It was not made: its own act led here.
    Own,
    /// It was not made: too many handlers led to one another.
    Deep,
    /// It failed.
    Fault(Fault),
    /// Its reply does not count.
    Rejected(Rejection),
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        dispatcher: &'a Dispatcher,
        slot: &'a Slot,
        cx: &'a Context,
        row: &'static Row,
    ) -> Self {
        Self { dispatcher, slot, cx, row, begun: Instant::now() }
    }

    /// Makes the call and judges its reply.
    pub(crate) async fn judge<M: Moment>(self, payload: &M) -> Verdict<M> {
        match self.reply(payload).await {
            Err(miss) => self.missed(miss),
            Ok(Reply::Nothing) => self.stands(Outcome::Unchanged, Vec::new()),
            Ok(Reply::Filtered) => self.stands(Outcome::Filtered, Vec::new()),
            Ok(Reply::Given(given)) => self.given(payload, given),
        }
    }

    /// Makes the call of a moment whose replies mean nothing.
    pub(crate) async fn watch<M: Moment>(self, payload: &M) {
        let _: Verdict<M> = match self.reply(payload).await {
            Err(miss) => self.missed(miss),
            Ok(Reply::Filtered) => self.stands(Outcome::Filtered, Vec::new()),
            Ok(Reply::Nothing | Reply::Given(_)) => self.stands(Outcome::Unchanged, Vec::new()),
        };
    }

    async fn reply<M: Moment>(&self, payload: &M) -> Result<Reply, Miss> {
        let Slot { handler, registration, .. } = self.slot;
        let plugin = handler.plugin();
        if self.cx.chain.holds(&plugin.dir, self.row, *registration) {
            return Err(Miss::Own);
        }
        if self.cx.chain.depth() >= Chain::DEPTH {
            return Err(Miss::Deep);
        }
        let stop = match self.row.stops {
            Stops::Cancel => self.cx.cancel.child_token(),
            Stops::Deadline => CancellationToken::new(),
        };
        if stop.is_cancelled() {
            return Err(Miss::Fault(Fault::Cancelled));
        }
        let clock = Clock::default();
        let cx = Context {
            chain: self.cx.chain.entered(&plugin.dir, self.row, *registration),
            cancel: stop.clone(),
            clock: clock.clone(),
            ..self.cx.clone()
        };
        // Whatever the call left running is told when the call is over, however it ended.
        let _told = stop.clone().drop_guard();
        let cancelled = async {
            match self.row.stops {
                Stops::Cancel => self.cx.cancel.cancelled().await,
                Stops::Deadline => std::future::pending().await,
            }
        };
        let timeout = handler.registrations().get(*registration).map_or(Duration::ZERO, |own| own.timeout);
        let late = async {
            clock.ran(timeout).await;
            stop.cancel();
            tokio::time::sleep(GRACE).await;
        };
        let reply = tokio::select! {
            biased;
            reply = handler.call(*registration, payload.offer(), &cx) => reply,
            () = cancelled => Err(Fault::Cancelled),
            () = late => Err(Fault::TimedOut),
        };
        reply.map_err(Miss::Fault)
    }

    fn given<M: Moment>(self, payload: &M, given: Given) -> Verdict<M> {
        let read = match self.row.list {
            List::Event => Envelope::read(given),
            List::Hook | List::RawHook => Ok(Envelope::Replace(given)),
        };
        match read {
            Err(rejection) => self.missed(Miss::Rejected(rejection)),
            Ok(Envelope::Continue) => self.stands(Outcome::Unchanged, Vec::new()),
            Ok(Envelope::Abort(reason)) if self.row.guards() => {
                self.well();
                self.record(Outcome::Aborted, Some(reason.clone()), None);
                Verdict::Blocks { reason, cause: Cause::Decided }
            }
            Ok(Envelope::Abort(_)) => {
                self.stands(Outcome::Unchanged, vec!["an abort, which means nothing here".into()])
            }
            Ok(Envelope::Replace(given)) => match payload.accept(given) {
                Err(rejection) => self.missed(Miss::Rejected(rejection)),
                Ok(accepted) => self.accepted(payload, accepted),
            },
        }
    }

    fn accepted<M: Moment>(&self, before: &M, accepted: Accepted<M>) -> Verdict<M> {
        let Accepted { changed: Some(payload), ignored } = accepted else {
            return self.stands(Outcome::Unchanged, accepted.ignored);
        };
        self.well();
        let shown = !self.cx.runtime.as_ref().is_some_and(|runtime| runtime.concealed);
        let change = match shown && self.cx.report.wants_trace() {
            true => change(&before.offer(), &payload.offer()),
            false => None,
        };
        self.record(Outcome::Changed, said(&ignored), change);
        Verdict::Changed { payload, ignored }
    }

    fn stands<M>(&self, outcome: Outcome, ignored: Vec<String>) -> Verdict<M> {
        self.well();
        self.record(outcome, said(&ignored), None);
        Verdict::Stands { ignored }
    }

    fn missed<M>(&self, miss: Miss) -> Verdict<M> {
        let (outcome, reason) = match miss {
            Miss::Own => {
                self.record(Outcome::Skipped, Some("its own act led here".into()), None);
                return Verdict::Stands { ignored: Vec::new() };
            }
            Miss::Fault(Fault::Cancelled) => {
                self.record(Outcome::Cancelled, None, None);
                return self.blocks(Cause::Cancelled, Fault::Cancelled.to_string());
            }
            Miss::Fault(Fault::Gone) => {
                self.record(Outcome::Skipped, Some(Fault::Gone.to_string()), None);
                self.note_gone();
                return self.blocks(Cause::Failed, self.failed(&Fault::Gone.to_string()));
            }
            Miss::Deep => {
                (Outcome::Skipped, format!("more than {} handlers led to one another", Chain::DEPTH))
            }
            Miss::Fault(fault) => {
                let reason = self.told(&fault);
                self.fault(&reason);
                (Outcome::Failed, reason)
            }
            Miss::Rejected(Rejection::Shape(reason)) => {
                self.fault(&reason);
                (Outcome::Rejected, reason)
            }
            Miss::Rejected(Rejection::Rule(reason)) => {
                self.well();
                (Outcome::Rejected, reason)
            }
        };
        self.record(outcome, Some(reason.clone()), None);
        self.note_skipped(&reason);
        self.blocks(Cause::Failed, self.failed(&reason))
    }

    /// A guard that cannot say yes blocks; every other handler is passed over.
    fn blocks<M>(&self, cause: Cause, reason: String) -> Verdict<M> {
        match self.row.failure {
            Failure::Aborts => Verdict::Blocks { reason, cause },
            Failure::Skips => Verdict::Stands { ignored: Vec::new() },
        }
    }

    /// A guard's failure as the reason of its refusal.
    fn failed(&self, reason: &str) -> String {
        let (event, name) = (self.row.name, &self.plugin().name);
        format!("the {event} guard of plugin '{name}' failed, so it blocks: {}", reason.trim_end_matches('.'))
    }

    /// A fault in words.
    fn told(&self, fault: &Fault) -> String {
        match (fault, self.slot.handler.registrations().get(self.slot.registration)) {
            (Fault::TimedOut, Some(own)) => {
                format!("it ran past its deadline of {} ms", own.timeout.as_millis())
            }
            (fault, _) => fault.to_string(),
        }
    }

    /// Failures of hooks are the operator's to know; those of events stand in the trace and, for guards, in what
    /// they block.
    fn note_skipped(&self, reason: &str) {
        let list = match self.row.list {
            List::Hook => "hook",
            List::RawHook => "raw hook",
            List::Event => return,
        };
        let (name, moment, reason) = (&self.plugin().name, self.row.name, reason.trim_end_matches('.'));
        self.cx.report.note(format!("Plugin '{name}': {list} {moment} was skipped: {reason}."));
    }

    fn note_gone(&self) {
        if self.dispatcher.first_gone(self.plugin()) {
            let name = &self.plugin().name;
            self.cx.report.note(format!(
                "Plugin '{name}' stopped in mid-turn; until the turn ends its guards block and its other handlers are skipped."
            ));
        }
    }

    fn fault(&self, reason: &str) {
        self.dispatcher.breaker.fault(self.plugin(), self.slot.registration, self.row, reason);
    }

    fn plugin(&self) -> &'a Plugin {
        self.slot.handler.plugin()
    }

    fn well(&self) {
        self.dispatcher.breaker.well(self.plugin(), self.slot.registration);
    }

    fn record(&self, outcome: Outcome, reason: Option<String>, change: Option<String>) {
        if !self.cx.report.wants_trace() {
            return;
        }
        self.cx.report.trace(TraceRecord {
            event: self.row.name,
            plugin: self.plugin().clone(),
            list: self.row.list,
            duration: self.begun.elapsed(),
            outcome,
            reason,
            change,
        });
    }
}

/// What was left out of a reply, in one line.
fn said(ignored: &[String]) -> Option<String> {
    (!ignored.is_empty()).then(|| format!("left out: {}", ignored.join("; ")))
}

/// What an event handler returned.
enum Envelope {
    Continue,
    Abort(String),
    Replace(Given),
}

impl Envelope {
    fn read(given: Given) -> Result<Self, Rejection> {
        let edits = given.edits;
        let mut fields = object(given.value, "it returned")?;
        let replace = take(&mut fields, "replace");
        match take_text(&mut fields, "action")?.as_deref() {
            Some("abort") => {
                let reason = take_text(&mut fields, "reason")?.filter(|reason| !reason.trim().is_empty());
                Ok(Self::Abort(reason.unwrap_or_else(|| "it gave no reason".into())))
            }
            Some("continue") => match replace {
                // A script's empty table may cross as an empty list.
                Some(Value::Array(list)) if list.is_empty() && edits.is_none() => Ok(Self::Continue),
                Some(value @ Value::Object(_)) => Ok(Self::Replace(Given { value, edits })),
                Some(other) => {
                    Err(Rejection::shape(format!("its `replace` is {}, not an object", kind(&other))))
                }
                None if edits.is_some() => {
                    Ok(Self::Replace(Given { value: Value::Object(Map::new()), edits }))
                }
                None => Ok(Self::Continue),
            },
            Some(other) => {
                Err(Rejection::shape(format!("its `action` is `{other}`, not `continue` or `abort`")))
            }
            None => Err(Rejection::shape("it returned an object without an `action`")),
        }
    }
}
