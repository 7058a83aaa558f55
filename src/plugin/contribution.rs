//! What an entry script registers: a name in one of the manifest's lists, and the function that the host will call.

use serde_json::Value;

use crate::plugin::vm::engine::FunctionId;
use crate::tool::Catalogs;

/// One registration, in the order it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// Its name, unique in its list where the list says so.
    pub name: String,
    /// The script function behind it.
    pub function: FunctionId,
    /// What it is.
    pub kind: Kind,
}

/// Kinds of registration.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A tool the model may call.
    Tool {
        /// What it does, in the words the model reads.
        description: String,
        /// JSON Schema of its arguments.
        schema: Value,
        /// Who is offered it.
        catalogs: Catalogs,
        /// Whether it is only for models that take images.
        images: bool,
    },
    /// A wire protocol.
    Protocol,
}

impl Contribution {
    /// The manifest list it belongs to.
    pub fn list(&self) -> &'static str {
        match self.kind {
            Kind::Tool { .. } => "tools",
            Kind::Protocol => "protocols",
        }
    }
}
