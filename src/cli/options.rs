//! Options made from the table of settings, and back from what was typed to settings.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};

use crate::home::settings::Given;
use crate::home::settings::table::{Command, Flag, FlagValue, Kind, SETTINGS, Setting};

/// The options of a command, in the table's order.
pub fn arguments(command: Command) -> Vec<Arg> {
    flags(command).map(|(setting, flag)| argument(command, setting, flag)).collect()
}

/// The option `--home`, for commands that take no other setting; it may stand anywhere after the command.
pub fn home() -> Arg {
    let found = flags(Command::Run).find(|(setting, _)| setting.name == "home");
    found
        .map_or_else(
            || Arg::new("home").long("home"),
            |(setting, flag)| argument(Command::Run, setting, flag),
        )
        .global(true)
}

/// What was typed, for [`crate::home::settings::Settings::resolve`].
pub fn given(matches: &ArgMatches) -> Given {
    let all = SETTINGS.iter().flat_map(|setting| setting.flags);
    all.filter_map(|flag| match flag.value {
        FlagValue::Takes(_) => {
            let typed = matches.try_get_one::<String>(flag.name).ok().flatten()?;
            Some((flag.name, typed.clone()))
        }
        FlagValue::Means(word) => {
            let typed = matches.try_get_one::<bool>(flag.name).ok().flatten()?;
            typed.then(|| (flag.name, word.to_owned()))
        }
    })
    .collect()
}

fn flags(command: Command) -> impl Iterator<Item = (&'static Setting, &'static Flag)> {
    let all = SETTINGS.iter().flat_map(|setting| setting.flags.iter().map(move |flag| (setting, flag)));
    all.filter(move |(_, flag)| flag.commands.contains(&command))
}

fn argument(command: Command, setting: &'static Setting, flag: &'static Flag) -> Arg {
    let mut arg = Arg::new(flag.name).long(flag.name).help(help(setting, flag));
    if let Some(letter) = flag.short {
        arg = arg.short(letter);
    }
    arg = match (flag.value, setting.kind) {
        (FlagValue::Means(_), _) => arg.action(ArgAction::SetTrue),
        (FlagValue::Takes(name), Kind::Choice(words)) => {
            arg.value_name(name).value_parser(PossibleValuesParser::new(words))
        }
        (FlagValue::Takes(name), _) => arg.value_name(name).allow_hyphen_values(is_number(setting.kind)),
    };
    // clap refuses to hear of an option that the command does not have.
    let others = flags(command).map(|(_, other)| other.name).filter(|other| *other != flag.name);
    let siblings: Vec<&str> = setting.flags.iter().map(|sibling| sibling.name).collect();
    arg.conflicts_with_all(others.filter(|other| siblings.contains(other) || flag.conflicts.contains(other)))
}

/// A negative number is told what is wrong with it rather than taken for an unknown option.
fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Count | Kind::Seconds)
}

fn help(setting: &Setting, flag: &Flag) -> String {
    match flag.value {
        FlagValue::Takes(_) if !setting.default.is_empty() => {
            format!("{} [default: {}]", flag.help, setting.default)
        }
        _ => flag.help.to_owned(),
    }
}
