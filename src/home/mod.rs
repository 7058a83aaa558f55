//! The data directory: its files, settings, keys and trust.

pub mod credentials;
pub mod document;
mod edit;
pub mod environment;
pub mod json;
pub mod keys;
pub mod paths;
pub mod permissions;
pub mod replace;
pub mod secret;
pub mod settings;
pub mod spelling;
pub mod trust;
