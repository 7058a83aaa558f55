//! Theme: tool.
