//! A child and all its descendants: finding them, and ending them.
//!
//! Descendants are those in the child's session or process group, those that its mark is in the environment of (it is
//! inherited, so a daemon that left the session still carries it), and the children of any of these. The mark is
//! looked for on Linux only, where the system shows environments; elsewhere the process group is all.
//!
//! What escapes: a process that left the session, lost its parent and was started with another environment (or
//! wrote over its own), one that another service started on request (`systemd-run`, `at`, a container), and one that
//! became another user.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// The environment variable that marks the descendants of one job. Its value means nothing.
pub const MARK: &str = "CRYSTAL_JOB";

/// How often a tree is looked at again after SIGKILL: new children may have been started meanwhile.
const ROUNDS: u32 = 40;
/// How long a round waits for the killed to be gone.
const ROUND: Duration = Duration::from_millis(10);

/// A running process, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The program's name, as the system keeps it (15 bytes on Linux).
    pub name: String,
}

/// The descendants of one child.
#[derive(Clone, Debug)]
pub struct Tree {
    leader: Pid,
    mark: String,
}

/// A fresh mark.
pub(super) fn mark() -> String {
    match getrandom::u64() {
        Ok(number) => format!("{number:016x}"),
        // Without randomness the clock tells jobs apart well enough.
        Err(_) => format!("{:?}", std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)),
    }
}

impl Tree {
    /// The tree below a child that leads its own session.
    pub(super) fn new(leader: Pid, mark: String) -> Self {
        Self { leader, mark }
    }

    /// Who is left of the tree once its leader was waited for. Looks closely only when there is a sign of life.
    pub(super) async fn left(&self, pipe_open: bool) -> Vec<Process> {
        let group = rustix::process::test_kill_process_group(self.leader).is_ok();
        if pipe_open || group { self.living().await } else { Vec::new() }
    }

    /// Asks everyone to end; returns who was asked.
    pub(super) async fn terminate(&self) -> Vec<Process> {
        let tree = self.clone();
        blocking(move || {
            let living = tree.scan();
            tree.signal(&living, Signal::TERM);
            living
        })
        .await
    }

    /// Kills everyone and waits until they are gone, within bounds.
    pub(super) async fn kill(&self) {
        for _ in 0..ROUNDS {
            let tree = self.clone();
            let killed = blocking(move || tree.kill_round()).await;
            if killed.is_empty() {
                return;
            }
            tokio::time::sleep(ROUND).await;
        }
    }

    /// Kills everyone at once, without waiting.
    pub(super) fn kill_now(&self) {
        for _ in 0..3 {
            if self.kill_round().is_empty() {
                return;
            }
        }
    }

    async fn living(&self) -> Vec<Process> {
        let tree = self.clone();
        blocking(move || tree.scan()).await
    }

    fn kill_round(&self) -> Vec<Process> {
        let living = self.scan();
        self.signal(&living, Signal::KILL);
        living
    }

    fn signal(&self, living: &[Process], signal: Signal) {
        // Whoever is gone already needs no signal, and whoever may not be signalled cannot be helped.
        let _ = rustix::process::kill_process_group(self.leader, signal);
        for process in living {
            if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn scan(&self) -> Vec<Process> {
        linux::scan(self.leader, &self.mark).unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    fn scan(&self) -> Vec<Process> {
        let _ = &self.mark;
        if rustix::process::test_kill_process_group(self.leader).is_err() {
            return Vec::new();
        }
        vec![Process { pid: self.leader.as_raw_pid().unsigned_abs(), name: "process group".into() }]
    }
}

async fn blocking<T: Send + Default + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::fs;

    use super::{MARK, Pid, Process, io};

    /// One line of the process table.
    struct Row {
        pid: u32,
        name: String,
        dead: bool,
        parent: u32,
        group: u32,
        session: u32,
    }

    pub(super) fn scan(leader: Pid, mark: &str) -> io::Result<Vec<Process>> {
        let rows = table()?;
        let leader = leader.as_raw_pid().unsigned_abs();
        let mark = format!("{MARK}={mark}");
        let mut ours: HashSet<u32> = rows
            .iter()
            .filter(|row| {
                let kin = [row.pid, row.group, row.session].contains(&leader);
                kin || is_marked(row.pid, mark.as_bytes())
            })
            .map(|row| row.pid)
            .collect();
        loop {
            let before = ours.len();
            ours.extend(
                rows.iter().filter(|row| ours.contains(&row.parent)).map(|row| row.pid).collect::<Vec<_>>(),
            );
            if ours.len() == before {
                break;
            }
        }
        let own = std::process::id();
        let found = rows.into_iter().filter(|row| ours.contains(&row.pid) && !row.dead && row.pid != own);
        Ok(found.map(|row| Process { pid: row.pid, name: row.name }).collect())
    }

    fn table() -> io::Result<Vec<Row>> {
        let entries = fs::read_dir("/proc")?.flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        // A process may end while the table is read; then it is no longer of interest.
        Ok(pids.filter_map(row).collect())
    }

    fn row(pid: u32) -> Option<Row> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse(pid, &String::from_utf8_lossy(&stat))
    }

    /// Reads `pid (name) state parent group session …`; the name may hold anything, parentheses included.
    fn parse(pid: u32, stat: &str) -> Option<Row> {
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let mut number =
            || fields.next()?.parse::<i64>().ok().map(|number| u32::try_from(number).unwrap_or(0));
        Some(Row {
            pid,
            name: name.to_owned(),
            dead: matches!(state, "Z" | "X" | "x"),
            parent: number()?,
            group: number()?,
            session: number()?,
        })
    }

    fn is_marked(pid: u32, mark: &[u8]) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_may_hold_anything() {
            let row = parse(7, "7 (a) b (c) S 3 5 4 0 -1").unwrap();
            assert_eq!((row.name.as_str(), row.parent, row.group, row.session), ("a) b (c", 3, 5, 4));
            assert!(!row.dead);
            assert!(parse(7, "7 (gone) Z 3 5 4").unwrap().dead);
            assert!(parse(7, "nonsense").is_none());
        }
    }
}
