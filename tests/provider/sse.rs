//! Server-sent events and JSON lines, whatever pieces they arrive in.

use crystal::provider::lines::Lines;
use crystal::provider::sse::{Event, Parser, TooLarge};
use proptest::prelude::*;

use super::given;

fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut parser = Parser::default();
    let mut found = |event: &Event| {
        events.push((event.name.clone(), event.data.clone()));
        Ok::<(), TooLarge>(())
    };
    for piece in pieces {
        parser.feed(piece, &mut found).unwrap();
    }
    parser.end(&mut found).unwrap();
    events
}

fn check(body: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(parse([body.as_bytes()]), expected, "{body:?}");
    assert_eq!(parse(body.as_bytes().chunks(1)), expected, "{body:?} byte by byte");
}

/// rexxars/eventsource-parser#17
#[test]
fn a_line_end_split_between_pieces_is_one_line_end() {
    let pieces = ["data: A\r\n", "data: B\r", "\ndata: C\r\n", "\r\n"];
    assert_eq!(parse(pieces.map(str::as_bytes)), [(String::new(), "A\nB\nC".to_owned())]);
    let empty_between = ["data: A\r", "", "\n\r", "\n"];
    assert_eq!(parse(empty_between.map(str::as_bytes)), [(String::new(), "A".to_owned())]);
}

#[test]
fn every_line_end_works_and_nothing_else_ends_a_line() {
    check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
    check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
    check("data: a\u{2028}b\u{85}c\u{b}d\n\n", &[("", "a\u{2028}b\u{85}c\u{b}d")]);
}

#[test]
fn events_exist_only_where_there_was_data() {
    check(": note\n\nevent: ping\n\nid: 1\n\ndata: a\n\n", &[("", "a")]);
    check("event: x\ndata\n\n", &[("x", "")]);
    check("data:  two spaces\ndata:none\nunknown: 1\n\n", &[("", " two spaces\nnone")]);
    check("data: last", &[("", "last")]);
    check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &[("", "a")]);
}

#[test]
fn lines_and_events_have_a_limit() {
    let feed = |body: &str| Parser::with_limit(10).feed(body.as_bytes(), &mut |_| Ok::<(), TooLarge>(()));
    assert_eq!(feed("data: 1234\n\n"), Ok(()));
    assert_eq!(feed("data: 12345678901"), Err(TooLarge { most: 10 }));
    assert_eq!(feed("data:1234\ndata:1234\ndata:12\n\n"), Err(TooLarge { most: 10 }));
}

#[test]
fn json_lines_are_read_in_any_pieces() {
    let body = "{\"a\":1}\r\n\n  \n{\"b\":\"ü\"}\n{\"c\":3}";
    for size in 1..body.len() {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        let mut take = |line: &str| {
            found.push(line.to_owned());
            Ok::<(), TooLarge>(())
        };
        for piece in body.as_bytes().chunks(size) {
            lines.feed(piece, &mut take).unwrap();
        }
        lines.end(&mut take).unwrap();
        assert_eq!(found, ["{\"a\":1}", "{\"b\":\"ü\"}", "{\"c\":3}"]);
    }
}

proptest! {
    #[test]
    fn events_do_not_depend_on_how_bytes_are_cut(
        lines in proptest::collection::vec("(data:|data: |event: |: |\u{feff}|id: |)[a-c\u{e9}\u{1f980} ]{0,4}", 0..20),
        ends in proptest::collection::vec(prop_oneof![Just("\n"), Just("\r"), Just("\r\n")], 20),
        seed in any::<u64>(),
    ) {
        let body: String = lines.iter().zip(ends.iter().cycle()).flat_map(|(line, end)| [line.as_str(), end]).collect();
        let whole = parse([body.as_bytes()]);
        prop_assert_eq!(&parse(body.as_bytes().chunks(1)), &whole);
        prop_assert_eq!(&parse(given::random_pieces(body.as_bytes(), seed)), &whole);
    }

    #[test]
    fn no_bytes_break_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200), seed in any::<u64>()) {
        prop_assert_eq!(parse([&bytes[..]]), parse(given::random_pieces(&bytes, seed)));
    }
}
