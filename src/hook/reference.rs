//! The reference page of moments, written from the table.

use std::fmt::Write as _;

use crate::hook::table::{EVENTS, List, Row, Stops, Takes};

/// The page, in Markdown.
pub fn reference() -> String {
    let mut page = String::from(PREFACE);
    for (list, title, rules) in LISTS {
        let _ = write!(page, "\n## {title}\n\n{rules}\n");
        for row in EVENTS.iter().filter(|row| row.list == list) {
            moment(&mut page, row);
        }
    }
    page
}

const PREFACE: &str = "\
# Hooks, raw hooks and events

<!-- Written from the table in src/hook/table.rs; a test keeps the two equal. -->

A handler runs at one of the moments below. Which list it is registered on decides what it may do.
An item is `{ id, kind, text?, images?: [{ id, media_type }], tool_call?: { id, name, arguments }, call_id?, name?, failed? }`,
its kind one of `system`, `user`, `assistant`, `reasoning`, `tool_call` and `tool_result`.
A list of items is handed over lazily; a handler returns that list after editing it, or a plain array of items.
In an array, a field that an item leaves out keeps what it was.
";

const LISTS: [(List, &str, &str); 3] = [
    (
        List::Hook,
        "Hooks",
        "Registered with `crystal.hook`. They run in load order, each seeing what the one before it replaced, and cannot
weaken the host. Returning nothing changes nothing. One that throws, runs past its deadline or returns what it may
not is skipped with a note; what earlier handlers did stays.",
    ),
    (
        List::RawHook,
        "Raw hooks",
        "Registered with `crystal.raw_hook`. They run like hooks and are privileged: the host refuses only what it cannot
represent, and announces each plugin that registers one with a note.",
    ),
    (
        List::Event,
        "Events",
        "Registered with `crystal.on`, with `(ctx, payload)`. A handler returns nothing, `{ action = \"continue\" }`,
`{ action = \"continue\", replace = { … } }` or `{ action = \"abort\", reason = \"…\" }`. Groups run in the order `pre`,
`normal`, `post`; in a group the host's own handlers come first, then plugins in load order. In a replacement only the listed fields
count. An abort means something at a guard only; a guard that throws, runs past its deadline or returns a malformed reply aborts. At
every other event such a handler is skipped and recorded in the trace. Handlers of a parallel event run at once and their replies mean nothing.",
    ),
];

fn moment(page: &mut String, row: &Row) {
    let arguments = row.arguments.join(", ");
    let arguments = match row.list {
        List::Event => format!("ctx, {arguments}"),
        List::Hook | List::RawHook => arguments,
    };
    let _ = write!(page, "\n### {}\n\n`{}({arguments})`\n\n", row.name, row.name);
    let mut facts = format!("- Scope: {}. Runs: {}.", row.scope, row.run);
    if row.guards() {
        facts.push_str(" A guard.");
    }
    if row.announced() {
        facts.push_str(" Announced by a note.");
    }
    let _ = writeln!(page, "{facts}");
    let _ = writeln!(page, "- Given: `{}`", row.given.replace('`', ""));
    if let Some(takes) = takes(row) {
        let _ = writeln!(page, "- Returns: {takes}");
    }
    let _ = writeln!(page, "- May: {}", row.may);
    if !row.may_not.is_empty() {
        let _ = writeln!(page, "- May not: {}", row.may_not);
    }
    let stops = match row.stops {
        Stops::Cancel => "the turn's cancel or its deadline",
        Stops::Deadline => "its deadline only",
    };
    let _ = writeln!(page, "- Ended early by: {stops}");
}

fn takes(row: &Row) -> Option<String> {
    match (row.takes, row.list) {
        (Takes::Nothing, _) => None,
        (Takes::Text, _) => Some("text".into()),
        (Takes::Items, _) => Some("the list of items, or an object that holds it as `items`".into()),
        (Takes::Fields(fields), list) => {
            let fields: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
            let of = match list {
                List::Event => "`replace` with any of",
                List::Hook | List::RawHook => "an object with any of",
            };
            Some(format!("{of} {}", fields.join(", ")))
        }
    }
}
