//! Theme: tool.

mod bash;
mod given;
mod glob;
mod grep;
mod process;
