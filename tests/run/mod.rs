//! Theme: run.
