//! A plugin's tool.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::model::item::Image;
use crate::model::port::{BoxFuture, ImageStore};
use crate::model::request::ToolSpec;
use crate::plugin::contribution::{Contribution, Kind};
use crate::plugin::vm::Vm;
use crate::plugin::vm::engine::FunctionId;
use crate::plugin::vm::message::{Call, Given};
use crate::tool::{Catalogs, Output, Tool, ToolContext};

/// Longest text of a result; the rest is cut, with a word that says so.
const MAX_TEXT: usize = 1_000_000;

/// A tool whose `run` is a script function.
pub struct PluginTool {
    vm: Vm,
    spec: ToolSpec,
    catalogs: Catalogs,
    function: FunctionId,
}

impl PluginTool {
    /// None where the registration is no tool.
    pub(super) fn new(vm: &Vm, contribution: &Contribution) -> Option<Self> {
        let Kind::Tool { description, schema, catalogs, .. } = &contribution.kind else { return None };
        let spec = ToolSpec {
            name: contribution.name.as_str().into(),
            description: description.as_str().into(),
            schema: Arc::new(schema.clone()),
        };
        Some(Self { vm: vm.clone(), spec, catalogs: *catalogs, function: contribution.function })
    }
    /// What messages call it.
    fn title(&self) -> String {
        format!("tool '{}' of plugin '{}'", self.spec.name, self.vm.plugin())
    }
}

impl Tool for PluginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn catalogs(&self) -> Catalogs {
        self.catalogs
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let facts = json!({ "workspace": cx.fence.root().to_string_lossy(), "session": &*cx.session });
            let call = Call {
                function: self.function,
                name: self.title(),
                arguments: vec![Given::Value(Value::Object(arguments.clone())), Given::Value(facts)],
                deadline: cx.bash_timeout,
                original: Some(Value::Object(arguments.clone())),
            };
            let result = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return failed("The call was cancelled.".to_owned()),
                result = self.vm.call(call) => result,
            };
            let output = match result {
                Ok(value) => output(value, cx),
                Err(fault) => Err(fault.to_string()),
            };
            output.unwrap_or_else(|reason| failed(format!("{} failed: {reason}", self.title())))
        })
    }
}

fn failed(text: String) -> Output {
    Output { text, failed: true, ..Output::default() }
}

/// Text, or a table with `text` and `images`.
fn output(value: Value, cx: &ToolContext) -> Result<Output, String> {
    match value {
        Value::String(text) => Ok(Output { text: cut(text), ..Output::default() }),
        Value::Object(mut fields) => {
            let text = match fields.remove("text") {
                Some(Value::String(text)) => cut(text),
                None | Some(Value::Null) if fields.contains_key("images") => String::new(),
                _ => return Err("its result has no 'text'".to_owned()),
            };
            let images = match fields.remove("images") {
                None | Some(Value::Null) => Vec::new(),
                // What a model cannot see is left out; the text stays.
                Some(Value::Array(_)) if !cx.accepts_images => Vec::new(),
                Some(Value::Array(images)) => {
                    images.iter().map(|given| image(given, &*cx.images)).collect::<Result<_, _>>()?
                }
                Some(_) => return Err("'images' of its result is no list".to_owned()),
            };
            Ok(Output { text, images, ..Output::default() })
        }
        Value::Null => {
            Err("it returned nothing; a tool returns text, or a table with 'text' and 'images'".to_owned())
        }
        _ => Err("its result is neither text nor a table with 'text' and 'images'".to_owned()),
    }
}

fn image(given: &Value, store: &dyn ImageStore) -> Result<Image, String> {
    let data =
        given.get("data").and_then(Value::as_str).ok_or("an image of its result has no base64 'data'")?;
    let bytes = STANDARD.decode(data).map_err(|_| "an image of its result is not base64".to_owned())?;
    store.store(&bytes)
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str("\n(cut: the tool's result was longer than 1,000,000 bytes)");
    }
    text
}
