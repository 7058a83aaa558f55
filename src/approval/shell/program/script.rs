//! `sed`, `awk`, `jq` and `yq`: small languages, of which the part that only reads is known.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::{self, Access};
use crate::approval::shell::program::interpret::look_over;
use crate::approval::shell::program::{Call, is_cluster, is_long};
use crate::approval::shell::verdict::Verdict;
use crate::model::judgement::Authority;

/// A call's scripts and files.
struct Split<'a> {
    scripts: Vec<&'a Arg>,
    files: Vec<&'a Arg>,
    options: Vec<&'a str>,
}

/// Tells scripts from files: the first plain word is the script unless `-e` gives one.
fn split<'a>(call: &'a Call<'_>, script: &[&str], valued: &[&str]) -> Split<'a> {
    let mut found = Split { scripts: Vec::new(), files: Vec::new(), options: Vec::new() };
    let mut args = call.args.iter();
    let mut plain = Vec::new();
    while let Some(arg) = args.next() {
        match arg.text() {
            Some(text) if script.contains(&text) => found.scripts.extend(args.next()),
            Some(text) if valued.contains(&text) => {
                found.options.push(text);
                found.files.extend(args.next());
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => found.options.push(text),
            _ => plain.push(arg),
        }
    }
    let given = !found.scripts.is_empty();
    let mut plain = plain.into_iter();
    if !given {
        found.scripts.extend(plain.next());
    }
    found.files.extend(plain);
    found
}

pub(super) fn sed(call: &Call<'_>) -> Verdict {
    let found = split(call, &["-e", "--expression"], &["-l", "--line-length"]);
    let quiet = [
        "-n",
        "-E",
        "-r",
        "-s",
        "-u",
        "-z",
        "--quiet",
        "--silent",
        "--regexp-extended",
        "--posix",
        "--sandbox",
        "-nE",
        "-nr",
        "-En",
        "-rn",
        "-l",
    ];
    let in_place = |text: &str| {
        text.starts_with("-i")
            || is_long(text, "--in-place")
            || ["-Ei", "-ri", "-ni", "-nri"].iter().any(|i| text.starts_with(i))
    };
    let access = if found.options.iter().any(|text| in_place(text)) { Access::Write } else { Access::Read };
    let files = found.files.iter().fold(call.cwd(access), |verdict, arg| verdict.and(call.word(arg, access)));
    let known = found.options.iter().all(|text| quiet.contains(text) || in_place(text));
    let scripts: Option<Vec<&str>> = found.scripts.iter().map(|arg| arg.text()).collect();
    match scripts {
        Some(scripts) if known && scripts.iter().all(|script| is_plain_sed(script)) => match access {
            Access::Read => files,
            _ => files.and(Verdict::write("edits files in place")),
        },
        _ => files.and(
            Verdict::write("runs a sed script that could write any file or run a program")
                .reaching(Authority::OutsideWorkspace),
        ),
    }
}

/// Whether a sed script is made of commands that neither write files nor run programs.
fn is_plain_sed(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match sed_command(&chars, at) {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

/// Steps over one sed command; none when it is not known to be harmless.
fn sed_command(chars: &[char], mut at: usize) -> Option<usize> {
    let get = |at: usize| chars.get(at).copied();
    while get(at).is_some_and(|c| c.is_whitespace() || ";{}".contains(c)) {
        at += 1;
    }
    // Addresses: numbers, `$`, `/regular expression/`.
    loop {
        match get(at) {
            Some(c) if c.is_ascii_digit() || "$,~+! ".contains(c) => at += 1,
            Some('/') => {
                at = past(chars, at + 1, '/')?;
                if get(at) == Some('I') {
                    at += 1;
                }
            }
            _ => break,
        }
    }
    match get(at) {
        None | Some('}') => Some(at + usize::from(at < chars.len())),
        Some('{') => Some(at + 1),
        Some(
            'p' | 'd' | 'D' | 'P' | 'q' | 'Q' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'l' | 'z',
        ) => {
            at += 1;
            while get(at).is_some_and(|c| c.is_ascii_digit() || c == ' ') {
                at += 1;
            }
            ends(chars, at)
        }
        Some(command @ ('s' | 'y')) => {
            let mark = get(at + 1).filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '\\')?;
            let middle = past(chars, at + 2, mark)?;
            at = past(chars, middle, mark)?;
            while command == 's' && get(at).is_some_and(|c| "gpiIM0123456789".contains(c)) {
                at += 1;
            }
            ends(chars, at)
        }
        // The text of these runs to the end of the line.
        Some('a' | 'i' | 'c') => {
            while get(at).is_some_and(|c| c != '\n') {
                at += 1;
            }
            Some(at)
        }
        Some(_) => None,
    }
}

/// The place after the next unescaped `mark`; brackets are not followed, so that a mark in them ends it too.
fn past(chars: &[char], mut at: usize, mark: char) -> Option<usize> {
    loop {
        match chars.get(at).copied()? {
            '\\' => at += 2,
            // Where a class ends is read in more than one way.
            '[' if mark != ']' && chars.get(at..)?.iter().take_while(|c| **c != ']').any(|c| *c == mark) => {
                return None;
            }
            '\n' => return None,
            c if c == mark => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn ends(chars: &[char], mut at: usize) -> Option<usize> {
    while chars.get(at) == Some(&' ') {
        at += 1;
    }
    match chars.get(at) {
        None => Some(at),
        Some(';' | '\n' | '}') => Some(at + 1),
        Some(_) => None,
    }
}

pub(super) fn awk(call: &Call<'_>) -> Verdict {
    let found = split(call, &[], &["-F", "-v", "--field-separator", "--assign"]);
    let known = found.options.iter().all(|text| {
        ["-F", "-v"].iter().any(|known| text.starts_with(known))
            && (!is_cluster(text) || !text.starts_with("-f"))
    });
    let separator = |arg: &&Arg| arg.text().is_some_and(|text| text.chars().count() <= 2);
    let files = found
        .files
        .iter()
        .filter(|arg| !separator(arg))
        .fold(call.cwd(Access::Read), |verdict, arg| verdict.and(call.word(arg, Access::Read)));
    let program = found.scripts.first().and_then(|arg| arg.text());
    match program {
        Some(program) if known && is_plain_awk(program) => files,
        Some(program) if known => files
            .and(look_over(call, program))
            .and(Verdict::write("runs an awk program that could write files or run programs")),
        _ => files.and(
            Verdict::write("runs an awk program that is not on the line")
                .reaching(Authority::OutsideWorkspace),
        ),
    }
}

/// Whether an awk program neither writes, runs, reads on nor looks at the environment.
fn is_plain_awk(program: &str) -> bool {
    let without_or = program.replace("||", "");
    !["system", "getline", "ENVIRON", "ARGV", "ARGC", "close", "fflush", "PROCINFO"]
        .iter()
        .any(|word| program.contains(word))
        && !without_or.contains(['|', '>', '@', '\\'])
        || is_plain_print(program)
}

/// The comparison `>` outside of braces only, as in `$3 > 10 {print $1}`.
fn is_plain_print(program: &str) -> bool {
    let Some((pattern, action)) = program.split_once('{') else { return false };
    let simple =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || " $,.;+-*/%=!<>&()\"".contains(c));
    simple(pattern)
        && simple(action.trim_end_matches('}'))
        && !action.contains('>')
        && !program.contains("system")
        && !program.contains("getline")
        && !pattern.contains("print")
}

pub(super) fn query(call: &Call<'_>) -> Verdict {
    let found = split(call, &[], &["-f", "--from-file", "-L", "--slurpfile", "--rawfile", "--indent"]);
    let in_place = |text: &str| {
        is_long(text, "--inplace")
            || is_long(text, "--in-place")
            || is_long(text, "--split-exp")
            || (call.name == "yq" && is_cluster(text) && text.contains(['i', 's']))
    };
    if found.options.iter().any(|text| in_place(text)) {
        let files = call.cwd(Access::Write).and(call.words(Access::Write));
        return files.and(Verdict::write("edits files in place"));
    }
    let secret = call.texts().any(|text| {
        ["env", "$ENV", "load", "import", "include", "input_filename"].iter().any(|word| text.contains(word))
    });
    let files = found
        .files
        .iter()
        .fold(call.cwd(Access::Read), |verdict, arg| verdict.and(call.word(arg, Access::Read)));
    if secret {
        return files.and(Verdict::write("may print the environment or read other files"));
    }
    // A program is no path, however many slashes it has; an unknown one could still name the environment.
    match found.scripts.first() {
        Some(Arg::Text(_)) | None => files,
        Some(arg) => files.and(path::outside(&arg.shown(), Access::Read, "is made when the line runs")),
    }
}
