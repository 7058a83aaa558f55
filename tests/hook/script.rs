//! A handler that is a closure, a report that remembers, and the circumstances of a turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crystal::hook::breaker::Breaker;
use crystal::hook::clock::Clock;
use crystal::hook::context::{Chain, Context, HookReport, RuntimeRef, TraceRecord};
use crystal::hook::dispatch::{Dispatcher, Fired};
use crystal::hook::handler::{Fault, Group, Handler, Plugin, Registration, TIMEOUT};
use crystal::hook::moment::{Moment, Offer, Reply};
use crystal::hook::rebuild::Held;
use crystal::hook::table::{EVENTS, Row};
use crystal::model::item::{Body, CallId, Image, Item, ItemId, Items, MediaType, ToolCall, ToolResult};
use crystal::model::judgement::Approval;
use crystal::model::port::{BoxFuture, ImageSource};
use crystal::model::request::Mode;
use futures_util::FutureExt as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

type Act = Box<dyn Fn(Offer, Context) -> BoxFuture<'static, Result<Reply, Fault>> + Send + Sync>;

/// A plugin whose handlers are closures.
pub struct Script {
    plugin: Plugin,
    registrations: Vec<Registration>,
    acts: Vec<Act>,
}

impl Script {
    pub fn new(dir: &str) -> Self {
        let plugin = Plugin { dir: dir.into(), name: capital(dir).into() };
        Self { plugin, registrations: Vec::new(), acts: Vec::new() }
    }
    /// A handler that computes its reply at once.
    pub fn on(
        self,
        moment: &str,
        act: impl Fn(Offer) -> Result<Reply, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.with(moment, Group::Normal, TIMEOUT, move |offer, _| {
            let reply = act(offer);
            async move { reply }.boxed()
        })
    }
    /// A handler that always gives that value.
    pub fn gives(self, moment: &str, value: Value) -> Self {
        self.on(moment, move |_| Ok(Reply::value(value.clone())))
    }
    pub fn with(
        mut self,
        moment: &str,
        group: Group,
        timeout: Duration,
        act: impl Fn(Offer, Context) -> BoxFuture<'static, Result<Reply, Fault>> + Send + Sync + 'static,
    ) -> Self {
        self.registrations.push(Registration { row: row(moment), group, timeout });
        self.acts.push(Box::new(act));
        self
    }
    pub fn handler(self) -> Arc<dyn Handler> {
        Arc::new(self)
    }
}

fn capital(dir: &str) -> String {
    let (first, rest) = dir.split_at(1);
    first.to_uppercase() + rest
}

pub fn row(name: &str) -> &'static Row {
    EVENTS.iter().find(|row| row.name == name).expect("a moment of that name")
}

impl Handler for Script {
    fn plugin(&self) -> &Plugin {
        &self.plugin
    }
    fn registrations(&self) -> &[Registration] {
        &self.registrations
    }
    fn call<'a>(
        &'a self,
        registration: usize,
        offer: Offer,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Reply, Fault>> {
        self.acts[registration](offer, cx.clone())
    }
}

/// Remembers notes and records.
#[derive(Default)]
pub struct Report {
    pub notes: Mutex<Vec<String>>,
    pub records: Mutex<Vec<TraceRecord>>,
}

impl HookReport for Report {
    fn note(&self, text: String) {
        self.notes.lock().unwrap().push(text);
    }
    fn trace(&self, record: TraceRecord) {
        self.records.lock().unwrap().push(record);
    }
    fn wants_trace(&self) -> bool {
        true
    }
}

/// A turn with plugins.
pub struct Stage {
    pub dispatcher: Arc<Dispatcher>,
    pub breaker: Arc<Breaker>,
    pub report: Arc<Report>,
    pub cx: Context,
}

impl Stage {
    pub fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        let breaker = Arc::new(Breaker::default());
        let report = Arc::new(Report::default());
        let handlers = scripts.into_iter().map(Script::handler).collect();
        let dispatcher = Arc::new(Dispatcher::new(handlers, breaker.clone()));
        let cx = context(report.clone());
        Self { dispatcher, breaker, report, cx }
    }
    pub async fn fire<M: Moment>(&self, moment: M) -> Fired<M> {
        self.dispatcher.fire(&self.cx, moment).await
    }
    pub fn notes(&self) -> Vec<String> {
        self.report.notes.lock().unwrap().clone()
    }
    pub fn records(&self) -> Vec<TraceRecord> {
        self.report.records.lock().unwrap().clone()
    }
    pub fn outcomes(&self) -> Vec<&'static str> {
        self.records().iter().map(|record| record.outcome.as_str()).collect()
    }
}

pub fn context(report: Arc<Report>) -> Context {
    Context {
        session: "s1".into(),
        turn: "t1".into(),
        logical_turn: Some(7),
        locale: "en".into(),
        runtime: Some(RuntimeRef {
            plugin: "crystal".into(),
            runtime: "crystal/main".into(),
            concealed: false,
        }),
        active_plugins: ["acme".into()].into(),
        mode: Mode::Work,
        workspace: "/work".into(),
        approval: Approval::Default,
        purpose: None,
        cancel: CancellationToken::new(),
        report,
        chain: Chain::default(),
        clock: Clock::default(),
    }
}

/// Fires one moment at one handler that gives that reply.
pub async fn answer<M: Moment>(moment: M, value: Value) -> (Fired<M>, Vec<String>) {
    reply(moment, Reply::value(value)).await
}

/// Fires one moment at one handler that gives that reply.
pub async fn reply<M: Moment>(moment: M, reply: Reply) -> (Fired<M>, Vec<String>) {
    let script = Script::new("acme").on(M::ROW.name, move |_| Ok(reply.clone()));
    let stage = Stage::new([script]);
    let fired = stage.fire(moment).await;
    (fired, stage.notes())
}

/// An event's replacement.
pub fn replace(fields: Value) -> Value {
    serde_json::json!({ "action": "continue", "replace": fields })
}

pub fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: CallId::new("call00001"),
        name: name.into(),
        arguments: arguments.into(),
        malformed: None,
        provider_id: Some("toolu_1".into()),
    }
}

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// Holds one image, `p1`.
struct OneImage;

impl ImageSource for OneImage {
    fn load(&self, id: &str) -> Option<bytes::Bytes> {
        (id == "p1").then(|| bytes::Bytes::from_static(PNG))
    }
}

pub fn held(accepts_images: bool) -> Held {
    Held { images: Arc::new(OneImage), accepts_images }
}

pub fn image(id: &str) -> Image {
    Image { id: id.into(), media_type: MediaType::Png }
}

pub fn item(id: &str, body: Body) -> Arc<Item> {
    Arc::new(Item::new(ItemId::new(id), body))
}

/// A conversation with every kind of item, provider state on what the model said.
pub fn conversation() -> Items {
    let mut items = vec![
        item("i1", Body::System { text: "Be brief.".into() }),
        item("i2", Body::User { text: "Look at this.".into(), images: vec![image("p0"), image("p1")] }),
        item("i3", Body::Reasoning { text: "They want a look.".into() }),
        item("i4", Body::Assistant { text: "I look.".into() }),
        item("i5", Body::ToolCall(call("read", r#"{"path":"a.txt","n":1.0}"#))),
        item(
            "i6",
            Body::ToolResult(ToolResult {
                call_id: CallId::new("call00001"),
                provider_id: Some("toolu_1".into()),
                name: "read".into(),
                text: "hello".into(),
                images: Vec::new(),
                failed: false,
            }),
        ),
    ];
    for item in &mut items[2..5] {
        let state = crystal::model::item::ProviderState {
            protocol: "anthropic".into(),
            model: "m".into(),
            data: serde_json::json!({ "signature": "x" }),
        };
        let mut signed = Item::clone(item);
        signed.state = Some(state);
        *item = Arc::new(signed);
    }
    Arc::new(items)
}

/// The items' ids, in order.
pub fn ids(items: &[Arc<Item>]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}
