//! Theme: tool.

mod arguments;
mod desk;
mod edit;
mod fence;
mod question;
mod read;
mod table;
mod todo;
mod write;
mod bash;
mod given;
mod glob;
mod grep;
mod process;
