//! The reference page of `config.json` and of the options and variables that set the same things, made from the table.

use std::fmt::Write;

use crate::home::settings::table::{FlagValue, Kind, SETTINGS, Setting, Stored};
use crate::home::settings::value;

/// The page's part about settings.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("\n## Settings\n");
    for setting in SETTINGS {
        let _ = write!(page, "\n### {}\n\n{}\n\n", title(setting), setting.doc);
        let default = match setting.default {
            "" => "none".to_owned(),
            word => format!("`{word}`"),
        };
        let _ = writeln!(page, "- value: {}; default: {default}", value::expected(setting.kind));
        if let Some(key) = setting.key {
            let _ = writeln!(page, "- `config.json`: `{}`", example(setting, key));
        }
        for flag in setting.flags {
            let commands: Vec<&str> = flag.commands.iter().map(|command| command.name()).collect();
            let short = flag.short.map(|letter| format!("`-{letter}`, ")).unwrap_or_default();
            let value = match flag.value {
                FlagValue::Takes(name) => format!(" {name}"),
                FlagValue::Means(_) => String::new(),
            };
            let on = commands.join(" and ");
            let _ = writeln!(page, "- {on}: {short}`--{}{value}` – {}", flag.name, flag.help);
        }
        if let Some(variable) = setting.variable {
            let _ = writeln!(page, "- environment: `{variable}`");
        }
    }
    page
}

const INTRODUCTION: &str = "# Configuration

This page is made from the tables in the program; a test keeps it current.

The data directory is `--home`, else `CRYSTAL_HOME`, else `~/.crystal`. It is created, readable by its owner alone, when
something is first written to it. A setting comes from the command line, else from the environment, else from
`config.json` in the data directory, else it has its default. `config.json` is never read from a workspace.
`crystal config path` prints where the file is, `crystal config show` prints what is in force and where it comes from.

JSON files may have comments, trailing commas, a byte order mark and either kind of line ending. When the program
changes one, it changes the field in question and nothing else: comments, order and unknown fields stay, and the file is
replaced as a whole or not at all. A file that does not parse is reported with line and column and never overwritten. An
unknown field is ignored with a warning that names the nearest known one; a value of a wrong type is an error.
";

fn title(setting: &Setting) -> &'static str {
    setting.key.unwrap_or(setting.name)
}

/// A line of `config.json` that sets it to something.
fn example(setting: &Setting, key: &str) -> String {
    let value = match (setting.stored, setting.kind) {
        (Stored::Boolean { .. }, _) | (_, Kind::Switch) => "true".to_owned(),
        (_, Kind::Count | Kind::Seconds) if !setting.default.is_empty() => setting.default.to_owned(),
        (_, Kind::Count | Kind::Seconds) => "1".to_owned(),
        (_, Kind::Object) => "{ … }".to_owned(),
        _ if setting.default.is_empty() => "\"…\"".to_owned(),
        _ => format!("\"{}\"", setting.default),
    };
    format!("\"{key}\": {value}")
}
