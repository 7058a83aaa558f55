//! Token counts: the last value wins, and a field that is null or absent never erases a number.

use serde_json::Value;

use crate::model::response::Usage;

/// Folds the counts of one `usage` object in.
pub(super) fn fold(usage: &mut Usage, found: &Value) {
    let count = |paths: &[&str]| paths.iter().find_map(|path| number(found.pointer(path)?));
    let set = |field: &mut Option<u64>, value: Option<u64>| *field = value.or(*field);
    set(&mut usage.input, count(&["/prompt_tokens", "/input_tokens"]));
    set(&mut usage.output, count(&["/completion_tokens", "/output_tokens"]));
    set(
        &mut usage.cached,
        count(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"]),
    );
    set(&mut usage.cache_write, count(&["/prompt_tokens_details/cache_write_tokens"]));
    set(&mut usage.reasoning, count(&["/completion_tokens_details/reasoning_tokens"]));
}

/// A count, perhaps written as a float.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|n| (0.0..1e15).contains(n)).map(|n| n as u64))
}
