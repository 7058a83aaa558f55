//! Theme: session.

mod moments;
