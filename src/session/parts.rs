//! What a session is made of: the neighbours and ports that `app` hands it, and the facts that hold for its life.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::approval::decide::Trust;
use crate::approval::grant::Grants;
use crate::fence::Fence;
use crate::hook::dispatch::Dispatcher;
use crate::model::judgement::Approval;
use crate::model::port::Operator;
use crate::model::request::Gear;
use crate::provider::endpoint::Endpoint;
use crate::session::blob::Blobs;
use crate::session::budget::Limits;
use crate::session::commit::Gate;
use crate::session::report::Reporter;
use crate::session::schema::OutputSchema;
use crate::session::store::Store;
use crate::session::warden::Warden;
use crate::tool::Tool;
use crate::tool::seen::Seen;

/// Everything a turn may reach.
pub struct Parts {
    /// The session's id.
    pub id: Arc<str>,
    /// The real path of the workspace root.
    pub workspace: PathBuf,
    /// The git root above it.
    pub git_root: Option<PathBuf>,
    /// The operator's language.
    pub locale: Arc<str>,
    /// The session file.
    pub store: Arc<Store>,
    /// Contents by hash: images, previous file contents.
    pub blobs: Arc<Blobs>,
    /// The commit gate.
    pub gate: Gate,
    /// Paths.
    pub fence: Arc<Fence>,
    /// Handlers.
    pub hooks: Arc<Dispatcher>,
    /// The gate's guard over the same handlers.
    pub warden: Arc<Warden>,
    /// Directories of the plugins that take part, in load order.
    pub active_plugins: Arc<[Arc<str>]>,
    /// The listener.
    pub report: Arc<dyn Reporter>,
    /// The question queue.
    pub operator: Arc<dyn Operator>,
    /// All tools, in catalog order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the session has read.
    pub seen: Arc<Seen>,
    /// What was granted.
    pub grants: Grants,
    /// The model.
    pub endpoint: Arc<Endpoint>,
    /// Choices.
    pub options: Options,
}

/// Choices that hold for the session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Approval mode.
    pub approval: Approval,
    /// Whether the workspace is trusted; where not, `edit` and `full` act as `default`.
    pub trust: Trust,
    /// Budgets of a turn.
    pub limits: Limits,
    /// How long a command may run by itself; none is no limit.
    pub bash_timeout: Option<Duration>,
    /// How hard the model should think.
    pub thinking: Gear,
    /// What the final answer must satisfy.
    pub output_schema: Option<OutputSchema>,
}
