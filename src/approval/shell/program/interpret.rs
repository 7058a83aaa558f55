//! Shells and interpreters: code given inline is read where it is shell, and looked over where it is not.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::{self, Access};
use crate::approval::shell::program::{Call, Stdin};
use crate::approval::shell::verdict::Verdict;
use crate::approval::shell::walk;
use crate::model::judgement::{Authority, Risk};

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox"];

/// Interpreters with the options that take code.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("nodejs", &["-e", "-p"]),
    ("deno", &["eval"]),
    ("bun", &["-e", "--eval"]),
    ("perl", &["-e", "-E", "-ne", "-pe", "-nE", "-pi", "-i"]),
    ("ruby", &["-e", "-ne", "-pe"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("luajit", &["-e"]),
    ("Rscript", &["-e"]),
    ("osascript", &["-e"]),
    ("tclsh", &[]),
    ("ghci", &["-e"]),
    ("julia", &["-e"]),
    ("elixir", &["-e"]),
];

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

pub(super) fn is_interpreter(name: &str) -> bool {
    options(name).is_some()
}

/// The code options of an interpreter; a version number after its name does not count.
fn options(name: &str) -> Option<&'static [&'static str]> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.iter().find(|(known, _)| *known == stem).map(|(_, options)| *options)
}

pub(super) fn shell(call: &Call<'_>) -> Verdict {
    const FLAGS: &str = "eux";
    let mut rest = call.args;
    let mut inline = false;
    while let Some((Arg::Text(text), after)) = rest.split_first() {
        let flags = text.strip_prefix('-').unwrap_or_default();
        match text.as_str() {
            "--norc" | "--noprofile" | "--posix" | "--version" => {}
            "-o" if after.first().and_then(Arg::text) == Some("pipefail") => {
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            _ if !flags.is_empty() && flags.chars().all(|c| FLAGS.contains(c) || c == 'c' || c == 'l') => {
                inline |= flags.contains('c');
            }
            _ if text.starts_with('-') || text.starts_with('+') => {
                return Verdict::unknown(format!("the option {text} of {} is not followed", call.name));
            }
            _ => break,
        }
        rest = after;
    }
    // Other shells read some lines in another way than bash does.
    let alike = ["sh", "bash", "dash"].contains(&call.name);
    match (inline, rest.first()) {
        (true, Some(Arg::Text(code))) if alike => nested(call, code),
        (true, _) => Verdict::unknown(format!("what {} runs cannot be read", call.name)),
        (false, Some(Arg::Text(_))) => run_file(call, rest),
        (false, Some(_)) => Verdict::unknown(format!("what {} runs is made when the line runs", call.name)),
        (false, None) if call.has(&["--version"]) => Verdict::read("prints its version"),
        (false, None) => match call.cx.stdin {
            Stdin::Text(code) if alike => nested(call, code),
            _ => from_stdin(call),
        },
    }
}

fn nested(call: &Call<'_>, code: &str) -> Verdict {
    walk::nested(code, call.cx)
}

/// Code that comes from standard input and was not written on the line.
fn from_stdin(call: &Call<'_>) -> Verdict {
    match call.cx.stdin {
        Stdin::Downloaded => {
            Verdict::new(Risk::Privileged, Authority::Network, format!("pipes a download into {}", call.name))
        }
        _ => Verdict::unknown(format!("what {} runs comes from its input", call.name)),
    }
}

/// A script among the workspace's files.
fn run_file(call: &Call<'_>, rest: &[Arg]) -> Verdict {
    let words = Call { name: call.name, args: rest, cx: call.cx };
    call.cwd(Access::Either).and(words.words(Access::Either)).and(Verdict::write(format!(
        "runs a script with {}, which may change files of the workspace",
        call.name
    )))
}

pub(super) fn code(call: &Call<'_>) -> Verdict {
    if call.args.len() == 1 && call.has(&["--version", "-V", "-v"]) {
        return Verdict::read("prints its version");
    }
    let options = options(call.name).unwrap_or_default();
    let mut verdict = call.cwd(Access::Either).and(Verdict::write(format!(
        "runs code with {}, which may change files of the workspace",
        call.name
    )));
    let mut inline = false;
    let mut before = "";
    for arg in call.args {
        let text = arg.text().unwrap_or_default();
        if options.contains(&before) {
            inline = true;
            verdict = verdict.and(match arg {
                Arg::Text(code) => look_over(call, code),
                _ => Verdict::unknown(format!("the code that {} runs is made when the line runs", call.name)),
            });
        } else {
            verdict = verdict.and(call.word(arg, Access::Either));
        }
        before = text;
    }
    let file =
        call.args.iter().any(|arg| arg.text().is_none_or(|text| text != "-" && !text.starts_with('-')));
    if inline || file {
        return verdict;
    }
    match call.cx.stdin {
        Stdin::Text(code) => verdict.and(look_over(call, code)),
        Stdin::Nothing => verdict,
        Stdin::Made | Stdin::Downloaded => verdict.and(from_stdin(call)),
    }
}

/// Paths that a piece of code spells out are judged; what it computes is not seen.
pub(super) fn look_over(call: &Call<'_>, code: &str) -> Verdict {
    path::mentioned(code)
        .map(|text| call.word(&Arg::Text(text.into()), Access::Either))
        .reduce(Verdict::and)
        .unwrap_or_else(|| Verdict::write("runs the code it is given"))
}
