//! The shell tool: what a command can do, what it cannot, and what the model reads of it.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use crystal::home::secret::Secret;
use crystal::process::environment::Hidden;
use serde_json::json;

use super::given::Given;

/// Whether a process runs with that word on its command line.
fn runs(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let status = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let dead = status.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'));
        !dead && line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    })
}

/// A number of seconds that no other test or program sleeps for.
fn odd(number: u32) -> String {
    format!("{}.{number}", 900_000 + std::process::id() % 90_000)
}

#[tokio::test]
async fn output_and_errors_come_in_order_and_the_exit_code_last() {
    let given = Given::workspace();
    let output = given.bash("echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(output.text, "one\ntwo\nthree\n[exit code 3]");
    assert!(output.failed);
    let output = given.bash("printf 'no newline'").await;
    assert_eq!((output.text.as_str(), output.failed), ("no newline\n[exit code 0]", false));
    let output = given.bash("true").await;
    assert_eq!(output.text, "[no output]\n[exit code 0]");
}

#[tokio::test]
async fn a_command_starts_in_the_workspace_with_an_empty_input() {
    let given = Given::workspace();
    let output = given.bash("pwd; cat; echo end").await;
    assert_eq!(output.text, format!("{}\nend\n[exit code 0]", given.root().display()));
}

#[tokio::test]
async fn an_unusable_command_or_timeout_is_explained() {
    let given = Given::workspace();
    for (arguments, part) in [
        (json!({ "command": "  " }), "empty"),
        (json!({ "command": "a\0b" }), "NUL"),
        (json!({ "command": "true", "timeout": 0 }), "above 0"),
    ] {
        let output = given.call(&given.bash_tool(), arguments).await;
        assert!(output.failed && output.text.contains(part), "{}", output.text);
    }
    let output = given.call(&given.bash_tool(), json!({ "command": "true", "timeout": 1e9 })).await;
    assert!(output.text.contains("lowered to 3600 s"), "{}", output.text);
}

/// mofa-org/mofa#1064, BaseIntelligence/bounty-challenge#4011
#[tokio::test]
async fn long_output_is_cut_between_characters_and_bad_bytes_are_marked() {
    let given = Given::workspace();
    for lead in 48_995..49_002 {
        let command =
            format!("head -c {lead} /dev/zero | tr '\\0' a; for i in $(seq 60000); do printf 語; done");
        let text = given.bash(&command).await.text;
        assert!(!text.contains('\u{fffd}'), "lead of {lead}");
        assert!(text.contains("bytes of output are left out here"), "lead of {lead}");
        assert!(text.chars().count() < 100_000, "lead of {lead}");
    }
    for lead in 97_993..98_002 {
        let command =
            format!("head -c {lead} /dev/zero | tr '\\0' a; printf '\\xff\\xfe\\xe8'; printf '語語語'");
        let text = given.bash(&command).await.text;
        assert!(
            text.contains("\u{fffd}\u{fffd}\u{fffd}語語語\n"),
            "lead of {lead}: {}",
            &text[text.len() - 90..]
        );
    }
}

/// anomalyco/opencode#1254, coder/xum#41
#[tokio::test]
async fn a_background_child_that_holds_the_pipe_does_not_hold_the_call() {
    let given = Given::workspace();
    let seconds = odd(34);
    let output = given.bash(&format!("sleep {seconds} & echo done")).await;
    assert!(
        output.text.starts_with("done\n[still running in the background: sleep (pid "),
        "{}",
        output.text
    );
    assert!(output.text.ends_with("[exit code 0]") && !output.failed);
    assert!(runs(&seconds), "a background process goes on");
    given.bash(&format!("until pkill -f '^sleep {seconds}$'; do :; done")).await;
    // The same with nothing of the pipe left to see.
    let seconds = odd(35);
    let output = given.bash(&format!("sleep {seconds} >/dev/null 2>&1 & echo done")).await;
    assert!(output.text.contains("still running in the background: "), "{}", output.text);
    given.bash(&format!("until pkill -f '^sleep {seconds}$'; do :; done")).await;
}

/// anomalyco/opencode#22012
#[tokio::test]
async fn a_background_child_that_keeps_writing_is_reported_and_not_stopped_by_a_broken_pipe() {
    let given = Given::workspace();
    let command = "(while [ ! -e stop ]; do echo tick; sleep 0.1; : >>alive; done; echo out >ended) & \
         until [ -e alive ]; do sleep 0.05; done; echo fg-done";
    let output = given.bash(command).await;
    assert!(
        output.text.contains("fg-done\n") && output.text.contains("still running in the background: bash")
    );
    assert!(!output.failed);
    // It is alive long after the call: it still gets to its own end, through many more writes.
    given.bash("rm alive; until [ -e alive ]; do sleep 0.05; done; touch stop; until [ -e ended ]; do sleep 0.05; done")
        .await;
    assert!(given.root().join("ended").exists());
}

/// coder/xum#41, anthropics/claude-code#84647, Marker-Inc-Korea/AutoRAG#1500
#[tokio::test]
async fn a_timeout_ends_everything_the_command_started() {
    let (a, b, c, d) = (odd(361), odd(362), odd(363), odd(364));
    let commands = [
        format!("sleep {a} & sleep {b} & wait"),
        format!("bash -c 'sleep {a} & sleep {b}'"),
        format!("trap '' TERM; bash -c \"trap '' TERM; sleep {a}; sleep {b}\""),
        format!("setsid sleep {a} & setsid -f sleep {b} >/dev/null 2>&1; sleep {c}"),
        format!("(setsid bash -c 'sleep {a} & sleep {b} & exit' &) ; sleep {d}"),
    ];
    let given = Given::workspace();
    for command in commands {
        let output = given.call(&given.bash_tool(), json!({ "command": command, "timeout": 0.3 })).await;
        assert!(output.failed && output.text.contains("[timed out after 0.3 s"), "{}", output.text);
        assert!(output.text.contains(" (pid "), "what was killed is named: {}", output.text);
        for seconds in [&a, &b, &c, &d] {
            assert!(!runs(seconds), "sleep {seconds} survived {command}");
        }
    }
}

/// LionSR/TeXRA#5942
#[tokio::test]
async fn a_cancelled_call_and_a_dropped_call_end_their_commands() {
    let given = Given::workspace();
    let seconds = odd(139);
    let command = format!("echo begun >begun; sleep {seconds}");
    let begun = || async {
        while !given.root().join("begun").exists() {
            tokio::task::yield_now().await;
        }
    };
    let cancel = async {
        begun().await;
        given.cancel.cancel();
    };
    let (output, ()) = tokio::join!(given.bash(&command), cancel);
    assert!(output.failed && output.text.contains("cancelled; killed"), "{}", output.text);
    assert!(!runs(&seconds));

    std::fs::remove_file(given.root().join("begun")).unwrap();
    let output = given.bash(&command).await;
    assert!(output.failed && output.text.contains("cancelled before it began"), "{}", output.text);
    assert!(!given.root().join("begun").exists(), "nothing is started for a call that is cancelled already");

    let mut given = given;
    given.cancel = Default::default();
    let begun = || async {
        while !given.root().join("begun").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        output = given.bash(&command) => panic!("{}", output.text),
        () = begun() => {}
    }
    while runs(&seconds) {
        tokio::task::yield_now().await;
    }
}

/// Gitlawb/zero#469, can1357/oh-my-pi#11351
#[tokio::test]
async fn hundreds_of_megabytes_become_head_and_tail() {
    let given = Given::workspace();
    let output = given.bash("echo first; yes | head -c 300000000; echo last").await;
    assert!(output.text.starts_with("first\ny\ny\n") && output.text.contains("y\nlast\n[exit code 0]"));
    assert!(
        output.text.contains("[… 299,902,011 bytes of output are left out here"),
        "{}",
        gap(&output.text)
    );
    assert!(output.text.len() < 100_000);
    let output = given.bash("head -c 200000000 /dev/zero | tr '\\0' x").await;
    assert!(
        output.text.contains("[… 199,902,000 bytes of output are left out here"),
        "{}",
        gap(&output.text)
    );
    assert!(output.text.len() < 100_000);
}

fn gap(text: &str) -> &str {
    text.find('…').map_or("no gap", |at| &text[at..(at + 60).min(text.len())])
}

/// deathbyknowledge/gsv#44
#[tokio::test]
async fn wide_characters_at_any_place_are_kept() {
    let given = Given::workspace();
    let output = given.bash("printf 'x%.0s' $(seq 199); printf '─────\\n'").await;
    assert_eq!(output.text, format!("{}─────\n[exit code 0]", "x".repeat(199)));
}

/// openai/codex#32325, charmbracelet/crush#3354
#[tokio::test]
async fn progress_is_read_in_its_last_state() {
    let given = Given::workspace();
    let output =
        given.bash("for i in $(seq 1 500); do printf '\\rProgress %d%%' $i; done; printf '\\nDone\\n'").await;
    assert_eq!(
        output.text,
        "Progress 500%\nDone\n[499 lines that a carriage return overwrote are left out]\n[exit code 0]"
    );
    let output = given.bash("printf '\\033[1;31mred\\033[0m\\n'").await;
    assert_eq!(output.text, "red\n[exit code 0]");
}

/// earendil-works/pi#8992, earendil-works/pi#9577
#[tokio::test]
async fn a_signal_is_a_failure_with_its_name() {
    let given = Given::workspace();
    for (signal, code, name) in [("KILL", 137, "SIGKILL"), ("TERM", 143, "SIGTERM")] {
        let output = given.bash(&format!("printf 'before\\n'; kill -{signal} $$")).await;
        assert!(output.failed);
        assert!(output.text.starts_with(&format!("before\n[exit code {code}; ")), "{}", output.text);
        assert!(output.text.contains(name), "{}", output.text);
        let output = given.bash(&format!("bash -c 'kill -{signal} $$'; exit $?")).await;
        assert!(output.failed && output.text.contains(&format!("exit code {code}, as after {name}")));
    }
}

/// anthropics/claude-code#24143, anthropics/claude-code#52747
#[tokio::test]
async fn a_directory_that_goes_away_is_named_and_never_a_silent_failure() {
    let given = Given::workspace();
    assert!(given.bash("mkdir d && cd d && pwd").await.text.contains("/d\n"));
    given.bash("cd d && rm -rf ../d").await;
    assert_eq!(given.bash("echo hi").await.text, "hi\n[exit code 0]");
    assert_eq!(given.bash("cd / && pwd").await.text, "/\n[exit code 0]");

    let (context, tool) = (given.context(), given.bash_tool());
    std::fs::remove_dir_all(given.root()).unwrap();
    let arguments = json!({ "command": "echo hi" });
    let output = crystal::tool::Tool::run(&tool, arguments.as_object().unwrap(), &context).await;
    assert!(output.failed && output.text.contains(&*given.root().to_string_lossy()), "{}", output.text);
    assert!(output.text.contains("does not exist"), "{}", output.text);
}

/// earendil-works/pi#7522, zeroclaw-labs/zeroclaw#53
#[tokio::test]
async fn keys_and_shell_hooks_are_not_in_the_environment_of_commands() {
    let mut given = Given::workspace();
    given.file("hook", "echo hooked");
    let hook = given.root().join("hook").into_os_string();
    given.variables.extend([
        ("OPENAI_API_KEY".into(), "sk-test-A".into()),
        ("COPY_OF_IT".into(), "sk-test-A".into()),
        ("ANTHROPIC_API_KEY".into(), "sk-test-B".into()),
        ("BASH_ENV".into(), hook.clone()),
        ("ENV".into(), hook),
        ("BASH_FUNC_ls%%".into(), "() { echo hooked; }".into()),
        ("KEPT".into(), "kept".into()),
    ]);
    given.hidden = Hidden { names: vec!["ANTHROPIC_API_KEY".into()], values: vec![Secret::new("sk-test-A")] };
    let output = given.bash("env | grep -c sk-test; ls >/dev/null; env | grep -c hook; echo $KEPT").await;
    assert_eq!(output.text, "0\n0\nkept\n[exit code 0]");
}

/// 8gi-foundation/8gent-code#2251
#[tokio::test]
async fn git_fails_at_once_where_it_would_ask() {
    let mut given = Given::workspace();
    given.variables.retain(|(name, _)| name != "GIT_ASKPASS" && name != "SSH_ASKPASS");
    given.variables.push(("EDITOR".into(), "sleep 600 #".into()));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        // git asks once without credentials; what else it may try is answered alike until the test is over.
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            if request[..read].starts_with(b"QUIT") {
                return;
            }
            let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(refusal.as_bytes()).unwrap();
        }
    });
    let output = given.bash(&format!("git clone http://127.0.0.1:{port}/x.git")).await;
    std::net::TcpStream::connect(("127.0.0.1", port)).unwrap().write_all(b"QUIT").unwrap();
    serving.join().unwrap();
    assert!(output.failed && output.text.contains("fatal:"), "{}", output.text);

    let commit = "git init -q . && git -c user.name=a -c user.email=a@example.org -c core.editor=vi commit --allow-empty";
    let output = given.bash(commit).await;
    assert!(output.failed && output.text.contains("empty commit message"), "{}", output.text);
}

#[tokio::test]
async fn without_bash_the_command_runs_in_sh_and_says_so() {
    let mut given = Given::workspace();
    let bin = given.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    given.variables.retain(|(name, _)| name != "PATH");
    given.variables.push(("PATH".into(), bin.clone().into()));
    let output = given.bash("echo hi").await;
    assert_eq!(
        output.text,
        "hi\n[there is no bash on this machine; the command was run by sh]\n[exit code 0]"
    );
    std::fs::remove_file(bin.join("sh")).unwrap();
    let output = given.bash("echo hi").await;
    assert!(output.failed && output.text.contains("PATH"), "{}", output.text);
}

/// The login environment is asked for where no shell started the program, and a profile cannot break anything.
#[tokio::test]
async fn a_login_shell_is_asked_once_where_no_shell_is_above() {
    let mut given = Given::workspace();
    let shell = given.root().join("shell");
    let script = "echo noise; echo x >>asked-$$; export FROM_PROFILE=yes PATH=$PATH:/from/profile LANG=other; \
         shift; exec /bin/sh \"$@\"";
    write_program(&shell, &format!("#!/bin/sh\ncd {}; {script}\n", given.root().display()));
    given.variables.retain(|(name, _)| !["SHLVL", "SHELL", "LANG"].iter().any(|gone| name == gone));
    given.variables.extend([("SHELL".into(), shell.clone().into()), ("LANG".into(), "own".into())]);
    let tool = given.bash_tool();
    let command = json!({ "command": "echo $FROM_PROFILE $LANG; echo \"${PATH##*:}\"; ls | grep -c asked" });
    for _ in 0..2 {
        let output = given.call(&tool, command.clone()).await;
        assert_eq!(output.text, "yes own\n/from/profile\n1\n[exit code 0]");
    }
    write_program(&shell, "#!/bin/sh\nexec sleep 600\n");
    assert_eq!(given.bash("echo [$FROM_PROFILE]").await.text, "[]\n[exit code 0]");
    write_program(&shell, "#!/bin/sh\nexit 1\n");
    assert_eq!(given.bash("echo [$FROM_PROFILE]").await.text, "[]\n[exit code 0]");
    // Below a shell nobody is asked.
    given.variables.push(("SHLVL".into(), "1".into()));
    write_program(&shell, &format!("#!/bin/sh\ntouch {}/asked-again\n", given.root().display()));
    given.bash("true").await;
    assert!(!given.root().join("asked-again").exists());
}

fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn an_endless_flood_still_obeys_its_timeout() {
    let mut given = Given::workspace();
    given.timeout = Some(Duration::from_millis(300));
    let output = given.bash("yes").await;
    assert!(output.failed && output.text.contains("[timed out after 0.3 s"), "{}", &output.text[..80]);
}
