//! Cutting text by characters, never inside one, so that what was left out can be told.

/// The first `chars` characters.
pub fn head(text: &str, chars: usize) -> &str {
    split(text, chars).0
}

/// The last `chars` characters.
pub fn tail(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1) {
        None => "",
        Some(skip) => text.char_indices().rev().nth(skip).and_then(|(at, _)| text.get(at..)).unwrap_or(text),
    }
}

/// The first `chars` characters and the rest.
pub fn split(text: &str, chars: usize) -> (&str, &str) {
    // A text of fewer bytes has fewer characters.
    if text.len() <= chars {
        return (text, "");
    }
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// A text in three parts, the middle one too much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends<'a> {
    /// The beginning.
    pub head: &'a str,
    /// What is left out.
    pub left_out: &'a str,
    /// The end.
    pub tail: &'a str,
}

/// Splits a text that is longer than `head + tail` characters; none when it fits.
pub fn ends(text: &str, head: usize, tail: usize) -> Option<Ends<'_>> {
    let (first, rest) = split(text, head);
    let last = self::tail(rest, tail);
    let left_out = rest.get(..rest.len() - last.len())?;
    (!left_out.is_empty()).then_some(Ends { head: first, left_out, tail: last })
}

/// The text, or its beginning and end around `note` (which gets the middle), about `chars` characters without the note.
/// The end gets a quarter. A cut falls on a line's end where one is near.
pub fn middle(text: &str, chars: usize, note: impl FnOnce(&str) -> String) -> String {
    let Some(cut) = ends(text, chars - chars / 4, chars / 4) else { return text.to_owned() };
    // Whole lines read better; a line's end more than a few lines away is not worth the loss.
    let near = 2_000;
    let head = match cut.head.rfind('\n') {
        Some(at) if cut.head.len() - at <= near => at + 1,
        _ => cut.head.len(),
    };
    let from = text.len() - cut.tail.len();
    let tail = match cut.tail.find('\n') {
        Some(at) if at <= near => from + at + 1,
        _ => from,
    };
    let (first, left_out, last) = (text.get(..head), text.get(head..tail), text.get(tail..));
    let (Some(first), Some(left_out), Some(last)) = (first, left_out, last) else { return text.to_owned() };
    let gap = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
    format!("{first}{gap}{}\n{last}", note(left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters_whatever_the_offset() {
        for n in 0..4 {
            let text = format!("{}{}", "a".repeat(n), "語".repeat(50));
            assert_eq!(head(&text, 20).chars().count(), 20);
            assert_eq!(tail(&text, 20), "語".repeat(20));
            let cut = ends(&text, 10, 5).unwrap();
            assert_eq!(cut.left_out.chars().count(), n + 35);
            assert_eq!([cut.head, cut.left_out, cut.tail].concat(), text);
        }
    }

    #[test]
    fn a_text_that_fits_is_not_cut() {
        assert_eq!(ends("語語", 1, 1), None);
        assert_eq!(ends("", 0, 0), None);
        assert_eq!((tail("abc", 0), head("abc", 0), tail("abc", 9)), ("", "", "abc"));
        assert_eq!(middle("abc", 3, |_| "cut".into()), "abc");
    }

    #[test]
    fn the_middle_is_replaced_by_its_note_at_line_ends() {
        let text: String = (0..100).map(|n| format!("line {n:02}\n")).collect();
        let cut = middle(&text, 80, |left| format!("<{} lines left out>", left.lines().count()));
        assert_eq!(cut.lines().next(), Some("line 00"));
        assert_eq!(cut.lines().last(), Some("line 99"));
        let shown = cut.lines().filter(|line| line.starts_with("line")).count();
        assert!(cut.contains(&format!("\n<{} lines left out>\n", 100 - shown)), "{cut}");
    }
}
