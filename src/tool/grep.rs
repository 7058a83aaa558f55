//! `grep`: lines of files by a regular expression, with file and line number.

mod found;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fs::{Mode, OFlags};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::fence::{Fence, Opened};
use crate::model::port::{BoxFuture, Reach};
use crate::model::request::ToolSpec;
use crate::tool::grep::found::{Found, Lines};
use crate::tool::search::{Missed, Next, Order, Pattern, Rules, Search, apart, shown};
use crate::tool::{Catalogs, Output, Tool, ToolContext, spec};

/// Most lines around a match.
const CONTEXT: u64 = 50;
/// Longest line that is searched, in bytes; a file with a longer one is reported as unreadable.
const LINE: usize = 32 * 1024 * 1024;

const DESCRIPTION: &str = "\
Finds the lines of files that match a regular expression and shows them as `file:line:text`, ordered by path, at most \
500; lines of context as `file-line-text`. The syntax is ripgrep's: no look-around and no back-references, `(?i)` \
ignores case, and `( ) [ ] { } . * + ? | ^ $ \\` are escaped to be found as they are. Lines are matched one at a time, \
and long ones are cut around the match. Files that .gitignore names are not searched unless `path` names them or an \
ignored directory; binary files are only named; hidden files are searched, `.git` is not.";

/// The tool.
pub struct Grep {
    spec: ToolSpec,
}

impl Default for Grep {
    fn default() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "minLength": 1, "description": "The regular expression." },
                "path": { "type": "string", "description": "The file or directory to search." },
                "glob": {
                    "type": "string",
                    "description": "Which files to search: by name (`*.rs`) or by path below `path` (`src/**/*.rs`); with `!` in front, which ones not."
                },
                "context": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "How many lines to show before and after each match. Default 0, at most 50."
                }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        Self { spec: spec("grep", DESCRIPTION, schema) }
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: true, work: true }
    }
    fn concurrent(&self) -> bool {
        true
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let call = Call {
            pattern: text("pattern").unwrap_or_default().to_owned(),
            path: text("path").unwrap_or(".").to_owned(),
            glob: text("glob").map(str::to_owned),
            context: arguments.get("context").and_then(Value::as_u64).unwrap_or(0).min(CONTEXT),
            fence: cx.fence.clone(),
            reach: cx.reach,
            cancel: cx.cancel.clone(),
        };
        Box::pin(apart(cx.cancel.clone(), move || call.answer()))
    }
}

struct Call {
    pattern: String,
    path: String,
    glob: Option<String>,
    context: u64,
    fence: Arc<Fence>,
    reach: Reach,
    cancel: CancellationToken,
}

impl Call {
    fn answer(&self) -> Result<String, String> {
        let matcher = self.matcher()?;
        let filter = self.glob.as_deref().map(Filter::new).transpose()?;
        let place = self.fence.judge(&self.path).map_err(|error| error.to_string())?;
        let opened = self.fence.open(&self.path, self.reach).map_err(|error| error.to_string())?;
        if !place.exists {
            return Err(format!("there is no file or directory {}", self.path));
        }
        let mut run = Run {
            searcher: self.searcher(),
            matcher,
            found: Found::default(),
            missed: Missed::default(),
            call: self,
        };
        match directory(&opened) {
            Ok(base) => self.below(&opened.path, base, filter.as_ref(), &mut run),
            Err(_) => match opened.open_regular() {
                Ok(Some(file)) => run.file(file, &opened.path),
                Ok(None) => return Err(format!("there is no file or directory {}", self.path)),
                Err(error) => return Err(error.to_string()),
            },
        }
        if self.cancel.is_cancelled() {
            return Err("cancelled before the search was over".into());
        }
        Ok(self.tell(&run.found, &run.missed))
    }

    fn matcher(&self) -> Result<RegexMatcher, String> {
        if self.pattern.is_empty() {
            return Err("the pattern is empty; `^` matches every line".into());
        }
        let built = RegexMatcherBuilder::new().multi_line(true).crlf(true).build(&self.pattern);
        built.map_err(|error| {
            let error = error.to_string();
            let hint = if error.contains("not allowed") { "; lines are matched one at a time" } else { "" };
            format!("the pattern {:?} is not a valid regular expression: {error}{hint}", self.pattern)
        })
    }

    fn searcher(&self) -> Searcher {
        let context = usize::try_from(self.context).unwrap_or(0);
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            // A NUL ends a line, so that binary files too can be said to match; their lines are not shown.
            .binary_detection(BinaryDetection::convert(0))
            .heap_limit(Some(LINE))
            .build()
    }

    /// Searches every file below a directory.
    fn below(&self, real: &Path, base: OwnedFd, filter: Option<&Filter>, run: &mut Run<'_>) {
        let search = Search {
            base: real.to_path_buf(),
            fence: self.fence.clone(),
            rules: Rules::Honoured,
            order: Order::ByPath,
            depth: None,
        };
        let missed = search.run(&self.cancel, |entry| {
            // A link's target is met at its own place, or lies outside; the rest would block or never end.
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return Next::More;
            }
            let relative = entry.path().strip_prefix(real).unwrap_or(entry.path());
            if filter.is_some_and(|filter| !filter.admits(relative)) {
                return Next::More;
            }
            match open_below(&base, relative) {
                Ok(file) => run.file(file, entry.path()),
                Err(error) => run.unreadable(entry.path(), &error),
            }
            if run.found.is_full() { Next::Enough } else { Next::More }
        });
        run.missed.add(missed);
    }

    fn tell(&self, found: &Found, missed: &Missed) -> String {
        let mut text = found.text().to_owned();
        if text.is_empty() && found.binary() == 0 {
            let among = match (found.files(), &self.glob) {
                (0, Some(glob)) => format!("; no file that may be searched matches the glob {glob:?}"),
                (1, _) => "; 1 file was searched, ignored ones were not".to_owned(),
                (files, _) => format!("; {files} files were searched, ignored ones were not"),
            };
            text = format!("No matches for {:?} in {}{among}\n", self.pattern, self.path);
        }
        for note in found.notes().into_iter().chain(missed.note()) {
            text.push_str(&format!("[{note}]\n"));
        }
        text.pop();
        text
    }
}

/// Which files a `glob` argument admits.
struct Filter {
    pattern: Pattern,
    admits: bool,
}

impl Filter {
    fn new(glob: &str) -> Result<Self, String> {
        let (glob, admits) = glob.strip_prefix('!').map_or((glob, true), |glob| (glob, false));
        Ok(Self { pattern: Pattern::anywhere(glob)?, admits })
    }

    fn admits(&self, path: &Path) -> bool {
        self.pattern.matches(path) == self.admits
    }
}

/// A search under way.
struct Run<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    found: Found,
    missed: Missed,
    call: &'a Call,
}

impl Run<'_> {
    fn file(&mut self, file: File, path: &Path) {
        let name = shown(path, self.call.fence.root());
        let watched = Watched { file, cancel: &self.call.cancel };
        let mut lines = Lines::new(&name, &self.matcher, &mut self.found);
        match self.searcher.search_reader(&self.matcher, watched, &mut lines) {
            Ok(()) => lines.keep(),
            Err(error) => {
                lines.keep();
                self.unreadable(path, &error);
            }
        }
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        let reason = match error.kind() {
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        self.missed.unreadable(format!("{}: {reason}", shown(path, self.call.fence.root())));
    }
}

/// A file whose reading a cancelled call breaks off.
struct Watched<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

fn directory(opened: &Opened) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&opened.dir, &opened.name, flags, Mode::empty())
}

/// Opens a file that the walk met. A directory on the way that has become a link meanwhile is refused.
fn open_below(base: &OwnedFd, relative: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open_at(base, relative, flags)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file any more"));
    }
    Ok(file)
}

#[cfg(target_os = "linux")]
fn open_at(base: &OwnedFd, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    use rustix::io::Errno;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(base.as_fd(), relative, flags, Mode::empty(), resolve) {
        // Older kernels and some sandboxes do not have the call.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(base, relative, flags, Mode::empty()),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_at(base: &OwnedFd, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(base, relative, flags, Mode::empty())
}
