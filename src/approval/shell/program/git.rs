//! `git`: global options, then one table of subcommands.
//!
//! Readers count as such because the environment of `bash` switches pagers and the file system monitor off
//! ([`crate::approval::git::GIT_NEUTRAL`]) and because the repository's own configuration was looked at for
//! programs that nothing can switch off ([`crate::approval::git::foreign_program`]).

use std::path::PathBuf;

use crate::approval::git;
use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::Access;
use crate::approval::shell::program::{Call, Context, is_cluster, is_long};
use crate::approval::shell::state::State;
use crate::approval::shell::verdict::Verdict;
use crate::model::judgement::{Authority, Risk};

/// Subcommands that only read, whatever their words, but for the options below.
const READERS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "shortlog",
    "describe",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "cat-file",
    "grep",
    "show-ref",
    "for-each-ref",
    "name-rev",
    "merge-base",
    "diff-tree",
    "diff-index",
    "diff-files",
    "cherry",
    "count-objects",
    "version",
    "whatchanged",
    "check-ignore",
    "check-attr",
    "range-diff",
    "var",
    "show-branch",
    "get-tar-commit-id",
    "patch-id",
    "stripspace",
    "check-ref-format",
    "--version",
];

/// Long options with which a reader writes a file or starts a program.
const UNSAFE_LONG: &[&str] =
    &["--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters", "--exec"];

/// Subcommands that talk to another machine.
const REMOTE: &[&str] =
    &["push", "fetch", "pull", "clone", "ls-remote", "send-email", "request-pull", "lfs", "svn", "p4"];

/// Subcommands that can lose work or rewrite what others have.
const RUINOUS: &[&str] =
    &["filter-branch", "filter-repo", "gc", "prune", "update-ref", "replace", "fast-import", "reflog"];

/// Subcommands that run commands they are given or serve others.
const RUNS: &[&str] = &[
    "bisect",
    "rebase",
    "submodule",
    "difftool",
    "mergetool",
    "daemon",
    "instaweb",
    "web--browse",
    "credential",
    "hook",
    "for-each-repo",
    "maintenance",
];

/// Settings given with `-c` that start no program.
const HARMLESS_SETTINGS: &[&str] = &[
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "init.defaultbranch",
    "commit.gpgsign",
    "tag.gpgsign",
    "core.quotepath",
    "core.autocrlf",
    "core.safecrlf",
    "core.filemode",
    "core.abbrev",
    "diff.renames",
    "diff.algorithm",
    "log.date",
    "merge.conflictstyle",
    "pull.rebase",
    "push.default",
    "rebase.autostash",
    "advice.detachedhead",
    "safe.directory",
    "gc.auto",
    "fetch.prune",
    "status.short",
    "diff.context",
    "core.commentchar",
    "branch.autosetuprebase",
    "column.ui",
    "log.decorate",
    "core.longpaths",
    "diff.noprefix",
    "diff.mnemonicprefix",
];

pub(super) fn git(call: &Call<'_>) -> Verdict {
    let mut state = call.cx.state.clone();
    let mut verdict = Verdict::read("only reads");
    let mut rest = call.args;
    let sub = loop {
        let Some((first, after)) = rest.split_first() else { return verdict };
        let Some(text) = first.text() else {
            return Verdict::unknown("the git command is made when the line runs");
        };
        rest = after;
        match text {
            "--no-pager"
            | "-P"
            | "--no-optional-locks"
            | "--literal-pathspecs"
            | "--no-replace-objects"
            | "--icase-pathspecs" => {}
            "-p" | "--paginate" => verdict = verdict.and(Verdict::write("runs git with a pager")),
            "-C" => {
                let Some(directory) = rest.first().and_then(Arg::text) else {
                    return Verdict::unknown("the directory of git -C is made when the line runs");
                };
                enter(call, &mut state, directory);
                rest = rest.get(1..).unwrap_or_default();
            }
            "-c" => {
                let Some(setting) = rest.first().and_then(Arg::text) else {
                    return Verdict::unknown("a setting of git -c is made when the line runs");
                };
                verdict = verdict.and(self::setting(setting));
                rest = rest.get(1..).unwrap_or_default();
            }
            "--version" | "--help" | "-v" | "-h" => return verdict,
            _ if text.starts_with('-') => {
                return Verdict::unknown(format!("git's option {text} is not followed"));
            }
            _ => break text,
        }
    };
    let cx = Context { state: &state, ..*call.cx };
    let inner = Call { name: sub, args: rest, cx: &cx };
    verdict.and(inner.cwd(Access::Read)).and(subcommand(&inner))
}

/// `-C`: the directory git works in.
fn enter(call: &Call<'_>, state: &mut State, directory: &str) {
    let joined = state.directories.as_ref().map(|directories| {
        directories
            .iter()
            .filter_map(|base| call.cx.fence.judge(&base.join(directory).to_string_lossy()).ok())
            .map(|place| place.path)
            .collect::<Vec<PathBuf>>()
    });
    state.directories = joined.filter(|joined| !joined.is_empty());
}

fn setting(text: &str) -> Verdict {
    let (key, value) = text.split_once('=').unwrap_or((text, "true"));
    let key = key.to_ascii_lowercase();
    let switch = ["true", "false", "cat", ""].contains(&value);
    let harmless = HARMLESS_SETTINGS.contains(&key.as_str())
        || key.starts_with("color.")
        || key.starts_with("advice.")
        || (switch && (key == "core.pager" || key.starts_with("pager.")))
        || (key == "core.fsmonitor" && value == "false")
        || (key == "core.hookspath" && value == "/dev/null");
    if harmless {
        return Verdict::read(format!("sets {key} for this command"));
    }
    Verdict::unknown(format!("git's setting {key} may name a program"))
}

fn subcommand(call: &Call<'_>) -> Verdict {
    match call.name {
        name if READERS.contains(&name) => reader(call),
        "branch" | "tag" => list(call),
        "remote" => remote(call),
        "config" => config(call),
        "stash" => stash(call),
        "worktree" | "notes" | "bundle" | "sparse-checkout"
            if call.has_first(&["list", "show", "verify"]) =>
        {
            reader(call)
        }
        "submodule" if call.has_first(&["status", "summary"]) => reader(call),
        "reflog" if !call.has_first(&["expire", "delete", "drop", "write"]) => reader(call),
        "bisect" if call.has_first(&["log"]) => reader(call),
        "symbolic-ref" if call.args.len() == 1 => reader(call),
        "push" => push(call),
        name if REMOTE.contains(&name) => upload(call)
            .and(call.words(Access::Either))
            .and(Verdict::network(format!("runs git {name}, which talks to a remote"))),
        name if RUINOUS.contains(&name) => {
            Verdict::privileged(format!("runs git {name}, which can lose work for good"))
        }
        "reset" if call.has_long("--hard") => {
            Verdict::privileged("discards changes for good (git reset --hard)")
        }
        "clean" if !call.has_short('n') && !call.has_long("--dry-run") => {
            Verdict::privileged("deletes files git does not know (git clean)")
        }
        "checkout" | "switch"
            if call.has_short('f') || call.has_long("--force") || call.has_long("--discard-changes") =>
        {
            Verdict::privileged("discards changes for good")
        }
        name if RUNS.contains(&name) => runs(call),
        _ => changes(call),
    }
}

/// A reader with its words: paths count, and so do options that write or run.
fn reader(call: &Call<'_>) -> Verdict {
    for arg in call.args {
        match arg {
            Arg::Text(text) if text == "--" => break,
            Arg::Text(text) if UNSAFE_LONG.iter().any(|long| is_long(text, long)) => {
                return Verdict::write(format!(
                    "runs git {} with {text}, which writes or runs something",
                    call.name
                ))
                .and(call.words(Access::Write));
            }
            Arg::Text(text) if call.name == "grep" && is_cluster(text) && text.contains('O') => {
                return Verdict::privileged("opens what git grep finds in a program");
            }
            Arg::Splits => return dynamic(call),
            Arg::Open(prefix) if prefix.is_empty() => return dynamic(call),
            _ => {}
        }
    }
    if let Some(why) = foreign(call) {
        return Verdict::privileged(why);
    }
    let verdict = call.words(Access::Read);
    if verdict.risk == Risk::Read && verdict.authority == Authority::Workspace {
        return Verdict::read(format!("only reads (git {})", call.name));
    }
    verdict
}

fn dynamic(call: &Call<'_>) -> Verdict {
    Verdict::write(format!("runs git {} with words that are made when the line runs", call.name))
        .reaching(Authority::OutsideWorkspace)
}

/// A program that the repository's configuration makes even readers run.
fn foreign(call: &Call<'_>) -> Option<String> {
    let directories = call.cx.state.directories.as_ref()?;
    directories
        .iter()
        .find_map(|directory| git::foreign_program(directory))
        .map(|(file, key)| format!("runs git where {} sets {key}, which names a program", file.display()))
}

/// `branch` and `tag` list unless they are given a name or an option that changes something.
fn list(call: &Call<'_>) -> Verdict {
    const LISTS: &[&str] = &[
        "-a",
        "-r",
        "-v",
        "-vv",
        "-l",
        "-n",
        "-i",
        "--list",
        "--all",
        "--remotes",
        "--verbose",
        "--show-current",
        "--merged",
        "--no-merged",
        "--contains",
        "--no-contains",
        "--points-at",
        "--sort",
        "--format",
        "--column",
        "--no-column",
        "--color",
        "--no-color",
        "--ignore-case",
        "--abbrev",
        "--no-abbrev",
        "--omit-empty",
    ];
    let named = ["-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at"];
    let option = |text: &str| text.split('=').next().unwrap_or_default().to_string();
    let known =
        |text: &str| LISTS.contains(&option(text).as_str()) || (call.name == "tag" && text.starts_with("-n"));
    if call.is_literal()
        && call.texts().all(|text| {
            if text.starts_with('-') {
                known(text)
            } else {
                call.has(&named) || call.has(&["--sort", "--format"])
            }
        })
    {
        return reader(call);
    }
    let name = call.name;
    if call.has_short('D') || call.has_short('d') || call.has_long("--delete") {
        return Verdict::privileged(format!("deletes a {name}"));
    }
    if call.has_short('f') || call.has_short('M') || call.has_short('C') || call.has_long("--force") {
        return Verdict::privileged(format!("overwrites a {name}"));
    }
    changes(call)
}

fn remote(call: &Call<'_>) -> Verdict {
    let words: Vec<&str> = call.texts().collect();
    match words.as_slice() {
        _ if !call.is_literal() => dynamic(call),
        [] | ["-v" | "--verbose"] | ["get-url", ..] => reader(call),
        ["show" | "update" | "prune", ..] => Verdict::network("talks to a remote"),
        _ => Verdict::privileged("changes where a remote points").reaching(Authority::Network),
    }
}

fn config(call: &Call<'_>) -> Verdict {
    const READS: &[&str] = &[
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "get",
        "list",
        "--get-color",
    ];
    const PLAIN: &[&str] = &[
        "--local",
        "--show-origin",
        "--show-scope",
        "--name-only",
        "-z",
        "--null",
        "--bool",
        "--int",
        "--type",
        "--global",
        "--system",
    ];
    if !call.is_literal() {
        return dynamic(call).and(Verdict::privileged("changes git's configuration"));
    }
    let words: Vec<&str> =
        call.texts().filter(|text| !PLAIN.contains(&text.split('=').next().unwrap_or_default())).collect();
    match words.as_slice() {
        [first, ..] if READS.contains(first) => return reader(call),
        [key] if !key.starts_with('-') => return reader(call),
        [key, _]
            if HARMLESS_SETTINGS.contains(&key.to_ascii_lowercase().as_str())
                && !call.has(&["--global", "--system"]) =>
        {
            return changes(call);
        }
        _ => {}
    }
    let outside = call.has(&["--global", "--system"]);
    let authority = if outside { Authority::OutsideWorkspace } else { Authority::Workspace };
    Verdict::privileged("changes git's configuration, which can name programs").reaching(authority)
}

fn stash(call: &Call<'_>) -> Verdict {
    match call.args.first().and_then(Arg::text) {
        Some("list" | "show") => reader(call),
        Some("drop" | "clear") => Verdict::privileged("deletes stashed changes for good"),
        _ => changes(call),
    }
}

fn push(call: &Call<'_>) -> Verdict {
    let network = Verdict::network("runs git push, which talks to a remote");
    let forced = call.texts().any(|text| {
        ["--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune"]
            .iter()
            .any(|long| is_long(text, long))
            || (is_cluster(text) && text.contains(['f', 'd']))
            || (text.starts_with(['+', ':']) && text.len() > 1)
    });
    if forced || !call.is_literal() {
        return network.and(Verdict::privileged("overwrites or deletes what a remote has (forced push)"));
    }
    upload(call).and(network)
}

/// Options and addresses with which a transport runs a program.
fn upload(call: &Call<'_>) -> Verdict {
    let runs = |text: &str| {
        ["--upload-pack", "--receive-pack", "--exec", "--config", "--template"]
            .iter()
            .any(|long| is_long(text, long))
            || text.starts_with("ext::")
            || (call.name == "clone" && is_cluster(text) && text.contains(['c', 'u']))
    };
    if call.texts().any(runs) || !call.is_literal() {
        return Verdict::unknown(format!("git {} may be told to run a program", call.name));
    }
    Verdict::read("names a remote")
}

fn runs(call: &Call<'_>) -> Verdict {
    let told = call.has_long("--exec")
        || call.has_short('x')
        || call.has_first(&["foreach", "run"])
        || call.has(&["--upload-pack"]);
    match call.name {
        _ if told || !call.is_literal() => {
            Verdict::unknown(format!("git {} is told to run a command", call.name))
        }
        "submodule" => Verdict::network("may fetch submodules"),
        "rebase" | "bisect" => changes(call),
        name => Verdict::privileged(format!("runs git {name}, which starts programs")),
    }
}

/// Everything else changes the work tree or the repository.
fn changes(call: &Call<'_>) -> Verdict {
    let known = call.is_literal();
    let verdict = call
        .cwd(Access::Write)
        .and(call.words(Access::Read))
        .and(Verdict::write(format!("runs git {}, which changes the repository", call.name)));
    if known { verdict } else { verdict.reaching(Authority::OutsideWorkspace) }
}

impl Call<'_> {
    /// Whether the first word is one of these.
    fn has_first(&self, words: &[&str]) -> bool {
        self.args.first().and_then(Arg::text).is_some_and(|first| words.contains(&first))
    }
}
