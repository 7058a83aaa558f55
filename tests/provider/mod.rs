//! Theme: provider.
