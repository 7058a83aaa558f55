//! What the process does for its own secrecy.

use std::io;

/// Makes this process unreadable to its children and to other programs of the same user.
///
/// The environment that Crystal was started with stays in its memory, where `/proc/PID/environ` shows it, provider
/// keys included; a shell command's `$PPID` is Crystal. After this call (Linux only; elsewhere it does nothing) that
/// file and the process's memory can be read by the superuser alone. A Crystal that runs as root is not protected
/// by it, since its children are root too.
///
/// What it costs: no core dump is written, and a debugger, `strace` or `perf` of the same user cannot attach.
/// `/proc/PID/status` and `stat` stay readable. Children are as they always were, since a new program starts afresh.
pub fn harden() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
