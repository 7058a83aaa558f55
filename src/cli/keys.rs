//! `crystal keys`: store, list and forget keys. No key is ever printed.

use std::io::{BufRead, Write};

use clap::{Arg, ArgMatches, Command};

use crate::cli::console::{Console, Input, with_process};
use crate::error::{Exit, Failure};
use crate::home::credentials;
use crate::home::environment::Environment;
use crate::home::keys::{Keys, Place};
use crate::home::paths::Home;
use crate::home::secret::Secret;
use crate::home::spelling;
use crate::provider::catalog::{Catalog, Provider};

/// The verb and its verbs.
pub fn command() -> Command {
    let provider = || Arg::new("provider").value_name("PROVIDER").required(true);
    Command::new("keys")
        .about("Store, list and forget provider keys")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("set")
                .about("Store a key: asked for at a terminal, else the first line of stdin")
                .arg(provider()),
        )
        .subcommand(Command::new("list").about("List providers and where each key comes from"))
        .subcommand(Command::new("rm").about("Forget a stored key").arg(provider()))
}

/// Runs it on the process's own stdin and stderr.
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
    let provider = |args: &ArgMatches| args.get_one::<String>("provider").cloned().unwrap_or_default();
    match args.subcommand() {
        Some(("set", args)) => set(home, provider(args).trim(), console),
        Some(("rm", args)) => remove(home, provider(args).trim(), console),
        _ => list(home, console),
    }
}

fn set(home: &Home, provider: &str, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if provider.is_empty() {
        return Err(Failure::usage("a key needs the name of a provider; `crystal keys list` shows them"));
    }
    let catalog = Catalog::load(home).map_err(Failure::usage)?;
    if catalog.provider(provider).is_none() {
        let near = spelling::nearest(provider, catalog.names());
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        console.note(&format!("there is no provider `{provider}` yet{hint}"));
    }
    let key = ask(provider, console)?;
    credentials::store(home, provider, &key).map_err(Failure::usage)?;
    console.line(&format!("stored the key of {provider} in {}", home.credentials().display()))?;
    overruled(home, &catalog, provider, "is used instead", console);
    exposure(home, console);
    Ok(Exit::Done)
}

fn ask(provider: &str, console: &mut Console<'_>) -> Result<Secret, Failure> {
    let typed = match &mut console.input {
        Input::Terminal => rpassword::prompt_password(format!("Key of {provider} (not shown): "))
            .map_err(|e| Failure::usage(format_args!("cannot read the key from the terminal: {e}")))?,
        Input::Stream(stream) => first_line(*stream)?,
    };
    let key = typed.trim();
    if key.is_empty() {
        return Err(Failure::usage(format_args!(
            "the key is blank, so nothing was stored; pipe it in or run `crystal keys set {provider}` at a terminal"
        )));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::usage(
            "the key holds a space or another character that no key has, so nothing was stored",
        ));
    }
    Ok(Secret::new(key))
}

fn first_line(stream: &mut dyn BufRead) -> Result<String, Failure> {
    let mut line = Vec::new();
    // A key is short; a megabyte without a line break is some other file.
    std::io::Read::take(stream, 1 << 20)
        .read_until(b'\n', &mut line)
        .map_err(|e| Failure::usage(format_args!("cannot read the key from stdin: {e}")))?;
    String::from_utf8(line).map_err(|_| Failure::usage("the key on stdin is not text, so nothing was stored"))
}

fn remove(home: &Home, provider: &str, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if !credentials::forget(home, provider).map_err(Failure::usage)? {
        let stored = credentials::names(home).map_err(Failure::usage)?;
        let stored = if stored.is_empty() { "none".to_owned() } else { stored.join(", ") };
        let path = home.credentials();
        return Err(Failure::usage(format_args!(
            "no key of `{provider}` is stored in {}; stored are: {stored}",
            path.display()
        )));
    }
    console.line(&format!("forgot the stored key of {provider}"))?;
    let catalog = Catalog::load(home).map_err(Failure::usage)?;
    overruled(home, &catalog, provider, "is still used", console);
    exposure(home, console);
    Ok(Exit::Done)
}

fn list(home: &Home, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let catalog = Catalog::load(home).map_err(Failure::usage)?;
    let keys = Keys { home, environment: console.environment };
    let mut rows = Vec::new();
    for provider in &catalog.providers {
        for (index, entry) in provider.entries.iter().enumerate() {
            let place = match keys.look(&provider.key_of(entry)) {
                Ok(Some(found)) => found.place.to_string(),
                Ok(None) if entry.requires_key => "none".to_owned(),
                Ok(None) => "none needed".to_owned(),
                Err(e) => e.to_string(),
            };
            // Entries of one provider differ in protocol, rarely in the place of their key.
            if index == 0 || rows.last().is_some_and(|(_, last)| *last != place) {
                rows.push((provider.name.to_string(), place));
            }
        }
    }
    for name in credentials::names(home).map_err(Failure::usage)? {
        if catalog.provider(&name).is_none() {
            rows.push((name, format!("{} (no such provider)", home.credentials().display())));
        }
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, place) in rows {
        console.line(&format!("{name:width$}  {place}"))?;
    }
    exposure(home, console);
    Ok(Exit::Done)
}

/// Says when the key that counts is not the stored one.
fn overruled(home: &Home, catalog: &Catalog, provider: &str, how: &str, console: &mut Console<'_>) {
    let keys = Keys { home, environment: console.environment };
    let found = catalog
        .provider(provider)
        .and_then(|provider: &Provider| Some(provider.key_of(provider.entries.first()?)))
        .and_then(|wanted| keys.look(&wanted).ok().flatten());
    if let Some(found) = found.filter(|found| !matches!(found.place, Place::Credentials(_))) {
        console.note(&format!("{} {how}", found.place));
    }
}

fn exposure(home: &Home, console: &mut Console<'_>) {
    if let Some(note) = credentials::exposure(home) {
        console.note(&note);
    }
}
