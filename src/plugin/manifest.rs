//! `plugin.toml`: what a plugin is, what it says it registers, what it may reach.
//!
//! Unknown keys are ignored. A value of the wrong kind, a name that cannot be one, or a list that does not match what the
//! entry script registered leaves the plugin out; every message names file and line.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::plugin::contribution::Contribution;
use crate::plugin::manifest::read::{Document, Table};

mod read;

/// A checked manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Shown to the operator; the directory name unless it says otherwise.
    pub name: String,
    /// Its own version; empty where it names none.
    pub version: String,
    /// What it does; may be empty.
    pub description: String,
    /// The entry script, a path in the plugin directory.
    pub entry: String,
    /// Which VM runs it.
    pub language: Language,
    /// Oldest Crystal it runs on.
    pub min_version: Option<Version>,
    /// False leaves it out without a note.
    pub enabled: bool,
    /// Whether no turn may start without it.
    pub required: bool,
    /// What it says it registers.
    pub contributes: Contributes,
    /// What it may reach.
    pub permissions: Permissions,
    /// Memory of its VM in MiB.
    pub memory_mb: u32,
    /// Defaults of its settings, an object.
    pub settings: Value,
}

/// Script languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Language {
    Luau,
    Rhai,
}

/// Names by list. None is a list that is not there, which is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contributes {
    lists: Vec<(&'static str, Vec<String>, usize)>,
}

impl Contributes {
    /// The names of a list, if the manifest has it.
    pub fn list(&self, name: &str) -> Option<&[String]> {
        self.lists.iter().find(|(list, ..)| *list == name).map(|(_, names, _)| names.as_slice())
    }
}

/// The lists of `[contributes]`, and what a name in each looks like.
const LISTS: &[(&str, NameKind)] = &[
    ("events", NameKind::Event),
    ("hooks", NameKind::Word),
    ("raw_hooks", NameKind::Word),
    ("tools", NameKind::Tool),
    ("commands", NameKind::Tool),
    ("placeholders", NameKind::Word),
    ("protocols", NameKind::Tool),
    ("status", NameKind::Tool),
    ("runtimes", NameKind::Tool),
];

#[derive(Clone, Copy)]
enum NameKind {
    /// `PreToolUse`, with `:pre`, `:normal` or `:post`.
    Event,
    /// Lower-case words joined by `_`.
    Word,
    /// A letter, then letters, digits, `_` or `-`.
    Tool,
}

impl NameKind {
    fn fits(self, name: &str) -> bool {
        let tail =
            |name: &str, more: &[char]| name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(&c));
        match self {
            Self::Event => {
                let (event, group) = name.split_once(':').unwrap_or((name, "normal"));
                event.starts_with(|c: char| c.is_ascii_uppercase())
                    && tail(event, &[])
                    && matches!(group, "pre" | "normal" | "post")
            }
            Self::Word => {
                name.starts_with(|c: char| c.is_ascii_lowercase())
                    && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            }
            Self::Tool => name.starts_with(|c: char| c.is_ascii_alphabetic()) && tail(name, &['_', '-']),
        }
    }
}

/// `[permissions]`: nothing is granted that is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// File grants.
    pub files: Vec<FileGrant>,
    /// Programs, by exact name.
    pub run: Vec<String>,
    /// Hosts.
    pub net: Vec<String>,
    /// Environment variables.
    pub env: Vec<String>,
    /// Model clients.
    pub model: bool,
}

/// A grant of `permissions.files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FileGrant {
    WorkspaceRead,
    WorkspaceWrite,
    Data,
}

impl FileGrant {
    const ALL: &'static [(&'static str, Self)] = &[
        ("workspace:read", Self::WorkspaceRead),
        ("workspace:write", Self::WorkspaceWrite),
        ("data", Self::Data),
    ];
}

/// `MAJOR.MINOR.PATCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads `1`, `1.2` or `1.2.3`; missing parts are 0.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut part = || match parts.next() {
            Some(digits) if digits.chars().all(|c| c.is_ascii_digit()) => digits.parse().ok(),
            Some(_) => None,
            None => Some(0),
        };
        let version = Self(part()?, part()?, part()?);
        parts.next().is_none().then_some(version)
    }
    /// This Crystal's.
    pub fn current() -> Self {
        Self::parse(env!("CARGO_PKG_VERSION")).unwrap_or(Self(0, 0, 0))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A manifest that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin.toml:{line}: {message}")]
pub struct ManifestError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// Memory of a VM that names none, in MiB.
const MEMORY_MB: u32 = 64;
/// Most memory a manifest may ask for, in MiB.
const MAX_MEMORY_MB: u32 = 4096;

impl Manifest {
    /// Reads and checks a manifest. `directory` is the plugin's directory name.
    pub fn parse(directory: &str, text: &str) -> Result<Self, ManifestError> {
        let document = Document::parse(text)?;
        let root = document.root();
        let min_version = match root.text("min_version")? {
            None => None,
            Some(text) => Some(Version::parse(&text).ok_or_else(|| {
                root.error("min_version", &format!("'{text}' is no version; write it as \"0.1.0\""))
            })?),
        };
        // Checked before anything else: a newer manifest may hold what this Crystal cannot judge.
        if let Some(needed) = min_version.filter(|needed| *needed > Version::current()) {
            let here = Version::current();
            return Err(root.error("min_version", &format!("it needs Crystal {needed}, and this is {here}")));
        }
        let entry = root.text("entry")?.ok_or_else(|| root.error("entry", "'entry' is missing"))?;
        let language = match entry.rsplit_once('.').map(|(_, extension)| extension) {
            Some("lua") => Language::Luau,
            Some("rhai") => Language::Rhai,
            _ => return Err(root.error("entry", &format!("entry '{entry}' ends in neither .lua nor .rhai"))),
        };
        Ok(Self {
            name: root
                .text("name")?
                .filter(|name| !name.trim().is_empty())
                .unwrap_or_else(|| directory.to_owned()),
            version: root.text("version")?.unwrap_or_default(),
            description: root.text("description")?.unwrap_or_default(),
            entry,
            language,
            min_version,
            enabled: root.flag("enabled")?.unwrap_or(true),
            required: root.flag("required")?.unwrap_or(false),
            contributes: contributes(&root.table("contributes")?)?,
            permissions: permissions(&root.table("permissions")?)?,
            memory_mb: root.table("limits")?.number("memory_mb", 1, MAX_MEMORY_MB)?.unwrap_or(MEMORY_MB),
            settings: Value::Object(root.table("settings")?.json()?),
        })
    }

    /// Compares `[contributes]` with what the entry script registered.
    pub fn check(&self, registered: &[Contribution]) -> Result<(), ManifestError> {
        for (list, names, line) in &self.contributes.lists {
            let declared: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            let made: BTreeSet<&str> = registered
                .iter()
                .filter(|made| made.list() == *list)
                .map(|made| made.name.as_str())
                .collect();
            let error = |message: String| ManifestError { line: *line, message };
            if let Some(name) = declared.difference(&made).next() {
                let entry = &self.entry;
                return Err(error(format!(
                    "[contributes] {list} names '{name}', which {entry} does not register"
                )));
            }
            if let Some(name) = made.difference(&declared).next() {
                let entry = &self.entry;
                return Err(error(format!(
                    "{entry} registers '{name}', which [contributes] {list} does not name"
                )));
            }
        }
        Ok(())
    }

    /// The settings with the operator's own over them, key by key.
    pub fn resolved(&self, overrides: Option<&Value>) -> Value {
        let mut settings: Map<String, Value> = self.settings.as_object().cloned().unwrap_or_default();
        for (key, value) in overrides.and_then(Value::as_object).into_iter().flatten() {
            settings.insert(key.clone(), value.clone());
        }
        Value::Object(settings)
    }
}

fn contributes(table: &Table<'_>) -> Result<Contributes, ManifestError> {
    let mut lists = Vec::new();
    for (list, kind) in LISTS {
        let Some(names) = table.names(list)? else { continue };
        if let Some(name) = names.iter().find(|name| !kind.fits(name)) {
            return Err(table.error(list, &format!("'{name}' is no name for {list}")));
        }
        lists.push((*list, names, table.line(list)));
    }
    Ok(Contributes { lists })
}

fn permissions(table: &Table<'_>) -> Result<Permissions, ManifestError> {
    let mut files = Vec::new();
    for name in table.names("files")?.unwrap_or_default() {
        match FileGrant::ALL.iter().find(|(known, _)| *known == name) {
            Some((_, grant)) => files.push(*grant),
            None => {
                let known: Vec<&str> = FileGrant::ALL.iter().map(|(known, _)| *known).collect();
                let message = format!("'{name}' is no file permission; there are {}", known.join(", "));
                return Err(table.error("files", &message));
            }
        }
    }
    let run = table.names("run")?.unwrap_or_default();
    if let Some(program) = run.iter().find(|program| program.contains('/') || program.trim().is_empty()) {
        return Err(
            table.error("run", &format!("'{program}' is no program name; programs are named without a path"))
        );
    }
    Ok(Permissions {
        files,
        run,
        net: table.names("net")?.unwrap_or_default(),
        env: table.names("env")?.unwrap_or_default(),
        model: table.flag("model")?.unwrap_or(false),
    })
}
