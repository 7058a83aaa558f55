//! Arithmetic: the value of a name is evaluated in turn, and a subscript in it can run a command. So every name
//! that was set on the line must hold a number.

use crate::approval::shell::scan::is_identifier;
use crate::approval::shell::state::{State, Value};

/// Evaluates an expression; says why where it cannot be followed. Names it may assign hold numbers afterwards.
pub(super) fn apply(text: &str, state: &mut State) -> Option<String> {
    for name in names(text) {
        match state.variable(name) {
            // The operator's environment is trusted.
            None => {}
            Some(value) if value.is_numeric() => {}
            Some(_) => return Some(format!("{name} is evaluated and may hold more than a number")),
        }
    }
    let assigns = text.contains("++") || text.contains("--") || text.contains('=');
    if assigns {
        for name in names(text) {
            state.set(name, Value::Number);
        }
    }
    None
}

/// The names in an expression.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| is_identifier(word))
}
