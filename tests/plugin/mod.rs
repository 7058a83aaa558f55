//! Theme: plugin. Every case is written once and runs in both languages.

mod bench;

mod attack;
mod boundary;
mod host;
mod manifest;
mod modules;
mod offline;
mod protocol;
mod reentry;
mod tool;
