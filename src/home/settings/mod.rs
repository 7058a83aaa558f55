//! Settings: command line over environment over `config.json` over default, each value with its source.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Map;

use crate::home::document::DocumentError;
use crate::home::environment::Environment;
use crate::home::paths::Home;
use crate::home::settings::file::File;
use crate::home::settings::table::{FlagValue, SETTINGS, Setting};
use crate::home::settings::value::Value;
use crate::model::judgement::{Approval, names};
use crate::model::request::{Gear, Mode};

pub mod file;
pub mod page;
pub mod table;
pub mod value;

/// Everything that is set, ready to use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The provider; none lets the catalog choose.
    pub provider: Option<String>,
    /// The model; none lets the catalog choose.
    pub model: Option<String>,
    /// The workspace, as written.
    pub workspace: PathBuf,
    /// Plan or Work.
    pub mode: Mode,
    /// Approval mode.
    pub approval: Approval,
    /// How an untrusted workspace is treated.
    pub workspace_trust: WorkspaceTrust,
    /// How hard the model thinks.
    pub thinking: Gear,
    /// Most model calls of a task; none is unlimited.
    pub model_calls: Option<u64>,
    /// Most tool calls of a task; none is unlimited.
    pub tool_calls: Option<u64>,
    /// Longest time of a task; none is unlimited.
    pub duration: Option<Duration>,
    /// Longest time of a shell command; none is unlimited.
    pub bash_timeout: Option<Duration>,
    /// The session to go on with.
    pub resume: Option<String>,
    /// Whether the newest session of the workspace goes on.
    pub continues: bool,
    /// A file with the JSON Schema of the final answer.
    pub output_schema: Option<PathBuf>,
    /// The form of the output.
    pub format: Format,
    /// Whether reasoning is shown.
    pub show_thinking: bool,
    /// Whether text is shown as it arrives.
    pub stream: bool,
    /// Whether hooks are reported.
    pub trace: bool,
    /// Settings of plugins, by source and directory.
    pub plugin_settings: Map<String, serde_json::Value>,
    /// The least urgent level that is logged; `off` for none.
    pub log: String,
    /// What did not stop anything but should be known: unknown keys of `config.json`.
    pub warnings: Vec<String>,
    values: BTreeMap<&'static str, (Value, Source)>,
}

/// How an untrusted workspace is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WorkspaceTrust {
    #[default]
    Restricted,
    Require,
    Assume,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    #[default]
    Text,
    Json,
    Final,
}

names!(WorkspaceTrust { Restricted = "restricted", Require = "require", Assume = "assume" });
names!(Format { Text = "text", Json = "json", Final = "final" });

/// Where a value comes from; a later one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nothing set it.
    Default,
    /// A field of `config.json`.
    File {
        /// The file.
        path: PathBuf,
        /// The field's line.
        line: Option<usize>,
    },
    /// This variable.
    Variable(&'static str),
    /// This option.
    Flag(&'static str),
}

impl Source {
    /// The rank, from 0 (default) to 3 (option); a higher one wins.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Variable(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// `config.json` cannot be read, does not parse, or holds a value of another type.
    #[error(transparent)]
    File(#[from] DocumentError),
    /// An option or a variable holds something else than it should.
    #[error("{origin}: {reason}")]
    Value {
        /// The option or variable.
        origin: Source,
        /// What was expected and what was found.
        reason: String,
    },
}

/// Options as they were typed: long name and value. An option without a value has an empty one.
pub type Given = BTreeMap<&'static str, String>;

impl Settings {
    /// Reads `config.json` of `home` and puts everything together.
    pub fn load(given: &Given, environment: &Environment, home: &Home) -> Result<Self, SettingsError> {
        let file = File::read(&home.config())?;
        Self::resolve(given, environment, file.as_ref())
    }
    /// Puts everything together: options over variables over the file over defaults.
    pub fn resolve(
        given: &Given,
        environment: &Environment,
        file: Option<&File>,
    ) -> Result<Self, SettingsError> {
        let mut values = BTreeMap::new();
        for setting in SETTINGS {
            if let Some(found) = pick(setting, given, environment, file)? {
                values.insert(setting.name, found);
            }
        }
        Ok(Self::build(values, file.map(|file| file.warnings.clone()).unwrap_or_default()))
    }
    /// Where the value of a setting (by its name in the table) comes from.
    pub fn source(&self, name: &str) -> &Source {
        self.values.get(name).map_or(&Source::Default, |(_, source)| source)
    }
    /// What `pluginSettings` holds for a plugin; empty where it holds nothing.
    pub fn of_plugin(&self, source: &str, directory: &str) -> Map<String, serde_json::Value> {
        let found = self.plugin_settings.get(source).and_then(|plugins| plugins.get(directory));
        found.and_then(serde_json::Value::as_object).cloned().unwrap_or_default()
    }
    /// The value of a setting (by its name in the table); none where nothing sets it and there is no default.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value)
    }

    fn build(values: BTreeMap<&'static str, (Value, Source)>, warnings: Vec<String>) -> Self {
        let view = View(&values);
        Self {
            provider: view.text("provider"),
            model: view.text("model"),
            workspace: view.path("workspace").unwrap_or_else(|| ".".into()),
            mode: view.word("mode", Mode::parse),
            approval: view.word("approval", Approval::parse),
            workspace_trust: view.word("workspaceTrust", WorkspaceTrust::parse),
            thinking: view.word("thinking", Gear::parse),
            model_calls: view.count("modelCalls"),
            tool_calls: view.count("toolCalls"),
            duration: view.time("duration"),
            bash_timeout: view.time("bashTimeout"),
            resume: view.text("resume"),
            continues: view.switch("continue"),
            output_schema: view.path("outputSchema"),
            format: view.word("format", Format::parse),
            show_thinking: view.switch("showThinking"),
            stream: view.switch("stream"),
            trace: view.switch("trace"),
            plugin_settings: view.object("pluginSettings"),
            log: view.text("log").unwrap_or_else(|| "info".into()),
            warnings,
            values,
        }
    }
}

fn pick(
    setting: &Setting,
    given: &Given,
    environment: &Environment,
    file: Option<&File>,
) -> Result<Option<(Value, Source)>, SettingsError> {
    for flag in setting.flags {
        let Some(typed) = given.get(flag.name) else { continue };
        let word = match flag.value {
            FlagValue::Takes(_) => typed,
            FlagValue::Means(word) => word,
        };
        return parse(setting, word, Source::Flag(flag.name)).map(Some);
    }
    if let Some((name, word)) = setting.variable.and_then(|name| Some((name, environment.text(name)?))) {
        return parse(setting, &word, Source::Variable(name)).map(Some);
    }
    if let Some(found) = setting.key.and_then(|key| file?.get(key)) {
        return Ok(Some(found));
    }
    if setting.default.is_empty() {
        return Ok(None);
    }
    parse(setting, setting.default, Source::Default).map(Some)
}

fn parse(setting: &Setting, word: &str, origin: Source) -> Result<(Value, Source), SettingsError> {
    match value::parse(setting.kind, word) {
        Ok(value) => Ok((value, origin)),
        Err(reason) => Err(SettingsError::Value { origin, reason }),
    }
}

struct View<'a>(&'a BTreeMap<&'static str, (Value, Source)>);

impl View<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        debug_assert!(SETTINGS.iter().any(|setting| setting.name == name), "no setting {name}");
        self.0.get(name).map(|(value, _)| value)
    }
    fn text(&self, name: &str) -> Option<String> {
        if let Some(Value::Text(text)) = self.get(name) { Some(text.clone()) } else { None }
    }
    fn word<T: Default>(&self, name: &str, parse: fn(&str) -> Option<T>) -> T {
        self.text(name).and_then(|word| parse(&word)).unwrap_or_default()
    }
    fn path(&self, name: &str) -> Option<PathBuf> {
        if let Some(Value::Path(path)) = self.get(name) { Some(path.clone()) } else { None }
    }
    fn count(&self, name: &str) -> Option<u64> {
        if let Some(Value::Count(count)) = self.get(name) { *count } else { None }
    }
    fn time(&self, name: &str) -> Option<Duration> {
        if let Some(Value::Time(time)) = self.get(name) { *time } else { None }
    }
    fn switch(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Switch(true)))
    }
    fn object(&self, name: &str) -> Map<String, serde_json::Value> {
        if let Some(Value::Object(fields)) = self.get(name) { fields.clone() } else { Map::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_table_are_the_words_of_the_types() {
        fn same(name: &str, words: Vec<&str>) {
            let row = SETTINGS.iter().find(|row| row.name == name).unwrap();
            let table::Kind::Choice(choices) = row.kind else { panic!("{name}") };
            assert_eq!(choices, words);
        }
        same("mode", Mode::ALL.iter().map(|m| m.as_str()).collect());
        same("approval", Approval::ALL.iter().map(|a| a.as_str()).collect());
        same("thinking", Gear::ALL.iter().map(|g| g.as_str()).collect());
        same("workspaceTrust", WorkspaceTrust::ALL.iter().map(|t| t.as_str()).collect());
        same("format", Format::ALL.iter().map(|f| f.as_str()).collect());
    }
}
