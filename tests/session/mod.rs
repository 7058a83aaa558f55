//! Theme: session.
