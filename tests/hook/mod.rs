//! Theme: hook.

mod approval;
mod events;
mod failure;
mod hooks;
mod order;
mod raw;
mod reference;
mod scale;
pub mod script;
mod step;
mod trace;
