//! The command line: verbs, options from the settings table, and the one place where a failure is printed.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

use crate::error::{Exit, Failure};
use crate::home::environment::Environment;
use crate::home::paths::Home;
use crate::process::harden::harden;

pub mod config;
pub mod console;
pub mod keys;
pub mod options;
pub mod run;
pub mod sessions;
pub mod shells;

/// What a verb is given besides its own arguments.
pub struct Scene {
    /// The name the program was started by.
    pub program: String,
    /// The environment.
    pub environment: Environment,
}

/// A verb: its arguments and what it does.
struct Verb {
    command: fn() -> Command,
    run: fn(&ArgMatches, &Scene, &mut dyn Write) -> Result<Exit, Failure>,
}

/// Every verb, in the order of help.
const VERBS: &[Verb] = &[
    Verb { command: run::command, run: run::run },
    Verb {
        command: sessions::command,
        run: |args, scene, out| sessions::run(args, &home(args, scene)?, &scene.environment, out),
    },
    Verb {
        command: keys::command,
        run: |args, scene, out| keys::run(args, &home(args, scene)?, &scene.environment, out),
    },
    Verb {
        command: config::command,
        run: |args, scene, out| config::run(args, &home(args, scene)?, &scene.environment, out),
    },
    Verb { command: shells::command, run: shells::run },
    Verb { command: version_command, run: version },
];

/// Runs the program.
pub fn main() -> ExitCode {
    // Where the system refuses, keys stay as visible to this user's other programs as they are by default.
    let _ = harden();
    let args: Vec<OsString> = std::env::args_os().collect();
    let program = program(&args);
    let exit = match tree(&program).try_get_matches_from(args) {
        Ok(matches) => dispatch(&matches, program),
        Err(error) => usage(&error),
    };
    ExitCode::from(exit.code())
}

/// The whole command tree, under the name the program was started by.
pub fn tree(program: &str) -> Command {
    let mut root = Command::new("crystal")
        .bin_name(program.to_owned())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .about("A coding agent for the terminal, scriptable in Luau and Rhai")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .arg(
            Arg::new("version")
                .long("version")
                .short('V')
                .action(clap::ArgAction::Version)
                .help("Print the version"),
        );
    for verb in VERBS {
        let mut command = (verb.command)();
        if command.get_arguments().all(|arg| arg.get_id() != "home") {
            for arg in options::home() {
                command = command.arg(arg.global(true));
            }
        }
        root = root.subcommand(command);
    }
    root
}

fn dispatch(matches: &ArgMatches, program: String) -> Exit {
    let scene = Scene { program, environment: Environment::of_process() };
    let Some((name, args)) = matches.subcommand() else { return Exit::Usage };
    let Some(verb) = VERBS.iter().find(|verb| (verb.command)().get_name() == name) else {
        return Exit::Usage;
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = (verb.run)(args, &scene, &mut out);
    // A reader that has gone away is no failure of ours.
    let _ = out.flush();
    match result {
        Ok(exit) => exit,
        Err(failure) => {
            let line = format!("{}: {}\n", scene.program, failure.message.trim_end());
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
            failure.exit
        }
    }
}

/// Help and version end well; anything else that cannot be understood ends with exit 1.
fn usage(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            Exit::Done
        }
        _ => {
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
            Exit::Usage
        }
    }
}

/// The data directory of a command.
pub fn home(args: &ArgMatches, scene: &Scene) -> Result<Home, Failure> {
    let given = args.try_get_one::<String>("home").ok().flatten();
    Home::resolve(given.map(Path::new), &scene.environment).map_err(Failure::usage)
}

fn program(args: &[OsString]) -> String {
    let name =
        args.first().map(Path::new).and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "crystal".into())
}

fn version_command() -> Command {
    Command::new("version").about("Print the version")
}

fn version(_: &ArgMatches, _: &Scene, out: &mut dyn Write) -> Result<Exit, Failure> {
    // A closed standard output is noticed by nobody who would read this.
    let _ = writeln!(out, "crystal {} (coding agent)", env!("CARGO_PKG_VERSION"));
    Ok(Exit::Done)
}
