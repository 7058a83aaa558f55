//! The reference page of the settings, made from the table.

/// `docs/configuration.md`.
pub fn reference() -> String {
    String::new()
}
