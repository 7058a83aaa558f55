//! A plugin's VM: one engine on a thread of its own, spoken to by messages.
//!
//! [`Vm`] is the host's handle. A call is awaited, never blocked on; dropping its future interrupts the script. A VM that
//! does not yield is given up and stays given up ([`Health::Retired`](fault::Health)); the process goes on.

use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::plugin::contribution::Contribution;
use crate::plugin::vm::chain::Chain;
use crate::plugin::vm::clock::{Answer, Clock, Control, Watchdog};
use crate::plugin::vm::desk::{Desk, Facts};
use crate::plugin::vm::engine::{Engine, ScriptError};
use crate::plugin::vm::fault::{Fault, Health};
use crate::plugin::vm::message::{Call, Message, Request, Work};

pub mod chain;
pub mod clock;
pub mod desk;
pub mod engine;
pub mod fault;
pub mod lend;
pub mod memory;
pub mod message;

/// Script time of a call that names none.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Where a plugin's lines go: its directory, one line.
pub type Log = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Makes an engine, on the thread that it will live on.
pub type Build = Box<dyn FnOnce(&Rc<Desk>) -> Result<Rc<dyn Engine>, ScriptError> + Send>;

/// What a VM is started with.
pub struct Setup {
    /// The plugin directory.
    pub plugin: Arc<str>,
    /// Resolved settings, an object.
    pub settings: Value,
    /// Memory limit in MiB.
    pub memory_mb: u32,
    /// Stack of its thread in bytes; reserved, not committed.
    pub stack_bytes: usize,
    /// Where its lines go.
    pub log: Log,
    /// The runtime on which host functions work.
    pub runtime: tokio::runtime::Handle,
    /// The process's watchdog.
    pub watchdog: Watchdog,
    /// Where registrations go.
    pub ledger: Arc<Mutex<Vec<Contribution>>>,
    /// Makes the engine.
    pub build: Build,
}

/// A handle of a running VM. The thread ends with the last one.
#[derive(Clone)]
pub struct Vm(Arc<Handle>);

struct Handle {
    plugin: Arc<str>,
    messages: Sender<Message>,
    clock: Arc<Clock>,
    health: watch::Receiver<Health>,
}

impl Vm {
    /// Starts the thread and the engine. Nothing of the plugin runs yet.
    pub fn start(setup: Setup) -> std::io::Result<Self> {
        let (messages, inbox) = channel();
        let (report, health) = watch::channel(Health::Live);
        let clock = Clock::new(&setup.watchdog, report);
        let handle = Handle {
            plugin: Arc::clone(&setup.plugin),
            messages: messages.clone(),
            clock: Arc::clone(&clock),
            health,
        };
        let facts = Facts {
            plugin: setup.plugin,
            settings: setup.settings,
            memory_mb: setup.memory_mb,
            log: setup.log,
            runtime: setup.runtime,
            ledger: setup.ledger,
        };
        let build = setup.build;
        thread::Builder::new()
            .name(format!("plugin {}", handle.plugin))
            .stack_size(setup.stack_bytes)
            .spawn(move || {
                let _end = EndOfThread(Arc::clone(&clock));
                let desk = Rc::new(Desk::new(facts, Arc::clone(&clock), inbox, messages));
                match build(&desk) {
                    Ok(engine) => {
                        desk.attach(&engine);
                        desk.run();
                    }
                    Err(error) => clock.fail(&format!("its engine did not start: {error:?}")),
                }
            })?;
        Ok(Self(Arc::new(handle)))
    }
    /// The plugin directory.
    pub fn plugin(&self) -> &str {
        &self.0.plugin
    }
    /// Whether it takes calls.
    pub fn health(&self) -> Health {
        self.0.health.borrow().clone()
    }
    /// Runs the entry script.
    pub async fn load(&self, entry: String, deadline: Duration) -> Result<(), Fault> {
        self.ask(Work::Load { entry }, Some(deadline)).await.map(|_| ())
    }
    /// Calls a script function and waits for its result. Dropping the future interrupts the script.
    pub async fn call(&self, call: Call) -> Result<Value, Fault> {
        let deadline = call.deadline;
        self.ask(Work::Call(call), deadline).await
    }
    /// The host names its scripts see.
    pub async fn exposed(&self) -> Result<Value, Fault> {
        self.ask(Work::Exposed, Some(DEADLINE)).await
    }

    async fn ask(&self, work: Work, deadline: Option<Duration>) -> Answer {
        let (reply, answer) = oneshot::channel();
        let control = Arc::new(Control::new(reply));
        let request = Request { work, control: Arc::clone(&control), chain: Chain::current(), deadline };
        let mut health = self.0.health.clone();
        if let Health::Retired(reason) = health.borrow().clone() {
            return Err(Fault::Retired(reason));
        }
        let mut guard = CancelOnDrop { handle: &self.0, control: Some(control) };
        if self.0.messages.send(Message::Request(Box::new(request))).is_err() {
            return Err(Fault::Retired("its thread has ended".to_owned()));
        }
        let answer = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or_else(|_| Err(Fault::Retired("its thread has ended".to_owned()))),
            reason = retired(&mut health) => Err(Fault::Retired(reason)),
        };
        guard.control = None;
        answer
    }
}

async fn retired(health: &mut watch::Receiver<Health>) -> String {
    match health.wait_for(|health| *health != Health::Live).await.as_deref() {
        Ok(Health::Retired(reason)) => reason.clone(),
        _ => "its thread has ended".to_owned(),
    }
}

/// Tells callers that nobody answers any more, however the thread ends.
struct EndOfThread(Arc<Clock>);

impl Drop for EndOfThread {
    fn drop(&mut self) {
        self.0.fail("its thread has ended");
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // A thread that has ended needs no word.
        let _ = self.messages.send(Message::Close);
    }
}

/// Interrupts a call whose caller went away.
struct CancelOnDrop<'a> {
    handle: &'a Handle,
    control: Option<Arc<Control>>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(control) = self.control.take() {
            self.handle.clock.cancel(&control);
            let _ = self.handle.messages.send(Message::Wake);
        }
    }
}
