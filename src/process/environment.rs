//! The environment of shell commands: the operator's own, without secrets and without whatever asks or pages.
//!
//! It starts from Crystal's environment. Where no shell is among Crystal's ancestors (`SHLVL` is not set: a desktop
//! entry, a service, a container), the login shell is asked once, at the first command, for what a login would set;
//! Crystal's own variables win, and directories that only the login's `PATH` has are appended. A profile that takes
//! longer than [`PATIENCE`] or fails is given up, and the commands run with Crystal's own environment.
//!
//! Then provider keys go (by name, and every variable whose value holds a known key), shell start-up hooks and
//! exported functions go, and [`FIXED`] is set: nobody can answer a prompt, scroll a pager or close an editor.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::home::secret::Secret;
use crate::process::capture::{Form, Keep};
use crate::process::{Directory, Ending, Job, Streams};

/// Names and values.
pub type Variables = Vec<(OsString, OsString)>;

/// What commands must not see.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Variables that hold keys, by name.
    pub names: Vec<String>,
    /// Known keys. A variable goes when its value is one of them, or holds one of at least eight characters.
    pub values: Vec<Secret>,
}

/// The environment of a session's commands, captured at first use.
#[derive(Debug)]
pub struct Environment {
    own: Variables,
    hidden: Hidden,
    extra: Variables,
    captured: OnceCell<Arc<Variables>>,
}

/// Variables that are always set, with their values.
pub const FIXED: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    // An editor that changes nothing: a commit without a message is refused by git at once, while
    // `rebase --continue` and `commit --amend` take the message that is there.
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];

/// Variables that are set unless the operator set them: asking for a password fails at once.
pub const DEFAULTS: &[(&str, &str)] = &[("GIT_ASKPASS", "false"), ("SSH_ASKPASS", "false")];

/// Variables that are taken out: start-up files and options that change what `bash -c` does, and orders to use colour.
pub const REMOVED: &[&str] =
    &["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM"];

/// How long a login shell may take.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Shortest key that is looked for inside longer values.
const TELLING: usize = 8;
/// Most that is read of a login environment, in bytes.
const LARGEST: usize = 1024 * 1024;

impl Environment {
    /// Built on this process's environment.
    pub fn new(hidden: Hidden) -> Self {
        Self::of(std::env::vars_os().collect(), hidden)
    }

    /// Built on other variables.
    pub fn of(own: Variables, hidden: Hidden) -> Self {
        Self { own, hidden, extra: Variables::new(), captured: OnceCell::new() }
    }

    /// With these variables set as well, whatever else sets them.
    pub fn with(self, extra: Variables) -> Self {
        Self { extra, ..self }
    }

    /// The variables, captured when this is first called.
    pub async fn variables(&self) -> Arc<Variables> {
        self.captured.get_or_init(|| async { Arc::new(self.capture().await) }).await.clone()
    }

    async fn capture(&self) -> Variables {
        let mut variables = self.own.clone();
        if get(&variables, "SHLVL").is_none()
            && let Some(shell) = login_shell(&variables)
        {
            match login(&shell, &variables).await {
                Some(login) => add(&mut variables, login),
                None => tracing::warn!(
                    "{} gave no login environment within {} s; commands run with Crystal's own",
                    shell.display(),
                    PATIENCE.as_secs()
                ),
            }
        }
        clean(&mut variables, &self.hidden);
        for (name, value) in &self.extra {
            variables.retain(|(known, _)| known != name);
            variables.push((name.clone(), value.clone()));
        }
        variables
    }
}

/// Takes out what must not be seen and sets what must be set.
fn clean(variables: &mut Variables, hidden: &Hidden) {
    let fixed = |name: &OsStr| FIXED.iter().any(|(fixed, _)| name == *fixed);
    variables.retain(|(name, value)| {
        let removed = REMOVED.iter().any(|removed| name == *removed) || fixed(name);
        let function = name.as_bytes().starts_with(b"BASH_FUNC_") || value.as_bytes().starts_with(b"() {");
        let secret = hidden.names.iter().any(|hidden| name == hidden.as_str())
            || hidden.values.iter().any(|secret| holds(value.as_bytes(), secret.reveal().as_bytes()));
        !removed && !function && !secret
    });
    for (name, value) in DEFAULTS {
        if get(variables, name).is_none_or(OsStr::is_empty) {
            variables.retain(|(known, _)| known != name);
            variables.push((name.into(), value.into()));
        }
    }
    variables.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
}

fn holds(value: &[u8], secret: &[u8]) -> bool {
    match secret.len() {
        0 => false,
        1..TELLING => value == secret,
        _ => memchr::memmem::find(value, secret).is_some(),
    }
}

/// Adds what only the login has: variables, and directories of `PATH`.
fn add(variables: &mut Variables, login: Variables) {
    for (name, value) in login {
        match variables.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) if name == "PATH" => *own = joined(own, &value),
            Some(_) => {}
            None => variables.push((name, value)),
        }
    }
}

fn joined(own: &OsStr, login: &OsStr) -> OsString {
    let mut directories: Vec<PathBuf> = std::env::split_paths(own).collect();
    for directory in std::env::split_paths(login) {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    std::env::join_paths(directories).unwrap_or_else(|_| own.to_owned())
}

/// The operator's shell: `SHELL`, or what the user table says; none for accounts that cannot log in.
fn login_shell(variables: &Variables) -> Option<PathBuf> {
    let named = get(variables, "SHELL").filter(|shell| !shell.is_empty()).map(PathBuf::from);
    let shell = named.or_else(|| listed_shell(rustix::process::getuid().as_raw()))?;
    let name = shell.file_name()?;
    (shell.is_absolute() && name != "nologin" && name != "false").then_some(shell)
}

fn listed_shell(uid: u32) -> Option<PathBuf> {
    let table = std::fs::read_to_string("/etc/passwd").ok()?;
    let uid = uid.to_string();
    let line = table.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').nth(6).filter(|shell| !shell.is_empty()).map(PathBuf::from)
}

/// What a login shell sets; none when it fails or takes too long.
async fn login(shell: &std::path::Path, variables: &Variables) -> Option<Variables> {
    // A profile may print; what counts begins after a line that it cannot know.
    let sign = format!("environment-{}", super::tree::mark());
    let keep = Keep { head: LARGEST, tail: 0, form: Form::Raw };
    let job = Job {
        program: shell.into(),
        arguments: vec!["-l".into(), "-c".into(), format!("echo {sign}; env -0").into()],
        environment: variables.clone(),
        directory: Directory::Path("/".into()),
        input: None,
        streams: Streams::Apart,
        keep,
        timeout: Some(PATIENCE),
    };
    let finished = super::run(job, &CancellationToken::new()).await.ok()?;
    let output = finished.output.whole()?;
    let start = memchr::memmem::find(&output, sign.as_bytes())? + sign.len() + 1;
    let login = parse(output.get(start..)?);
    (finished.ending == Ending::Exited(0) && !login.is_empty()).then_some(login)
}

/// Variables that belong to the shell that printed them.
const PASSING: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_", super::tree::MARK];

fn parse(output: &[u8]) -> Variables {
    output
        .split(|byte| *byte == 0)
        .filter_map(|variable| {
            let at = memchr::memchr(b'=', variable).filter(|at| *at > 0)?;
            let (name, value) = variable.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        })
        .filter(|(name, _)| !PASSING.iter().any(|passing| name == *passing))
        .collect()
}

fn get<'a>(variables: &'a Variables, name: &str) -> Option<&'a OsStr> {
    variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Variables {
        list.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn keys_hooks_and_functions_go_and_the_rest_stays() {
        let mut own = variables(&[
            ("HOME", "/home/user"),
            ("ANY_API_KEY", "anything"),
            ("COPY", "sk-known-key"),
            ("HEADER", "Bearer sk-known-key"),
            ("SHORT", "abc"),
            ("LONGER", "abcdef"),
            ("BASH_ENV", "/tmp/hook"),
            ("ENV", "/tmp/hook"),
            ("BASH_FUNC_ls%%", "() { echo no; }"),
            ("PAGER", "less"),
            ("GIT_ASKPASS", "/usr/bin/ask"),
        ]);
        let values = vec![Secret::new("sk-known-key"), Secret::new("abc"), Secret::new("")];
        clean(&mut own, &Hidden { names: vec!["ANY_API_KEY".into()], values });
        let mut left: Vec<&str> = own.iter().filter_map(|(name, _)| name.to_str()).collect();
        left.retain(|name| !FIXED.iter().any(|(fixed, _)| fixed == name));
        assert_eq!(left, ["HOME", "LONGER", "GIT_ASKPASS", "SSH_ASKPASS"]);
        assert_eq!(get(&own, "PAGER").unwrap(), "cat");
        assert_eq!(get(&own, "GIT_ASKPASS").unwrap(), "/usr/bin/ask");
    }

    #[test]
    fn a_login_adds_and_never_replaces() {
        let mut own = variables(&[("PATH", "/opt/bin:/usr/bin"), ("LANG", "C")]);
        add(&mut own, variables(&[("PATH", "/usr/bin:/home/user/bin"), ("LANG", "fr"), ("NEW", "1")]));
        let expected =
            variables(&[("PATH", "/opt/bin:/usr/bin:/home/user/bin"), ("LANG", "C"), ("NEW", "1")]);
        assert_eq!(own, expected);
    }

    #[test]
    fn the_tables_do_not_contradict_each_other() {
        for (name, _) in FIXED.iter().chain(DEFAULTS) {
            assert!(!REMOVED.contains(name), "{name} is set and removed");
        }
    }
}
