//! The vocabulary every floor shares. Plain values, no behaviour beyond what keeps them consistent;
//! nothing here knows a file, a socket, a terminal or a script.

pub mod item;
pub mod judgement;
pub mod port;
pub mod request;
pub mod response;
