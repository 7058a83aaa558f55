//! Plugins: script VMs, what the host offers them, and what they contribute.
//!
//! [`load`] turns a directory or a bundled plugin into a manifest, a VM ([`vm`]) and its contributions, which
//! [`register`] makes into tools and protocols. [`host`] is the one table of functions for scripts; [`lua`] and
//! [`rhai`] bind it, and are the only places that know an engine. Nothing here touches a file, a program or the
//! network on a script's behalf except through a row of that table.

pub mod contribution;
pub mod files;
pub mod host;
pub mod item;
pub mod load;
pub mod lua;
pub mod manifest;
pub mod register;
pub mod rhai;
pub mod stdlib;
pub mod value;
pub mod vm;
