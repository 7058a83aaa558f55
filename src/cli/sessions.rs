//! `crystal sessions`: list, show, export, fork and remove sessions, show and take back a turn's writes, and prune.
//!
//! An id may be written as its beginning, as `last`, or as a path to a session file. Only `fork`, `rm`, `undo` and
//! `prune` change anything, and only `rm` and `undo` need a session that nobody else writes.

mod show;
mod writes;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::cli::console::{Console, with_process};
use crate::error::{Exit, Failure};
use crate::home::environment::Environment;
use crate::home::paths::Home;
use crate::session::store::export::{self, Form, Scope};
use crate::session::store::list;
use crate::session::store::prune::{self, Policy};
use crate::session::store::{find, fork, remove};

/// The verb and its verbs.
pub fn command() -> Command {
    let id = || Arg::new("id").value_name("ID").required(true).help("An id, its beginning, `last` or a file");
    let turn = || {
        let number = clap::value_parser!(u64).range(1..);
        Arg::new("turn")
            .long("turn")
            .value_name("N")
            .value_parser(number)
            .help("The turn instead of the last")
    };
    Command::new("sessions")
        .about("List, show, export, fork and remove sessions, and take back what they wrote")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list")
                .about("List sessions, the one written last first")
                .arg(format(&["table", "text", "json"]))
                .arg(
                    Arg::new("workspace")
                        .long("workspace")
                        .short('w')
                        .value_name("DIR")
                        .help("Only the sessions of this workspace"),
                ),
        )
        .subcommand(
            Command::new("show").about("Show a session in short").arg(id()).arg(format(&["text", "json"])),
        )
        .subcommand(
            export_command()
                .arg(id())
                .arg(Arg::new("path").value_name("PATH").help("The file to write; it must not be there yet")),
        )
        .subcommand(Command::new("fork").about("Copy a session into a new one and print its id").arg(id()))
        .subcommand(
            Command::new("rm").about("Remove sessions").arg(id().action(ArgAction::Append).num_args(1..)),
        )
        .subcommand(
            Command::new("diff")
                .about("Show the files that a turn changed")
                .arg(id())
                .arg(turn())
                .arg(format(&["text", "json"])),
        )
        .subcommand(
            Command::new("undo")
                .about("Take back a turn's file writes, where nobody changed the files since")
                .arg(id())
                .arg(turn())
                .arg(format(&["text", "json"])),
        )
        .subcommand(
            Command::new("prune")
                .about("Remove kept contents, images, traces and logs older than 30 days or beyond 2 GiB")
                .arg(
                    Arg::new("dry-run")
                        .long("dry-run")
                        .action(ArgAction::SetTrue)
                        .help("Only say what would be removed"),
                ),
        )
}

fn export_command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("export")
        .about("Write a conversation to a file or to standard output")
        .arg(flag("markdown", "As Markdown (the default)").conflicts_with("json"))
        .arg(flag("json", "As one JSON object"))
        .arg(flag("system", "With the system text"))
}

fn format(forms: &[&'static str]) -> Arg {
    Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(PossibleValuesParser::new(forms.to_vec()))
        .default_value(forms.first().copied().unwrap_or("text"))
        .help("Print in this form")
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
    match args.subcommand() {
        Some(("list", args)) => list(args, home, console),
        Some(("show", args)) => show::run(args, &session(args, home)?, console),
        Some(("export", args)) => export(args, &session(args, home)?, console),
        Some(("fork", args)) => {
            let path = fork::fork(&session(args, home)?, &home.sessions()).map_err(Failure::usage)?;
            console.line(&path.file_stem().unwrap_or_default().to_string_lossy())?;
            Ok(Exit::Done)
        }
        Some(("rm", args)) => rm(args, home, console),
        Some(("diff", args)) => writes::diff(args, &session(args, home)?, home, console),
        Some(("undo", args)) => writes::undo(args, &session(args, home)?, home, console),
        Some(("prune", args)) => prune(args, home, console),
        _ => Ok(Exit::Usage),
    }
}

/// The file of the session that is named.
fn session(args: &ArgMatches, home: &Home) -> Result<PathBuf, Failure> {
    let id = args.get_one::<String>("id").map(String::as_str).unwrap_or_default();
    find::find(&home.sessions(), id).map_err(Failure::usage)
}

/// The form that is asked for.
fn form(args: &ArgMatches) -> &str {
    args.get_one::<String>("format").map(String::as_str).unwrap_or_default()
}

fn list(args: &ArgMatches, home: &Home, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let workspace = match args.get_one::<String>("workspace") {
        None => None,
        // The directory may be gone, and its sessions still there.
        Some(dir) => Some(
            std::fs::canonicalize(dir)
                .or_else(|_| std::path::absolute(dir))
                .map_err(|error| Failure::usage(format_args!("cannot tell where {dir} is: {error}")))?,
        ),
    };
    let (found, problems) = list::list(&home.sessions(), workspace.as_deref()).map_err(Failure::usage)?;
    show::list(&found, form(args), console)?;
    for problem in problems {
        console.note(&problem.to_string());
    }
    Ok(Exit::Done)
}

fn export(args: &ArgMatches, session: &Path, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let form = if args.get_flag("json") { Form::Json } else { Form::Markdown };
    let scope = if args.get_flag("system") { Scope::WithSystem } else { Scope::Conversation };
    let text = export::export(session, form, scope).map_err(Failure::usage)?;
    let Some(path) = args.get_one::<String>("path") else {
        console.line(text.trim_end())?;
        return Ok(Exit::Done);
    };
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format_args!("{path} is there already; name another file or remove it first"))
        }
        _ => Failure::usage(format_args!("cannot write {path}: {error}")),
    })?;
    Ok(Exit::Done)
}

/// Removes what can be removed, and fails if anything could not.
fn rm(args: &ArgMatches, home: &Home, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let wanted: Vec<&String> = args.get_many("id").into_iter().flatten().collect();
    // All names are looked up before the first session goes, so that `last` means what the list shows.
    let paths: Vec<_> = wanted.iter().map(|id| find::find(&home.sessions(), id)).collect();
    let mut exit = Exit::Done;
    for path in paths {
        if let Err(error) = path.and_then(|path| remove::remove(&path)) {
            console.note(&error.to_string());
            exit = Exit::Usage;
        }
    }
    Ok(exit)
}

fn prune(args: &ArgMatches, home: &Home, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let plan = prune::plan(&home.sessions(), &home.logs(), Policy::default(), SystemTime::now());
    let plan = plan.map_err(Failure::usage)?;
    let (files, bytes, kept) = (plan.files.len(), show::size(plan.bytes()), show::size(plan.kept_bytes));
    let noun = if files == 1 { "file" } else { "files" };
    if args.get_flag("dry-run") {
        for (path, _) in &plan.files {
            console.line(&path.display().to_string())?;
        }
        console.line(&format!("would remove {files} {noun} ({bytes}) and keep {kept}"))?;
    } else {
        plan.carry_out().map_err(Failure::usage)?;
        console.line(&format!("removed {files} {noun} ({bytes}) and kept {kept}"))?;
    }
    Ok(Exit::Done)
}
