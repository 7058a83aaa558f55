//! The tool `read`: a text file with line numbers, or an image.

mod image;
mod window;

use serde_json::{Map, Value, json};

use crate::model::item::MediaType;
use crate::model::port::BoxFuture;
use crate::model::request::ToolSpec;
use crate::text::encoding::{self, Encoding};
use crate::tool::file::{self, Current};
use crate::tool::{Catalogs, Output, Tool, ToolContext, spec, text};

/// See the description below.
#[derive(Debug)]
pub struct Read(ToolSpec);

const DESCRIPTION: &str = "\
Reads a file. Text comes with line numbers: a number, a tab, then the line exactly as it stands in the file; only \
what follows that first tab belongs to the file. One call gives at most 20,000 lines and 100,000 characters; when \
something is left out, a last line in angle brackets says what, and with which offset to go on. An image (PNG, JPEG, \
GIF, WebP) is shown as an image. Read a file before you change it. For directories use glob, to search use grep.";

impl Read {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string", "minLength": 1,
                    "description": "The file, relative to the workspace root or absolute."
                },
                "offset": {
                    "type": "integer", "minimum": 1, "maximum": window::MAX_NUMBER,
                    "description": "The first line to show, counted from 1. Default 1."
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": window::MAX_NUMBER,
                    "description": "How many lines to show. Default and most: 20000."
                },
                "column": {
                    "type": "integer", "minimum": 1, "maximum": window::MAX_NUMBER,
                    "description": "Start at this character of the first line, counted from 1; to go on inside a line that is too long for one call."
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        Self(spec("read", DESCRIPTION, schema))
    }
}

impl Default for Read {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: true, work: true }
    }
    fn concurrent(&self) -> bool {
        true
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move { read(arguments, cx).await.unwrap_or_else(Output::failed) })
    }
}

async fn read(arguments: &Map<String, Value>, cx: &ToolContext) -> Result<Output, String> {
    let path = text(arguments, "path");
    let mut current = file::current(cx, path).await?;
    let Some(contents) = current.contents.take() else {
        return Err(file::absent(path, current.similar.as_deref()));
    };
    if let Some(media_type) = MediaType::sniff(&contents.bytes).filter(|_| !is_text(&contents.bytes)) {
        return image::show(cx, path, contents.bytes, media_type).await;
    }
    let window = window::Window::of(arguments);
    let name = path.to_owned();
    let Current { path: real, .. } = current;
    let shown = tokio::task::spawn_blocking(move || {
        show(&name, &contents.bytes, &window).map(|text| (text, contents.hash))
    });
    let (text, hash) = shown.await.map_err(|error| format!("reading was interrupted: {error}"))??;
    cx.seen.note(&real, hash);
    Ok(Output::said(text))
}

/// Whether a file that begins like an image is text after all.
fn is_text(bytes: &[u8]) -> bool {
    encoding::decode(bytes).is_some_and(|decoded| decoded.encoding.is_utf8())
}

fn show(path: &str, bytes: &[u8], window: &window::Window) -> Result<String, String> {
    let Some(decoded) = encoding::decode(bytes) else {
        return Err(format!("{path} is binary ({} bytes) and cannot be shown as text", bytes.len()));
    };
    let mut text = window.show(path, &decoded.text)?;
    if !decoded.encoding.is_utf8() {
        let encoding = decoded.encoding.as_str();
        let verb = if decoded.encoding == Encoding::Latin { "shown as" } else { "decoded from" };
        text.push_str(&format!("<{verb} {encoding}; edit changes UTF-8 files only>\n"));
    }
    Ok(text)
}
