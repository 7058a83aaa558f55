//! Options made from the settings table, and what was typed for them.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::home::settings::Given;
use crate::home::settings::table::{self, Flag, FlagValue, Kind, SETTINGS, Setting};

/// Adds the options that the table gives to `command`.
pub fn add(mut command: Command, to: table::Command) -> Command {
    for setting in SETTINGS {
        for flag in setting.flags.iter().filter(|flag| flag.commands.contains(&to)) {
            command = command.arg(option(setting, flag, to));
        }
    }
    command
}

/// The `--home` option, for commands that take nothing else from the table.
pub fn home() -> Vec<Arg> {
    let rows = SETTINGS.iter().filter(|setting| setting.name == "home");
    rows.flat_map(|setting| setting.flags.iter().map(|flag| option(setting, flag, table::Command::Run)))
        .collect()
}

/// What was typed, by option.
pub fn given(matches: &ArgMatches) -> Given {
    let mut given = Given::new();
    for flag in SETTINGS.iter().flat_map(|setting| setting.flags) {
        match flag.value {
            FlagValue::Takes(_) => {
                if let Ok(Some(value)) = matches.try_get_one::<String>(flag.name) {
                    given.insert(flag.name, value.clone());
                }
            }
            FlagValue::Means(_) => {
                if let Ok(Some(true)) = matches.try_get_one::<bool>(flag.name) {
                    given.insert(flag.name, String::new());
                }
            }
        }
    }
    given
}

fn option(setting: &Setting, flag: &Flag, of: table::Command) -> Arg {
    let mut arg = Arg::new(flag.name).long(flag.name).help(help(setting, flag));
    if let Some(letter) = flag.short {
        arg = arg.short(letter);
    }
    let siblings =
        setting.flags.iter().filter(|other| other.commands.contains(&of) && other.name != flag.name);
    for other in siblings.map(|other| other.name).chain(flag.conflicts.iter().copied()) {
        arg = arg.conflicts_with(other);
    }
    match flag.value {
        // A value such as -1 is for the setting's own check, which says what it should be.
        FlagValue::Takes(name) => arg
            .value_name(name)
            .action(ArgAction::Set)
            .allow_hyphen_values(matches!(setting.kind, Kind::Count | Kind::Seconds)),
        FlagValue::Means(_) => arg.action(ArgAction::SetTrue),
    }
}

fn help(setting: &Setting, flag: &Flag) -> String {
    let mut help = flag.help.to_owned();
    if matches!(flag.value, FlagValue::Takes(_)) {
        if let Kind::Choice(words) = setting.kind {
            help.push_str(&format!(" [{}]", words.join(", ")));
        }
        if !setting.default.is_empty() {
            help.push_str(&format!(" (default {})", setting.default));
        }
    }
    help
}
