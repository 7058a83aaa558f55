//! Variables by name: which ones change what programs do.

use crate::approval::shell::verdict::Verdict;

/// Names that no program is led astray by.
const PLAIN: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TERM",
    "CI",
    "DEBUG",
    "VERBOSE",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "POSIXLY_CORRECT",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "NODE_ENV",
];

/// Names that decide what runs: search paths, preloads, start-up files, hooks of shells, git and interpreters.
const STEERING: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "SHELL",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "HOME",
    "PWD",
    "OLDPWD",
    "BASH_XTRACEFD",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "RIPGREP_CONFIG_PATH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "HOSTALIASES",
    "RANDOM",
    "SECONDS",
    "UID",
    "EUID",
    "PPID",
    "HISTFILE",
    "FPATH",
    "ZDOTDIR",
    "TAR_OPTIONS",
    "GREP_OPTIONS",
    "GZIP",
];

/// Beginnings of such names.
const FAMILIES: &[&str] =
    &["LD_", "DYLD_", "GIT_", "BASH_", "GCONV_", "MALLOC_", "GLIBC_", "npm_config_", "COMP_"];

/// Values with which a steering name does nothing.
const DISARMED: &[(&str, &[&str])] = &[("GIT_PAGER", &["cat", ""]), ("PAGER", &["cat", ""])];

/// What setting a variable for programs means; `value` is none when it is not known.
pub(super) fn exported(name: &str, value: Option<&str>) -> Verdict {
    if is_plain(name) || is_disarmed(name, value) {
        return Verdict::read(format!("sets {name}"));
    }
    if is_steering(name) {
        return Verdict::unknown(format!("{name} decides what programs run"));
    }
    Verdict::write(format!("sets {name}, which may change what the program does"))
}

/// What setting a variable of the shell itself means; it reaches programs only where it was exported before.
pub(super) fn assigned(name: &str) -> Verdict {
    if is_steering(name) && !is_plain(name) {
        return Verdict::unknown(format!("{name} decides what programs run"));
    }
    Verdict::read(format!("sets {name}"))
}

pub(super) fn is_plain(name: &str) -> bool {
    PLAIN.contains(&name) || name.starts_with("LC_")
}

fn is_disarmed(name: &str, value: Option<&str>) -> bool {
    DISARMED
        .iter()
        .any(|(known, values)| *known == name && value.is_some_and(|value| values.contains(&value)))
}

fn is_steering(name: &str) -> bool {
    STEERING.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}
