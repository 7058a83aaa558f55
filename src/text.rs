//! Text as it is cut, compared, decoded and shown. Pure: nothing here touches a file or a terminal.

pub mod cut;
pub mod diff;
pub mod display;
pub mod encoding;
pub mod hash;
pub mod near;
