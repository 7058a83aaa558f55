//! How long a VM's calls may run. A deadline counts script time only: the clock stops while the VM waits in a host call
//! or serves another call meanwhile.
//!
//! One watchdog thread serves all VMs of a process. Past a call's deadline, or when it is cancelled, it raises the VM's
//! flag, which the engine reads at every step; after [`GRACE`] it answers the caller in the VM's stead; a VM that has
//! not yielded [`PATIENCE`] after the flag is retired.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::plugin::vm::fault::{Fault, Health};

/// How long after its deadline a call's caller waits for the script's own end.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// How long after the flag a VM may go on before it is given up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// How often the watchdog looks while any script runs.
const TICK: Duration = Duration::from_millis(10);

/// What a call's answer is.
pub(crate) type Answer = Result<Value, Fault>;

/// One call, as its caller, its VM and the watchdog share it.
#[derive(Debug)]
pub(crate) struct Control {
    cancelled: AtomicBool,
    reply: Mutex<Option<oneshot::Sender<Answer>>>,
}

impl Control {
    pub(crate) fn new(reply: oneshot::Sender<Answer>) -> Self {
        Self { cancelled: AtomicBool::new(false), reply: Mutex::new(Some(reply)) }
    }
    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
    /// Answers the caller, unless that has happened or nobody waits any more.
    pub(crate) fn answer(&self, answer: Answer) {
        if let Some(reply) = lock(&self.reply).take() {
            // A caller that went away wants no answer.
            let _ = reply.send(answer);
        }
    }
}

/// The clock of one VM: its calls, innermost last.
#[derive(Debug)]
pub(crate) struct Clock {
    flag: AtomicBool,
    frames: Mutex<Vec<Frame>>,
    health: watch::Sender<Health>,
    watchdog: Watchdog,
}

#[derive(Debug)]
struct Frame {
    control: Arc<Control>,
    /// Script time of one slice; none is no limit.
    budget: Option<Duration>,
    left: Option<Duration>,
    /// Since when the script runs; none while the VM waits for it in a host call.
    running: Option<Instant>,
    expired: bool,
    /// Since when the script should stop.
    stopping: Option<Instant>,
}

impl Frame {
    fn pause(&mut self, now: Instant) {
        if let (Some(since), Some(left)) = (self.running.take(), self.left) {
            self.left = Some(left.saturating_sub(now - since));
        }
    }
    fn is_over(&self, now: Instant) -> bool {
        matches!((self.running, self.left), (Some(since), Some(left)) if now - since >= left)
    }
}

impl Clock {
    pub(crate) fn new(watchdog: &Watchdog, health: watch::Sender<Health>) -> Arc<Self> {
        let clock = Arc::new(Self {
            flag: AtomicBool::new(false),
            frames: Mutex::new(Vec::new()),
            health,
            watchdog: watchdog.clone(),
        });
        lock(&watchdog.0.clocks).push(Arc::downgrade(&clock));
        clock
    }
    /// Whether the running script must stop. Read at every step of a script, so it is one load.
    pub(crate) fn must_stop(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
    /// How many calls are in progress, one inside the other.
    pub(crate) fn depth(&self) -> usize {
        self.frames().len()
    }
    /// A call begins.
    pub(crate) fn enter(&self, control: &Arc<Control>, budget: Option<Duration>) {
        let mut frames = self.frames();
        let running = Some(Instant::now());
        let control = Arc::clone(control);
        frames.push(Frame { control, budget, left: budget, running, expired: false, stopping: None });
        self.settle(&mut frames);
        drop(frames);
        self.watchdog.wake();
    }
    /// The innermost call ends; why it had to, if it had to.
    pub(crate) fn leave(&self) -> Option<Fault> {
        let mut frames = self.frames();
        let cancelled = frames.iter().any(|frame| frame.control.cancelled());
        let frame = frames.pop();
        self.settle(&mut frames);
        match frame {
            Some(frame) if frame.expired => Some(Fault::Timeout(frame.budget.unwrap_or_default())),
            _ if cancelled => Some(Fault::Cancelled),
            _ => None,
        }
    }
    /// The innermost call begins to wait in a host call.
    pub(crate) fn pause(&self) {
        if let Some(frame) = self.frames().last_mut() {
            frame.pause(Instant::now());
        }
    }
    /// It goes on.
    pub(crate) fn resume(&self) {
        let mut frames = self.frames();
        if let Some(frame) = frames.last_mut() {
            frame.running = Some(Instant::now());
        }
        self.settle(&mut frames);
        drop(frames);
        self.watchdog.wake();
    }
    /// The innermost call starts a new slice with its whole budget.
    pub(crate) fn renew(&self) {
        if let Some(frame) = self.frames().last_mut().filter(|frame| !frame.expired) {
            frame.left = frame.budget;
            frame.running = frame.running.map(|_| Instant::now());
        }
    }
    /// Whether the innermost call, or one it serves, was cancelled.
    pub(crate) fn cancelled(&self) -> bool {
        self.frames().iter().any(|frame| frame.control.cancelled())
    }
    /// Cancels a call, wherever it is.
    pub(crate) fn cancel(&self, control: &Control) {
        control.cancelled.store(true, Ordering::Release);
        let mut frames = self.frames();
        self.settle(&mut frames);
        drop(frames);
        self.watchdog.wake();
    }
    /// Reports a VM that is gone; the first reason stays.
    pub(crate) fn fail(&self, reason: &str) {
        if !self.retired() {
            self.health.send_replace(Health::Retired(reason.to_owned()));
        }
    }
    /// Gives the VM up: every caller is answered, none is accepted any more.
    fn retire(&self, frames: &mut Vec<Frame>) {
        let reason = "it did not stop after its time was over".to_owned();
        for frame in frames.drain(..) {
            frame.control.answer(Err(Fault::Retired(reason.clone())));
        }
        self.health.send_replace(Health::Retired(reason));
        self.flag.store(true, Ordering::Relaxed);
    }
    /// Sets the flag to what the innermost call deserves.
    fn settle(&self, frames: &mut [Frame]) {
        let cancelled = frames.iter().any(|frame| frame.control.cancelled());
        let stop = match frames.last_mut() {
            Some(frame) => {
                let stop = frame.expired || cancelled;
                if stop && frame.running.is_some() {
                    frame.stopping.get_or_insert_with(Instant::now);
                }
                stop
            }
            None => false,
        };
        // A VM that was given up may still have outer calls on its stack; none of them goes on.
        self.flag.store(stop || self.retired(), Ordering::Relaxed);
    }
    /// Whether the VM was given up.
    pub(crate) fn retired(&self) -> bool {
        matches!(*self.health.borrow(), Health::Retired(_))
    }
    /// One look of the watchdog; whether a script runs.
    fn look(&self, now: Instant) -> bool {
        let mut frames = self.frames();
        let Some(frame) = frames.last_mut() else { return false };
        if frame.running.is_none() {
            return false;
        }
        if !frame.expired && frame.is_over(now) {
            frame.expired = true;
            self.settle(&mut frames);
        }
        let Some(frame) = frames.last_mut() else { return false };
        if let Some(since) = frame.stopping {
            let late = now.saturating_duration_since(since);
            if late >= GRACE && frame.expired {
                frame.control.answer(Err(Fault::Timeout(frame.budget.unwrap_or_default())));
            }
            if late >= PATIENCE {
                self.retire(&mut frames);
            }
        }
        true
    }
    fn frames(&self) -> MutexGuard<'_, Vec<Frame>> {
        lock(&self.frames)
    }
}

/// The thread that watches every clock it was given. It sleeps while no script runs and ends with its last handle.
#[derive(Clone, Debug)]
pub struct Watchdog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clocks: Mutex<Vec<Weak<Clock>>>,
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Watchdog {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            clocks: Mutex::default(),
            asleep: AtomicBool::new(false),
            thread: Mutex::default(),
        });
        let watched = Arc::downgrade(&shared);
        let handle = thread::Builder::new().name("crystal-watchdog".into()).spawn(move || watch(&watched))?;
        *lock(&shared.thread) = Some(handle.thread().clone());
        Ok(Self(shared))
    }
    fn wake(&self) {
        if self.0.asleep.load(Ordering::SeqCst)
            && let Some(thread) = &*lock(&self.0.thread)
        {
            thread.unpark();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(thread) = &*lock(&self.thread) {
            thread.unpark();
        }
    }
}

fn watch(shared: &Weak<Shared>) {
    loop {
        let Some(watched) = shared.upgrade() else { return };
        // Announced before the look, so that a call which begins after it finds the announcement and wakes us.
        watched.asleep.store(true, Ordering::SeqCst);
        let now = Instant::now();
        let clocks: Vec<Arc<Clock>> = {
            let mut clocks = lock(&watched.clocks);
            clocks.retain(|clock| clock.strong_count() > 0);
            clocks.iter().filter_map(Weak::upgrade).collect()
        };
        let busy = clocks.iter().filter(|clock| clock.look(now)).count() > 0;
        if busy {
            watched.asleep.store(false, Ordering::SeqCst);
        }
        // A clock holds a handle of the watchdog: both go before the sleep, or nobody would ever be last.
        drop(clocks);
        drop(watched);
        if busy {
            thread::park_timeout(TICK);
        } else {
            thread::park();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
