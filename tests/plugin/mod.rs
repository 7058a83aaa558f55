//! Theme: plugin.
