//! `crystal config`: where the settings are and what is in force.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use serde_json::{Map, Value as Json, json};

use crate::cli::console::{Console, with_process};
use crate::error::{Exit, Failure};
use crate::home::environment::Environment;
use crate::home::paths::Home;
use crate::home::settings::table::{SETTINGS, Setting};
use crate::home::settings::value::Value;
use crate::home::settings::{Given, Settings, Source};

/// The verb and its verbs.
pub fn command() -> Command {
    Command::new("config")
        .about("Show where settings are and what is in force")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("path").about("Print the path of config.json"))
        .subcommand(
            Command::new("show").about("Show every setting, its value and where the value comes from").arg(
                Arg::new("format")
                    .long("format")
                    .value_name("FORMAT")
                    .help("Print in this form")
                    .value_parser(PossibleValuesParser::new(["text", "json"]))
                    .default_value("text"),
            ),
        )
}

/// Runs it on the process's own stderr.
pub fn run(
    args: &ArgMatches,
    home: &Home,
    environment: &Environment,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    with_process(environment, out, |console| run_on(args, home, console))
}

/// Runs it on a console.
pub fn run_on(args: &ArgMatches, home: &Home, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let Some(("show", show)) = args.subcommand() else {
        console.line(&home.config().display().to_string())?;
        return Ok(Exit::Done);
    };
    // Of the settings only `--home` is an option of this command; `--format` is its own.
    let typed = args.try_get_one::<String>("home").ok().flatten();
    let given: Given = typed.map(|home| ("home", home.clone())).into_iter().collect();
    let settings = Settings::load(&given, console.environment, home).map_err(Failure::usage)?;
    for warning in &settings.warnings {
        console.note(warning);
    }
    if show.get_one::<String>("format").is_some_and(|format| format == "json") {
        show_json(home, &settings, console)
    } else {
        show_text(home, &settings, console)
    }
}

/// Settings that outlive one command line.
fn lasting() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.key.is_some() || setting.variable.is_some())
}

fn show_text(home: &Home, settings: &Settings, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let rows: Vec<(&str, String, &Source)> = lasting()
        .map(|setting| {
            let value = match shown(home, settings, setting) {
                Json::Null => "-".to_owned(),
                Json::String(text) => text,
                other => other.to_string(),
            };
            (name(setting), value, settings.source(setting.name))
        })
        .collect();
    let names = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let values = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0);
    for (name, value, source) in rows {
        console.line(&format!("{name:names$}  {value:values$}  {source}"))?;
    }
    Ok(Exit::Done)
}

fn show_json(home: &Home, settings: &Settings, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let fields: Map<String, Json> = lasting()
        .map(|setting| {
            let source = settings.source(setting.name).to_string();
            let value = shown(home, settings, setting);
            (name(setting).to_owned(), json!({ "value": value, "source": source }))
        })
        .collect();
    console.line(&Json::Object(fields).to_string())?;
    Ok(Exit::Done)
}

fn name(setting: &Setting) -> &'static str {
    setting.key.unwrap_or(setting.name)
}

fn shown(home: &Home, settings: &Settings, setting: &Setting) -> Json {
    match settings.value(setting.name) {
        _ if setting.name == "home" => Json::from(home.root().to_string_lossy().into_owned()),
        None => Json::Null,
        // Plugins may keep tokens among their settings, so only the plugins are named.
        Some(Value::Object(sources)) => sources
            .iter()
            .flat_map(|(source, plugins)| {
                let names = plugins.as_object().into_iter().flat_map(Map::keys);
                names.map(move |name| Json::from(format!("{source}/{name}")))
            })
            .collect(),
        Some(value) => value.json(),
    }
}
