//! Running programs: input, output apart and together, directories, terminals, secrecy.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use crystal::process::capture::{Form, Keep};
use crystal::process::{Directory, Ending, Job, Streams, harden, run};
use rustix::pty::OpenptFlags;
use tokio_util::sync::CancellationToken;

use super::given::{Given, again, again_as_nobody, role};

fn job(program: &str, arguments: &[&str]) -> Job {
    Job {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("GIVEN".into(), "yes".into())],
        directory: Directory::Path("/".into()),
        input: None,
        streams: Streams::Apart,
        keep: Keep { head: 1 << 20, tail: 0, form: Form::Raw },
        timeout: Some(Duration::from_secs(60)),
    }
}

async fn outputs(job: Job) -> (Ending, String, String) {
    let finished = run(job, &CancellationToken::new()).await.unwrap();
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
    (finished.ending, text(finished.output.whole()), text(finished.errors.whole()))
}

#[tokio::test]
async fn a_job_gets_its_environment_and_nothing_else() {
    let (ending, output, _) = outputs(job("env", &[])).await;
    assert_eq!(ending, Ending::Exited(0));
    let names: Vec<&str> =
        output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    for name in &names {
        assert!(["PATH", "GIVEN", "CRYSTAL_JOB"].contains(name), "{name} came from elsewhere");
    }
    assert_eq!(names.len(), 3);
}

#[tokio::test]
async fn outputs_are_kept_apart_or_together() {
    let script = ["-c", "echo 1; echo 2 >&2; echo 3; exit 4"];
    let apart = outputs(job("sh", &script)).await;
    assert_eq!(apart, (Ending::Exited(4), "1\n3\n".into(), "2\n".into()));
    let together = outputs(Job { streams: Streams::Together, ..job("sh", &script) }).await;
    assert_eq!(together, (Ending::Exited(4), "1\n2\n3\n".into(), String::new()));
}

#[tokio::test]
async fn input_larger_than_a_pipe_goes_through_and_may_be_left_unread() {
    let input = Bytes::from(vec![b'x'; 900_000]);
    let (ending, output, _) = outputs(Job { input: Some(input.clone()), ..job("cat", &[]) }).await;
    assert_eq!((ending, output.len()), (Ending::Exited(0), 900_000));
    let (ending, ..) = outputs(Job { input: Some(input), ..job("true", &[]) }).await;
    assert_eq!(ending, Ending::Exited(0));
    let (ending, output, _) = outputs(Job { input: Some(Bytes::new()), ..job("cat", &[]) }).await;
    assert_eq!((ending, output.as_str()), (Ending::Exited(0), ""));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let started = |job| async { run(job, &CancellationToken::new()).await.unwrap_err() };
    let error = started(job("no-such-program-here", &[])).await;
    assert!(error.is_missing_program());
    assert_eq!(error.to_string(), "cannot run no-such-program-here: it does not exist");
    let gone = Directory::Path("/no/such/place".into());
    let error = started(Job { directory: gone, ..job("true", &[]) }).await;
    assert_eq!(error.to_string(), "cannot start in /no/such/place: it does not exist");
    let error = started(Job { directory: Directory::Path("/etc/passwd".into()), ..job("true", &[]) }).await;
    assert_eq!(error.to_string(), "cannot start in /etc/passwd: it is no directory");
}

#[tokio::test]
async fn an_open_directory_is_entered_wherever_it_moved_and_missed_when_it_is_gone() {
    let given = Given::workspace();
    let open = || OwnedFd::from(std::fs::File::open(given.outside().join("there")).unwrap());
    std::fs::create_dir(given.outside().join("there")).unwrap();
    let directory = Directory::Open(open(), given.outside().join("there"));
    let gone = Directory::Open(open(), given.outside().join("there"));
    std::fs::rename(given.outside().join("there"), given.outside().join("moved")).unwrap();
    let (_, output, _) = outputs(Job { directory, ..job("pwd", &[]) }).await;
    assert_eq!(output.trim_end(), given.outside().join("moved").to_str().unwrap());
    std::fs::remove_dir(given.outside().join("moved")).unwrap();
    let error = run(Job { directory: gone, ..job("pwd", &[]) }, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("there: it does not exist"), "{error}");
}

#[tokio::test]
async fn what_is_kept_is_bounded_and_the_rest_is_counted() {
    let keep = Keep { head: 1000, tail: 1000, form: Form::Raw };
    let job = Job { keep, ..job("sh", &["-c", "yes | head -c 50000000"]) };
    let finished = run(job, &CancellationToken::new()).await.unwrap();
    assert_eq!(finished.output.received(), 50_000_000);
    assert!(finished.output.held() < 10_000, "{} bytes are held", finished.output.held());
    assert!(finished.output.whole().is_none());
    assert_eq!(finished.output.text(2000).cut.unwrap().left_out, 50_000_000 - 2000);
}

/// earendil-works/pi#9936, dirge-code/dirge#460
#[test]
fn a_child_finds_no_terminal_and_takes_no_keys() {
    let Some(directory) = role() else {
        let temp = tempfile::tempdir().unwrap();
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        // Keys that are typed before and while the child runs.
        std::fs::File::from(master.as_fd().try_clone_to_owned().unwrap()).write_all(b"typed keys\n").unwrap();
        let test = "tool::process::a_child_finds_no_terminal_and_takes_no_keys";
        let output = again(test, temp.path(), |command| on_terminal(command, name.as_c_str()));
        let report = std::fs::read_to_string(temp.path().join("report")).unwrap_or_default();
        assert!(output.status.success(), "{}\n{report}", String::from_utf8_lossy(&output.stdout));
        assert!(report.ends_with("checked"), "{report}");
        return;
    };
    let terminal = || std::fs::File::options().read(true).write(true).open("/dev/tty").unwrap();
    let modes = |file: &std::fs::File| format!("{:?}", rustix::termios::tcgetattr(file).unwrap());
    let before = modes(&terminal());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outputs = runtime.block_on(async {
        let given = Given::workspace();
        let read = given.bash("read -r x </dev/tty; echo got:$x; stty raw </dev/tty; echo loud >/dev/tty").await;
        let commit = "git init -q . && git -c user.name=a -c user.email=a@example.org -c core.editor=vi commit --allow-empty";
        (read.text, given.bash(commit).await)
    });
    assert!(outputs.0.contains("got:\n") && outputs.0.contains("/dev/tty"), "{}", outputs.0);
    assert!(outputs.1.failed && outputs.1.text.contains("empty commit message"), "{}", outputs.1.text);
    assert_eq!(modes(&terminal()), before, "the terminal's modes are as they were");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(terminal()), &mut line).unwrap();
    assert_eq!(line, "typed keys\n", "the keys are still there for Crystal");
    std::fs::write(directory.join("report"), "checked").unwrap();
}

/// Makes the terminal of that name the one that controls the command.
#[allow(unsafe_code, reason = "a controlling terminal is taken in the child only")]
fn on_terminal(command: &mut std::process::Command, name: &std::ffi::CStr) {
    let name = name.to_owned();
    // SAFETY: setsid and open are async-signal-safe, and nothing is allocated between fork and exec.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            let flags = rustix::fs::OFlags::RDWR;
            let terminal = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
            // It stays this session's terminal when the descriptor is closed.
            drop(terminal);
            Ok(())
        });
    }
}

/// earendil-works/pi#7522, zeroclaw-labs/zeroclaw#53
#[test]
fn a_hardened_process_hides_its_environment_from_its_children() {
    let test = "tool::process::a_hardened_process_hides_its_environment_from_its_children";
    let Some(directory) = role() else {
        let temp = tempfile::tempdir().unwrap();
        let output = again_as_nobody(test, temp.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(temp.path().join("checked").exists());
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let look = || {
        runtime.block_on(async {
            let given = Given::workspace();
            let command = "grep -c CRYSTAL_TEST_ROLE /proc/$PPID/environ; grep -c VmRSS /proc/$PPID/status";
            given.bash(command).await.text
        })
    };
    assert!(look().starts_with("1\n1\n"), "without it the environment is there to be read: {}", look());
    harden::harden().unwrap();
    let text = look();
    assert!(text.contains("Permission denied") && text.ends_with("\n1\n[exit code 0]"), "{text}");
    std::fs::write(Path::new(&directory).join("checked"), "").unwrap();
}
