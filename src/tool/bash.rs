//! `bash`: one command line in the workspace root.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::model::port::BoxFuture;
use crate::model::request::ToolSpec;
use crate::process::capture::{Capture, Form, Keep};
use crate::process::environment::Environment;
use crate::process::tree::Process;
use crate::process::{self, Directory, Ending, Finished, Job, ProcessError, Streams};
use crate::tool::{Catalogs, MAX_OUTPUT_CHARS, Output, Tool, ToolContext, spec};

/// Most characters of output that the model reads; with the notes an answer stays below the limit of every tool.
const MOST: usize = MAX_OUTPUT_CHARS - 2_000;
/// A character is at most four bytes.
const KEEP: Keep = Keep { head: MOST * 2, tail: MOST * 2, form: Form::Screen };
/// Longest time that a call may ask for, unless the operator's own limit is longer.
const LONGEST: Duration = Duration::from_secs(3600);
/// Most processes that a note names.
const NAMED: usize = 8;

const DESCRIPTION: &str = "\
Runs a command with `bash -c` in the workspace root and returns stdout and stderr in order of arrival, then the exit \
code. Every call is a new shell: `cd` and variables do not carry over, so chain steps with `&&`. There is no terminal \
and no input: pass `--yes`, `-m MESSAGE` and the like, for prompts fail and editors close at once. When `timeout` is \
over, the command and everything it started is killed. A process started with `&` runs on after the call, but what it \
prints is lost unless it goes to a file; stop it with `kill`. Of long output the head and the tail are shown, about \
100,000 characters in all. To find files or text, to read and to change files, use the tools for that.";

/// The tool.
pub struct Bash {
    spec: ToolSpec,
    environment: Arc<Environment>,
}

impl Bash {
    /// A shell tool whose commands get that environment.
    pub fn new(environment: Arc<Environment>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The command line; may be several lines." },
                "timeout": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": "Most seconds the command may run. Left out, the operator's limit applies (120 unless set otherwise)."
                }
            },
            "required": ["command"],
            "additionalProperties": false
        });
        Self { spec: spec("bash", DESCRIPTION, schema), environment }
    }

    async fn call(&self, arguments: &Map<String, Value>, cx: &ToolContext) -> Output {
        let limit = match Limit::of(arguments.get("timeout"), cx.bash_timeout) {
            Ok(limit) => limit,
            Err(message) => return Output::failed(message),
        };
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        if command.trim().is_empty() {
            return Output::failed("the command is empty; pass a command line in `command`");
        }
        if command.contains('\0') {
            return Output::failed(
                "the command holds a NUL character, which no shell can take; write it as $'\\0' or use printf",
            );
        }
        let mut notes = Vec::from_iter(limit.note.clone());
        let run = |shell| self.run_in(shell, command, &limit, cx);
        let finished = match run("bash").await {
            Err(error) if error.is_missing_program() => {
                notes.push("there is no bash on this machine; the command was run by sh".into());
                run("sh").await
            }
            other => other,
        };
        match finished {
            Ok(finished) => report(&finished, &limit, notes),
            Err(error) => Output::failed(explain(&error)),
        }
    }

    async fn run_in(
        &self,
        shell: &str,
        command: &str,
        limit: &Limit,
        cx: &ToolContext,
    ) -> Result<Finished, ProcessError> {
        let variables = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Ok(Finished::before_it_began()),
            variables = self.environment.variables() => variables,
        };
        let job = Job {
            program: shell.into(),
            arguments: vec![OsString::from("-c"), command.into()],
            environment: variables.to_vec(),
            directory: Directory::Path(cx.fence.root().to_path_buf()),
            input: None,
            streams: Streams::Together,
            keep: KEEP,
            timeout: limit.time,
        };
        process::run(job, &cx.cancel).await
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: false, work: true }
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(self.call(arguments, cx))
    }
}

/// How long a command may run.
struct Limit {
    time: Option<Duration>,
    note: Option<String>,
}

impl Limit {
    fn of(asked: Option<&Value>, operator: Option<Duration>) -> Result<Self, String> {
        let Some(asked) = asked.filter(|asked| !asked.is_null()) else {
            return Ok(Self { time: operator, note: None });
        };
        let time = asked.as_f64().filter(|seconds| *seconds > 0.0);
        let Some(seconds) = time else {
            return Err(format!("`timeout` is {asked}; it is a number of seconds above 0"));
        };
        let longest = operator.map_or(LONGEST, |operator| operator.max(LONGEST));
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let note = (time > longest).then(|| {
            format!("the timeout was lowered to {} s, the most a call may ask for", longest.as_secs())
        });
        Ok(Self { time: Some(time.min(longest)), note })
    }
}

/// What the model reads: the output, then the notes, the way it ended last.
fn report(finished: &Finished, limit: &Limit, mut notes: Vec<String>) -> Output {
    let mut text = body(&finished.output, &mut notes);
    if !finished.background.is_empty() {
        notes.push(format!(
            "still running in the background: {}; what it prints from now on is thrown away, and `kill` stops it",
            list(&finished.background)
        ));
    }
    notes.push(ending(&finished.ending, limit));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for note in notes {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{note}]");
    }
    text.pop();
    Output { text, failed: finished.ending != Ending::Exited(0), ..Output::default() }
}

/// The output itself, with what is to be said about it added to the notes.
fn body(output: &Capture, notes: &mut Vec<String>) -> String {
    let text = output.text(MOST);
    if output.overwritten() > 0 {
        notes.push(format!("{} lines that a carriage return overwrote are left out", output.overwritten()));
    }
    let Some(cut) = text.cut else {
        if text.head.is_empty() {
            notes.push("no output".into());
        }
        return text.head;
    };
    let gap = format!(
        "[… {} bytes of output are left out here; to see them, run it again with its output in a file and `read` parts of that, or through grep, head or tail …]",
        grouped(cut.left_out)
    );
    format!("{}\n{gap}\n{}", text.head, cut.tail)
}

fn ending(ending: &Ending, limit: &Limit) -> String {
    match ending {
        Ending::Exited(code @ 129..=192) => match signal_name(code - 128) {
            // A shell's way to say how a command in it ended; a program may also choose such a code itself.
            Some(name) => format!("exit code {code}, as after {name}"),
            None => format!("exit code {code}"),
        },
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Signalled(signal) => {
            let name = signal_name(*signal).map(|name| format!(" ({name})")).unwrap_or_default();
            format!("exit code {}; the shell was killed by signal {signal}{name}", 128 + signal)
        }
        Ending::TimedOut(killed) => {
            let seconds = limit.time.unwrap_or_default().as_secs_f64();
            format!(
                "timed out after {seconds} s and was killed with everything it had started: {}; if it needs longer, pass a larger `timeout`",
                list(killed)
            )
        }
        Ending::Cancelled(killed) if killed.is_empty() => "cancelled before it began".into(),
        Ending::Cancelled(killed) => {
            format!("cancelled; killed with everything it had started: {}", list(killed))
        }
    }
}

fn list(processes: &[Process]) -> String {
    let named = processes.iter().take(NAMED).map(|process| format!("{} (pid {})", process.name, process.pid));
    let mut named: Vec<String> = named.collect();
    match processes.len() {
        0 => named.push("a process that could not be named".into()),
        count if count > NAMED => named.push(format!("{} more", count - NAMED)),
        _ => {}
    }
    named.join(", ")
}

fn explain(error: &ProcessError) -> String {
    match error {
        ProcessError::Directory { path, .. } => format!(
            "{error}; the command was not run. {} is the workspace: it must be put back before any command can run",
            path.display()
        ),
        ProcessError::Program { .. } if error.is_missing_program() => {
            format!("{error}, and neither does bash; a shell must be on the PATH")
        }
        ProcessError::Program { .. } | ProcessError::Pipe { .. } => error.to_string(),
    }
}

/// The names that `kill -l` gives on Linux and macOS alike; none for the ones that differ.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_the_operators_unless_asked_and_has_a_ceiling() {
        let limit = |asked: Value, operator| Limit::of(Some(&asked), operator).map(|limit| limit.time);
        let two_minutes = Some(Duration::from_secs(120));
        assert_eq!(limit(Value::Null, two_minutes), Ok(two_minutes));
        assert_eq!(limit(Value::Null, None), Ok(None));
        assert_eq!(limit(json!(1.5), two_minutes), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(limit(json!(1e300), two_minutes), Ok(Some(LONGEST)));
        assert_eq!(limit(json!(1e300), Some(2 * LONGEST)), Ok(Some(2 * LONGEST)));
        assert!(limit(json!(0), None).is_err() && limit(json!(-1), None).is_err());
        assert!(limit(json!("10"), None).unwrap_err().contains("seconds"));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            (grouped(7), grouped(1234), grouped(300_000_000)),
            ("7".into(), "1,234".into(), "300,000,000".into())
        );
    }
}
