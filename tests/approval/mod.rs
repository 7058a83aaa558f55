//! Theme: approval.

mod decide;
mod evasion;
mod fuzz;
mod grant;
mod shell;
mod tools;
mod world;
