//! A session: its file, its commit gate, its turns.

pub mod blob;
pub mod commit;
pub mod store;
