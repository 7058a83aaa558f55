//! What comes nearest to a text that is not there: a name in a list, lines in a file.

use std::ops::Range;

use crate::text::cut;

/// The name nearest to `wanted`, if any is near enough to be meant.
pub fn name<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    let score = |name: &str| strsim::jaro_winkler(&wanted, &plain(name));
    let best = names.into_iter().map(|name| (score(name), name)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.75).then_some(best.1)
}

/// A name without case and separators.
pub fn plain(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The most lines of a file that are searched, and the most characters of a line that are compared.
const MAX_LINES: usize = 50_000;
const MAX_CHARS: usize = 200;
/// How many lines of the wanted text are looked up in the whole file.
const ANCHORS: usize = 3;

/// The lines of `text` (as a range from 0) that come nearest to `wanted`; none when nothing is alike.
pub fn lines(text: &str, wanted: &str) -> Option<Range<usize>> {
    let file: Vec<&str> = text.lines().take(MAX_LINES).map(compared).collect();
    let wanted: Vec<&str> = wanted.lines().map(compared).collect();
    let mut anchors: Vec<usize> = (0..wanted.len()).collect();
    anchors.sort_by_key(|index| std::cmp::Reverse(wanted.get(*index).map_or(0, |line| line.len())));
    anchors.truncate(ANCHORS);
    let mut best: Option<(f64, usize)> = None;
    for anchor in anchors {
        let line = wanted.get(anchor).filter(|line| !line.is_empty());
        let Some(at) = line.and_then(|line| nearest(&file, line)) else { continue };
        let start = at.saturating_sub(anchor);
        let score = likeness(&file, &wanted, start);
        if best.is_none_or(|(other, _)| score > other) {
            best = Some((score, start));
        }
    }
    let (score, start) = best?;
    (score >= 0.4).then(|| start..(start + wanted.len()).min(file.len()))
}

fn compared(line: &str) -> &str {
    cut::head(line.trim(), MAX_CHARS)
}

/// The index of the line most like `wanted`, if one is alike at all.
fn nearest(file: &[&str], wanted: &str) -> Option<usize> {
    let mut best = (0.5, None);
    for (index, line) in file.iter().enumerate() {
        // Lines of very different length share few pairs of characters; skipping them is most of the work saved.
        if line.len() > wanted.len().saturating_mul(3) || wanted.len() > line.len().saturating_mul(3) {
            continue;
        }
        let score = strsim::sorensen_dice(line, wanted);
        if score > best.0 {
            best = (score, Some(index));
        }
    }
    best.1
}

/// How alike the lines from `start` are, from 0 to 1.
fn likeness(file: &[&str], wanted: &[&str], start: usize) -> f64 {
    let pairs = file.iter().skip(start).zip(wanted);
    let sum: f64 = pairs.map(|(line, wanted)| strsim::sorensen_dice(line, wanted)).sum();
    sum / wanted.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_strange_one_is_not() {
        let names = ["read", "grep", "todowrite", "bash"];
        assert_eq!(name("raed", names), Some("read"));
        assert_eq!(name("TodoWrite", names), Some("todowrite"));
        assert_eq!(name("quux_17", names), None);
    }

    #[test]
    fn the_nearest_lines_are_found_whatever_their_indentation() {
        let file = "fn a() {\n    one();\n}\nfn b() {\n    three(1);\n}\n";
        assert_eq!(lines(file, "fn b() {\n  three(2);\n}"), Some(3..6));
        assert_eq!(lines(file, "nothing alike in here at all"), None);
        assert_eq!(lines("", "x"), None);
    }
}
