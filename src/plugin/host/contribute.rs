//! Registration: what the entry script offers to the host.

use serde_json::{Value, json};

use crate::plugin::contribution::{Contribution, Kind};
use crate::plugin::host::{Answer, Flag, Function, Given, Parameter, Place, Record, Scene, Shape, When};
use crate::tool::Catalogs;

/// Most registrations of one plugin.
const MAX_CONTRIBUTIONS: usize = 256;
/// Longest tool name.
const MAX_NAME: usize = 64;
/// Longest protocol token.
const MAX_TOKEN: usize = 32;

pub(super) const TOOL: Function = Function {
    place: Place::Crystal,
    name: "tool",
    parameters: &[Parameter { name: "tool", shape: Shape::Record, optional: false }],
    result: "",
    permission: None,
    when: When::Loading,
    doc: "Offers a tool to the model: `name`, `description`, `schema` (JSON Schema of an object; left out: no arguments), \
          `catalogs` (`plan`, `work`; left out: `work`), `images` (only for models that take images), and \
          `run(args, ctx)`, which returns text or a table with `text` and `images`, or raises an error.",
    run: &tool,
};

pub(super) const PROTOCOL: Function = Function {
    place: Place::Crystal,
    name: "protocol",
    parameters: &[Parameter { name: "protocol", shape: Shape::Record, optional: false }],
    result: "",
    permission: None,
    when: When::Loading,
    doc: "Offers a wire protocol: `name`, the token that providers.json uses, and `stream(request, emit)`, which makes \
          one model call and emits its answer.",
    run: &protocol,
};

fn tool(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let record = first(arguments);
    record.only(&["name", "description", "schema", "catalogs", "images", "run"])?;
    let name = record.text("name")?;
    if !is_tool_name(name) {
        return Err(format!(
            "'{name}' is no tool name: a letter, then letters, digits, _ or -, {MAX_NAME} characters at most"
        ));
    }
    let kind = Kind::Tool {
        description: record.text("description")?.to_owned(),
        schema: schema(record.fields.get("schema"))?,
        catalogs: catalogs(record.fields.get("catalogs"))?,
        images: record.flag("images", Flag::No)? == Flag::Yes,
    };
    contribute(scene, Contribution { name: name.to_owned(), function: record.function("run")?, kind })
}

fn protocol(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let record = first(arguments);
    record.only(&["name", "stream"])?;
    let name = record.text("name")?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if name.len() > MAX_TOKEN
        || !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(fits)
    {
        return Err(format!(
            "'{name}' is no protocol token: a lower-case letter, then lower-case letters, digits, _ or -, {MAX_TOKEN} \
             characters at most"
        ));
    }
    let function = record.function("stream")?;
    contribute(scene, Contribution { name: name.to_owned(), function, kind: Kind::Protocol })
}

fn contribute(scene: &Scene<'_>, contribution: Contribution) -> Result<Answer, String> {
    if scene.desk.contributions() >= MAX_CONTRIBUTIONS {
        return Err(format!("a plugin may register {MAX_CONTRIBUTIONS} things at most"));
    }
    scene.desk.contribute(contribution);
    Ok(Answer::Nothing)
}

fn first(arguments: Vec<Given>) -> Record {
    arguments.into_iter().next().map(Given::into_record).unwrap_or_default()
}

fn is_tool_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.len() <= MAX_NAME && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(fits)
}

/// A schema whose root is an object, as every provider wants it.
fn schema(given: Option<&Value>) -> Result<Value, String> {
    let mut schema = match given {
        None | Some(Value::Null) => json!({}),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => return Err("'schema' must be a table".to_owned()),
    };
    if let Some(fields) = schema.as_object_mut() {
        match fields.get("type") {
            None => {
                fields.insert("type".to_owned(), "object".into());
            }
            Some(Value::String(kind)) if kind == "object" => {}
            Some(_) => return Err("'schema' must describe an object: its type must be \"object\"".to_owned()),
        }
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    Ok(schema)
}

fn catalogs(given: Option<&Value>) -> Result<Catalogs, String> {
    let names = match given {
        None | Some(Value::Null) => return Ok(Catalogs { plan: false, work: true }),
        Some(Value::Array(names)) => names,
        Some(_) => return Err("'catalogs' must be a list of \"plan\" and \"work\"".to_owned()),
    };
    let mut catalogs = Catalogs { plan: false, work: false };
    for name in names {
        match name.as_str() {
            Some("plan") => catalogs.plan = true,
            Some("work") => catalogs.work = true,
            _ => return Err(format!("'catalogs' holds {name}; it knows \"plan\" and \"work\"")),
        }
    }
    if !catalogs.plan && !catalogs.work {
        return Err("'catalogs' is empty; a tool is in at least one".to_owned());
    }
    Ok(catalogs)
}
