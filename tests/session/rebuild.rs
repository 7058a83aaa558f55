//! Any request that was sent can be made again from its step's record, at a cost that does not grow with the session.

use std::path::Path;
use std::sync::Arc;

use crystal::model::item::{Body, Item, ItemId, ResponseId};
use crystal::model::request::{Purpose, Sampling, ToolChoice, ToolSpec};
use crystal::model::response::{Finish, Usage};
use crystal::session::store::record::{Change, Compaction, Record, Span, Step};
use crystal::session::store::{Store, load, rebuild};
use serde_json::json;

use crate::session::desk::{Desk, assistant, user};

fn item(id: &str, text: &str) -> Arc<Item> {
    Arc::new(Item::new(ItemId::new(id), Body::User { text: text.into(), images: vec![] }))
}

fn system(id: &str, text: &str) -> Item {
    Item::new(ItemId::new(id), Body::System { text: text.into() })
}

fn span(from: &str, to: &str) -> Span {
    Span { from: ItemId::new(from), to: ItemId::new(to) }
}

fn step(number: u64, span: Span, system: Arc<str>) -> Step {
    Step {
        turn: 1,
        step: number,
        response: Some(ResponseId::new(format!("r{number}"))),
        runtime: "crystal/main".into(),
        provider: "p".into(),
        model: "m".into(),
        purpose: Purpose::Work,
        items: Some(span),
        changes: vec![],
        system: Some(system),
        catalog: None,
        schema: None,
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        stream: true,
        accepts_images: false,
        finish: Some(Finish::default()),
        error: None,
        usage: Usage { input: Some(10), output: Some(2), ..Usage::default() },
        request_ms: 5,
    }
}

fn sent(path: &Path, desk: &Desk, number: u64) -> Vec<String> {
    let rebuilt = rebuild::request(path, 1, number, Arc::new(desk.blobs())).unwrap();
    rebuilt.request.items.iter().map(|item| item.text().unwrap().to_string()).collect()
}

#[test]
fn a_request_is_rebuilt_as_it_was_through_hooks_compactions_and_modes() {
    let desk = Desk::new();
    let (store, _) = Store::create(&desk.sessions(), desk.header()).unwrap();
    let work = store.system(&system("i1", "work prompt")).unwrap();
    for record in [user("i2", "one"), assistant("i3", "two", "r1"), user("i4", "three")] {
        store.append(&record).unwrap();
    }
    let changes = vec![
        Change::Replace { id: ItemId::new("i3"), item: item("i3", "TWO") },
        Change::Remove { id: ItemId::new("i2") },
        Change::Insert { after: Some(ItemId::new("i4")), item: item("x", "hint") },
    ];
    store
        .append(&Record::Step(Box::new(Step { changes, ..step(1, span("i2", "i4"), work.clone()) })))
        .unwrap();
    store.append(&assistant("i5", "four", "r2")).unwrap();
    let plan = store.system(&system("i6", "plan prompt")).unwrap();
    store.append(&Record::Step(Box::new(step(2, span("i2", "i5"), plan)))).unwrap();
    let summary = Some(item("i7", "summary"));
    let compaction =
        Compaction { turn: 1, span: Some(span("i2", "i4")), summary, replaced: vec![item("i5", "4")] };
    store.append(&Record::Compaction(compaction)).unwrap();
    assert_eq!(store.system(&system("i8", "work prompt")).unwrap(), work);
    store.append(&Record::Step(Box::new(step(3, span("i7", "i5"), work)))).unwrap();
    let path = store.path();
    assert_eq!(sent(path, &desk, 1), ["work prompt", "TWO", "three", "hint"]);
    assert_eq!(sent(path, &desk, 2), ["plan prompt", "one", "two", "three", "four"]);
    assert_eq!(sent(path, &desk, 3), ["work prompt", "summary", "4"]);
    assert_eq!(crate::session::desk::texts(&load::read(path).unwrap()), ["work prompt", "summary", "4"]);
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text.matches("work prompt").count(), 1, "stored once");
}

#[test]
fn catalog_schema_and_sampling_come_back_and_are_stored_once() {
    let desk = Desk::new();
    let (store, _) = Store::create(&desk.sessions(), desk.header()).unwrap();
    let tools: Arc<[ToolSpec]> = Arc::new([ToolSpec {
        name: "read".into(),
        description: "reads a thing".into(),
        schema: Arc::new(json!({ "type": "object", "properties": { "b": {}, "a": {} } })),
    }]);
    let schema = Arc::new(json!({ "type": "object", "required": ["z"] }));
    let prompt = store.system(&system("i1", "s")).unwrap();
    store.append(&user("i2", "one")).unwrap();
    let sampling = Sampling { temperature: Some(0.25), max_tokens: Some(9), ..Sampling::default() };
    let path = store.path().to_path_buf();
    let mut ready = store;
    for number in 1..=2 {
        let catalog = Some(ready.catalog(&tools).unwrap());
        let schema = Some(ready.schema(&schema).unwrap());
        let tool_choice = ToolChoice::Named("read".into());
        let made = Step {
            catalog,
            schema,
            tool_choice,
            sampling: sampling.clone(),
            ..step(number, span("i2", "i2"), prompt.clone())
        };
        ready.append(&Record::Step(Box::new(made))).unwrap();
        drop(ready);
        ready = Store::open(&path).unwrap().0;
    }
    for number in 1..=2 {
        let request = rebuild::request(&path, 1, number, Arc::new(desk.blobs())).unwrap().request;
        assert_eq!((&request.tools, &request.sampling), (&tools, &sampling));
        assert_eq!(request.output_schema.as_ref(), Some(&schema));
        assert_eq!(request.tool_choice, ToolChoice::Named("read".into()));
        assert!(request.stream);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("reads a thing").count(), 1);
    assert_eq!(text.matches("required").count(), 1);
    let loaded = load::read(&path).unwrap();
    assert_eq!((loaded.spent[0].calls, loaded.usage().input), (2, Some(20)));
}

#[test]
fn a_steps_record_has_the_same_size_early_and_late() {
    let desk = Desk::new();
    let (store, _) = Store::create(&desk.sessions(), desk.header()).unwrap();
    let prompt = store.system(&system("i1", "s")).unwrap();
    let size = || store.path().metadata().unwrap().len();
    let mut sizes = Vec::new();
    for n in 1000..1200 {
        store.append(&user(&format!("i{n}"), "text")).unwrap();
        assert_eq!(store.system(&system("i1", "s")).unwrap(), prompt);
        let before = size();
        store
            .append(&Record::Step(Box::new(step(n, span("i1000", &format!("i{n}")), prompt.clone()))))
            .unwrap();
        sizes.push(size() - before);
    }
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
}

#[test]
fn what_cannot_be_rebuilt_is_told() {
    let desk = Desk::new();
    let path = desk.session(&[Record::Step(Box::new(step(1, span("i1", "i2"), "feed".into())))]);
    let rebuilt =
        |number| rebuild::request(&path, 1, number, Arc::new(desk.blobs())).err().unwrap().to_string();
    assert!(rebuilt(1).contains("system text feed"), "{}", rebuilt(1));
    assert!(rebuilt(7).contains("no step 7"), "{}", rebuilt(7));
}
