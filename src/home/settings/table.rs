//! The one table of settings: what each is called in `config.json`, on the command line and in the environment, what
//! values it takes and what it does. Options, checks, help and the reference page are made from it.

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its name in [`crate::home::settings::Settings`] and in messages; unique.
    pub name: &'static str,
    /// Its key in `config.json`; none when it is not stored.
    pub key: Option<&'static str>,
    /// How the file writes it.
    pub stored: Stored,
    /// Its options.
    pub flags: &'static [Flag],
    /// Its environment variable.
    pub variable: Option<&'static str>,
    /// What it holds.
    pub kind: Kind,
    /// The value when nothing sets it, as an option would write it; empty for none.
    pub default: &'static str,
    /// What it does: full sentences for the reference page.
    pub doc: &'static str,
}

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text that is not blank.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A whole number from 1, or `unlimited`.
    Count,
    /// Seconds above 0, fractions allowed, or `unlimited`.
    Seconds,
    /// A path; a relative one counts from the current directory.
    Path,
    /// An object of objects of objects, whose content belongs to others.
    Object,
}

/// How `config.json` writes a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// As its kind says.
    Plainly,
    /// As a boolean that stands for one of two words.
    Boolean {
        /// The word of `true`.
        on: &'static str,
        /// The word of `false`.
        off: &'static str,
    },
}

/// An option.
#[derive(Debug)]
pub struct Flag {
    /// Its long name, without dashes.
    pub name: &'static str,
    /// Its one-letter name.
    pub short: Option<char>,
    /// What it says.
    pub value: FlagValue,
    /// Options that cannot stand beside it, those of the same setting aside.
    pub conflicts: &'static [&'static str],
    /// Which commands take it.
    pub commands: &'static [Command],
    /// One line of help, without a final dot.
    pub help: &'static str,
}

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagValue {
    /// It takes a value, shown under this name.
    Takes(&'static str),
    /// It stands alone and means this value.
    Means(&'static str),
}

/// A command whose options come from this table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `crystal run`.
    Run,
}

impl Command {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "`crystal run`",
        }
    }
}

const RUN: &[Command] = &[Command::Run];

const fn takes(
    name: &'static str,
    value: &'static str,
    commands: &'static [Command],
    help: &'static str,
) -> Flag {
    Flag { name, short: None, value: FlagValue::Takes(value), conflicts: &[], commands, help }
}

const fn means(
    name: &'static str,
    value: &'static str,
    commands: &'static [Command],
    help: &'static str,
) -> Flag {
    Flag { name, short: None, value: FlagValue::Means(value), conflicts: &[], commands, help }
}

const fn short(letter: char, flag: Flag) -> Flag {
    Flag { short: Some(letter), ..flag }
}

const BARE: Setting = Setting {
    name: "",
    key: None,
    stored: Stored::Plainly,
    flags: &[],
    variable: None,
    kind: Kind::Text,
    default: "",
    doc: "",
};

/// Every setting that does something, in the order of help and reference.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "home",
        flags: &[takes("home", "DIR", RUN, "Use this data directory")],
        variable: Some("CRYSTAL_HOME"),
        kind: Kind::Path,
        default: "~/.crystal",
        doc: "The data directory: settings, keys, sessions, plugins. Every command takes the option. The variable must hold \
              an absolute path.",
        ..BARE
    },
    Setting {
        name: "workspace",
        flags: &[short('w', takes("workspace", "DIR", RUN, "Work in this directory"))],
        kind: Kind::Path,
        default: ".",
        doc: "The directory that the model reads and changes.",
        ..BARE
    },
    Setting {
        name: "provider",
        key: Some("provider"),
        flags: &[short('p', takes("provider", "PROVIDER", RUN, "Ask this provider"))],
        variable: Some("CRYSTAL_PROVIDER"),
        doc: "A provider of the catalog. Without one, the provider is the first in the catalog that has the model named \
              by `model`, or else the first one with a key.",
        ..BARE
    },
    Setting {
        name: "model",
        key: Some("model"),
        flags: &[short('m', takes("model", "MODEL", RUN, "Ask this model"))],
        variable: Some("CRYSTAL_MODEL"),
        doc: "A model of that provider. Without one, it is the provider's first. When provider and model come from \
              places of different rank (an option and the file, say) and do not fit together, the higher rank wins and \
              the other is chosen anew.",
        ..BARE
    },
    Setting {
        name: "mode",
        flags: &[
            means("plan", "plan", RUN, "Start in Plan mode: reading tools only"),
            means("work", "work", RUN, "Start in Work mode: reading, editing and shell tools"),
        ],
        kind: Kind::Choice(&["plan", "work"]),
        default: "work",
        doc: "Plan offers reading tools only; Work adds `edit`, `write` and `bash`.",
        ..BARE
    },
    Setting {
        name: "approval",
        key: Some("approval"),
        flags: &[takes("approval", "MODE", RUN, "Decide with this approval mode what runs unasked")],
        kind: Kind::Choice(&["default", "edit", "review", "audit", "full"]),
        default: "default",
        doc: "`default` runs reads in the workspace and asks for the rest; `edit` also lets edits of workspace files \
              pass; `full` lets everything pass that stays in the workspace. `review` and `audit` need a reviewing \
              model, which this version does not have: they are refused. There is no environment variable on purpose: \
              what a directory's tooling sets must not loosen approval.",
        ..BARE
    },
    Setting {
        name: "workspaceTrust",
        key: Some("workspaceTrust"),
        stored: Stored::Boolean { on: "restricted", off: "assume" },
        flags: &[takes("workspace-trust", "HOW", RUN, "Treat an untrusted workspace this way")],
        kind: Kind::Choice(&["restricted", "require", "assume"]),
        default: "restricted",
        doc: "`restricted` works in an untrusted workspace without its plugins, tools, prompts and skills; `require` \
              refuses it (exit 4); `assume` treats it as trusted for this process and records nothing. In \
              `config.json`, `true` means `restricted` and `false` means `assume`.",
        ..BARE
    },
    Setting {
        name: "thinking",
        key: Some("thinkingEffort"),
        flags: &[takes("thinking", "GEAR", RUN, "Let the model think this hard")],
        variable: Some("CRYSTAL_THINKING"),
        kind: Kind::Choice(&["off", "default", "minimal", "low", "medium", "high", "maximum"]),
        default: "default",
        doc: "How hard the model thinks, where it can; `default` leaves it to the catalog entry, and then to the \
              provider.",
        ..BARE
    },
    Setting {
        name: "modelCalls",
        flags: &[takes("model-calls", "N", RUN, "Stop after this many model calls, or `unlimited`")],
        kind: Kind::Count,
        default: "1024",
        doc: "Model calls that one task may make.",
        ..BARE
    },
    Setting {
        name: "toolCalls",
        flags: &[takes("tool-calls", "N", RUN, "Stop after this many tool calls, or `unlimited`")],
        kind: Kind::Count,
        default: "8192",
        doc: "Tool calls that one task may make.",
        ..BARE
    },
    Setting {
        name: "duration",
        flags: &[takes("duration", "SECONDS", RUN, "Stop after this time, or `unlimited`")],
        kind: Kind::Seconds,
        default: "604800",
        doc: "Time that one task may take.",
        ..BARE
    },
    Setting {
        name: "bashTimeout",
        key: Some("bashTimeoutSeconds"),
        flags: &[takes(
            "bash-timeout",
            "SECONDS",
            RUN,
            "Stop a shell command after this time, or `unlimited`",
        )],
        variable: Some("CRYSTAL_BASH_TIMEOUT"),
        kind: Kind::Seconds,
        default: "120",
        doc: "Time that one `bash` call may take when it does not ask for another.",
        ..BARE
    },
    Setting {
        name: "resume",
        flags: &[Flag {
            conflicts: &["continue"],
            ..takes("resume", "ID", RUN, "Go on with this saved session")
        }],
        doc: "A saved session. Without a task, a turn that was interrupted goes on.",
        ..BARE
    },
    Setting {
        name: "continue",
        flags: &[means("continue", "true", RUN, "Go on with the newest session of this workspace")],
        kind: Kind::Switch,
        default: "false",
        doc: "Goes on with the newest session of the workspace.",
        ..BARE
    },
    Setting {
        name: "outputSchema",
        flags: &[takes(
            "output-schema",
            "FILE",
            RUN,
            "Demand a final answer that satisfies this JSON Schema",
        )],
        kind: Kind::Path,
        doc: "A file with a JSON Schema. The model is told and corrected at most twice; after that the exit is 3.",
        ..BARE
    },
    Setting {
        name: "format",
        flags: &[takes("format", "FORMAT", RUN, "Print in this form")],
        kind: Kind::Choice(&["text", "json", "final"]),
        default: "text",
        doc: "`text` is a readable trace, `json` is one JSON object a line, `final` is the last answer alone.",
        ..BARE
    },
    Setting {
        name: "showThinking",
        flags: &[means("show-thinking", "true", RUN, "Print the model's reasoning too")],
        kind: Kind::Switch,
        default: "false",
        doc: "Prints the reasoning that the provider shows.",
        ..BARE
    },
    Setting {
        name: "stream",
        flags: &[means("stream", "true", RUN, "Print text as it arrives")],
        kind: Kind::Switch,
        default: "false",
        doc: "Prints text as it arrives; with `--format json`, as `text_delta` lines.",
        ..BARE
    },
    Setting {
        name: "trace",
        flags: &[means("trace", "true", RUN, "Report every hook that ran")],
        kind: Kind::Switch,
        default: "false",
        doc: "Adds a report of every hook that ran; with `--format json`, as `hook` lines.",
        ..BARE
    },
    Setting {
        name: "pluginSettings",
        key: Some("pluginSettings"),
        kind: Kind::Object,
        doc: "Settings of plugins, by source and directory: `{\"home\": {\"<directory>\": {…}}, \"project\": \
              {\"<directory>\": {…}}}`. A plugin sees the object of its own directory.",
        ..BARE
    },
    Setting {
        name: "log",
        variable: Some("CRYSTAL_LOG"),
        kind: Kind::Choice(&["off", "error", "warn", "info", "debug", "trace"]),
        default: "info",
        doc: "How much goes to the files in `logs/`.",
        ..BARE
    },
];

/// Keys of `config.json` that are kept without a word for parts of the product that read them elsewhere.
pub const KEPT: &[&str] = &[
    "approvalModel",
    "skills",
    "externalTools",
    "plugins",
    "externalToolApproval",
    "compactionThreshold",
    "statusLine",
    "verbose",
    "exportDirectory",
    "locale",
    "editMode",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::home::settings::value;

    fn unique<'a>(names: impl Iterator<Item = &'a str>) {
        let mut seen = BTreeSet::new();
        for name in names {
            assert!(seen.insert(name), "{name} is there twice");
        }
    }

    #[test]
    fn every_name_stands_once() {
        unique(SETTINGS.iter().map(|s| s.name));
        unique(SETTINGS.iter().filter_map(|s| s.key).chain(KEPT.iter().copied()));
        unique(SETTINGS.iter().flat_map(|s| s.flags).map(|f| f.name));
        unique(SETTINGS.iter().filter_map(|s| s.variable));
    }

    #[test]
    fn every_row_says_what_it_does_and_its_default_is_a_value() {
        for row in SETTINGS {
            assert!(row.doc.ends_with('.'), "{}: the text is no sentence", row.name);
            assert!(
                row.key.is_some() || !row.flags.is_empty() || row.variable.is_some(),
                "{} cannot be set",
                row.name
            );
            if !row.default.is_empty() {
                value::parse(row.kind, row.default).unwrap_or_else(|e| panic!("{}: {e}", row.name));
            }
            for flag in row.flags {
                assert!(!flag.help.ends_with('.') && !flag.help.is_empty(), "--{}", flag.name);
                if let FlagValue::Means(word) = flag.value {
                    value::parse(row.kind, word).unwrap_or_else(|e| panic!("--{}: {e}", flag.name));
                }
            }
        }
    }
}
