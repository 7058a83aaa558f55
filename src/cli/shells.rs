//! `crystal completions`: shell completions and the man page, made from the command tree.

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;

use crate::cli::{Scene, tree};
use crate::error::{Exit, Failure};

/// The verb.
pub fn command() -> Command {
    Command::new("completions").about("Print completions for a shell, or the man page").arg(
        Arg::new("shell").value_name("SHELL").required(true).value_parser([
            "bash",
            "zsh",
            "fish",
            "elvish",
            "powershell",
            "man",
        ]),
    )
}

/// Prints them.
pub fn run(args: &ArgMatches, scene: &Scene, out: &mut dyn Write) -> Result<Exit, Failure> {
    let wanted = args.get_one::<String>("shell").map(String::as_str).unwrap_or_default();
    let mut command = tree(&scene.program);
    let mut page = Vec::new();
    if wanted == "man" {
        clap_mangen::Man::new(command)
            .render(&mut page)
            .map_err(|error| Failure::usage(format!("the man page could not be made: {error}")))?;
    } else {
        let shell: Shell = wanted.parse().map_err(Failure::usage)?;
        clap_complete::generate(shell, &mut command, scene.program.clone(), &mut page);
    }
    // A closed standard output is noticed by nobody who would read this.
    let _ = out.write_all(&page);
    Ok(Exit::Done)
}
