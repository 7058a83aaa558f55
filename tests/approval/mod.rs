//! Theme: approval.
