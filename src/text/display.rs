//! Foreign text for a terminal: without what could move the cursor, hide words or turn their order round.

use std::borrow::Cow;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// The text without escape sequences, control characters (tab and newline stay), direction marks and invisible
/// characters; for output that is only read.
pub fn strip(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            char if is_unsafe(char) => {}
            char => out.push(char),
        }
    }
    Cow::Owned(out)
}

/// The text with each such character written as its code (`\u{202e}`), for a card on which someone decides.
pub fn reveal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), |mut out, char| {
        if is_unsafe(char) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", char.escape_unicode());
        } else {
            out.push(char);
        }
        out
    }))
}

/// The text on one line, each run of white space a single space, at most `chars` characters with `…` for the rest.
pub fn line(text: &str, chars: usize) -> String {
    let line = strip(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match crate::text::cut::split(&line, chars) {
        (_, "") => line,
        _ => format!("{}…", crate::text::cut::head(&line, chars.saturating_sub(1))),
    }
}

/// Whether a character is anything but shown text, tab and newline. Joiners of emoji and scripts are text.
pub fn is_unsafe(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        char if char.is_control() => true,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        // Two- and three-character sequences: intermediates, then one final character.
        Some(' '..='~') => {
            while chars.next_if(|char| matches!(char, ' '..='/')).is_some() {}
            chars.next_if(|char| matches!(char, '0'..='~'));
        }
        _ => {}
    }
}

/// A control sequence: parameters and intermediates, then one final character. A broken one ends where it breaks.
fn skip_control(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|char| matches!(char, ' '..='?')).is_some() {}
    chars.next_if(|char| matches!(char, '@'..='~'));
}

/// A string sequence up to its terminator; one that never ends costs its line only.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(char) = chars.next_if(|char| *char != '\n') {
        match char {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_controls_are_removed_and_text_stays() {
        for (raw, shown) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{9b}2Jx\u{1b}(By\u{1b}cz", "xyz"),
            ("a\rb\u{8}c\u{0}", "abc"),
            ("\u{202e}gpj\u{202c}.txt\u{e0041}", "gpj.txt"),
            ("👩\u{200d}🔧 é 語", "👩\u{200d}🔧 é 語"),
        ] {
            assert_eq!(strip(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn a_card_shows_what_would_hide() {
        assert_eq!(reveal("rm \u{202e}x\u{1b}[2K"), "rm \\u{202e}x\\u{1b}[2K");
    }

    #[test]
    fn a_line_is_one_line_of_so_many_characters() {
        assert_eq!(line(" a\n\tb ", 9), "a b");
        assert_eq!(line("語語語語", 3), "語語…");
    }
}
