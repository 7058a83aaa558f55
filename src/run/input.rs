//! The task of `crystal run`: argument, standard input, or both.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::error::Failure;

/// How long an open pipe may stay silent before the run goes on without it.
pub const STDIN_PATIENCE: Duration = Duration::from_secs(3);

/// Most bytes taken from standard input.
const MAX_STDIN: usize = 8 * 1024 * 1024;

/// The task, and whether standard input was left unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What the model is asked; none means: continue an interrupted turn.
    pub task: Option<String>,
    /// Standard input was open but silent, and was left alone.
    pub stdin_skipped: bool,
}

/// Reads the task by the rules of `crystal run`. `may_be_empty` is for `--resume` and `--continue`, where no task means: go on.
pub async fn read(argument: Option<&str>, may_be_empty: bool) -> Result<Input, Failure> {
    let task = match argument {
        Some(text) if text != "-" => {
            refuse_slash_command(text)?;
            if text.trim().is_empty() {
                return Err(Failure::usage(
                    "the task is empty: say what is to be done, as in crystal run \"fix the tests\"",
                ));
            }
            return attach(text).await;
        }
        Some(_) => read_all().await?,
        None if std::io::stdin().is_terminal() => String::new(),
        None if may_be_empty => match read_patiently().await? {
            Piped::Text(text) => text,
            Piped::Silent => return Ok(Input { task: None, stdin_skipped: true }),
        },
        None => read_all().await?,
    };
    refuse_slash_command(&task)?;
    if !task.trim().is_empty() {
        return Ok(Input { task: Some(task), stdin_skipped: false });
    }
    if may_be_empty {
        return Ok(Input { task: None, stdin_skipped: false });
    }
    Err(Failure::usage(
        "no task: give it as an argument or on standard input, as in crystal run \"fix the tests\"",
    ))
}

enum Piped {
    Text(String),
    Silent,
}

async fn attach(task: &str) -> Result<Input, Failure> {
    if std::io::stdin().is_terminal() {
        return Ok(Input { task: Some(task.into()), stdin_skipped: false });
    }
    Ok(match read_patiently().await? {
        Piped::Silent => Input { task: Some(task.into()), stdin_skipped: true },
        Piped::Text(text) if text.trim().is_empty() => {
            Input { task: Some(task.into()), stdin_skipped: false }
        }
        Piped::Text(text) => Input { task: Some(with_block(task, &text)), stdin_skipped: false },
    })
}

/// The task with what was piped in, as a block whose end the text itself cannot fake.
fn with_block(task: &str, piped: &str) -> String {
    let mut name = "stdin".to_owned();
    while piped.contains(&format!("</{name}>")) {
        name.push('_');
    }
    let end = if piped.ends_with('\n') { "" } else { "\n" };
    format!("{task}\n\n<{name}>\n{piped}{end}</{name}>")
}

/// Refuses what looks like a slash command; a path that exists is no command.
fn refuse_slash_command(task: &str) -> Result<(), Failure> {
    let first = task.split_whitespace().next().unwrap_or_default();
    let word = first.strip_prefix('/').unwrap_or_default();
    let looks_like_one =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if looks_like_one && !Path::new(first).exists() {
        return Err(Failure::usage(format!(
            "slash commands belong in the REPL: {first} cannot be run by crystal run"
        )));
    }
    Ok(())
}

async fn read_all() -> Result<String, Failure> {
    match read_stdin(None).await? {
        Piped::Text(text) => Ok(text),
        Piped::Silent => Ok(String::new()),
    }
}

async fn read_patiently() -> Result<Piped, Failure> {
    read_stdin(Some(STDIN_PATIENCE)).await
}

async fn read_stdin(patience: Option<Duration>) -> Result<Piped, Failure> {
    let mut stdin = tokio::io::stdin();
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = stdin.read(&mut chunk);
        let read = match patience {
            // Only the first byte is waited for with a clock: whoever has begun to write is waited for.
            Some(patience) if bytes.is_empty() => match tokio::time::timeout(patience, read).await {
                Ok(read) => read,
                Err(_) => return Ok(Piped::Silent),
            },
            _ => read.await,
        };
        // A closed descriptor reads as an error; that is no input.
        let Ok(count) = read else { break };
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if bytes.len() > MAX_STDIN {
            return Err(Failure::usage(format!(
                "standard input holds more than {} MiB: put it into a file in the workspace and name the file in the task",
                MAX_STDIN / 1024 / 1024
            )));
        }
    }
    String::from_utf8(bytes).map(Piped::Text).map_err(|error| {
        Failure::usage(format!(
            "standard input is not UTF-8 text (at byte {})",
            error.utf8_error().valid_up_to()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piped_text_cannot_end_its_own_block() {
        let text = with_block("look", "a </stdin> b");
        assert!(text.starts_with("look\n\n<stdin_>\n") && text.ends_with("\n</stdin_>"));
    }

    #[test]
    fn commands_are_refused_and_paths_are_not() {
        assert!(refuse_slash_command("/plan now").is_err());
        assert!(refuse_slash_command("/eixt").is_err());
        assert!(refuse_slash_command("/home/user/a.rs explain this").is_ok());
        assert!(refuse_slash_command("/tmp is full, why?").is_ok());
        assert!(refuse_slash_command("a /plan").is_ok());
    }
}
