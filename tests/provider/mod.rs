//! Theme: provider.

mod decode;
mod encode;
mod given;
mod recorded;
mod retry;
mod sse;
mod wire;
