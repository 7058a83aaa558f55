//! `find`: a reader unless an action writes, and a wrapper where an action runs something.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::Access;
use crate::approval::shell::program::Call;
use crate::approval::shell::verdict::Verdict;

const WRITES: &[&str] = &["-fprint", "-fprint0", "-fprintf", "-fls"];
const RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Tests whose value is a pattern and no file.
const PATTERNS: &[&str] =
    &["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-printf", "-perm"];

pub(super) fn find(call: &Call<'_>) -> Verdict {
    if call.args.iter().any(|arg| matches!(arg, Arg::Splits)) {
        return Verdict::unknown("some words of find are made when the line runs");
    }
    let mut verdict = call.cwd(Access::Read);
    let mut before = "";
    for arg in call.args {
        if !PATTERNS.contains(&before) {
            verdict = verdict.and(call.word(arg, Access::Read));
        }
        before = arg.text().unwrap_or_default();
    }
    if matches!(call.args.first(), Some(Arg::Open(prefix)) if prefix.is_empty()) {
        verdict = verdict.and(Verdict::write("runs find on a place that is made when the line runs"));
    }
    if call.has(&["-delete"]) {
        verdict =
            verdict.and(starts(call, Access::Write)).and(Verdict::write("deletes the files that find meets"));
    }
    if call.has(WRITES) || call.has(&["-files0-from"]) {
        verdict =
            verdict.and(call.words(Access::Write)).and(Verdict::write("writes what find meets to a file"));
    }
    for (index, arg) in call.args.iter().enumerate() {
        if arg.text().is_some_and(|text| RUNS.contains(&text)) {
            verdict = verdict.and(run(call, index + 1));
        }
    }
    verdict
}

/// The words find starts at: those before the first test; none is the current directory.
fn places<'a>(call: &'a Call<'_>) -> Vec<&'a Arg> {
    let options = ["-H", "-L", "-P"];
    call.args
        .iter()
        .skip_while(|arg| arg.text().is_some_and(|text| options.contains(&text)))
        .take_while(|arg| !arg.text().is_some_and(|text| text.starts_with(['-', '(', '!'])))
        .collect()
}

fn starts(call: &Call<'_>, access: Access) -> Verdict {
    places(call).into_iter().fold(call.cwd(access), |verdict, arg| verdict.and(call.word(arg, access)))
}

/// The command of an action. What find puts in for `{}` lies below a start, so the starts stand in for it.
fn run(call: &Call<'_>, from: usize) -> Verdict {
    let follows = call.has(&["-L", "-follow"]);
    let mut places: Vec<Arg> = places(call).into_iter().cloned().collect();
    if places.is_empty() {
        places.push(Arg::Text(".".into()));
    }
    if follows {
        places = vec![Arg::Open("./".into())];
    }
    let mut command = Vec::new();
    for arg in call.args.iter().skip(from) {
        match arg.text() {
            Some(";") => break,
            Some("+") if command.last() == places.last() => break,
            Some("{}") if command.is_empty() => return Verdict::unknown("find runs what it meets"),
            Some("{}") => command.extend(places.iter().cloned()),
            Some(text) if text.contains("{}") => command.push(Arg::Open(String::new())),
            _ => command.push(arg.clone()),
        }
    }
    if command.is_empty() {
        return Verdict::unknown("an action of find names no command");
    }
    call.inner(&command)
}
