//! Limits of the Rhai engine, and natives that do too much in one call.

use std::rc::Rc;

use rhai::{Dynamic, Engine, EvalAltResult, ImmutableString};

use crate::plugin::host;
use crate::plugin::rhai::errors::{MEMORY, STOPPED};
use crate::plugin::vm::desk::Desk;
use crate::plugin::vm::memory;

/// Longest text: some natives take half a second for this much, unwatched.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Most entries of a list or map; a change of one costs time in proportion.
const MAX_ENTRIES: usize = 50_000;
/// Deepest script calls.
const MAX_CALLS: usize = 64;
/// Deepest expressions.
const MAX_EXPRESSION: usize = 64;
/// Most functions in one script.
const MAX_FUNCTIONS: usize = 2_000;
/// Most imports in one call.
const MAX_MODULES: usize = 256;

type Raised = Box<EvalAltResult>;

pub(super) fn engine(engine: &mut Engine, desk: &Rc<Desk>) {
    engine
        .set_max_call_levels(MAX_CALLS)
        .set_max_expr_depths(MAX_EXPRESSION, MAX_EXPRESSION)
        .set_max_string_size(MAX_TEXT)
        .set_max_array_size(MAX_ENTRIES)
        .set_max_map_size(MAX_ENTRIES)
        .set_max_functions(MAX_FUNCTIONS)
        .set_max_modules(MAX_MODULES)
        .set_max_operations(0);
    engine.disable_symbol("eval");
    engine.register_fn("sleep", |_: i64| -> Result<(), Raised> { Err("scripts cannot sleep".into()) });
    engine.register_fn("sleep", |_: f64| -> Result<(), Raised> { Err("scripts cannot sleep".into()) });
    replace(engine);
    output(engine, desk);
    let clock = desk.clock().clone();
    let limit = isize::try_from(desk.memory_bytes()).unwrap_or(isize::MAX);
    let before = memory::held();
    engine.on_progress(move |_| {
        if clock.must_stop() {
            return Some(Dynamic::from(STOPPED.to_owned()));
        }
        (memory::held() - before > limit).then(|| Dynamic::from(MEMORY.to_owned()))
    });
}

/// The engine's own `replace` allocates its whole result before any check.
fn replace(engine: &mut Engine) {
    engine
        .register_fn("replace", |text: &mut ImmutableString, from: &str, to: &str| replaced(text, from, to));
    engine.register_fn("replace", |text: &mut ImmutableString, from: &str, to: char| {
        replaced(text, from, to.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("replace", |text: &mut ImmutableString, from: char, to: &str| {
        replaced(text, from.encode_utf8(&mut [0; 4]), to)
    });
    engine.register_fn("replace", |text: &mut ImmutableString, from: char, to: char| {
        replaced(text, from.encode_utf8(&mut [0; 4]), to.encode_utf8(&mut [0; 4]))
    });
}

fn replaced(text: &mut ImmutableString, from: &str, to: &str) -> Result<(), Raised> {
    let count = text.matches(from).count();
    let size = (text.len() - count * from.len()).saturating_add(count.saturating_mul(to.len()));
    if size > MAX_TEXT {
        return Err(format!("replace would make a text longer than {} MiB", MAX_TEXT >> 20).into());
    }
    if count > 0 {
        *text = text.replace(from, to).into();
    }
    Ok(())
}

fn output(engine: &mut Engine, desk: &Rc<Desk>) {
    let log = Rc::clone(desk);
    engine.on_print(move |text| log.log(host::line(text)));
    let log = Rc::clone(desk);
    engine.on_debug(move |text, _, position| log.log(host::line(&format!("{position:?}: {text}"))));
}
