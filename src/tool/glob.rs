//! `glob`: files by name, newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ignore::DirEntry;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::fence::Fence;
use crate::model::port::{BoxFuture, Reach};
use crate::model::request::ToolSpec;
use crate::tool::search::{Missed, Next, Order, Pattern, Rules, Search, is_pattern, shown};
use crate::tool::{Catalogs, MAX_OUTPUT_CHARS, Output, Tool, ToolContext, spec};

/// Most files that are listed.
const MOST: usize = 1000;
/// Most bytes of the list, so that with the notes an answer stays below the limit of every tool.
const LARGEST: usize = MAX_OUTPUT_CHARS - 2_000;
/// Most directories that are named when no file matches.
const DIRECTORIES: usize = 20;
/// Most ignored files that are counted, and most entries looked at for them, when no other file matches.
const IGNORED: usize = 1000;
const LOOKED_AT: usize = 200_000;

const DESCRIPTION: &str = "\
Finds files by a glob pattern and lists them newest first, at most 1,000, as paths relative to the workspace. `*` and \
`?` match within one name, `**` any number of directories, `{a,b}` and `[abc]` alternatives: `src/**/*.rs`. A pattern \
without `**` looks only as deep as it is written: `*.md` is the directory itself. Files that .gitignore names are left \
out unless the pattern is an exact path or `path` is an ignored directory. Hidden files are listed, `.git` and \
directories are not, and links to directories are not followed. To find text inside files use `grep`.";

/// The tool.
pub struct Glob {
    spec: ToolSpec,
}

impl Default for Glob {
    fn default() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "minLength": 1, "description": "The pattern, relative to `path`." },
                "path": { "type": "string", "description": "The directory to look in. Left out, the workspace root." }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        Self { spec: spec("glob", DESCRIPTION, schema) }
    }
}

impl Tool for Glob {
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
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let call = Call {
            pattern: text("pattern").unwrap_or_default().to_owned(),
            path: text("path").filter(|path| !path.is_empty()).unwrap_or(".").to_owned(),
            fence: cx.fence.clone(),
            reach: cx.reach,
            cancel: cx.cancel.clone(),
        };
        Box::pin(crate::tool::search::apart(cx.cancel.clone(), move || call.answer()))
    }
}

struct Call {
    pattern: String,
    path: String,
    fence: Arc<Fence>,
    reach: Reach,
    cancel: CancellationToken,
}

impl Call {
    fn answer(&self) -> Result<String, String> {
        if self.pattern.is_empty() {
            return Err("the pattern is empty; `**/*` matches every file".into());
        }
        if let Some(exact) = self.exact()? {
            return Ok(exact);
        }
        let (prefix, rest) = split(&self.pattern);
        let base = self.base(&prefix)?;
        let Some(base) = base else {
            return Ok(format!("No files match {:?}: there is no directory {prefix}", self.pattern));
        };
        if rest.split('/').any(|component| component == "..") {
            return Err(format!(
                "the pattern {:?} has `..` after a wildcard; put the directory into `path`",
                self.pattern
            ));
        }
        let pattern = Pattern::new(&rest)?;
        let found = self.find(&base, &pattern, Rules::Honoured);
        Ok(if found.count == 0 { self.nothing(&base, &rest, &found) } else { self.list(found) })
    }

    /// The answer for a pattern that names a file as it stands, ignored or not, brackets in its name or not.
    fn exact(&self) -> Result<Option<String>, String> {
        let path = join(&self.path, &self.pattern);
        let Ok(place) = self.fence.judge(&path) else { return Ok(None) };
        if !place.exists || place.path.is_dir() {
            return Ok(None);
        }
        self.fence.open(&path, self.reach).map_err(|error| error.to_string())?;
        Ok(Some(shown(&place.path, self.fence.root())))
    }

    /// The real directory to walk; none when there is none.
    fn base(&self, prefix: &str) -> Result<Option<PathBuf>, String> {
        let path = join(&self.path, prefix);
        let place = self.fence.judge(&path).map_err(|error| error.to_string())?;
        let opened = self.fence.open(&path, self.reach).map_err(|error| error.to_string())?;
        if !place.exists && prefix.is_empty() {
            return Err(format!("there is no directory {}", self.path));
        }
        if place.exists && !opened.path.is_dir() {
            return Err(format!("{path} is no directory; leave `path` out, or name a directory"));
        }
        Ok(place.exists.then_some(opened.path))
    }

    fn find(&self, base: &Path, pattern: &Pattern, rules: Rules) -> Found {
        let search = Search {
            base: base.to_path_buf(),
            fence: self.fence.clone(),
            rules,
            order: Order::Any,
            depth: pattern.depth(),
        };
        let mut found = Found::default();
        let mut met = 0;
        found.missed = search.run(&self.cancel, |entry| {
            met += 1;
            let relative = entry.path().strip_prefix(base).unwrap_or(entry.path());
            if pattern.matches(relative) {
                found.meet(entry, &self.fence);
            }
            let enough = found.count >= IGNORED || met >= LOOKED_AT;
            if rules == Rules::Disregarded && enough { Next::Enough } else { Next::More }
        });
        found
    }

    fn list(&self, found: Found) -> String {
        let count = found.count;
        let missed = found.missed.note();
        let mut text = String::new();
        let mut listed = 0;
        for (_, path) in found.newest.into_sorted_vec().into_iter().map(|Reverse(file)| file) {
            let line = shown(&path, self.fence.root());
            if text.len() + line.len() > LARGEST {
                break;
            }
            text.push_str(&line);
            text.push('\n');
            listed += 1;
        }
        if count > listed {
            text.push_str(&format!(
                "[the newest {listed} of {count} files are listed; narrow the pattern or give `path` to see others]\n"
            ));
        }
        if let Some(missed) = missed {
            text.push_str(&format!("[{missed}]\n"));
        }
        text.pop();
        text
    }

    /// What to say when no file matched: what the reason may be, so that nobody takes it for absence.
    fn nothing(&self, base: &Path, rest: &str, found: &Found) -> String {
        let mut text = format!("No files match {:?} in {}", self.pattern, shown(base, self.fence.root()));
        if !found.directories.is_empty() {
            let names: Vec<String> =
                found.directories.iter().map(|path| shown(path, self.fence.root()) + "/").collect();
            text.push_str(&format!(
                "\n[only directories match: {}; add /** to list the files in them]",
                names.join(", ")
            ));
        }
        let deeper = Pattern::new(&format!("**/{rest}")).ok();
        if let Some(deeper) = deeper {
            let hidden = self.find(base, &deeper, Rules::Disregarded);
            text.push_str(&self.elsewhere(base, rest, hidden));
        }
        if let Some(missed) = found.missed.note() {
            text.push_str(&format!("\n[{missed}]"));
        }
        text
    }

    /// Files that match when ignore rules are set aside, or deeper down.
    fn elsewhere(&self, base: &Path, rest: &str, hidden: Found) -> String {
        let here = Pattern::new(rest).ok();
        let is_here = |path: &Path| {
            let relative = path.strip_prefix(base).unwrap_or(path);
            here.as_ref().is_some_and(|pattern| pattern.matches(relative))
        };
        let files: Vec<PathBuf> = hidden.newest.into_iter().map(|Reverse((_, path))| path).collect();
        let (ignored, deeper): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| is_here(path));
        let count = |files: &[PathBuf]| {
            let more = if files.len() >= IGNORED { "at least " } else { "" };
            if files.len() == 1 { "1 file".to_owned() } else { format!("{more}{} files", files.len()) }
        };
        let mut text = String::new();
        if let Some(example) = ignored.iter().min() {
            text.push_str(&format!(
                "\n[ignored files were left out: {} that .gitignore or the like excludes would match, such as {}; name one by its exact path, or set `path` to the ignored directory]",
                count(&ignored),
                shown(example, self.fence.root())
            ));
        }
        if let Some(example) = deeper.iter().min() {
            text.push_str(&format!(
                "\n[{} deeper down would match **/{rest}, such as {}]",
                count(&deeper),
                shown(example, self.fence.root())
            ));
        }
        text
    }
}

/// Files that matched: the newest, by time and then path.
#[derive(Default)]
struct Found {
    newest: BinaryHeap<Reverse<(SystemTime, PathBuf)>>,
    count: usize,
    directories: Vec<PathBuf>,
    missed: Missed,
}

impl Found {
    fn meet(&mut self, entry: &DirEntry, fence: &Fence) {
        let Some(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            if self.directories.len() < DIRECTORIES {
                self.directories.push(entry.path().to_path_buf());
            }
            return;
        }
        if kind.is_symlink() && !leads_to_a_file(entry.path(), fence) {
            return;
        }
        let modified = entry.metadata().ok().and_then(|meta| meta.modified().ok());
        self.newest.push(Reverse((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path().to_path_buf())));
        self.count += 1;
        if self.newest.len() > MOST {
            self.newest.pop();
        }
    }
}

/// Whether a link is another name of a file in the workspace.
fn leads_to_a_file(link: &Path, fence: &Fence) -> bool {
    let place = link.to_str().and_then(|link| fence.judge(link).ok());
    place.is_some_and(|place| place.inside && place.exists && place.path.is_file())
}

/// Splits a pattern into the directories that it names outright and the rest.
fn split(pattern: &str) -> (String, String) {
    let components: Vec<&str> = pattern.split('/').collect();
    let literal = components.iter().take_while(|component| !is_pattern(component)).count();
    // The last component is what is looked for, even when it has no wildcard.
    let at = literal.min(components.len().saturating_sub(1));
    let (prefix, rest) = components.split_at(at);
    let mut prefix = prefix.join("/");
    if prefix.is_empty() && pattern.starts_with('/') {
        prefix.push('/');
    }
    (prefix, rest.join("/"))
}

/// A path below a directory; an absolute one, or one of the home directory, stands for itself.
fn join(directory: &str, path: &str) -> String {
    match path {
        "" => directory.to_owned(),
        _ if path.starts_with('/') || path == "~" || path.starts_with("~/") => path.to_owned(),
        _ => format!("{directory}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_split_where_its_wildcards_begin() {
        for (pattern, prefix, rest) in [
            ("*.rs", "", "*.rs"),
            ("src/tool/*.rs", "src/tool", "*.rs"),
            ("src/**/a/*.rs", "src", "**/a/*.rs"),
            ("/tmp/*", "/tmp", "*"),
            ("/*", "/", "*"),
            ("src/main.rs", "src", "main.rs"),
            ("{a,b}/c", "", "{a,b}/c"),
        ] {
            assert_eq!(split(pattern), (prefix.to_owned(), rest.to_owned()), "{pattern}");
        }
    }
}
