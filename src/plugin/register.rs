//! What a plugin registered, as the host uses it: [`Tool`]s and [`Protocol`]s that call into the plugin's VM.

use std::sync::Arc;

use crate::plugin::contribution::{Contribution, Kind};
use crate::plugin::register::protocol::PluginProtocol;
use crate::plugin::register::tool::PluginTool;
use crate::plugin::vm::Vm;
use crate::provider::Protocol;
use crate::tool::Tool;

pub mod protocol;
pub mod tool;

/// A plugin's registrations and the VM behind them.
#[derive(Clone)]
pub struct Registered {
    /// The VM.
    pub vm: Vm,
    /// In the order of registration.
    pub contributions: Arc<[Contribution]>,
}

impl Registered {
    /// Binds registrations to their VM.
    pub fn new(vm: Vm, contributions: Vec<Contribution>) -> Self {
        Self { vm, contributions: contributions.into() }
    }
    /// Its tools. Of several with one name the first counts; [`Registered::notes`] tells of the others. `images` says
    /// whether the model takes images: tools that are made for images are left out without it.
    pub fn tools(&self, images: Images) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for contribution in self.contributions.iter() {
            let Kind::Tool { images: wants, .. } = &contribution.kind else { continue };
            let known = tools.iter().any(|tool| *tool.spec().name == *contribution.name);
            if !known && (!wants || images == Images::Taken) {
                tools.extend(
                    PluginTool::new(&self.vm, contribution).map(|tool| Arc::new(tool) as Arc<dyn Tool>),
                );
            }
        }
        tools
    }
    /// Its protocols. Of several with one token the first counts.
    pub fn protocols(&self) -> Vec<Arc<dyn Protocol>> {
        let mut protocols: Vec<Arc<dyn Protocol>> = Vec::new();
        for contribution in self.contributions.iter().filter(|made| made.kind == Kind::Protocol) {
            if !protocols.iter().any(|protocol| protocol.token() == contribution.name) {
                protocols.push(Arc::new(PluginProtocol::new(&self.vm, contribution)));
            }
        }
        protocols
    }
    /// What the operator should know: registrations that were left out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (index, made) in self.contributions.iter().enumerate() {
            let same = |other: &Contribution| other.list() == made.list() && other.name == made.name;
            if self.contributions.iter().take(index).any(same) {
                let (plugin, list, name) = (self.vm.plugin(), made.list(), &made.name);
                notes.push(format!(
                    "Plugin '{plugin}' registers '{name}' twice in {list}; the first one counts."
                ));
            }
        }
        notes
    }
}

/// Whether the turn's model takes images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Images {
    Taken,
    Refused,
}
