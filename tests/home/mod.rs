//! Theme: home.

mod catalog;
mod cli;
mod docs;
mod document;
mod edits;
mod keys;
mod paths;
mod saving;
mod settings;
mod trust;
