//! Programs that run another one given among their words: the inner command decides.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::program::Call;
use crate::approval::shell::variable;
use crate::approval::shell::verdict::Verdict;

/// Builtins that change the shell itself; followed where they stand alone, not behind a wrapper.
pub(super) const SHELL_STATE: &[&str] = &[
    "cd",
    "pushd",
    "popd",
    "export",
    "unset",
    "set",
    "shopt",
    "alias",
    "unalias",
    "source",
    ".",
    "read",
    "mapfile",
    "readarray",
    "eval",
    "trap",
    "declare",
    "typeset",
    "local",
    "readonly",
    "let",
    "enable",
    "hash",
    "bind",
    "complete",
    "compgen",
    "compopt",
    "exec",
    "builtin",
    "getopts",
    "shift",
    "caller",
    "fc",
    "history",
    "logout",
    "suspend",
    "ulimit",
    "bg",
    "fg",
    "dirs",
    "function",
    "coproc",
    "select",
];

pub(super) fn state(call: &Call<'_>) -> Verdict {
    Verdict::unknown(format!("{} changes the shell in a way that is not followed", call.name))
}

/// Wrappers of the form `NAME [options] [values] COMMAND`.
pub(super) struct Plain {
    name: &'static str,
    /// Options that take the next word.
    valued: &'static [&'static str],
    /// Options that take none; digits after a dash count as such.
    flags: &'static [&'static str],
    /// Words between the options and the command.
    values: usize,
}

const PLAIN: &[Plain] = &[
    Plain { name: "nohup", valued: &[], flags: &[], values: 0 },
    Plain {
        name: "timeout",
        valued: &["-s", "-k", "--signal", "--kill-after"],
        flags: &["--foreground", "--preserve-status", "-v", "--verbose", "-f", "-p"],
        values: 1,
    },
    Plain {
        name: "gtimeout",
        valued: &["-s", "-k"],
        flags: &["--foreground", "--preserve-status", "-v"],
        values: 1,
    },
    Plain { name: "nice", valued: &["-n", "--adjustment"], flags: &[], values: 0 },
    Plain { name: "ionice", valued: &["-c", "-n"], flags: &["-t"], values: 0 },
    Plain { name: "time", valued: &[], flags: &["-p", "-v", "--verbose", "--portability"], values: 0 },
    Plain { name: "stdbuf", valued: &["-i", "-o", "-e"], flags: &[], values: 0 },
    Plain { name: "setsid", valued: &[], flags: &["-f", "-w", "-c", "--fork", "--wait"], values: 0 },
    Plain { name: "caffeinate", valued: &[], flags: &["-i", "-d", "-m", "-s"], values: 0 },
];

pub(super) fn plain(name: &str) -> Option<&'static Plain> {
    PLAIN.iter().find(|plain| plain.name == name)
}

pub(super) fn prefix(call: &Call<'_>) -> Verdict {
    let Some(plain) = plain(call.name) else { return Verdict::unknown("a wrapper is not known") };
    let mut rest = call.args;
    loop {
        let Some((first, after)) = rest.split_first() else { return nothing(call) };
        let Some(text) = first.text() else { return made(call) };
        let glued = text.split_once('=').map_or(text, |(option, _)| option);
        let short = text.get(..2).unwrap_or_default();
        rest = match text {
            "--" => {
                rest = after;
                break;
            }
            _ if !text.starts_with('-') => break,
            _ if plain.valued.contains(&text) => after.get(1..).unwrap_or_default(),
            _ if plain.flags.contains(&text) || (glued != text && plain.valued.contains(&glued)) => after,
            _ if text.len() > 2 && plain.valued.contains(&short) => after,
            _ if text.chars().skip(1).all(|c| c.is_ascii_digit()) => after,
            _ => return Verdict::unknown(format!("the option {text} of {} is not followed", call.name)),
        };
    }
    let values = rest.get(..plain.values).unwrap_or(rest);
    if values.iter().any(|value| value.text().is_none_or(|text| text.starts_with('-'))) {
        return made(call);
    }
    call.inner(rest.get(plain.values..).unwrap_or_default())
}

fn nothing(call: &Call<'_>) -> Verdict {
    Verdict::read(format!("runs {} without a command", call.name))
}

fn made(call: &Call<'_>) -> Verdict {
    Verdict::unknown(format!("what {} runs is made when the line runs", call.name))
}

/// `env` and `printenv`: print the environment, which may hold secrets, or set some of it for a command.
pub(super) fn environment(call: &Call<'_>) -> Verdict {
    let mut rest = call.args;
    let mut verdict: Option<Verdict> = None;
    if call.name == "printenv" {
        rest = &[];
    }
    loop {
        let Some((first, after)) = rest.split_first() else {
            return Verdict::write("prints the environment, which may hold secrets");
        };
        let Some(text) = first.text() else { return made(call) };
        rest = match text {
            "-i" | "-" | "--ignore-environment" | "-v" => after,
            "-u" | "--unset" => after.get(1..).unwrap_or_default(),
            _ if text.starts_with("--unset=") || text.starts_with("-u") => after,
            "--" => {
                rest = after;
                break;
            }
            _ if text.starts_with('-') => {
                return Verdict::unknown(format!("the option {text} of env is not followed"));
            }
            _ => match text.split_once('=') {
                Some((name, value)) => {
                    let set = variable::exported(name, Some(value));
                    verdict = Some(verdict.map_or(set.clone(), |verdict| verdict.and(set)));
                    after
                }
                None => break,
            },
        };
    }
    let inner = call.inner(rest);
    match verdict {
        Some(set) => inner.and(set),
        None => inner,
    }
}

/// `command`: looks a program up with `-v`, else runs it.
pub(super) fn command(call: &Call<'_>) -> Verdict {
    match call.args {
        [Arg::Text(flag), ..] if flag == "-v" || flag == "-V" => Verdict::read("looks a program up"),
        [Arg::Text(flag), rest @ ..] if flag == "-p" || flag == "--" => call.inner(rest),
        rest => call.inner(rest),
    }
}

/// `xargs`: the command gets words that are made when the line runs.
pub(super) fn xargs(call: &Call<'_>) -> Verdict {
    const VALUED: &[&str] =
        &["-n", "-P", "-L", "-d", "-s", "-I", "-E", "-a", "--max-args", "--max-procs", "--delimiter"];
    const FLAGS: &[&str] = &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"];
    let mut rest = call.args;
    let mut mark: Option<String> = None;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.text() else { return made(call) };
        if !text.starts_with('-') {
            break;
        }
        let short = text.get(..2).unwrap_or_default();
        if text == "-I" {
            mark = after.first().and_then(Arg::text).map(String::from);
        } else if short == "-I" {
            mark = text.get(2..).map(String::from);
        }
        rest = match text {
            _ if VALUED.contains(&text) => after.get(1..).unwrap_or_default(),
            _ if FLAGS.contains(&text) || (text.len() > 2 && VALUED.contains(&short)) => after,
            _ if is_flags(text) => after,
            _ => return Verdict::unknown(format!("the option {text} of xargs is not followed")),
        };
    }
    if rest.is_empty() {
        return Verdict::read("prints what it reads");
    }
    let mut command: Vec<Arg> = rest.to_vec();
    match mark {
        Some(mark) => {
            for arg in &mut command {
                if arg.text().is_some_and(|text| text.contains(&mark)) {
                    *arg = Arg::Open(String::new());
                }
            }
        }
        None => command.push(Arg::Splits),
    }
    call.inner(&command)
}

fn is_flags(text: &str) -> bool {
    !text.starts_with("--") && text.len() > 1 && text.chars().skip(1).all(|c| "0rtx".contains(c))
}
