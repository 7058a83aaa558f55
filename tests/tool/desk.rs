//! A workspace in a temporary directory and everything a tool call needs, so that a test reads: given, call, expect.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use crystal::fence::Fence;
use crystal::model::item::{Image, MediaType};
use crystal::model::port::{Answer, Ask, BoxFuture, ImageSource, ImageStore, Operator, Reach, Source};
use crystal::text::hash;
use crystal::tool::schema::Schemas;
use crystal::tool::seen::Seen;
use crystal::tool::{Output, TOOLS, Tool, ToolContext};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::support::gate::Gate;

pub struct Desk {
    temp: tempfile::TempDir,
    pub cx: ToolContext,
    pub operator: Arc<Scripted>,
    schemas: Schemas,
    tools: Vec<Arc<dyn Tool>>,
}

impl Desk {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["project", "user/.crystal", "elsewhere"] {
            std::fs::create_dir_all(temp.path().join(dir)).unwrap();
        }
        let fence = Fence::new(&temp.path().join("project"), &temp.path().join("user/.crystal")).unwrap();
        let fence = Arc::new(fence.with_user_home(&temp.path().join("user")));
        let operator = Arc::new(Scripted::default());
        let cx = ToolContext {
            source: Source { plugin: "crystal".into(), runtime: "crystal/main".into() },
            session: "s1".into(),
            fence: fence.clone(),
            reach: Reach::Workspace,
            commit: Arc::new(Gate::new(fence)),
            operator: operator.clone(),
            images: Arc::new(Images::default()),
            seen: Arc::new(Seen::default()),
            accepts_images: true,
            bash_timeout: None,
            cancel: CancellationToken::new(),
        };
        let tools = TOOLS.iter().map(|row| (row.new)(&crate::tool::given::kit())).collect();
        Self { temp, cx, operator, schemas: Schemas::default(), tools }
    }

    /// A path beside the workspace (`user/…`, `elsewhere/…`) or in it (`project/…`).
    pub fn beside(&self, path: &str) -> PathBuf {
        self.temp.path().join(path)
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join("project").join(name)
    }
    pub fn put(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        path
    }
    pub fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Checks a call's arguments and runs it, as the host does.
    pub async fn call(&self, name: &str, arguments: Value) -> Output {
        let tool = self.tools.iter().find(|tool| &*tool.spec().name == name).unwrap();
        match self.schemas.check(tool.spec(), arguments.as_object().unwrap().clone()) {
            Ok(arguments) => tool.run(&arguments, &self.cx).await,
            Err(error) => Output::failed(error),
        }
    }
    /// A call that goes well.
    pub async fn done(&self, name: &str, arguments: Value) -> Output {
        let output = self.call(name, arguments).await;
        assert!(!output.failed, "{}", output.text);
        output
    }
    /// The message of a call that fails.
    pub async fn refused(&self, name: &str, arguments: Value) -> String {
        let output = self.call(name, arguments.clone()).await;
        assert!(output.failed, "{arguments}: {}", output.text);
        output.text
    }
}

pub fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// An operator who gives prepared answers, then none.
#[derive(Default)]
pub struct Scripted {
    pub answers: Mutex<VecDeque<Answer>>,
    pub asked: Mutex<Vec<Ask>>,
}

impl Operator for Scripted {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(ask);
            self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Dismissed)
        })
    }
}

#[derive(Default)]
struct Images(Mutex<HashMap<String, Bytes>>);

impl ImageSource for Images {
    fn load(&self, id: &str) -> Option<Bytes> {
        self.0.lock().unwrap().get(id).cloned()
    }
}

impl ImageStore for Images {
    fn store(&self, bytes: &[u8]) -> Result<Image, String> {
        let id = hash::sha256(bytes);
        self.0.lock().unwrap().insert(id.clone(), Bytes::copy_from_slice(bytes));
        Ok(Image { id: id.into(), media_type: MediaType::sniff(bytes).ok_or("no image")? })
    }
}
