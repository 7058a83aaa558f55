//! The data directory: its files, settings, keys and trust.

pub mod secret;
