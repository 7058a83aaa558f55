//! The VM's side of the thread: what it serves, what its host functions may reach, and the one way they wait.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::plugin::contribution::Contribution;
use crate::plugin::value::{self, ValueError};
use crate::plugin::vm::chain::Chain;
use crate::plugin::vm::clock::{Answer, Clock};
use crate::plugin::vm::engine::{Argument, Engine, ScriptError};
use crate::plugin::vm::fault::Fault;
use crate::plugin::vm::lend::{Emitter, Transcript};
use crate::plugin::vm::message::{Call, Given, Message, Request, Work};
use crate::plugin::vm::{Log, memory};

/// How deep a VM serves calls that come out of its own host calls.
pub(crate) const MAX_DEPTH: usize = 8;

/// One VM's desk.
pub struct Desk {
    facts: Facts,
    clock: Arc<Clock>,
    engine: OnceCell<Weak<dyn Engine>>,
    inbox: Receiver<Message>,
    wakes: Sender<Message>,
    queue: RefCell<VecDeque<Request>>,
    /// The chain of the call that is being served.
    chain: RefCell<Chain>,
    loading: Cell<bool>,
    closed: Cell<bool>,
}

/// What a VM knows of its plugin.
pub(crate) struct Facts {
    /// The plugin directory.
    pub(crate) plugin: Arc<str>,
    pub(crate) settings: Value,
    pub(crate) memory_mb: u32,
    pub(crate) log: Log,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) ledger: Arc<Mutex<Vec<Contribution>>>,
}

/// Why a host function's wait gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// Its own limit passed.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Limit(Duration),
    /// The call it belongs to was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The work panicked.
    #[error("the host failed while it worked on this")]
    Broken,
}

impl Desk {
    pub(crate) fn new(
        facts: Facts,
        clock: Arc<Clock>,
        inbox: Receiver<Message>,
        wakes: Sender<Message>,
    ) -> Self {
        Self {
            facts,
            clock,
            engine: OnceCell::new(),
            inbox,
            wakes,
            queue: RefCell::default(),
            chain: RefCell::default(),
            loading: Cell::new(true),
            closed: Cell::new(false),
        }
    }
    /// The plugin's directory.
    pub fn plugin(&self) -> &str {
        &self.facts.plugin
    }
    /// The plugin's resolved settings.
    pub fn settings(&self) -> &Value {
        &self.facts.settings
    }
    /// Most bytes the engine may hold.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.facts.memory_mb as usize * 1024 * 1024
    }
    /// The clock, for the engine's flag.
    pub(crate) fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }
    /// Whether the entry script is running, the only time at which it may register.
    pub fn loading(&self) -> bool {
        self.loading.get()
    }
    /// Writes a line to the log and the trace.
    pub fn log(&self, line: &str) {
        memory::uncounted(|| (self.facts.log)(&self.facts.plugin, line));
    }
    /// How many things the script has registered.
    pub fn contributions(&self) -> usize {
        self.facts.ledger.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
    /// Keeps what the script registers.
    pub fn contribute(&self, contribution: Contribution) {
        self.facts.ledger.lock().unwrap_or_else(PoisonError::into_inner).push(contribution);
    }
    /// Gives the call in progress a fresh deadline, because it has just shown that it gets on.
    pub fn renew(&self) {
        self.clock.renew();
    }

    /// Waits for `work`, up to `limit`, or until the call is cancelled. Meanwhile the VM's clock stands, and calls
    /// that come out of this very work are served; all others stay queued.
    pub fn wait<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, WaitError> {
        let chain = self.chain.borrow().extend();
        let (done, mut answer) = tokio::sync::oneshot::channel();
        let wakes = self.wakes.clone();
        let task = self.facts.runtime.spawn(chain.clone().scope(async move {
            let _wake = WakeOnDrop(wakes);
            // The VM may have stopped waiting.
            let _ = done.send(work.await);
        }));
        self.clock.pause();
        let until = Instant::now() + limit;
        let outcome = loop {
            match answer.try_recv() {
                Ok(value) => break Ok(value),
                Err(tokio::sync::oneshot::error::TryRecvError::Closed) => break Err(WaitError::Broken),
                Err(tokio::sync::oneshot::error::TryRecvError::Empty) => {}
            }
            if self.clock.cancelled() || self.clock.retired() || self.closed.get() {
                break Err(WaitError::Cancelled);
            }
            if let Some(request) = self.descendant(&chain) {
                self.serve(request);
                continue;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break Err(WaitError::Limit(limit));
            };
            self.receive(left);
        };
        task.abort();
        self.clock.resume();
        outcome
    }

    /// Serves calls until the plugin's last handle goes, or the VM was given up.
    pub(crate) fn run(&self) {
        while !self.closed.get() && !self.clock.retired() {
            let next = self.queue.borrow_mut().pop_front();
            match next {
                Some(request) => self.serve(request),
                None => match self.inbox.recv() {
                    Ok(message) => self.sort(message),
                    Err(_) => return,
                },
            }
        }
    }

    pub(crate) fn attach(&self, engine: &Rc<dyn Engine>) {
        // Attached once, by the thread that made both.
        let _ = self.engine.set(Rc::downgrade(engine));
    }

    fn receive(&self, limit: Duration) {
        match self.inbox.recv_timeout(limit) {
            Ok(message) => self.sort(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.closed.set(true),
        }
    }

    fn sort(&self, message: Message) {
        match message {
            Message::Request(request) => self.queue.borrow_mut().push_back(*request),
            Message::Wake => {}
            Message::Close => self.closed.set(true),
        }
    }

    fn descendant(&self, chain: &Chain) -> Option<Request> {
        // What has arrived meanwhile is looked at too.
        while let Ok(message) = self.inbox.try_recv() {
            self.sort(message);
        }
        let mut queue = self.queue.borrow_mut();
        let place = queue.iter().position(|request| request.chain.comes_from(chain))?;
        queue.remove(place)
    }

    fn serve(&self, request: Request) {
        let Request { work, control, chain, deadline } = request;
        if control.cancelled() {
            return control.answer(Err(Fault::Cancelled));
        }
        if self.clock.depth() >= MAX_DEPTH {
            return control.answer(Err(Fault::TooDeep(MAX_DEPTH)));
        }
        let outer = self.chain.replace(chain);
        self.clock.enter(&control, deadline);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work(work)));
        let stopped = self.clock.leave();
        self.chain.replace(outer);
        control.answer(match (outcome, stopped) {
            (Err(panic), _) => Err(Fault::Panic(panic_text(&*panic))),
            (Ok(_), Some(fault)) => Err(fault),
            (Ok(answer), None) => answer,
        });
    }

    fn work(&self, work: Work) -> Answer {
        let engine = self.engine.get().and_then(Weak::upgrade);
        let engine = engine.ok_or_else(|| Fault::Retired("its engine is closed".to_owned()))?;
        match work {
            Work::Load { entry } => {
                let loaded = engine.load(&entry);
                self.loading.set(false);
                loaded.map(|()| Value::Null).map_err(|error| self.fault(error, &entry))
            }
            Work::Exposed => Ok(engine.exposed().into()),
            Work::Call(call) => self.call(&*engine, call),
        }
    }

    fn call(&self, engine: &dyn Engine, call: Call) -> Answer {
        let mut lent = Lent::default();
        let arguments = call.arguments.into_iter().map(|given| lent.argument(given)).collect();
        let result = engine.call(call.function, arguments);
        drop(lent);
        match result {
            Ok(plain) => Ok(value::settle(plain, call.original.as_ref())),
            Err(error) => Err(self.fault(error, &format!("the result of {}", call.name))),
        }
    }

    fn fault(&self, error: ScriptError, place: &str) -> Fault {
        match error {
            ScriptError::Raised(message) => Fault::Raised(message),
            ScriptError::Memory => Fault::Memory(self.facts.memory_mb),
            ScriptError::Value(error) => Fault::Shape(ValueError::at(&error, place)),
        }
    }
}

/// What one call was lent; it goes stale when the call ends, however it ends.
#[derive(Default)]
struct Lent {
    transcripts: Vec<Rc<Transcript>>,
    emitters: Vec<Rc<Emitter>>,
}

impl Lent {
    fn argument(&mut self, given: Given) -> Argument {
        match given {
            Given::Value(value) => Argument::Value(value),
            Given::Record(fields, items) => {
                let transcript = Rc::new(Transcript::new(items));
                self.transcripts.push(Rc::clone(&transcript));
                Argument::Record(fields, transcript)
            }
            Given::Emit(sink) => {
                let emitter = Rc::new(Emitter::new(sink));
                self.emitters.push(Rc::clone(&emitter));
                Argument::Emit(emitter)
            }
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.transcripts.iter().for_each(|transcript| transcript.end());
        self.emitters.iter().for_each(|emitter| emitter.end());
    }
}

struct WakeOnDrop(Sender<Message>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        // A VM that is gone needs no waking.
        let _ = self.0.send(Message::Wake);
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words".to_owned())
}
