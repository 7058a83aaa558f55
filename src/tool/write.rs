//! The tool `write`: a whole file, exactly as given.

use serde_json::{Map, Value, json};

use crate::model::port::BoxFuture;
use crate::model::request::ToolSpec;
use crate::text::encoding;
use crate::tool::{Catalogs, Output, Tool, ToolContext, file, spec, text};

/// See the description below.
#[derive(Debug)]
pub struct Write(ToolSpec);

/// The most bytes of one file.
const MAX_BYTES: usize = 2 * 1024 * 1024;

const DESCRIPTION: &str = "\
Writes a whole text file: it then holds exactly contents (UTF-8, at most 2 MiB; end it with a newline yourself). A \
file that is there is replaced and keeps its mode; missing directories are made. To change a part of a file use edit.";

impl Write {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string", "minLength": 1,
                    "description": "The file, relative to the workspace root or absolute."
                },
                "contents": { "type": "string", "description": "Everything the file is to hold." }
            },
            "required": ["path", "contents"],
            "additionalProperties": false
        });
        Self(spec("write", DESCRIPTION, schema))
    }
}

impl Default for Write {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: false, work: true }
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move { write(arguments, cx).await.unwrap_or_else(Output::failed) })
    }
}

async fn write(arguments: &Map<String, Value>, cx: &ToolContext) -> Result<Output, String> {
    let (path, contents) = (text(arguments, "path"), text(arguments, "contents"));
    if path.ends_with('/') {
        return Err(format!("{path} names a directory; give the path of a file"));
    }
    if contents.len() > MAX_BYTES {
        return Err(format!(
            "contents has {} bytes, more than the {MAX_BYTES} that one file may get; write it in parts with bash",
            contents.len()
        ));
    }
    let current = file::current(cx, path).await?;
    file::unchanged(cx, &current, path)?;
    if let Some(before) = &current.contents {
        if encoding::decode(&before.bytes).is_none() {
            return Err(format!(
                "{path} is binary ({} bytes), and write replaces text only",
                before.bytes.len()
            ));
        }
        if before.bytes == contents.as_bytes() {
            cx.seen.note(&current.path, before.hash.clone());
            return Ok(Output::said(format!(
                "{path} holds exactly these contents already; nothing was written"
            )));
        }
    }
    let committed = file::propose(cx, path, &current, contents.into()).await?;
    let verb = if committed.created { "Created" } else { "Replaced" };
    let lines = contents.lines().count();
    let said = format!(
        "{verb} {path} ({lines} {}, {} bytes)",
        if lines == 1 { "line" } else { "lines" },
        contents.len()
    );
    Ok(Output { diff: Some(committed.diff), ..Output::said(said) })
}
