//! The tools of a mode, as the model sees them. Made once per mode, so that every request carries the same bytes.

use std::sync::Arc;

use crate::model::request::{Mode, ToolSpec};
use crate::tool::Tool;
use crate::tool::schema;

/// The tools on offer.
#[derive(Clone, Default)]
pub(super) struct Catalog {
    tools: Arc<[Arc<dyn Tool>]>,
    specs: Arc<[ToolSpec]>,
}

impl Catalog {
    /// The tools of `all` that this mode offers, in their order.
    pub(super) fn of(all: &[Arc<dyn Tool>], mode: Mode) -> Self {
        let offered = |tool: &&Arc<dyn Tool>| match mode {
            Mode::Plan => tool.catalogs().plan,
            Mode::Work => tool.catalogs().work,
        };
        let tools: Arc<[Arc<dyn Tool>]> = all.iter().filter(offered).cloned().collect();
        let specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        Self { tools, specs }
    }
    /// What requests list.
    pub(super) fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }
    /// The names, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        self.specs.iter().map(|spec| &*spec.name).collect()
    }
    /// The tool a name means, or a sentence for the model that lists the real ones.
    pub(super) fn resolve(&self, name: &str) -> Result<&Arc<dyn Tool>, String> {
        let known = schema::resolve(name, &self.names())?;
        self.tools
            .iter()
            .find(|tool| &*tool.spec().name == known)
            .ok_or_else(|| format!("there is no tool {known:?}"))
    }
    /// Whether calls under that name only read.
    pub(super) fn reads_only(&self, name: &str) -> bool {
        self.resolve(name).is_ok_and(|tool| tool.concurrent())
    }
}
