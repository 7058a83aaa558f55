//! Programs that write, move and remove files: the places they name decide.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::{self, Access};
use crate::approval::shell::program::{Call, is_cluster, is_long, over_network};
use crate::approval::shell::verdict::Verdict;
use crate::model::judgement::{Authority, Risk};

pub(super) fn remove(call: &Call<'_>) -> Verdict {
    let recursive = call.has_short('r') || call.has_short('R') || call.has_long("--recursive");
    let mut verdict = call.cwd(Access::Write).and(Verdict::write("deletes files"));
    for arg in operands(call) {
        verdict = verdict.and(match arg {
            Arg::Text(text) => removed(call, text, recursive),
            _ => Verdict::new(
                Risk::Privileged,
                Authority::OutsideWorkspace,
                "deletes files whose names are made when the line runs",
            ),
        });
    }
    if call.has(&["--no-preserve-root"]) {
        return forbidden("removes without regard to the file system's root");
    }
    verdict
}

fn removed(call: &Call<'_>, text: &str, recursive: bool) -> Verdict {
    let place = call.path(text, Access::Write);
    let directories = call.cx.state.directories.as_deref().unwrap_or_default();
    let everything = directories.iter().any(|directory| {
        let absolute = directory.join(text);
        let found = call.cx.fence.judge(&absolute.to_string_lossy());
        found.is_ok_and(|found| path::holds_everything(call.cx.fence, &found.path))
    });
    if everything && recursive {
        return forbidden(&format!("removes {text} and everything in it"));
    }
    let verdict = place.and(Verdict::write(format!("deletes {text}")));
    if verdict.authority != Authority::Workspace
        || verdict.control.is_some()
        || verdict.risk == Risk::Forbidden
    {
        return verdict.and(Verdict::privileged(format!("deletes {text}")));
    }
    verdict
}

fn forbidden(reason: &str) -> Verdict {
    Verdict::new(Risk::Forbidden, Authority::OutsideWorkspace, reason)
}

/// The words that are no options.
fn operands<'a>(call: &'a Call<'_>) -> impl Iterator<Item = &'a Arg> {
    let mut plain = false;
    call.args.iter().filter(move |arg| match arg.text() {
        Some("--") if !plain => {
            plain = true;
            false
        }
        Some(text) => plain || !text.starts_with('-') || text == "-",
        None => true,
    })
}

pub(super) fn shred(call: &Call<'_>) -> Verdict {
    call.words(Access::Write).and(Verdict::privileged("destroys files beyond recovery"))
}

pub(super) fn dd(call: &Call<'_>) -> Verdict {
    let judge = |arg: &Arg| match arg.text().unwrap_or_default().split_once('=') {
        Some(("if", from)) => call.path(from, Access::Read),
        Some(("of", to)) => {
            let place = call.path(to, Access::Write);
            if place.risk == Risk::Privileged {
                forbidden(&format!("overwrites the device {to}"))
            } else {
                place
            }
        }
        Some(_) => Verdict::read("copies raw data"),
        None => call.word(arg, Access::Write),
    };
    let start = call.cwd(Access::Write).and(Verdict::write("copies raw data"));
    call.args.iter().map(judge).fold(start, Verdict::and)
}

/// `cp`, `mv`, `ln`, `install`, `rsync`: the last word, or `-t`, is written; `mv` takes its sources away.
pub(super) fn copy(call: &Call<'_>) -> Verdict {
    if call.name == "rsync" {
        return rsync(call);
    }
    let target = call
        .texts()
        .any(|text| is_long(text, "--target-directory") || (is_cluster(text) && text.contains('t')));
    let words: Vec<&Arg> = operands(call).collect();
    let mut verdict = call.cwd(Access::Write).and(Verdict::write(format!("writes files ({})", call.name)));
    for (index, arg) in words.iter().enumerate() {
        let last = index + 1 == words.len();
        let access = if last || target || call.name == "mv" || call.name == "ln" {
            Access::Write
        } else {
            Access::Read
        };
        verdict = verdict.and(call.word(arg, access));
        if last && let Some(directory) = arg.text() {
            verdict = verdict.and(inside(call, directory, &words));
        }
    }
    call.args
        .iter()
        .filter(|arg| arg.text().is_some_and(|text| text.starts_with('-')))
        .fold(verdict, |verdict, arg| verdict.and(call.word(arg, Access::Write)))
}

/// The files that copying into a directory makes there, since their names may be special ones.
fn inside(call: &Call<'_>, directory: &str, words: &[&Arg]) -> Verdict {
    let mut verdict = Verdict::read("touches no file");
    for source in words.iter().rev().skip(1) {
        if let Some(name) = source.text().and_then(|text| text.trim_end_matches('/').rsplit('/').next()) {
            let made = call.path(&format!("{directory}/{name}"), Access::Write);
            if made.control.is_some()
                || made.risk == Risk::Forbidden
                || made.authority != Authority::Workspace
            {
                verdict = verdict.and(made);
            }
        }
    }
    verdict
}

fn rsync(call: &Call<'_>) -> Verdict {
    let runs = |text: &str| {
        is_long(text, "--rsh") || is_long(text, "--rsync-path") || (is_cluster(text) && text.contains('e'))
    };
    if call.texts().any(runs) || !call.is_literal() {
        return Verdict::unknown("rsync may be told to run a program");
    }
    let verdict =
        call.cwd(Access::Write).and(call.words(Access::Either)).and(Verdict::write("writes files (rsync)"));
    if operands(call).any(|arg| arg.text().is_some_and(|text| text.contains(':'))) {
        return over_network(verdict, "copies files to or from another machine".into());
    }
    verdict
}

/// Programs whose every word that is no option is made or changed.
pub(super) fn make(call: &Call<'_>) -> Verdict {
    let mut verdict = call.cwd(Access::Write).and(Verdict::write(format!("writes files ({})", call.name)));
    let skipped = usize::from(call.name == "chmod");
    for (index, arg) in operands(call).enumerate() {
        if index >= skipped {
            verdict = verdict.and(call.word(arg, Access::Write));
        } else if arg.text().is_none_or(raises) {
            verdict = verdict.and(Verdict::privileged("sets a mode that can raise privileges"));
        }
    }
    verdict
}

/// Whether a mode sets the set-user-ID, set-group-ID or sticky bits.
fn raises(mode: &str) -> bool {
    let numeric = mode.chars().all(|c| c.is_ascii_digit());
    if numeric { mode.len() > 3 && !mode.starts_with('0') } else { mode.contains(['s', 't']) }
}

pub(super) fn owner(call: &Call<'_>) -> Verdict {
    call.words(Access::Write).and(Verdict::new(
        Risk::Privileged,
        Authority::PrivilegedEscalation,
        "gives files to another user",
    ))
}

pub(super) fn archive(call: &Call<'_>) -> Verdict {
    let runs = [
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
    ];
    if runs.iter().any(|long| call.has_long(long))
        || call.has_short('I')
        || call.has_short('F')
        || !call.is_literal()
    {
        return Verdict::unknown(format!("{} may be told to run a program", call.name));
    }
    let mode = call.args.first().and_then(Arg::text).unwrap_or_default();
    let lists = match call.name {
        "unzip" => mode == "-l" || mode == "-v" || mode == "-t",
        _ => {
            mode.trim_start_matches('-').starts_with('t') && !mode.contains(['x', 'c', 'r', 'u', 'A'])
                || call.has_long("--list")
        }
    };
    if lists && !call.has_long("--extract") && !call.has_long("--create") {
        return call.cwd(Access::Read).and(call.words(Access::Read));
    }
    let verdict = call
        .cwd(Access::Write)
        .and(call.words(Access::Write))
        .and(Verdict::write(format!("packs or unpacks files ({})", call.name)));
    if call.has_short('P') || call.has_long("--absolute-names") {
        return verdict.reaching(Authority::OutsideWorkspace);
    }
    verdict
}
