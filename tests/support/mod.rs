//! What every theme shares. A theme uses what it needs of it.
#![allow(dead_code)]

pub mod chat;
pub mod crystal;
pub mod gate;
pub mod server;
pub mod session;
