//! Theme: hook.
