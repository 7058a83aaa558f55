//! Theme: `crystal run`, the whole program against a scripted model server.

mod approval;
mod arguments;
mod budgets;
mod endings;
mod first;
mod interrupts;
mod output;
mod resume;
mod schema;
mod stdin;
mod steps;
