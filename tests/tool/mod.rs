//! Theme: tool.

mod arguments;
mod bash;
pub(crate) mod desk;
mod edit;
mod fence;
mod given;
mod glob;
mod grep;
mod process;
mod question;
mod read;
mod table;
mod todo;
mod write;
