//! Configuration to parts to session. The only place that knows both plugins and sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::approval::decide::Trust;
use crate::approval::git;
use crate::approval::grant::{Grants, Rule};
use crate::error::{Exit, Failure};
use crate::fence::Fence;
use crate::home::credentials;
use crate::home::environment::Environment;
use crate::home::keys::Keys;
use crate::home::paths::Home;
use crate::home::settings::{Settings, WorkspaceTrust};
use crate::home::{permissions, trust};
use crate::hook::dispatch::Dispatcher;
use crate::model::judgement::Approval;
use crate::model::port::Operator;
use crate::plugin::load::{self as plugins, Options as Loading};
use crate::process::environment::{Environment as Commands, Hidden};
use crate::provider::catalog::Catalog;
use crate::provider::catalog::choice::{Named, Wanted};
use crate::provider::endpoint::Endpoint;
use crate::provider::http::Http;
use crate::provider::{PROTOCOLS, Protocol};
use crate::session::blob::Blobs;
use crate::session::budget::Limits;
use crate::session::clients::Clients;
use crate::session::commit::{Gate, Guard};
use crate::session::parts::{Options, Parts};
use crate::session::report::Reporter;
use crate::session::schema::OutputSchema;
use crate::session::store::load::{self, Loaded};
use crate::session::store::record::Header;
use crate::session::store::{Store, find, list};
use crate::session::warden::Warden;
use crate::session::{Session, Start};
use crate::tool::{Kit, TOOLS, Tool};

/// What a session is opened from.
pub struct Opening<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The data directory.
    pub home: &'a Home,
    /// The environment.
    pub environment: &'a Environment,
    /// Who listens.
    pub report: Arc<dyn Reporter>,
    /// Who is asked.
    pub operator: Arc<dyn Operator>,
}

/// An opened session.
pub struct Opened {
    /// The session.
    pub session: Session,
    /// What the operator should know.
    pub notes: Vec<String>,
}

/// Opens a session without handlers.
pub async fn open(opening: Opening<'_>) -> Result<Opened, Failure> {
    open_with(opening, Dispatcher::none(), Arc::new([])).await
}

/// Opens a session with these handlers, of the plugins in these directories (in load order): everything that can be
/// checked is checked before anything is created.
pub async fn open_with(
    opening: Opening<'_>,
    hooks: Dispatcher,
    active_plugins: Arc<[Arc<str>]>,
) -> Result<Opened, Failure> {
    let Opening { settings, home, environment, .. } = opening;
    let mut notes = settings.warnings.clone();
    refuse_reviewed(settings.approval)?;
    let workspace = workspace(&settings.workspace)?;
    let trust = trusted(settings, home, &workspace, &mut notes)?;
    let output_schema = settings.output_schema.as_deref().map(output_schema).transpose()?;
    let fence = Fence::new(&workspace, home.root()).map_err(|error| {
        Failure::usage(format!("the workspace {} cannot be opened: {error}", workspace.display()))
    })?;
    let fence = Arc::new(match home.user() {
        Some(user) => fence.with_user_home(user),
        None => fence,
    });

    let keys = Keys { home, environment };
    let catalog = Catalog::load(home).map_err(Failure::usage)?;
    notes.extend(catalog.warnings.iter().cloned());
    notes.extend(credentials::exposure(home));
    let file = stored(settings, home, &workspace)?;
    let wanted = file.as_ref().map_or_else(|| Wanted::of(settings), |file| goes_on_with(settings, file));
    let endpoint = Arc::new(endpoint(&catalog, &wanted, &keys)?);
    let clients = clients(&endpoint).await?;
    let tools = tools(&catalog, &keys)?;
    let grants = grants(home, &workspace)?;

    let (store, loaded) = match file {
        Some(loaded) => Store::open(&loaded.path),
        None => Header::now(&workspace, &endpoint.provider, &endpoint.model.name, settings.mode)
            .and_then(|header| Store::create(&home.sessions(), header)),
    }
    .map_err(Failure::usage)?;
    let new = loaded.turns.is_empty();
    notes.extend(loaded.notices.iter().cloned());
    let (store, blobs) = (Arc::new(store), Arc::new(Blobs::new(&home.sessions())));
    let hooks = Arc::new(hooks);
    let warden = Arc::new(Warden::new(Arc::clone(&hooks)));
    let guard = Some(Arc::clone(&warden) as Arc<dyn Guard>);
    let gate = Gate::guarded(Arc::clone(&fence), Arc::clone(&store), (*blobs).clone(), &loaded, guard);
    let mode = if new || settings.source("mode").rank() > 0 { settings.mode } else { loaded.mode };
    let parts = Parts {
        id: Arc::clone(store.id()),
        git_root: trust::git_root(&workspace).map(Path::to_path_buf),
        workspace,
        locale: "en".into(),
        store,
        blobs,
        gate,
        fence,
        hooks,
        warden,
        active_plugins,
        report: opening.report,
        operator: opening.operator,
        tools,
        seen: Arc::default(),
        grants,
        endpoint,
        options: Options {
            approval: settings.approval,
            trust,
            limits: Limits {
                model_calls: settings.model_calls,
                tool_calls: settings.tool_calls,
                duration: settings.duration,
            },
            bash_timeout: settings.bash_timeout,
            thinking: settings.thinking,
            output_schema,
        },
    };
    Ok(Opened { session: Session::new(parts, clients, mode, Start::of(loaded)), notes })
}

/// The saved session to go on with: the one named, or the newest of this workspace.
fn stored(settings: &Settings, home: &Home, workspace: &Path) -> Result<Option<Loaded>, Failure> {
    let dir = home.sessions();
    let path = match &settings.resume {
        Some(id) => find::find(&dir, id).map_err(Failure::usage)?,
        None if settings.continues => {
            let latest = list::latest(&dir, Some(workspace)).map_err(Failure::usage)?;
            latest.ok_or_else(|| {
                Failure::usage(format!("no session of {} is there to continue", workspace.display()))
            })?
        }
        None => return Ok(None),
    };
    let loaded = load::read(&path).map_err(Failure::usage)?;
    if Path::new(&loaded.header.workspace) != workspace {
        return Err(Failure::usage(format!(
            "session {} belongs to {}: go there, or name it with -w",
            loaded.header.id, loaded.header.workspace
        )));
    }
    Ok(Some(loaded))
}

/// What a saved session asks for, unless this command line says otherwise.
fn goes_on_with(settings: &Settings, loaded: &Loaded) -> Wanted {
    let typed = Wanted::of(settings);
    let rank = settings.source("provider").rank().max(settings.source("model").rank());
    if rank > 1 {
        return typed;
    }
    let named = |name: &str| Some(Named { name: name.to_owned(), rank: 2 });
    Wanted { provider: named(&loaded.provider), model: named(&loaded.model) }
}

fn endpoint(catalog: &Catalog, wanted: &Wanted, keys: &Keys<'_>) -> Result<Endpoint, Failure> {
    let tokens: Vec<&str> = PROTOCOLS.iter().map(|row| row.token).chain(BUNDLED.iter().copied()).collect();
    let choice = catalog.choose(wanted, &tokens, keys).map_err(Failure::usage)?;
    choice.endpoint(keys).map_err(Failure::usage)
}

/// Protocols that bundled plugins of the same name contribute.
const BUNDLED: &[&str] = &["offline"];

async fn bundled(token: &str) -> Result<Arc<dyn Protocol>, Failure> {
    let options = Loading::new()
        .map_err(|error| Failure::usage(format!("the watchdog of script VMs cannot start: {error}")))?;
    let plugin = plugins::load_bundled(token, options).await.map_err(Failure::usage)?;
    let mut found = plugin.registered().protocols().into_iter().filter(|protocol| protocol.token() == token);
    found.next().ok_or_else(|| Failure::usage(format!("plugin '{token}' contributes no protocol {token}")))
}

/// The clients of the chosen protocol. A plugin's VM starts only here, when its protocol was chosen.
async fn clients(endpoint: &Arc<Endpoint>) -> Result<Clients, Failure> {
    let protocol = match PROTOCOLS.iter().find(|row| row.token == &*endpoint.protocol) {
        Some(row) => Arc::from((row.new)(Http::default())),
        None => bundled(&endpoint.protocol).await?,
    };
    Clients::new(protocol, Arc::clone(endpoint)).map_err(Failure::usage)
}

fn tools(catalog: &Catalog, keys: &Keys<'_>) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    let hidden =
        Hidden { names: catalog.key_variables(), values: catalog.key_values(keys).map_err(Failure::usage)? };
    let kit = Kit { environment: Arc::new(Commands::new(hidden).with(git::neutral_variables())) };
    Ok(TOOLS.iter().map(|row| (row.new)(&kit)).collect())
}

fn grants(home: &Home, workspace: &Path) -> Result<Grants, Failure> {
    let mut rules = Vec::new();
    for entry in permissions::read(home).map_err(Failure::usage)? {
        let rule: Rule = serde_json::from_value(entry.rule).map_err(|error| {
            Failure::usage(format!(
                "{}: a grant for `{}` cannot be read: {error}",
                home.permissions().display(),
                entry.tool
            ))
        })?;
        rules.push(rule);
    }
    Ok(Grants::new(rules, workspace))
}

/// Review and Audit need a reviewing model, which this version does not have.
fn refuse_reviewed(approval: Approval) -> Result<(), Failure> {
    match approval {
        Approval::Review | Approval::Audit => Err(Failure::usage(format!(
            "approval mode {approval} needs a reviewing model, which this version does not have: use default, edit or full"
        ))),
        Approval::Default | Approval::Edit | Approval::Full => Ok(()),
    }
}

fn workspace(written: &Path) -> Result<PathBuf, Failure> {
    let show = written.display();
    let real = written
        .canonicalize()
        .map_err(|error| Failure::usage(format!("the workspace {show} cannot be opened: {error}")))?;
    if !real.is_dir() {
        return Err(Failure::usage(format!("the workspace {show} is not a directory")));
    }
    std::fs::read_dir(&real)
        .map_err(|error| Failure::usage(format!("the workspace {show} cannot be read: {error}")))?;
    Ok(real)
}

/// Whether the workspace counts as trusted, by the file and the option.
fn trusted(
    settings: &Settings,
    home: &Home,
    workspace: &Path,
    notes: &mut Vec<String>,
) -> Result<Trust, Failure> {
    if settings.workspace_trust == WorkspaceTrust::Assume
        || trust::is_trusted(home, workspace).map_err(Failure::usage)?
    {
        return Ok(Trust::Trusted);
    }
    let scope = trust::scope(workspace);
    if settings.workspace_trust == WorkspaceTrust::Require {
        let message = format!("{} is not trusted, and --workspace-trust require refuses it", scope.display());
        return Err(Failure { message, exit: Exit::Denied });
    }
    if matches!(settings.approval, Approval::Edit | Approval::Full) {
        notes.push(format!(
            "{} is not trusted, so approval {} acts as default (--workspace-trust assume trusts it for one run)",
            scope.display(),
            settings.approval
        ));
    }
    Ok(Trust::Restricted)
}

fn output_schema(path: &Path) -> Result<OutputSchema, Failure> {
    let wrong = |error: String| {
        Failure::usage(format!("the output schema {} cannot be used: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let schema = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    OutputSchema::new(schema).map_err(wrong)
}
