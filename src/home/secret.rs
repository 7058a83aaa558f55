//! A value that must not be seen: its debug form hides it, and it has no display or serialised form.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A key, token or header value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }
    /// The value, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The text with every secret in it replaced by `[secret]`, for logs and messages. Secrets of fewer than four bytes
/// are left alone: replacing them would destroy the text and hide nothing.
pub fn redact<'a>(text: &'a str, secrets: &[Secret]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for secret in secrets.iter().map(Secret::reveal).filter(|secret| secret.len() >= 4) {
        if text.contains(secret) {
            text = Cow::Owned(text.replace(secret, "[secret]"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_it_stands_in_a_text() {
        let secrets = [Secret::new("sk-abcdef"), Secret::new("a")];
        assert_eq!(redact("Bearer sk-abcdef, sk-abcdef", &secrets), "Bearer [secret], [secret]");
        assert_eq!(format!("{:?}", secrets[0]), "Secret(…)");
    }
}
