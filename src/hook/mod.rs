//! Hooks, raw hooks and events: the one table of moments, their payloads and acceptance rules, and the one
//! dispatcher that calls handlers.
//!
//! A moment is a type: its row in [`table::EVENTS`], its payload (the type's fields), what a handler is given
//! and what of a reply counts. The turn loop fires moments through [`dispatch::Dispatcher`]; plugins stand behind
//! [`handler::Handler`]. Nothing here knows a script engine, a manifest or a session.

pub mod approval;
pub mod breaker;
mod change;
pub mod clock;
pub mod commit;
pub mod compaction;
pub mod context;
pub mod dispatch;
pub mod handler;
pub mod item;
mod judge;
pub mod model;
pub mod moment;
pub mod prompt;
pub mod rebuild;
pub mod reference;
mod reply;
mod revise;
pub mod session;
pub mod step;
pub mod table;
pub mod tool;
pub mod turn;
