//! Programs that only read, and the options with which they do more.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::Access;
use crate::approval::shell::program::{Call, is_cluster, is_long};
use crate::approval::shell::verdict::Verdict;
use crate::model::judgement::{Authority, Risk};

/// Programs that touch no file, whatever their words.
pub(super) const INERT: &[&str] = &[
    ":", "true", "false", "echo", "sleep", "exit", "break", "continue", "return", "wait", "seq", "yes",
    "expr", "factor", "basename", "dirname", "uname", "arch", "whoami", "id", "groups", "tty", "nproc",
    "uptime", "cal", "which", "type", "whereis", "tr", "jobs", "times", "umask", "getconf", "locale",
    "sw_vers", "lscpu", "free", "logname", "clear", "disown",
];

/// What makes a reader more than one.
pub(super) struct Limits {
    /// Options that write or run something, whole or abbreviated.
    long: &'static [&'static str],
    /// The same as single letters.
    short: &'static str,
    /// The most words that are no options before the rest is written to.
    inputs: usize,
}

/// Readers with their limits.
type Row = (&'static [&'static str], &'static [&'static str], &'static str, usize);
const READERS: &[Row] = &[
    (
        &[
            "ls",
            "dir",
            "cat",
            "head",
            "tail",
            "wc",
            "stat",
            "du",
            "df",
            "realpath",
            "readlink",
            "pwd",
            "cut",
            "diff",
            "cmp",
            "comm",
            "nl",
            "tac",
            "rev",
            "md5sum",
            "md5",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "shasum",
            "b2sum",
            "cksum",
            "sum",
            "grep",
            "egrep",
            "fgrep",
            "zgrep",
            "zcat",
            "gzcat",
            "bzcat",
            "xzcat",
            "zstdcat",
            "column",
            "fold",
            "fmt",
            "expand",
            "unexpand",
            "paste",
            "join",
            "strings",
            "od",
            "hexdump",
            "base64",
            "base32",
            "tsort",
            "eza",
            "exa",
            "lsd",
            "tokei",
            "cloc",
            "ps",
            "diff3",
            "look",
            "numfmt",
            "vdir",
            "nm",
            "size",
            "objdump",
            "readelf",
            "pathchk",
            "lsof",
        ],
        &[],
        "",
        usize::MAX,
    ),
    (
        &["sort"],
        &["--output", "--compress-program", "--temporary-directory", "--files0-from"],
        "oT",
        usize::MAX,
    ),
    (&["uniq"], &[], "", 1),
    (&["xxd"], &[], "r", 1),
    (&["tree"], &["--output"], "oR", usize::MAX),
    (&["file"], &["--compile"], "C", usize::MAX),
    (&["shuf"], &["--output"], "o", usize::MAX),
    (&["date"], &["--set"], "s", usize::MAX),
    (&["hostname"], &[], "Fb", 0),
    (&["rg"], &["--pre", "--hostname-bin", "--pre-glob"], "", usize::MAX),
    (&["fd", "fdfind"], &["--exec", "--exec-batch"], "xX", usize::MAX),
];

pub(super) fn limits(name: &str) -> Option<Limits> {
    let (_, long, short, inputs) = READERS.iter().find(|(names, ..)| names.contains(&name))?;
    Some(Limits { long, short, inputs: *inputs })
}

pub(super) fn judge(call: &Call<'_>, limits: &Limits) -> Verdict {
    let mut access = Access::Read;
    let mut inputs = 0;
    for (index, arg) in call.args.iter().enumerate() {
        let guarded = !limits.long.is_empty() || !limits.short.is_empty() || limits.inputs != usize::MAX;
        match arg {
            Arg::Text(text) if is_more(call, text, index, limits) => {
                access = Access::Write;
            }
            Arg::Text(text) if text.starts_with('-') && text != "-" => {}
            Arg::Splits if guarded => access = Access::Write,
            Arg::Open(prefix) if guarded && prefix.is_empty() => access = Access::Write,
            _ => inputs += 1,
        }
    }
    if inputs > limits.inputs {
        access = Access::Write;
    }
    let named = call.args.iter().enumerate().filter(|(index, arg)| !is_no_file(call, *index, arg));
    let verdict = named.fold(call.cwd(Access::Read), |verdict, (_, arg)| verdict.and(call.word(arg, access)));
    if access == Access::Write {
        return verdict.and(Verdict::write(format!(
            "runs {} with words that let it write files or run programs",
            call.name
        )));
    }
    if verdict.authority == Authority::Workspace && verdict.risk == Risk::Read {
        return Verdict::read("only reads");
    }
    verdict
}

fn is_more(call: &Call<'_>, text: &str, index: usize, limits: &Limits) -> bool {
    if call.args.iter().take(index).any(|arg| arg.text() == Some("--")) {
        return false;
    }
    limits.long.iter().any(|long| is_long(text, long))
        || (is_cluster(text) && text.chars().skip(1).any(|c| limits.short.contains(c)))
        // BSD `date` sets the clock from a bare number.
        || (call.name == "date" && !text.starts_with(['+', '-']) && text.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Words that are patterns or separators, however much they look like paths.
fn is_no_file(call: &Call<'_>, index: usize, arg: &Arg) -> bool {
    match call.name {
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" => is_pattern(call, index, arg),
        "cut" | "column" | "paste" | "join" | "sort" | "numfmt" | "nl" => {
            let separates =
                |text: &str| text.starts_with("-d") || text.starts_with("-t") || text.starts_with("-s");
            let before = index.checked_sub(1).and_then(|before| call.args.get(before)?.text());
            arg.text().is_some_and(|text| separates(text) || (text == "/" && before.is_some_and(separates)))
        }
        _ => false,
    }
}

/// Whether this is the pattern of a search: the first word that is no option, where no option gives one.
fn is_pattern(call: &Call<'_>, index: usize, arg: &Arg) -> bool {
    let option = |arg: &Arg| arg.text().is_some_and(|text| text.starts_with('-'));
    let given = call.texts().any(|text| {
        is_long(text, "--regexp")
            || is_long(text, "--file")
            || text == "--files"
            || (is_cluster(text) && text.contains(['e', 'f']))
    });
    !given && !matches!(arg, Arg::Splits) && !option(arg) && call.args.iter().take(index).all(option)
}

/// `[` and `test`: no side effects but one, subscripts that `-v` and `-R` evaluate.
pub(super) fn test(call: &Call<'_>) -> Verdict {
    let evaluates = |arg: &Arg| match arg {
        Arg::Text(text) => text == "-v" || text == "-R",
        _ => false,
    };
    if call.args.iter().any(evaluates) {
        return Verdict::unknown("-v evaluates what it is given");
    }
    // An unknown word could be `-v`, but only at the start or after an operator; two words are the least it takes.
    if call.args.first().is_some_and(|arg| matches!(arg, Arg::Splits)) {
        return Verdict::unknown("its first words are made when the line runs");
    }
    let verdict = call
        .args
        .iter()
        .filter(|arg| matches!(arg, Arg::Text(_)))
        .map(|arg| call.word(arg, Access::Read))
        .reduce(Verdict::and);
    verdict
        .filter(|verdict| verdict.risk > Risk::Read || verdict.authority > Authority::Workspace)
        .unwrap_or_else(|| Verdict::read("only tests"))
}

/// `printf`, whose `-v` sets a variable.
pub(super) fn printf(call: &Call<'_>) -> Verdict {
    match call.args {
        [Arg::Text(format), ..] if !format.starts_with('-') || format == "--" => {
            Verdict::read("touches no file")
        }
        [_] | [] => Verdict::read("touches no file"),
        _ => Verdict::unknown("printf may set a variable"),
    }
}
