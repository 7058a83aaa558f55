//! `posix_spawn`, made safe.
//!
//! The standard library's way to lead a new session is a hook between fork and exec. A fork copies the page tables,
//! which for a host that holds a long conversation costs tens of milliseconds a command; this call shares the memory
//! until the exec, so that a command costs the same whatever the host holds.
#![allow(unsafe_code, reason = "posix_spawn has no safe interface that can set a session and a directory")]

use std::ffi::{CString, c_char, c_int, c_short};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::process::Pid;

/// What to start, as the system takes it.
pub(super) struct Plan<'a> {
    /// The file to run.
    pub(super) path: CString,
    /// Its arguments, its own name first.
    pub(super) arguments: Vec<CString>,
    /// Its environment, `NAME=value` each.
    pub(super) environment: Vec<CString>,
    /// Standard input, output and errors.
    pub(super) streams: [BorrowedFd<'a>; 3],
    /// Where it starts.
    pub(super) directory: BorrowedFd<'a>,
}

#[cfg(not(target_vendor = "apple"))]
const SETSID: c_short = libc::POSIX_SPAWN_SETSID;
/// From `<sys/spawn.h>`.
#[cfg(target_vendor = "apple")]
const SETSID: c_short = 0x0400;

/// Starts a process that leads a session of its own, with the usual signal mask and `SIGPIPE`.
pub(super) fn spawn(plan: &Plan<'_>) -> io::Result<Pid> {
    let attributes = Attributes::new()?;
    let actions = Actions::new(plan)?;
    let arguments = pointers(&plan.arguments);
    let environment = pointers(&plan.environment);
    let mut pid: libc::pid_t = 0;
    // SAFETY: every pointer is to a value that lives until the call returns; both lists end with a null pointer, and
    // the strings in them end with a NUL. The call does not write to the strings.
    told(unsafe {
        libc::posix_spawn(
            &raw mut pid,
            plan.path.as_ptr(),
            actions.0.as_ptr(),
            attributes.0.as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("the system gave no process id"))
}

struct Attributes(MaybeUninit<libc::posix_spawnattr_t>);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the call makes the value that the pointer leads to.
        told(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        let mut attributes = Self(attributes);
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
        let flags = SETSID | (libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF) as c_short;
        // SAFETY: both sets are made by `sigemptyset` before they are used, and the attributes were made above.
        unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigemptyset(pipe.as_mut_ptr());
            libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
            let to = attributes.0.as_mut_ptr();
            told(libc::posix_spawnattr_setsigmask(to, none.as_ptr()))?;
            told(libc::posix_spawnattr_setsigdefault(to, pipe.as_ptr()))?;
            told(libc::posix_spawnattr_setflags(to, flags))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: a value of this type was made by `posix_spawnattr_init`.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}

struct Actions(MaybeUninit<libc::posix_spawn_file_actions_t>);

impl Actions {
    fn new(plan: &Plan<'_>) -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: the call makes the value that the pointer leads to.
        told(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        let mut actions = Self(actions);
        let to = actions.0.as_mut_ptr();
        for (number, stream) in (0..).zip(&plan.streams) {
            // SAFETY: the actions were made above, and the descriptor is open as long as the plan is borrowed.
            told(unsafe { libc::posix_spawn_file_actions_adddup2(to, stream.as_raw_fd(), number) })?;
        }
        // SAFETY: as before.
        told(unsafe { libc::posix_spawn_file_actions_addfchdir_np(to, plan.directory.as_raw_fd()) })?;
        Ok(actions)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: a value of this type was made by `posix_spawn_file_actions_init`.
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

/// These calls return an error's number instead of setting it.
fn told(number: c_int) -> io::Result<()> {
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(number)) }
}
