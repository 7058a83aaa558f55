//! What an error says, in whatever shape it comes: `{"error":{…}}`, `{"error":"…"}`, `{"detail":…}`, a flat object, a
//! list around one of them, plain text, an HTML page, nothing.

use serde_json::Value;

/// The longest piece of a provider's text that is shown, in characters.
const MOST_SHOWN: usize = 600;
/// The longest piece of an answer that is no error object, in characters.
const MOST_EXCERPT: usize = 160;

/// The content of an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The provider's own words, on one line, without a final dot; may be empty.
    pub message: String,
    /// `code`, as text.
    pub code: Option<String>,
    /// `type`, where it is a word.
    pub kind: Option<String>,
    /// The whole object, for what else it may hold.
    pub body: Option<Value>,
}

impl Said {
    /// Only words.
    pub fn words(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// What a body says; of a body that is no error object, an excerpt.
    pub fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value).unwrap_or_else(|| Self::words(excerpt(body))),
            Err(_) => Self::words(excerpt(body)),
        }
    }

    /// What an error object says; none when it holds no words and no code.
    pub fn of(value: &Value) -> Option<Self> {
        let body = value.get(0).unwrap_or(value);
        let error = match body.get("error") {
            Some(error) if !error.is_null() => error,
            _ => body,
        };
        let word = |key: &str| error.get(key).or_else(|| body.get(key)).and_then(scalar);
        let message = raw_words(error)
            .or_else(|| words(error))
            .or_else(|| words(body))
            .map(|text| one_line(&text, MOST_SHOWN));
        let (code, kind) = (word("code"), word("type").filter(|kind| kind != "error"));
        if message.is_none() && code.is_none() && kind.is_none() {
            return None;
        }
        Some(Self { message: message.unwrap_or_default(), code, kind, body: Some(value.clone()) })
    }

    /// Whether code or type is one of these.
    pub fn is(&self, names: &[&str]) -> bool {
        [&self.code, &self.kind].into_iter().flatten().any(|have| names.contains(&have.as_str()))
    }
}

/// The words behind a gateway's "Provider returned error".
fn raw_words(error: &Value) -> Option<String> {
    let generic =
        error.get("message")?.as_str()?.trim_end_matches('.').eq_ignore_ascii_case("provider returned error");
    let raw = error.get("metadata")?.get("raw").filter(|_| generic)?;
    match raw.as_str() {
        Some(text) => Some(match serde_json::from_str::<Value>(text) {
            Ok(inner) => Said::of(&inner).map_or_else(|| text.to_owned(), |said| said.message),
            Err(_) => text.to_owned(),
        }),
        None => Said::of(raw).map(|said| said.message),
    }
    .filter(|text| !text.is_empty())
}

fn words(value: &Value) -> Option<String> {
    let found = match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => ["message", "msg", "detail", "error_description", "error", "title"]
            .iter()
            .filter_map(|key| fields.get(*key))
            .find_map(words),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().filter_map(words).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        _ => None,
    };
    found.filter(|text| !text.trim().is_empty())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A short piece of something that was not expected: of a page its title or its first words, else the start.
pub fn excerpt(body: &str) -> String {
    // More than this is never looked at.
    let body = &body[..body.floor_char_boundary(16_384)];
    if !body.trim_start().starts_with('<') {
        return one_line(body, MOST_EXCERPT);
    }
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower.get(at..)?.find('>')? + 1;
        let end = start + lower.get(start..)?.find("</title")?;
        body.get(start..end)
    });
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => one_line(title, MOST_EXCERPT),
        None => one_line(&without_tags(body), MOST_EXCERPT),
    }
}

fn without_tags(page: &str) -> String {
    let mut text = String::new();
    for piece in page.split('<') {
        text.push_str(piece.split_once('>').map_or("", |(_, text)| text));
        text.push(' ');
    }
    text
}

/// White space and control characters become single spaces; long text is cut; a final dot goes.
fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most * 4 {
            break;
        }
    }
    if let Some((at, _)) = line.char_indices().nth(most) {
        line.truncate(at);
        line.push('…');
    }
    line.truncate(line.trim_end_matches('.').len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, message: &str, code: Option<&str>, kind: Option<&str>) {
        let said = Said::read(body);
        let got = (said.message.as_str(), said.code.as_deref(), said.kind.as_deref());
        assert_eq!(got, (message, code, kind), "{body}");
    }

    #[test]
    fn every_shape_of_an_error_is_read() {
        check(
            r#"{"error":{"message":"No such thing.","type":"bad","code":null}}"#,
            "No such thing",
            None,
            Some("bad"),
        );
        check(r#"{"error":"no such model"}"#, "no such model", None, None);
        check(r#"{"error":"no such model","code":"missing"}"#, "no such model", Some("missing"), None);
        check(r#"{"detail":"Not allowed"}"#, "Not allowed", None, None);
        check(
            r#"{"detail":[{"loc":["x"],"msg":"too big"},{"msg":"too old"}]}"#,
            "too big; too old",
            None,
            None,
        );
        check(
            r#"{"code":400,"message":"Bad\nvalue","type":"Bad Request"}"#,
            "Bad value",
            Some("400"),
            Some("Bad Request"),
        );
        check(r#"[{"error":{"message":"in a list","code":400}}]"#, "in a list", Some("400"), None);
        check(r#"{"type":"error","error":{"type":"busy","message":"wait"}}"#, "wait", None, Some("busy"));
        check("upstream went away.\n", "upstream went away", None, None);
        check("", "", None, None);
    }

    #[test]
    fn the_words_behind_a_gateway_are_shown() {
        let raw = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"bad seed\"}}"}}}"#;
        check(raw, "bad seed", Some("400"), None);
        let text = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"went wrong"}}}"#;
        check(text, "went wrong", None, None);
    }

    #[test]
    fn pages_are_cut_to_their_title_or_first_words() {
        check("<html><head><title>Sign in</title></head><body>long</body></html>", "Sign in", None, None);
        check("<!DOCTYPE html><p>Bad</p> <b>gateway</b>", "Bad gateway", None, None);
        assert!(Said::read(&"é".repeat(50_000)).message.chars().count() <= MOST_EXCERPT + 1);
    }
}
