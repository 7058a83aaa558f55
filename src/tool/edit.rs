//! The tool `edit`: one text in a file for another. Bytes outside the match stay as they are.

mod matching;
mod miss;

use serde_json::{Map, Value, json};

use crate::model::port::BoxFuture;
use crate::model::request::ToolSpec;
use crate::text::encoding::{self, BOM, Encoding};
use crate::tool::file::{self, MAX_BYTES};
use crate::tool::{Catalogs, Output, Tool, ToolContext, spec, text};

/// See the description below.
#[derive(Debug)]
pub struct Edit(ToolSpec);

const DESCRIPTION: &str = "\
Replaces text in a file. old_string must be exactly the file's text (white space and quotes included, without the \
line numbers of read) and must occur once: add neighbouring lines until it does, or set replace_all. Line endings \
are matched and kept whatever the file uses: write plain newlines. The file's mode, byte order mark and final \
newline stay. Nothing in new_string is expanded. For a new file use write.";

impl Edit {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string", "minLength": 1,
                    "description": "The file, relative to the workspace root or absolute."
                },
                "old_string": { "type": "string", "minLength": 1, "description": "The text to replace." },
                "new_string": { "type": "string", "description": "The text to put there; empty deletes." },
                "replace_all": { "type": "boolean", "description": "Replace every occurrence. Default false." }
            },
            "required": ["path", "old_string", "new_string"],
            "additionalProperties": false
        });
        Self(spec("edit", DESCRIPTION, schema))
    }
}

impl Default for Edit {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: false, work: true }
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move { edit(arguments, cx).await.unwrap_or_else(Output::failed) })
    }
}

/// What is to be replaced by what.
struct Change {
    path: String,
    old: String,
    new: String,
    count: Count,
}

enum Count {
    One,
    All,
}

/// A file's contents after the change, and the lines of the matches.
struct Changed {
    contents: Vec<u8>,
    lines: Vec<usize>,
}

async fn edit(arguments: &Map<String, Value>, cx: &ToolContext) -> Result<Output, String> {
    let path = text(arguments, "path");
    let all = arguments.get("replace_all").and_then(Value::as_bool).unwrap_or_default();
    let change = Change {
        path: path.to_owned(),
        old: matching::plain(text(arguments, "old_string")),
        new: matching::plain(text(arguments, "new_string")),
        count: if all { Count::All } else { Count::One },
    };
    let mut current = file::current(cx, path).await?;
    let Some(mut contents) = current.contents.take() else {
        return Err(file::absent(path, current.similar.as_deref()));
    };
    let bytes = std::mem::take(&mut contents.bytes);
    current.contents = Some(contents);
    file::unchanged(cx, &current, path)?;
    let changed = tokio::task::spawn_blocking(move || change.apply(&bytes));
    let changed = changed.await.map_err(|error| format!("the edit was interrupted: {error}"))??;
    let committed = file::propose(cx, path, &current, changed.contents).await?;
    let said = match changed.lines.as_slice() {
        [line] => format!("Replaced 1 match in {path}, at line {line}"),
        lines => format!("Replaced {} matches in {path}, at lines {}", lines.len(), matching::list(lines)),
    };
    Ok(Output { diff: Some(committed.diff), ..Output::said(said) })
}

impl Change {
    fn apply(mut self, bytes: &[u8]) -> Result<Changed, String> {
        let path = &*self.path;
        let decoded = match encoding::decode(bytes) {
            None => {
                return Err(format!("{path} is binary ({} bytes), which edit cannot change", bytes.len()));
            }
            Some(decoded) if !decoded.encoding.is_utf8() => {
                return Err(format!("{path} is {}, and edit changes UTF-8 only", decoded.encoding.as_str()));
            }
            Some(decoded) => decoded,
        };
        // The mark stands before the text; a model that writes it down means the same place.
        if decoded.encoding == Encoding::Utf8Bom && self.old.starts_with(BOM) {
            for text in [&mut self.old, &mut self.new] {
                *text = text.trim_start_matches(BOM).to_owned();
            }
        }
        if self.old.is_empty() {
            return Err("old_string is empty; give the text to replace, or use write for a whole file".into());
        }
        if self.old == self.new {
            return Err(
                "old_string and new_string are the same (line endings aside, which edit keeps)".into()
            );
        }
        let flat = matching::Flat::new(&decoded.text);
        let matches = match self.count {
            Count::One => flat.overlapping(&self.old),
            Count::All => flat.apart(&self.old),
        };
        let lines = flat.line_numbers(&matches);
        match (matches.len(), &self.count) {
            (0, _) => return Err(miss::explain(path, &decoded.text, &self.old)),
            (2.., Count::One) => return Err(ambiguous(path, &lines)),
            _ => {}
        }
        let size = bytes.len() as u64 + (matches.len() as u64).saturating_mul(self.new.len() as u64);
        if size > MAX_BYTES {
            return Err(format!("{path} would become larger than {MAX_BYTES} bytes, so nothing was changed"));
        }
        let mut contents = Vec::with_capacity(bytes.len());
        if decoded.encoding == Encoding::Utf8Bom {
            contents.extend(BOM.to_string().bytes());
        }
        contents.extend(flat.replace(&matches, &self.old, &self.new).bytes());
        Ok(Changed { contents, lines })
    }
}

fn ambiguous(path: &str, lines: &[usize]) -> String {
    let more = if lines.len() == matching::MANY { " or more" } else { "" };
    format!(
        "old_string occurs {}{more} times in {path}, at lines {}, so nothing was changed; add neighbouring lines until it occurs once, or set replace_all",
        lines.len(),
        matching::list(lines)
    )
}
