//! Theme: `crystal run`, the whole program against a scripted model server.

mod approval;
mod arguments;
mod budgets;
mod disks;
mod endings;
mod first;
mod headless;
mod interrupts;
mod kills;
mod output;
mod providers;
mod resume;
mod schema;
mod stdin;
mod steps;
