//! A session in this process, made as the program makes one, with scripted handlers and everything it says remembered.
//!
//! ```ignore
//! let mut live = Setup::new(Server::start([Reply::sse(chat::says("Hello"))]))
//!     .script(Script::new("acme").gives("user_message", json!("Good day")))
//!     .open()
//!     .await;
//! let outcome = live.say("Hi").await;
//! assert_eq!(live.messages(0)[1]["content"], "Good day");
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crystal::app::{self, Opening};
use crystal::home::environment::Environment;
use crystal::home::paths::Home;
use crystal::home::settings::{Given, Settings};
use crystal::hook::breaker::Breaker;
use crystal::hook::dispatch::Dispatcher;
use crystal::hook::handler::{Fault, Group, TIMEOUT};
use crystal::hook::moment::{Offer, Reply};
use crystal::hook::table::EVENTS;
use crystal::model::item::{Image, Items};
use crystal::model::port::{Answer, Ask, BoxFuture, ImageSource, ImageStore, Operator};
use crystal::session::Session;
use crystal::session::blob::Blobs;
use crystal::session::report::{Report, Reporter, Status, ToolUse};
use crystal::session::store::load::{self, Loaded};
use crystal::session::store::rebuild::{self, Rebuilt};
use crystal::session::turn::{Input, Outcome};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::hook::script::Script;
use crate::support::crystal::Place;
use crate::support::server::Server;

/// Lines in the order in which things happened.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
    /// How many lines are exactly that.
    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|have| *have == line).count()
    }
}

/// A handler of every moment that only writes it down; a moment of a tool call with the call's path.
pub fn recorder(log: &Log) -> Script {
    EVENTS.iter().fold(Script::new("recorder"), |script, row| {
        let log = log.clone();
        script.with(row.name, Group::Post, TIMEOUT, move |offer, _| {
            log.push(line(row.name, &offer));
            async { Ok::<Reply, Fault>(Reply::Nothing) }.boxed()
        })
    })
}

fn line(moment: &str, offer: &Offer) -> String {
    let first = offer.arguments.first().cloned().unwrap_or_default();
    let call = first.get("tool_call").unwrap_or(&first);
    let arguments = match call.get("arguments") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(value) => value.clone(),
        None => return moment.to_owned(),
    };
    format!("{moment} {}", arguments["path"].as_str().unwrap_or("-"))
}

/// What a session told its listener.
#[derive(Default)]
pub struct Heard {
    log: Log,
    pub notes: Mutex<Vec<String>>,
    pub errors: Mutex<Vec<String>>,
    pub texts: Mutex<Vec<String>>,
    pub tools: Mutex<Vec<ToolUse>>,
}

impl Reporter for Heard {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Note(text) => self.notes.lock().unwrap().push(text.into()),
            Report::Error(text) => self.errors.lock().unwrap().push(text.into()),
            Report::Text(text) => self.texts.lock().unwrap().push(text.into()),
            Report::ToolUse(tool) => self.tools.lock().unwrap().push(tool.clone()),
            Report::ToolStart { name, .. } => self.log.push(format!("run {name}")),
            _ => {}
        }
    }
}

impl Heard {
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
    /// The endings of the calls, in the order of their results.
    pub fn statuses(&self) -> Vec<Status> {
        self.tools.lock().unwrap().iter().map(|tool| tool.status).collect()
    }
    /// What the model reads of each call.
    pub fn outputs(&self) -> Vec<String> {
        self.tools.lock().unwrap().iter().map(|tool| tool.output.to_string()).collect()
    }
}

/// Someone who gives these answers, one a question, and then none.
#[derive(Default)]
pub struct Answers {
    answers: Mutex<VecDeque<Answer>>,
    pub asked: Mutex<Vec<Ask>>,
}

impl Operator for Answers {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        self.asked.lock().unwrap().push(ask);
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Dismissed);
        Box::pin(std::future::ready(answer))
    }
}

/// What a session is opened with.
pub struct Setup {
    server: Server,
    place: Place,
    given: Given,
    scripts: Vec<Script>,
    answers: Vec<Answer>,
    log: Log,
}

/// An opened session.
pub struct Live {
    pub server: Server,
    pub place: Place,
    pub session: Session,
    pub heard: Arc<Heard>,
    pub operator: Arc<Answers>,
    pub cancel: CancellationToken,
    /// The runs of tools, and whatever else a test writes down.
    pub log: Log,
}

impl Setup {
    /// A trusted workspace in approval mode `edit`, and that server's model.
    pub fn new(server: Server) -> Self {
        let mut given = Given::new();
        for (name, value) in
            [("provider", "mock"), ("approval", "edit"), ("workspace-trust", "assume"), ("mode", "work")]
        {
            given.insert(name, value.into());
        }
        let place = Place::with(&server);
        Self { server, place, given, scripts: Vec::new(), answers: Vec::new(), log: Log::default() }
    }
    /// Crystal's home.
    pub fn home(&self) -> PathBuf {
        self.place.home()
    }
    /// The workspace.
    pub fn workspace(&self) -> PathBuf {
        self.place.workspace()
    }
    /// Gives the model these fields.
    pub fn model(self, fields: Value) -> Self {
        self.place.provider(&self.server.base_uri(), fields);
        self
    }
    /// Sets an option of the command line.
    pub fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.given.insert(name, value.into());
        self
    }
    /// Writes a file of the workspace.
    pub fn file(self, name: &str, text: &str) -> Self {
        self.place.write(name, text);
        self
    }
    /// Adds a plugin.
    pub fn script(mut self, script: Script) -> Self {
        self.scripts.push(script);
        self
    }
    /// Has the operator give one more answer.
    pub fn answer(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }
    /// Writes the runs of tools into this log.
    pub fn log(mut self, log: &Log) -> Self {
        self.log = log.clone();
        self
    }
    /// Opens the session and tells its handlers so.
    pub async fn open(mut self) -> Live {
        let answers = Mutex::new(std::mem::take(&mut self.answers).into());
        let operator = Arc::new(Answers { answers, ..Answers::default() });
        let asked = Arc::clone(&operator);
        let mut live = self.open_before(operator).await;
        live.operator = asked;
        live
    }
    /// Opens the session before that operator.
    pub async fn open_before(self, operator: Arc<dyn Operator>) -> Live {
        let Self { server, place, mut given, scripts, log, .. } = self;
        given.insert("workspace", place.workspace().to_string_lossy().into_owned());
        let environment = Environment::given([("HOME", place.user())]);
        let home = Home::at(place.home());
        let settings = Settings::load(&given, &environment, &home).unwrap();
        let heard = Arc::new(Heard { log: log.clone(), ..Heard::default() });
        let opening = Opening {
            settings: &settings,
            home: &home,
            environment: &environment,
            report: Arc::clone(&heard) as Arc<dyn Reporter>,
            operator,
        };
        let handlers = scripts.into_iter().map(Script::handler).collect();
        let hooks = Dispatcher::new(handlers, Arc::new(Breaker::default()));
        let opened = app::open_with(opening, hooks, Arc::new(["acme".into()])).await;
        let mut session =
            opened.map(|opened| opened.session).unwrap_or_else(|error| panic!("{}", error.message));
        session.open().await;
        let cancel = CancellationToken::new();
        Live { server, place, session, heard, operator: Arc::default(), cancel, log }
    }
}

impl Live {
    /// Runs a turn.
    pub async fn say(&mut self, text: &str) -> Outcome {
        self.send(text, Vec::new()).await
    }
    /// Runs a turn with images.
    pub async fn send(&mut self, text: &str, images: Vec<Image>) -> Outcome {
        self.session.turn(Input { text: text.into(), images }, &self.cancel).await
    }
    /// The body of a request, by number from 0.
    pub fn body(&self, number: usize) -> Value {
        self.server.requests()[number].json()
    }
    /// The messages of a request.
    pub fn messages(&self, number: usize) -> Vec<Value> {
        self.body(number)["messages"].as_array().unwrap().clone()
    }
    /// The names of the tools that a request lists.
    pub fn tools(&self, number: usize) -> Vec<String> {
        let body = self.body(number);
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
    /// The session file.
    pub fn path(&self) -> PathBuf {
        self.place.sessions().pop().unwrap()
    }
    /// What the session file holds.
    pub fn stored(&self) -> Loaded {
        load::read(&self.path()).unwrap()
    }
    /// Kind and text of every stored item.
    pub fn items(&self) -> Vec<(String, String)> {
        let stored = self.stored().items;
        let text = |item: &crystal::model::item::Item| item.text().map(|text| text.to_string());
        stored.iter().map(|item| (item.kind().as_str().to_owned(), text(item).unwrap_or_default())).collect()
    }
    /// The stored texts of one kind.
    pub fn texts(&self, kind: &str) -> Vec<String> {
        self.items().into_iter().filter(|(have, _)| have == kind).map(|(_, text)| text).collect()
    }
    /// The lines of the session file of one type.
    pub fn records(&self, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["type"] == kind).collect()
    }
    /// A request again, from the session file.
    pub fn rebuilt(&self, turn: u64, step: u64) -> Rebuilt {
        let images = Arc::new(self.blobs()) as Arc<dyn ImageSource>;
        rebuild::request(&self.path(), turn, step, images).unwrap()
    }
    /// Keeps an image with the session.
    pub fn image(&self, bytes: &[u8]) -> Image {
        self.blobs().store(bytes).unwrap()
    }
    fn blobs(&self) -> Blobs {
        Blobs::new(&self.place.home().join("sessions"))
    }
}

/// The last handler of PreLLMCall, which remembers what goes out.
#[derive(Clone, Default)]
pub struct Sent(Arc<Mutex<Vec<Items>>>);

impl Sent {
    pub fn script(&self) -> Script {
        let sent = self.clone();
        Script::new("sent").with("PreLLMCall", Group::Post, TIMEOUT, move |offer, _| {
            sent.0.lock().unwrap().push(offer.list.unwrap().items);
            async { Ok(Reply::Nothing) }.boxed()
        })
    }
    pub fn all(&self) -> Vec<Items> {
        self.0.lock().unwrap().clone()
    }
}

/// A guard's refusal.
pub fn abort(reason: &str) -> Value {
    json!({ "action": "abort", "reason": reason })
}

/// A plugin with one handler, which gives what `act` makes of the offer; null is nothing.
pub fn acts(dir: &str, moment: &str, act: impl Fn(&Offer) -> Value + Send + Sync + 'static) -> Script {
    Script::new(dir).on(moment, move |offer| Ok(Reply::value(act(&offer))))
}

/// A plugin whose handler acts the first time and does nothing from then on.
pub fn once(dir: &str, moment: &str, value: Value) -> Script {
    let value = Mutex::new(Some(value));
    acts(dir, moment, move |_| value.lock().unwrap().take().unwrap_or_default())
}

/// A streamed answer with one call.
pub fn calls(tool: &str, arguments: Value) -> crate::support::server::Reply {
    crate::support::server::Reply::sse(crate::support::chat::calls(&[("a1", tool, arguments)]))
}

/// A streamed answer with that text.
pub fn says(text: &str) -> crate::support::server::Reply {
    crate::support::server::Reply::sse(crate::support::chat::says(text))
}
