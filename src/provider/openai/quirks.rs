//! What a server turned out not to accept. Each finding costs one refused request and is remembered by the client.

use crate::model::response::CallError;
use crate::provider::endpoint::{Endpoint, TokenLimit};

/// What is sent and what is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quirks {
    pub(super) token_limit: TokenLimit,
    pub(super) stream_options: Field,
    pub(super) temperature: Field,
    pub(super) top_p: Field,
    pub(super) reasoning_effort: Field,
    /// The token limit's name was changed already: a server that refuses both names is not asked for ever.
    swapped: bool,
}

/// Whether a field is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Sent,
    Refused,
}

impl Quirks {
    /// What is known before the first request.
    pub(super) fn of(endpoint: &Endpoint, uri: &str) -> Self {
        let own = uri.contains("://api.openai.com/");
        let usual = if own { TokenLimit::MaxCompletionTokens } else { TokenLimit::MaxTokens };
        Self {
            token_limit: endpoint.token_limit.unwrap_or(usual),
            stream_options: Field::Sent,
            temperature: Field::Sent,
            top_p: Field::Sent,
            reasoning_effort: Field::Sent,
            swapped: false,
        }
    }

    /// Learns from a refusal; true when the request is worth sending again, changed.
    pub(super) fn learn(&mut self, error: &CallError) -> bool {
        if !matches!(error.status, Some(400 | 422)) || !speaks_of_a_field(error) {
            return false;
        }
        let names = |field: &str| error.message.contains(field);
        if !self.swapped && names(self.limit_name()) {
            self.swapped = true;
            self.token_limit = match self.token_limit {
                TokenLimit::MaxTokens => TokenLimit::MaxCompletionTokens,
                TokenLimit::MaxCompletionTokens => TokenLimit::MaxTokens,
            };
            return true;
        }
        let fields = [
            ("stream_options", &mut self.stream_options),
            ("temperature", &mut self.temperature),
            ("top_p", &mut self.top_p),
            ("reasoning_effort", &mut self.reasoning_effort),
        ];
        let mut learnt = false;
        for (name, field) in fields {
            if *field == Field::Sent && names(name) {
                *field = Field::Refused;
                learnt = true;
            }
        }
        learnt
    }

    /// The name of the output limit on the wire.
    pub(super) fn limit_name(&self) -> &'static str {
        match self.token_limit {
            TokenLimit::MaxTokens => "max_tokens",
            TokenLimit::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Whether a refusal is about a field as such. A value out of range is the operator's to mend, and is shown.
fn speaks_of_a_field(error: &CallError) -> bool {
    const WORDS: &[&str] = &[
        "unsupported",
        "not support",
        "unrecognized",
        "unknown",
        "unexpected",
        "not permitted",
        "not allowed",
        "extra inputs",
        "extra fields",
        "extra_forbidden",
        "deprecated",
        "not available",
        "no such field",
        "additional properties",
        "cannot both",
        "not compatible",
        "incompatible",
    ];
    let text = error.message.to_ascii_lowercase();
    matches!(error.code.as_deref(), Some("unsupported_parameter" | "unsupported_value" | "unknown_parameter"))
        || WORDS.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::endpoint::{Model, Timeouts};

    #[test]
    fn only_openai_itself_is_asked_for_completion_tokens_unless_the_entry_says_so() {
        let mut endpoint = Endpoint {
            provider: "acme".into(),
            protocol: "openai".into(),
            base_uri: String::new(),
            key: None,
            organization: None,
            project: None,
            headers: Vec::new(),
            replay_reasoning: false,
            token_limit: None,
            model: Model::default(),
            timeouts: Timeouts::default(),
            attempts: 1,
        };
        let name = |endpoint: &Endpoint, uri| Quirks::of(endpoint, uri).limit_name();
        assert_eq!(name(&endpoint, "https://api.openai.com/v1/chat/completions"), "max_completion_tokens");
        assert_eq!(name(&endpoint, "http://127.0.0.1:11434/v1/chat/completions"), "max_tokens");
        endpoint.token_limit = Some(TokenLimit::MaxTokens);
        assert_eq!(name(&endpoint, "https://api.openai.com/v1/chat/completions"), "max_tokens");
    }
}
