//! Plugins.

pub mod bundled;
