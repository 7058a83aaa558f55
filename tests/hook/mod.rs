//! Theme: hook.

mod approval;
mod events;
mod failure;
mod hooks;
mod order;
mod raw;
mod reference;
mod scale;
mod script;
mod step;
mod trace;
