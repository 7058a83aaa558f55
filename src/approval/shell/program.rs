//! Known programs: one table from a program's name to how its words are judged.
//!
//! A program that is not here is taken to change files of the workspace, and any word of it that could be a path
//! is judged as one. That is a judgement of words; the program itself can do what its user can.

mod file;
mod find;
mod git;
mod interpret;
mod reader;
mod script;
mod system;
mod wrapper;

use std::cell::Cell;

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::{self, Access};
use crate::approval::shell::state::State;
use crate::approval::shell::verdict::Verdict;
use crate::fence::Fence;
use crate::model::judgement::{Authority, Risk};

/// One program with its words, and where it runs.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    /// Its words, without the name.
    pub(super) args: &'a [Arg],
    pub(super) cx: &'a Context<'a>,
}

/// What a command is judged against.
pub(super) struct Context<'a> {
    pub(super) fence: &'a Fence,
    pub(super) state: &'a State,
    pub(super) stdin: &'a Stdin,
    /// How deep this command is nested in others.
    pub(super) depth: usize,
    /// How many more commands are judged for this line.
    pub(super) budget: &'a Cell<usize>,
}

/// The deepest nesting of commands in commands that is followed.
const MAX_DEPTH: usize = 12;

/// What a command reads on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stdin {
    /// Nothing, or a plain file.
    Nothing,
    /// A here-document or here-string of known text.
    Text(String),
    /// Something made when the line runs.
    Made,
    /// Something another machine sent.
    Downloaded,
}

/// How a program's words are judged.
enum Rule {
    /// Touches no file, whatever its words.
    Inert,
    /// Reads what its words name.
    Reader(reader::Limits),
    /// Has a rule of its own.
    Own(fn(&Call<'_>) -> Verdict),
}

/// Directories whose programs go by their last name.
const SYSTEM: &[&str] =
    &["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"];

/// Judges a command from its first word on.
pub(super) fn judge(args: &[Arg], cx: &Context<'_>) -> Verdict {
    let Some((first, rest)) = args.split_first() else { return Verdict::read("runs nothing") };
    let Some(written) = first.text() else {
        return Verdict::unknown("the program's name is made when the line runs");
    };
    if written.is_empty() || written.starts_with('-') || written.contains(char::is_whitespace) {
        return Verdict::unknown(format!("{written:?} is no program's name"));
    }
    let name = SYSTEM
        .iter()
        .find_map(|directory| written.strip_prefix(directory))
        .filter(|name| !name.contains('/'))
        .unwrap_or(written);
    if cx.depth > MAX_DEPTH || cx.budget.get() == 0 {
        return Verdict::unknown("it nests too many commands to follow");
    }
    cx.budget.set(cx.budget.get() - 1);
    let call = Call { name, args: rest, cx };
    let verdict = match rule(name) {
        Some(Rule::Inert) => Verdict::read("touches no file"),
        Some(Rule::Reader(limits)) => reader::judge(&call, &limits),
        Some(Rule::Own(judge)) => judge(&call),
        None if name.contains('/') => unknown(&call).and(call.path(name, Access::Read)),
        None => unknown(&call),
    };
    match &cx.state.tampered {
        Some(why) if verdict.risk == Risk::Read => {
            verdict.and(Verdict::write(format!("may not be what it seems: {why}")))
        }
        _ => verdict,
    }
}

/// A program whose doings are not known.
fn unknown(call: &Call<'_>) -> Verdict {
    if call.is_version_query() {
        return Verdict::read("prints its version");
    }
    call.cwd(Access::Either)
        .and(call.words(Access::Either))
        .and(Verdict::write(format!("runs {}, which may change files of the workspace", call.name)))
}

fn rule(name: &str) -> Option<Rule> {
    let own = |judge| Some(Rule::Own(judge));
    match name {
        _ if reader::INERT.contains(&name) => Some(Rule::Inert),
        _ if reader::limits(name).is_some() => reader::limits(name).map(Rule::Reader),
        _ if system::ESCALATION.contains(&name) => own(system::escalation),
        _ if system::RUINOUS
            .iter()
            .any(|ruin| name == *ruin || name.strip_prefix(ruin).is_some_and(|r| r.starts_with('.'))) =>
        {
            own(system::ruinous)
        }
        _ if system::ADMINISTRATION.contains(&name) => own(system::administration),
        _ if system::NETWORK.contains(&name) => own(system::network),
        _ if system::REMOTE.contains(&name) => own(system::remote),
        _ if system::PACKAGES.contains(&name) => own(system::packages),
        _ if wrapper::SHELL_STATE.contains(&name) => own(wrapper::state),
        _ if interpret::is_shell(name) => own(interpret::shell),
        _ if interpret::is_interpreter(name) => own(interpret::code),
        "[" | "test" => own(reader::test),
        "printf" => own(reader::printf),
        "env" | "printenv" => own(wrapper::environment),
        "command" => own(wrapper::command),
        "xargs" => own(wrapper::xargs),
        _ if wrapper::plain(name).is_some() => own(wrapper::prefix),
        "find" => own(find::find),
        "git" => own(git::git),
        "sed" | "gsed" => own(script::sed),
        "awk" | "gawk" | "mawk" | "nawk" => own(script::awk),
        "jq" | "yq" => own(script::query),
        "rm" | "rmdir" | "unlink" => own(file::remove),
        "shred" | "srm" | "wipe" => own(file::shred),
        "dd" => own(file::dd),
        "cp" | "mv" | "ln" | "install" | "rsync" => own(file::copy),
        "tee" | "touch" | "mkdir" | "mkfifo" | "truncate" | "chmod" | "split" | "csplit" => own(file::make),
        "chown" | "chgrp" => own(file::owner),
        "tar" | "bsdtar" | "unzip" => own(file::archive),
        "kill" | "pkill" | "killall" => own(system::kill),
        _ => None,
    }
}

impl Call<'_> {
    /// Judges one word as a path.
    pub(super) fn path(&self, path: &str, access: Access) -> Verdict {
        path::judge(self.cx.fence, self.cx.state.directories.as_deref(), path, access)
    }
    /// Judges the directory the command runs in.
    pub(super) fn cwd(&self, access: Access) -> Verdict {
        let access = if access == Access::Either { Access::Write } else { access };
        match self.cx.state.directories.as_deref() {
            None => path::outside("the current directory", access, "is not known"),
            Some(directories) => directories
                .iter()
                .filter(|directory| !directory.starts_with(self.cx.fence.root()))
                .map(|directory| {
                    path::outside(&directory.to_string_lossy(), access, "is outside the workspace")
                })
                .reduce(Verdict::and)
                .unwrap_or_else(|| Verdict::read("stays in the workspace")),
        }
    }
    /// Judges one word with everything in it that could be a path.
    pub(super) fn word(&self, arg: &Arg, access: Access) -> Verdict {
        match arg {
            Arg::Text(text) => path::candidates(text)
                .into_iter()
                .map(|candidate| self.candidate(candidate, access))
                .reduce(Verdict::and)
                .unwrap_or_else(|| Verdict::read("touches no file")),
            Arg::Process => Verdict::read("touches no file"),
            Arg::Open(_) | Arg::Splits => path::outside(&arg.shown(), access, "is made when the line runs"),
        }
    }
    fn candidate(&self, text: &str, access: Access) -> Verdict {
        if is_url(text) && access != Access::Read {
            return Verdict::network(format!("is given the address {text}"));
        }
        // `~` glued to an option is expanded by some programs.
        let home =
            text.strip_prefix("~/").and_then(|rest| Some(self.cx.fence.judge("~").ok()?.path.join(rest)));
        match home {
            Some(home) if text.len() > 2 => self.path(&home.to_string_lossy(), access),
            _ => self.path(text, access),
        }
    }
    /// Judges all words.
    pub(super) fn words(&self, access: Access) -> Verdict {
        self.args
            .iter()
            .map(|arg| self.word(arg, access))
            .reduce(Verdict::and)
            .unwrap_or_else(|| Verdict::read("touches no file"))
    }
    /// Judges a command among the words.
    pub(super) fn inner(&self, args: &[Arg]) -> Verdict {
        judge(args, &Context { depth: self.cx.depth + 1, ..*self.cx })
    }
    /// The words that are known in full.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter_map(Arg::text)
    }
    /// Whether every word is known in full.
    pub(super) fn is_literal(&self) -> bool {
        self.args.iter().all(|arg| matches!(arg, Arg::Text(_)))
    }
    /// Whether one of the words is exactly this.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.texts().any(|text| words.contains(&text))
    }
    /// Whether a word is the long option `name` or an abbreviation of it, with or without a value.
    pub(super) fn has_long(&self, name: &str) -> bool {
        self.texts().any(|text| is_long(text, name))
    }
    /// Whether a cluster of short options before `--` holds the letter.
    pub(super) fn has_short(&self, letter: char) -> bool {
        self.texts().take_while(|text| *text != "--").any(|text| is_cluster(text) && text.contains(letter))
    }
    fn is_version_query(&self) -> bool {
        matches!(self.args, [Arg::Text(only)] if only == "--version") && !self.name.contains('/')
    }
}

/// Whether a word is the long option `name` (`--name`) or an abbreviation of it.
pub(super) fn is_long(word: &str, name: &str) -> bool {
    let word = word.split('=').next().unwrap_or_default();
    word.len() > 2 && word.starts_with("--") && name.starts_with(word)
}

/// Whether a word is a cluster of short options.
pub(super) fn is_cluster(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word.starts_with("--")
}

pub(super) fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            && scheme != "file"
    })
}

/// Where the network begins: used by rules that mix local and remote words.
pub(super) fn over_network(verdict: Verdict, why: String) -> Verdict {
    verdict.and(Verdict::new(Risk::Write, Authority::Network, why))
}
