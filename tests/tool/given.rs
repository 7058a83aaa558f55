//! A workspace of its own for a test, and the way a tool is called in it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output as ProcessOutput};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crystal::fence::Fence;
use crystal::model::item::Image;
use crystal::model::port::{
    Answer, Ask, BoxFuture, Commit, Committed, ImageSource, ImageStore, Operator, Proposal, Reach, Refusal,
    Source, Todo,
};
use crystal::process::environment::{Environment, Hidden, Variables};
use crystal::tool::bash::Bash;
use crystal::tool::seen::Seen;
use crystal::tool::{Kit, Output, Tool, ToolContext};

/// What the tools of the table are made with.
pub fn kit() -> Kit {
    Kit { environment: Arc::new(Environment::new(Hidden::default())) }
}

/// A fresh workspace.
pub struct Given {
    _temp: tempfile::TempDir,
    root: PathBuf,
    pub cancel: CancellationToken,
    pub timeout: Option<Duration>,
    pub reach: Reach,
    pub variables: Variables,
    pub hidden: Hidden,
}

/// Ports that no search or shell tool uses.
struct Nobody;

impl Commit for Nobody {
    fn commit(&self, _: Proposal) -> BoxFuture<'_, Result<Committed, Refusal>> {
        panic!("nothing is written through the gate here")
    }
    fn todos(&self) -> Vec<Todo> {
        Vec::new()
    }
}

impl Operator for Nobody {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        panic!("nobody is asked here")
    }
}

impl ImageSource for Nobody {
    fn load(&self, _: &str) -> Option<Bytes> {
        None
    }
}

impl ImageStore for Nobody {
    fn store(&self, _: &[u8]) -> Result<Image, String> {
        panic!("no image is stored here")
    }
}

impl Given {
    pub fn workspace() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().canonicalize().unwrap();
        let root = real.join("workspace");
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(real.join("home")).unwrap();
        Self {
            _temp: temp,
            root,
            cancel: CancellationToken::new(),
            timeout: Some(Duration::from_secs(60)),
            reach: Reach::Workspace,
            variables: std::env::vars_os().chain([("SHLVL".into(), "1".into())]).collect(),
            hidden: Hidden::default(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory that the workspace and Crystal's home are in.
    pub fn outside(&self) -> &Path {
        self.root.parent().unwrap()
    }

    pub fn file(&self, path: &str, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
        self
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
        self
    }

    pub fn context(&self) -> ToolContext {
        ToolContext {
            source: Source { plugin: "crystal".into(), runtime: "crystal/main".into() },
            session: "s".into(),
            fence: Arc::new(Fence::new(&self.root, &self.outside().join("home")).unwrap()),
            reach: self.reach,
            commit: Arc::new(Nobody),
            operator: Arc::new(Nobody),
            images: Arc::new(Nobody),
            seen: Arc::new(Seen::default()),
            accepts_images: false,
            bash_timeout: self.timeout,
            cancel: self.cancel.clone(),
        }
    }

    pub async fn call(&self, tool: &dyn Tool, arguments: Value) -> Output {
        tool.run(arguments.as_object().unwrap(), &self.context()).await
    }

    pub fn bash_tool(&self) -> Bash {
        Bash::new(Arc::new(Environment::of(self.variables.clone(), self.hidden.clone())))
    }

    pub async fn bash(&self, command: &str) -> Output {
        self.call(&self.bash_tool(), serde_json::json!({ "command": command })).await
    }
}

/// Set in a test that [`again`] started: the directory it works in.
const ROLE: &str = "CRYSTAL_TEST_ROLE";

/// The directory handed to this test by [`again`]; none when the test was started by the harness.
pub fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// Runs the named test again as another process, prepared by `prepare`, with a directory to work in.
pub fn again(test: &str, directory: &Path, prepare: impl FnOnce(&mut Command)) -> ProcessOutput {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(ROLE, directory).env("TMPDIR", directory);
    prepare(&mut command);
    command.output().unwrap()
}

/// As [`again`], as a user who is not the superuser when this test is.
pub fn again_as_nobody(test: &str, directory: &Path) -> ProcessOutput {
    const NOBODY: u32 = 65534;
    if !rustix::process::getuid().is_root() {
        return again(test, directory, |_| {});
    }
    // The build directory need not be open to others, so the test program goes along.
    let program = directory.join("tests");
    let own = std::env::current_exe().unwrap();
    std::fs::hard_link(&own, &program).or_else(|_| std::fs::copy(&own, &program).map(drop)).unwrap();
    std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = Command::new(&program);
    command.args(["--exact", test, "--nocapture"]).env(ROLE, directory).env("TMPDIR", directory);
    command.env("HOME", directory).uid(NOBODY).gid(NOBODY).current_dir(directory);
    command.output().unwrap()
}
