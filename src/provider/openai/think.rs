//! Reasoning that a local server leaves in the text: `<think>…</think>` at the very start of an answer. A tag anywhere
//! else is text about tags. Tags may be split over any number of chunks.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells reasoning from text as it streams.
#[derive(Debug, Default)]
pub(super) struct Think {
    state: State,
    /// Text that may be part of a tag or is white space around one.
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space has come.
    #[default]
    Start,
    Inside,
    /// The closing tag has come: white space before the answer is dropped.
    After,
    Text,
}

/// What a piece of content turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
}

impl Think {
    /// Takes the next piece of content.
    pub(super) fn feed(&mut self, piece: &str, out: &mut dyn FnMut(Kind, &str)) {
        if self.state == State::Text {
            return out(Kind::Text, piece);
        }
        self.held.push_str(piece);
        while self.advance(out) {}
    }

    /// The answer has ended: what was held back is what it looked like.
    pub(super) fn end(&mut self, out: &mut dyn FnMut(Kind, &str)) {
        let kind = match self.state {
            State::Inside => Kind::Reasoning,
            State::After => return self.held.clear(),
            State::Start | State::Text => Kind::Text,
        };
        if !self.held.is_empty() {
            out(kind, &std::mem::take(&mut self.held));
        }
    }

    /// Whether another look at what is held may give more.
    fn advance(&mut self, out: &mut dyn FnMut(Kind, &str)) -> bool {
        match self.state {
            State::Start => {
                let begun = self.held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.state = State::Inside;
                    return true;
                }
                if !OPEN.starts_with(begun) {
                    self.state = State::Text;
                    out(Kind::Text, &std::mem::take(&mut self.held));
                }
                false
            }
            State::Inside => {
                if let Some(at) = self.held.find(CLOSE) {
                    let rest = self.held.split_off(at);
                    hand_over(Kind::Reasoning, &self.held, out);
                    self.held = rest.get(CLOSE.len()..).unwrap_or_default().to_owned();
                    self.state = State::After;
                    return true;
                }
                let keep = possible_tag(&self.held);
                let rest = self.held.split_off(self.held.len() - keep);
                hand_over(Kind::Reasoning, &self.held, out);
                self.held = rest;
                false
            }
            State::After => {
                let begun = self.held.trim_start();
                if !begun.is_empty() {
                    out(Kind::Text, begun);
                    self.held = String::new();
                    self.state = State::Text;
                } else {
                    self.held.clear();
                }
                false
            }
            State::Text => false,
        }
    }
}

fn hand_over(kind: Kind, text: &str, out: &mut dyn FnMut(Kind, &str)) {
    if !text.is_empty() {
        out(kind, text);
    }
}

/// How many bytes at the end may be the start of a closing tag.
fn possible_tag(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|length| text.ends_with(&CLOSE[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let (mut think, mut text, mut reasoning) = (Think::default(), String::new(), String::new());
        let mut out = |kind, piece: &str| match kind {
            Kind::Text => text.push_str(piece),
            Kind::Reasoning => reasoning.push_str(piece),
        };
        for piece in pieces {
            think.feed(piece, &mut out);
        }
        think.end(&mut out);
        (text, reasoning)
    }

    fn check(content: &str, text: &str, reasoning: &str) {
        let expected = (text.to_owned(), reasoning.to_owned());
        assert_eq!(split(&[content]), expected, "{content}");
        let characters: Vec<String> = content.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(split(&characters), expected, "{content} by character");
    }

    #[test]
    fn leading_tags_are_reasoning_and_others_are_text() {
        check("<think>a < b </thin</think>\n\nYes", "Yes", "a < b </thin");
        check("\n<think></think>Yes", "Yes", "");
        check("<think>never closed </th", "", "never closed </th");
        check("Use <think> and </think> tags", "Use <think> and </think> tags", "");
        check("  <thing> is", "  <thing> is", "");
        check("<thi", "<thi", "");
        check("<think>a</think>b<think>c</think>", "b<think>c</think>", "a");
        check("\n\n", "\n\n", "");
    }
}
