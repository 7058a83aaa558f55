//! The tool calls of one answer, in the order of the specification: leading read-only calls are prepared one by one, run
//! together and finished in the model's order; any other call waits for its turn. Nothing is prepared twice.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::join_all;

use crate::hook::turn::StopReason;
use crate::model::item::ToolCall;
use crate::session::Session;
use crate::session::call::{NOT_RUN, Prepared, Ran, arguments};
use crate::session::report::{Report, Status};
use crate::session::runtime::Running;
use crate::session::transcript::Received;
use crate::session::turn::{Ending, Turn};
use crate::tool::Output;

/// What a batch says about how the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Another step.
    Next,
    /// A handler ended the tool loop.
    Terminated,
}

impl Session {
    /// Runs the calls. Whatever happens, every call has its result afterwards.
    pub(super) async fn batch(
        &mut self,
        turn: &mut Turn,
        running: &Running,
        calls: Vec<Received>,
    ) -> Result<Flow, Ending> {
        let mut queue: VecDeque<Received> = calls.into();
        let mut held = None;
        while held.is_some() || !queue.is_empty() {
            match self.group(turn, running, &mut queue, &mut held).await {
                Ok(Flow::Next) => {}
                Ok(Flow::Terminated) => {
                    self.leave(
                        turn,
                        held,
                        queue,
                        Status::Cancelled,
                        "not run: a handler ended the tool loop before it",
                    );
                    return Ok(Flow::Terminated);
                }
                Err(ending) => {
                    let why = match ending.stop {
                        StopReason::Failed => "not run: what happens here could no longer be recorded",
                        StopReason::Budget => "not run: the turn's budget was used up",
                        _ => NOT_RUN,
                    };
                    self.leave(turn, held, queue, Status::Skipped, why);
                    return Err(ending);
                }
            }
        }
        Ok(Flow::Next)
    }

    /// One pool of read-only calls, or one call by itself.
    async fn group(
        &mut self,
        turn: &mut Turn,
        running: &Running,
        queue: &mut VecDeque<Received>,
        held: &mut Option<Prepared>,
    ) -> Result<Flow, Ending> {
        if let Some(alone) = held.take() {
            return self.pool(turn, running, vec![alone]).await;
        }
        let mut pool = Vec::new();
        while queue.front().is_some_and(|next| pool.is_empty() || self.catalog.reads_only(&next.call.name)) {
            let Some(next) = queue.pop_front() else { break };
            let leading = self.catalog.reads_only(&next.call.name);
            let prepared = match self.prepare(turn, running, next).await {
                Ok(prepared) => prepared,
                Err(stopped) => {
                    let (unprepared, ending) = *stopped;
                    queue.push_front(unprepared);
                    // What was prepared before it has been asked for and counted: it runs.
                    self.pool(turn, running, pool).await?;
                    return Err(ending);
                }
            };
            match (leading, prepared.concurrent()) {
                (true, true) => pool.push(prepared),
                // A call that a hook rewrote into a writing one waits behind the pool as a barrier.
                (true, false) if !pool.is_empty() => {
                    *held = Some(prepared);
                    break;
                }
                _ => {
                    pool.push(prepared);
                    break;
                }
            }
        }
        self.pool(turn, running, pool).await
    }

    async fn pool(
        &mut self,
        turn: &mut Turn,
        running: &Running,
        pool: Vec<Prepared>,
    ) -> Result<Flow, Ending> {
        let (cancel, report) = (turn.cancel.clone(), Arc::clone(&self.parts.report));
        let started = |name: &str, call: &ToolCall| {
            report.report(Report::ToolStart { name, call_id: call.id.as_str(), arguments: &call.arguments });
        };
        let outputs = join_all(pool.into_iter().map(|prepared| prepared.run(&cancel, &started))).await;
        let mut flow = Flow::Next;
        for ran in outputs {
            if self.finish_call(turn, running, ran).await {
                flow = Flow::Terminated;
            }
        }
        if turn.cancel.is_cancelled() { Err(Ending::cancelled()) } else { Ok(flow) }
    }

    /// Gives every call that will not run a result that says why.
    fn leave(
        &mut self,
        turn: &Turn,
        held: Option<Prepared>,
        queue: VecDeque<Received>,
        status: Status,
        why: &str,
    ) {
        let waiting =
            held.into_iter().map(Prepared::into_call).chain(queue.into_iter().map(|received| received.call));
        for call in waiting.collect::<Vec<_>>() {
            let (asked, arguments) = (call.clone(), arguments(&call));
            self.answer(
                turn,
                Ran { call, asked, arguments, output: Output::failed(why), status, approval: None },
            );
        }
    }
}
