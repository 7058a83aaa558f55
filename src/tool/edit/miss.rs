//! Why a text was not found, as far as can be told, and the lines that come nearest.

use std::ops::Range;

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::text::{cut, near};

/// A way in which the wanted text may differ from the file's: both are folded, and the first row that then matches is told.
struct Hint {
    file: fn(&str) -> String,
    old: fn(&str) -> String,
    words: &'static str,
}

const HINTS: &[Hint] = &[
    Hint {
        file: str::to_owned,
        old: without_numbers,
        words: "old_string begins its lines with the line numbers that read adds; leave them and the tab out",
    },
    Hint {
        file: straight,
        old: straight,
        words: "the file has other quotes, dashes or spaces there (such as “ ” ’ – or a no-break space); copy its own characters",
    },
    Hint {
        file: composed,
        old: composed,
        words: "the text is there in another Unicode form (composed or decomposed accents); match a part without the accented letters",
    },
    Hint {
        file: spaced,
        old: spaced,
        words: "the text is there with other white space (indentation, tabs or trailing blanks); copy it exactly",
    },
    Hint {
        file: str::to_owned,
        old: without_end,
        words: "old_string begins or ends with line breaks that are not there",
    },
    Hint {
        file: str::to_owned,
        old: unescaped,
        words: "old_string is escaped once too often; write the characters themselves",
    },
    Hint {
        file: str::to_owned,
        old: without_entities,
        words: "old_string holds HTML entities where the file has the characters themselves",
    },
    Hint {
        file: str::to_lowercase,
        old: str::to_lowercase,
        words: "the text is there with other upper and lower case",
    },
];

/// The most lines and the most characters of a line that are shown.
const MAX_LINES: usize = 30;
const MAX_CHARS: usize = 400;

/// Says that `old` is not in `text`, why, and what comes nearest.
pub(super) fn explain(path: &str, text: &str, old: &str) -> String {
    let mut message = format!("old_string was not found in {path}, so nothing was changed");
    if text.is_empty() {
        message.push_str("; the file is empty");
        return message;
    }
    let hint = HINTS.iter().find_map(|hint| Some((hint.words, place(hint, text, old)?)));
    if let Some((words, _)) = &hint {
        message.extend(["; ", words]);
    }
    match hint.map(|(_, lines)| lines).or_else(|| near::lines(text, old)) {
        Some(lines) => message.push_str(&format!(". The nearest lines are:\n{}", numbered(text, lines))),
        None => message.push_str("; read the file again and copy the text from there"),
    }
    message
}

/// The lines where the folded text stands.
fn place(hint: &Hint, text: &str, old: &str) -> Option<Range<usize>> {
    let old = (hint.old)(old);
    if old.trim().is_empty() {
        return None;
    }
    let text = (hint.file)(&text.replace("\r\n", "\n"));
    let at = text.find(&old)?;
    let start = text.get(..at)?.matches('\n').count();
    Some(start..start + old.trim_end_matches('\n').matches('\n').count() + 1)
}

fn numbered(text: &str, lines: Range<usize>) -> String {
    let shown = text.lines().enumerate().skip(lines.start).take(lines.len().min(MAX_LINES));
    shown.map(|(index, line)| format!("{:>6}\t{}\n", index + 1, cut::head(line, MAX_CHARS))).collect()
}

fn straight(text: &str) -> String {
    let fold = |char| match char {
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{2033}' => '"',
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => ' ',
        other => other,
    };
    text.chars().map(fold).collect()
}

fn composed(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(text).into_owned()
}

/// Each line with single spaces and none at its ends; lines stay lines.
fn spaced(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

fn without_numbers(text: &str) -> String {
    let strip = |line: &str| {
        let (number, rest) = line.split_once('\t')?;
        number.trim().parse::<usize>().ok()?;
        Some(rest.to_owned())
    };
    let lines: Option<Vec<_>> = text.trim_end_matches('\n').split('\n').map(strip).collect();
    lines.unwrap_or_default().join("\n")
}

fn without_end(text: &str) -> String {
    text.trim_matches('\n').to_owned()
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (char, chars.as_str().chars().next()) {
            ('\\', Some(next @ ('"' | '\'' | '\\' | 'n' | 't' | 'r'))) => {
                chars.next();
                out.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                });
            }
            _ => out.push(char),
        }
    }
    out
}

fn without_entities(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (entity, char)| text.replace(entity, char))
}
