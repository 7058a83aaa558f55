//! Builtins that change the shell itself: where it stands, what its variables hold, what programs get.

use std::path::{Component, Path, PathBuf};

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::{self, Access};
use crate::approval::shell::program::{self, Context};
use crate::approval::shell::scan::is_identifier;
use crate::approval::shell::state::{State, Value};
use crate::approval::shell::syntax::Redirect;
use crate::approval::shell::variable;
use crate::approval::shell::verdict::Verdict;
use crate::model::judgement::{Authority, Risk};

/// Judges a command and applies what it does to the shell.
pub(super) fn judge(args: &[Arg], redirects: &[Redirect], cx: &Context<'_>, state: &mut State) -> Verdict {
    let Some((first, rest)) = args.split_first() else { return Verdict::read("runs nothing") };
    match first.text().unwrap_or_default() {
        "cd" | "pushd" => directory(rest, cx, state),
        "popd" => {
            state.directories = None;
            Verdict::read("changes the directory")
        }
        "export" => export(rest, state),
        "unset" => unset(rest, state),
        "set" => set(rest),
        "read" => read(rest, state),
        "source" | "." => source(rest, cx, state),
        "exec" if !rest.is_empty() => program::judge(rest, cx),
        "exec"
            if redirects
                .iter()
                .all(|redirect| matches!(redirect, Redirect::Write(_) | Redirect::Duplicate)) =>
        {
            Verdict::read("redirects what follows")
        }
        _ => program::judge(args, cx),
    }
}

fn directory(args: &[Arg], cx: &Context<'_>, state: &mut State) -> Verdict {
    let flags = ["-L", "-P", "-e", "--"];
    let words: Vec<&Arg> =
        args.iter().skip_while(|arg| arg.text().is_some_and(|text| flags.contains(&text))).collect();
    let moved = match words.as_slice() {
        [] => cx.fence.judge("~").ok().map(|home| vec![home.path]),
        [Arg::Text(text)] if !text.starts_with('-') && !text.starts_with('+') => enter(text, cx, state),
        _ => None,
    };
    state.directories = moved;
    Verdict::read("changes the directory")
}

/// The directories `cd TEXT` leads to; none when a link on the way makes `..` ambiguous afterwards.
fn enter(text: &str, cx: &Context<'_>, state: &State) -> Option<Vec<PathBuf>> {
    let mut moved: Vec<PathBuf> = Vec::new();
    for base in state.directories.as_ref()? {
        let wanted = base.join(text);
        let place = cx.fence.judge(wanted.to_str()?).ok()?;
        if place.path != plain(&wanted) {
            return None;
        }
        if !moved.contains(&place.path) {
            moved.push(place.path);
        }
    }
    Some(moved)
}

/// The path without `.` and `..`, links not followed.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

fn export(args: &[Arg], state: &mut State) -> Verdict {
    if args.is_empty() {
        return Verdict::write("prints the environment, which may hold secrets");
    }
    let mut verdict = Verdict::read("sets the environment");
    for arg in args {
        let (text, known) = match arg {
            Arg::Text(text) => (text, true),
            Arg::Open(text) if text.contains('=') => (text, false),
            _ => return Verdict::unknown("export is given names that are made when the line runs"),
        };
        let (name, value) =
            text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        if !is_identifier(name) {
            return Verdict::unknown(format!("export {text} is not followed"));
        }
        let set = variable::exported(name, value.filter(|_| known));
        if set.risk > Risk::Read {
            state.tamper(format!("{name} was exported"));
        }
        match value {
            Some(value) if known => state.set(name, Value::Texts(vec![value.into()])),
            Some(_) => state.set(name, Value::Unknown),
            None => {}
        }
        verdict = verdict.and(set);
    }
    verdict
}

fn unset(args: &[Arg], state: &mut State) -> Verdict {
    for arg in args {
        match arg.text() {
            Some("-v") => {}
            Some(name) if is_identifier(name) && variable::assigned(name).risk == Risk::Read => {
                state.set(name, Value::Unknown);
            }
            _ => return Verdict::unknown("unset is given more than plain names"),
        }
    }
    Verdict::read("forgets variables")
}

fn set(args: &[Arg]) -> Verdict {
    const NAMES: &[&str] = &["pipefail", "errexit", "nounset", "xtrace", "noglob", "verbose", "noclobber"];
    if args.is_empty() {
        return Verdict::write("prints all variables, which may hold secrets");
    }
    let known = |text: &str| {
        NAMES.contains(&text)
            || (text.len() > 1
                && text.starts_with(['-', '+'])
                && text.chars().skip(1).all(|c| "euxvCo".contains(c)))
    };
    if args.iter().all(|arg| arg.text().is_some_and(known)) {
        return Verdict::read("sets shell options");
    }
    Verdict::unknown("set changes the shell in a way that is not followed")
}

fn read(args: &[Arg], state: &mut State) -> Verdict {
    const VALUED: &[&str] = &["-d", "-n", "-N", "-t", "-p", "-u", "-rp", "-sp", "-rd", "-rn", "-rt", "-ru"];
    const FLAGS: &[&str] = &["-r", "-s", "-rs", "-sr"];
    let mut names = 0;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.text() {
            Some(text) if FLAGS.contains(&text) => {}
            Some(text) if VALUED.contains(&text) => {
                args.next();
            }
            Some(name) if is_identifier(name) && variable::assigned(name).risk == Risk::Read => {
                state.set(name, Value::Unknown);
                names += 1;
            }
            _ => return Verdict::unknown("read is given more than plain names"),
        }
    }
    if names == 0 {
        state.set("REPLY", Value::Unknown);
    }
    Verdict::read("reads a line")
}

/// A script run in this very shell: afterwards no name need mean what it did.
fn source(args: &[Arg], cx: &Context<'_>, state: &mut State) -> Verdict {
    let Some(Arg::Text(file)) = args.first() else {
        return Verdict::unknown("what is read into the shell is made when the line runs");
    };
    state.forget_all();
    state.tamper(format!("{file} was read into the shell"));
    let place = path::judge(cx.fence, cx.state.directories.as_deref(), file, Access::Either);
    if file == "/dev/stdin" || file.starts_with("/dev/fd") || file.starts_with("/proc") {
        return Verdict::unknown("what is read into the shell comes from its input")
            .reaching(Authority::Workspace);
    }
    place.and(Verdict::write(format!("runs {file} in the shell, which may change files of the workspace")))
}
