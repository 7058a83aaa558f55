//! Rhai's errors as the host tells them: file, line, the script's words.

use rhai::{EvalAltResult, ParseError, Position};

use crate::plugin::host;
use crate::plugin::vm::engine::ScriptError;
use crate::plugin::vm::memory;

/// An error for the script from a host message: the copy belongs to the script, the message to the host.
pub(super) fn raise(message: String, position: Position) -> Box<EvalAltResult> {
    let error = EvalAltResult::ErrorRuntime(message.as_str().into(), position).into();
    memory::uncounted(|| drop(message));
    error
}

/// The progress hook's word for a memory limit.
pub(super) const MEMORY: &str = "memory";
/// Its word for a deadline or a cancel.
pub(super) const STOPPED: &str = "stopped";

pub(super) fn parse(error: &ParseError, file: &str) -> String {
    located(file, error.position(), &error.err_type().to_string())
}

/// `file` is the entry script; an error that comes from a module or one of its functions names that.
pub(super) fn failure(error: &EvalAltResult, file: &str) -> ScriptError {
    let mut file = file.to_owned();
    let mut error = error;
    loop {
        match error {
            EvalAltResult::ErrorInFunctionCall(_, source, inner, _) => {
                if !source.is_empty() {
                    file.clone_from(source);
                }
                error = inner;
            }
            EvalAltResult::ErrorInModule(path, inner, _) => {
                if !path.is_empty() {
                    file.clone_from(path);
                }
                error = inner;
            }
            _ => break,
        }
    }
    match error {
        EvalAltResult::ErrorTerminated(token, _)
            if token.clone().into_string().is_ok_and(|word| word == MEMORY) =>
        {
            ScriptError::Memory
        }
        EvalAltResult::ErrorRuntime(value, position) => {
            // A caught and rethrown error is a map; its words are under `message`.
            let thrown =
                value.read_lock::<rhai::Map>().and_then(|map| map.get("message").map(ToString::to_string));
            let words = thrown.unwrap_or_else(|| value.to_string());
            ScriptError::Raised(located(&file, *position, &words))
        }
        other => {
            let mut plain = other.to_string();
            if let Some(at) = plain.rfind(" (line ") {
                plain.truncate(at);
            }
            ScriptError::Raised(located(&file, other.position(), &plain))
        }
    }
}

fn located(file: &str, position: Position, words: &str) -> String {
    let words = host::short(words.trim());
    match position.line() {
        Some(line) => format!("{file}:{line}: {words}"),
        None => format!("{file}: {words}"),
    }
}
