//! `crystal run`: the options become a job, and the job runs on a runtime of its own.

use std::io::Write;
use std::path::Path;

use clap::{Arg, ArgMatches, Command};

use crate::cli::{Scene, options};
use crate::error::{Exit, Failure};
use crate::home::paths::Home;
use crate::home::settings::Settings;
use crate::home::settings::table;
use crate::run::out::Stdout;
use crate::run::{self, Job};

/// The verb.
pub fn command() -> Command {
    let command = Command::new("run")
        .about("Do one task and exit")
        .after_help(
            "Without TASK the task is standard input; with both, what is piped in is attached to the task. `-` waits for the end of standard input.\n\
             Exit: 0 done, 1 bad command or configuration, 2 the model failed, 3 a limit was reached, 4 something was denied, 5 interrupted.",
        )
        .arg(Arg::new("task").value_name("TASK").help("What is to be done"));
    options::add(command, table::Command::Run)
}

/// Runs it.
pub fn run(args: &ArgMatches, scene: &Scene, _: &mut dyn Write) -> Result<Exit, Failure> {
    let given = options::given(args);
    let home = Home::resolve(given.get("home").map(|home| Path::new(home.as_str())), &scene.environment)
        .map_err(Failure::usage)?;
    let settings = Settings::load(&given, &scene.environment, &home).map_err(Failure::usage)?;
    let task = args.get_one::<String>("task").cloned();
    let job = Job { settings, home, environment: scene.environment.clone(), task };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("the asynchronous runtime cannot start: {error}")))?;
    let result = runtime.block_on(run::run(job, Stdout::of_process()));
    // A read of standard input that nobody waits for any more must not hold the process.
    runtime.shutdown_background();
    result
}
