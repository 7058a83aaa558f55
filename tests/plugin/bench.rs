//! Small plugins on disk, in either language, and what a test does with them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use crystal::fence::Fence;
use crystal::model::item::{Image, MediaType};
use crystal::model::port::{
    Answer, Ask, BoxFuture, Commit, Committed, ImageSource, ImageStore, Operator, Proposal, Reach, Refusal,
    Source, Todo,
};
use crystal::plugin::host::Function;
use crystal::plugin::load::{LoadError, LoadedPlugin, Options, load_dir};
use crystal::plugin::register::Images;
use crystal::tool::seen::Seen;
use crystal::tool::{Output, Tool, ToolContext};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A script language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Luau,
    Rhai,
}

pub const LANGUAGES: [Language; 2] = [Language::Luau, Language::Rhai];

/// The same script in both languages.
pub struct Both {
    pub luau: &'static str,
    pub rhai: &'static str,
}

impl Both {
    pub fn of(&self, language: Language) -> &'static str {
        match language {
            Language::Luau => self.luau,
            Language::Rhai => self.rhai,
        }
    }
}

impl Language {
    pub fn entry(self) -> &'static str {
        match self {
            Self::Luau => "init.lua",
            Self::Rhai => "init.rhai",
        }
    }
    /// An entry script that offers the tool `t` with this body; the body's parameters are `args` and `ctx`.
    pub fn tool(self, body: &str) -> String {
        match self {
            Self::Luau => {
                format!(
                    "crystal.tool {{ name = \"t\", description = \"d\", run = function(args, ctx)\n{body}\nend }}"
                )
            }
            Self::Rhai => {
                format!(
                    "crystal::tool(#{{ name: \"t\", description: \"d\", run: |args, ctx| {{\n{body}\n}} }});"
                )
            }
        }
    }
}

/// A directory with plugins in it, and their lines.
pub struct Bench {
    pub folder: TempDir,
    pub options: Options,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    pub fn new() -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let mut options = Options::new().unwrap();
        let kept = Arc::clone(&lines);
        options.log = Arc::new(move |plugin, line| kept.lock().unwrap().push(format!("{plugin}: {line}")));
        Self { folder: TempDir::new().unwrap(), options, lines }
    }
    pub fn with(mut self, function: Function) -> Self {
        self.options.functions.push(function);
        self
    }
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
    pub fn directory(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// Writes a file of a plugin.
    pub fn file(&self, name: &str, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.directory(name).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }
    /// Writes a plugin that is one script.
    pub fn script(&self, name: &str, language: Language, source: &str) -> &Self {
        let entry = language.entry();
        self.file(name, "plugin.toml", format!("entry = \"{entry}\"\n[limits]\nmemory_mb = 16\n"));
        self.file(name, entry, source)
    }
    pub async fn load(&self, name: &str) -> Result<LoadedPlugin, LoadError> {
        load_dir(&self.directory(name), self.options.clone()).await
    }
    /// Writes and loads a plugin named `p` that is one script.
    pub async fn plugin(&self, language: Language, source: &str) -> Result<LoadedPlugin, LoadError> {
        self.script("p", language, source).load("p").await
    }
    /// A plugin `p` whose only tool `t` has this body.
    pub async fn tool(&self, language: Language, body: &str) -> Loaded {
        Loaded(self.plugin(language, &language.tool(body)).await.unwrap())
    }
    pub fn context(&self) -> ToolContext {
        context(self.folder.path())
    }
}

/// A loaded plugin, with short ways to use it.
pub struct Loaded(pub LoadedPlugin);

impl Loaded {
    pub fn tool(&self) -> Arc<dyn Tool> {
        Arc::clone(&self.0.registered().tools(Images::Taken)[0])
    }
    /// Calls its first tool, with a limit on script time.
    pub async fn call(&self, arguments: Value, limit: Duration) -> Output {
        let mut cx = context(Path::new("/"));
        cx.bash_timeout = Some(limit);
        run(&*self.tool(), &arguments, &cx).await
    }
    /// Calls its first tool, with time to spare.
    pub async fn ask(&self, arguments: Value) -> Output {
        self.call(arguments, Duration::from_secs(20)).await
    }
}

pub async fn run(tool: &dyn Tool, arguments: &Value, cx: &ToolContext) -> Output {
    tool.run(arguments.as_object().unwrap(), cx).await
}

pub fn context(workspace: &Path) -> ToolContext {
    ToolContext {
        source: Source { plugin: "crystal".into(), runtime: "crystal/main".into() },
        session: "s1".into(),
        fence: Arc::new(Fence::new(workspace, Path::new("/nowhere")).unwrap()),
        reach: Reach::Workspace,
        commit: Arc::new(Nobody),
        operator: Arc::new(Nobody),
        images: Arc::new(Nobody),
        seen: Arc::new(Seen::default()),
        accepts_images: true,
        bash_timeout: None,
        cancel: CancellationToken::new(),
    }
}

/// A host without files and operator, which keeps any image.
struct Nobody;

impl Commit for Nobody {
    fn commit(&self, _: Proposal) -> BoxFuture<'_, Result<Committed, Refusal>> {
        Box::pin(async { Err(Refusal("nothing is written here".into())) })
    }
    fn todos(&self) -> Vec<Todo> {
        Vec::new()
    }
}

impl Operator for Nobody {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Dismissed })
    }
}

impl ImageSource for Nobody {
    fn load(&self, _: &str) -> Option<Bytes> {
        None
    }
}

impl ImageStore for Nobody {
    fn store(&self, bytes: &[u8]) -> Result<Image, String> {
        let media_type = MediaType::sniff(bytes).ok_or("not an image")?;
        Ok(Image { id: format!("{}", bytes.len()).into(), media_type })
    }
}

/// Runs one case in both languages, on the kind of runtime that the program has.
pub fn each<F: Future<Output = ()>>(case: impl Fn(Language) -> F) {
    for language in LANGUAGES {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        #[expect(clippy::print_stderr, reason = "a failed case says in which language it failed")]
        {
            eprintln!("in {language:?}");
        }
        runtime.block_on(case(language));
    }
}
