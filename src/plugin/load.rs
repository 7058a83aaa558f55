//! Loads one plugin: manifest, VM, entry script, and what it registered.
//!
//! A bundled plugin comes out of the binary ([`load_bundled`]), any other out of its directory ([`load_dir`]). Which ones
//! are loaded, and when, is decided elsewhere; nothing here is loaded before it is asked for.

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::plugin::contribution::Contribution;
use crate::plugin::files::Files;
use crate::plugin::host::{self, HOST};
use crate::plugin::lua::{self, Luau};
use crate::plugin::manifest::{Language, Manifest};
use crate::plugin::register::Registered;
use crate::plugin::rhai::{self, RhaiVm};
use crate::plugin::stdlib;
use crate::plugin::vm::clock::Watchdog;
use crate::plugin::vm::engine::Engine;
use crate::plugin::vm::fault::Health;
use crate::plugin::vm::{Build, DEADLINE, Log, Setup, Vm};

/// Largest manifest, in bytes.
const MAX_MANIFEST: usize = 256 * 1024;

/// What all plugins of a process share, and one plugin's settings. Cheap to clone.
#[derive(Clone)]
pub struct Options {
    /// Watches every VM's clock; one for the process.
    pub watchdog: Watchdog,
    /// Where `print` and `crystal.log` go.
    pub log: Log,
    /// The operator's settings for this plugin, an object; they win over the manifest's.
    pub settings: Option<Value>,
    /// Host functions beyond the table, for tests.
    pub functions: Vec<host::Function>,
}

impl Options {
    /// Starts the watchdog; lines go to the log at level info.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            watchdog: Watchdog::start()?,
            log: Arc::new(|plugin, line| tracing::info!(target: "plugin", plugin, "{line}")),
            settings: None,
            functions: Vec::new(),
        })
    }
}

/// A plugin that is there: its manifest and what it registered. Its VM ends with the last thing that uses it.
#[derive(Clone)]
pub struct LoadedPlugin {
    /// The manifest.
    pub manifest: Manifest,
    registered: Registered,
}

impl LoadedPlugin {
    /// The plugin's directory name.
    pub fn directory(&self) -> &str {
        self.registered.vm.plugin()
    }
    /// What it registered, in order.
    pub fn contributions(&self) -> &[Contribution] {
        &self.registered.contributions
    }
    /// Its tools and protocols, ready for use.
    pub fn registered(&self) -> &Registered {
        &self.registered
    }
    /// Whether it still lives.
    pub fn health(&self) -> Health {
        self.registered.vm.health()
    }
}

/// Why a plugin was left out; its text names plugin, file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin '{plugin}' was left out: {reason}")]
pub struct LoadError {
    /// Its directory name.
    pub plugin: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Loads a plugin that comes with the binary. Takes a few milliseconds: it is meant to be called when the plugin's
/// protocol is selected, not before.
pub async fn load_bundled(name: &str, options: Options) -> Result<LoadedPlugin, LoadError> {
    match stdlib::PLUGINS.iter().find(|(plugin, _)| *plugin == name) {
        Some((_, files)) => load(name, Files::Embedded(files), options).await,
        None => {
            Err(LoadError { plugin: name.to_owned(), reason: "no such plugin comes with Crystal".to_owned() })
        }
    }
}

/// Loads a plugin from its directory, whose name is the plugin's.
pub async fn load_dir(directory: &Path, options: Options) -> Result<LoadedPlugin, LoadError> {
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match Files::open(directory) {
        Ok(files) => load(&name, files, options).await,
        Err(error) => {
            let reason = format!("'{}' cannot be opened: {error}", directory.display());
            Err(LoadError { plugin: name, reason })
        }
    }
}

async fn load(name: &str, files: Files, options: Options) -> Result<LoadedPlugin, LoadError> {
    let left_out = |reason: String| LoadError { plugin: name.to_owned(), reason };
    let text = files.read("plugin.toml", MAX_MANIFEST).map_err(left_out)?;
    let manifest = Manifest::parse(name, &text).map_err(|error| left_out(error.to_string()))?;
    let ledger = Arc::new(Mutex::new(Vec::new()));
    let setup = Setup {
        plugin: name.into(),
        settings: manifest.resolved(options.settings.as_ref()),
        memory_mb: manifest.memory_mb,
        stack_bytes: stack_bytes(manifest.language),
        log: options.log,
        runtime: tokio::runtime::Handle::current(),
        watchdog: options.watchdog,
        ledger: Arc::clone(&ledger),
        build: build(manifest.language, files, &options.functions),
    };
    let vm = Vm::start(setup).map_err(|error| left_out(format!("its thread cannot be started: {error}")))?;
    vm.load(manifest.entry.clone(), DEADLINE).await.map_err(|fault| left_out(fault.to_string()))?;
    let contributions = std::mem::take(&mut *ledger.lock().unwrap_or_else(PoisonError::into_inner));
    manifest.check(&contributions).map_err(|error| left_out(error.to_string()))?;
    Ok(LoadedPlugin { manifest, registered: Registered::new(vm, contributions) })
}

fn stack_bytes(language: Language) -> usize {
    match language {
        Language::Luau => lua::STACK_BYTES,
        Language::Rhai => rhai::STACK_BYTES,
    }
}

fn build(language: Language, files: Files, more: &[host::Function]) -> Build {
    let rows: Vec<host::Function> = HOST.iter().chain(more).copied().collect();
    match language {
        Language::Luau => {
            Box::new(move |desk| Luau::new(desk, rows, files).map(|vm| Rc::new(vm) as Rc<dyn Engine>))
        }
        Language::Rhai => Box::new(move |desk| Ok(Rc::new(RhaiVm::new(desk, &rows, files)))),
    }
}
