//! The integration tests, one binary. One module per theme.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod support;

mod approval;
mod home;
mod hook;
mod house;
mod plugin;
mod provider;
mod run;
mod session;
mod tool;
