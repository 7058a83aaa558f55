//! Rows in aligned columns, for lists on standard output.

/// Rows under headings, each column as wide as its widest cell, two spaces between columns. Control characters are
/// the caller's to remove. The last column is not padded; every line ends in a newline.
pub fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let all = || std::iter::once(&heading).chain(rows);
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| all().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in all() {
        let mut line = String::new();
        for (cell, wanted) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(wanted.saturating_sub(width(cell)) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How many columns of a terminal a text takes: two for wide East Asian characters and emoji, none for marks that combine.
fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_have_no_trailing_space() {
        let rows = [
            vec!["a".into(), "long cell".into(), "x".into()],
            vec!["日本".into(), String::new(), String::new()],
        ];
        let text = columns(&["ID", "TITLE", "N"], &rows);
        assert_eq!(text, "ID    TITLE      N\na     long cell  x\n日本\n");
    }
}
