//! Crystal: a terminal coding agent whose host is scriptable in Luau and Rhai.
//!
//! Layout, from the ground up; a file imports only from lower floors, and a test guards that:
//! - `model`, `error`: the vocabulary (items, requests, responses, judgements) and the ports that lead up;
//! - `home`, `fence`, `process`, `text`: files, paths, children and text, each behind one door;
//! - `hook`: the one table of moments and the one dispatcher;
//! - `provider`, `tool`, `approval`: the three native neighbours of a step;
//! - `plugin`: script VMs, their host functions and what they contribute;
//! - `session`: the turn loop, its store and its commit gate;
//! - `app`: the only place that knows both plugins and sessions;
//! - `run`, `cli`: the ways in.

pub mod app;
pub mod approval;
pub mod cli;
pub mod error;
pub mod fence;
pub mod home;
pub mod hook;
pub mod model;
pub mod plugin;
pub mod process;
pub mod provider;
pub mod run;
pub mod session;
pub mod text;
pub mod tool;
