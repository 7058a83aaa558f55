//! Theme: home.
