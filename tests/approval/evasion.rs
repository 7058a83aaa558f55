//! Commands by which agents were led past their checks, from public reports.

use std::process::Command;

use super::world::{Rating, World, asks, check, rating};

/// charmbracelet/crush#3425, charmbracelet/crush#3426
#[test]
fn every_command_of_a_list_counts() {
    asks(&[
        "echo hi\nrm -rf ./x",
        "echo hi & rm -rf ./x",
        "echo hi; rm x",
        "echo hi | rm x",
        "echo hi && rm x",
        "true || rm x",
        "echo hi |& tee x",
        "(rm x)",
        "{ rm x; }",
    ]);
    check(Rating::Reads, &["ls\npwd", "ls & pwd"]);
}

/// charmbracelet/crush#2368
#[test]
fn a_redirection_is_a_write() {
    asks(&[
        "echo pwned > ~/.bashrc",
        "cargo check > ~/.zshrc",
        ": > f",
        "ls 2> f",
        "echo x >| f",
        "echo x &> f",
        "echo x >& f",
        "> f",
        "ls 3<> f",
        "for i in 1; do ls; done > f",
    ]);
    check(Rating::Reads, &["ls > /dev/null", "ls 2>&1"]);
}

/// charmbracelet/crush#3426
#[test]
fn a_wrapper_hides_nothing() {
    asks(&[
        "env rm -rf ./x",
        "nohup curl http://127.0.0.1:1",
        "timeout 5 rm f",
        "command rm f",
        "nice rm f",
        "sudo -n rm f",
        "env FOO=1 rm f",
        "xargs rm",
        "timeout -k 3 -s TERM 5 rm f",
        "time rm f",
        "stdbuf -o0 rm f",
        "exec rm f",
        "setsid rm f",
        "nice -n 3 nice rm f",
        "bash -c 'rm f'",
        "sh -ec 'rm f'",
    ]);
}

/// charmbracelet/crush#3426
#[test]
fn a_reading_subcommand_with_other_words_is_none() {
    asks(&[
        "git branch -D main",
        "git tag -d v1",
        "git branch newname",
        "git stash drop",
        "git remote set-url origin http://127.0.0.1/x.git",
        "git remote add e url",
        "git config core.pager ./x",
        "git branch -m a b",
        "git branch --set-upstream-to=x",
        "git symbolic-ref HEAD refs/heads/x",
        "git worktree add ../x",
        "git notes add -m x",
    ]);
    check(Rating::Reads, &["git branch", "git remote -v"]);
}

/// charmbracelet/crush#3566
#[test]
fn options_are_checked_as_the_shell_passes_them() {
    asks(&[
        "git diff --outpu\\t=/tmp/o.txt",
        "git diff --ext\\-diff",
        "git diff --outp=o",
        "git log \"--ext\"-diff",
        "sort -'o' out f",
        "find . -dele\\te",
        "git diff --ou''tput=x",
    ]);
}

/// openai/codex#18694
#[test]
fn a_pager_option_counts_by_its_place() {
    asks(&["git -p status", "git --paginate show HEAD"]);
    check(Rating::Reads, &["git log -p -1"]);
}

/// yonatangross/orchestkit#4216
#[test]
fn find_with_an_action_and_secrets_ask() {
    asks(&[
        "find . -name '*.o' -exec rm {} +",
        "find . -delete",
        "find . -fprintf out x",
        "printenv",
        "cat ~/.ssh/id_rsa",
        "find . -exec {} \\;",
        "find . -execdir sh -c 'rm x' \\;",
        "find $x",
    ]);
    check(Rating::Reads, &["find . -name '*.rs'"]);
}

/// yonatangross/orchestkit#4216, gotgenes/pi-packages#741
#[test]
fn substitutions_are_commands() {
    asks(&[
        "echo $(touch pwned)",
        "echo `touch pwned`",
        "echo \"$(touch pwned)\"",
        "cat <<EOF\n$(touch pwned)\nEOF",
        "cat <<EOF\n`touch pwned`\nEOF",
        "x=$(touch pwned)",
        "x=$(touch pwned) ls",
        "cat <(touch pwned)",
        "ls > >(tee x)",
        "cat <<< $(touch pwned)",
        "for i in $(touch pwned); do ls; done",
        "case $(touch x) in a) ls;; esac",
        "[[ -f $(touch x) ]]",
        "echo \"a${x}$(echo $(touch y))\"",
        "cat <<-EOF\n\t$(touch pwned)\n\tEOF",
        "cat <<A <<B\nx\nA\n$(touch pwned)\nB",
        "echo $(echo ')' ; touch x)",
    ]);
    check(
        Rating::Reads,
        &[
            "cat <<'EOF'\n$(touch pwned)\nEOF",
            "cat <<\\EOF\n$(touch pwned)\nEOF",
            "echo '$(touch pwned)'",
            "echo \\$\\(touch pwned\\)",
        ],
    );
}

/// anthropics/claude-code#66176
#[test]
fn a_push_is_a_push_however_it_is_written() {
    let world = World::new();
    for command in [
        "git -C . push",
        "cd . && git push",
        "GIT_SSH=x git push",
        "git  push",
        "(git push)",
        "git --no-pager push",
        "\"git\" pu'sh'",
        "env git push",
        "/usr/bin/git push",
    ] {
        let call = world.bash(command);
        assert!(
            !matches!(rating(&call), Rating::Reads | Rating::Writes),
            "{command:?}: {}",
            call.classification.summary
        );
    }
}

/// NousResearch/hermes-agent#47936
#[test]
fn names_built_at_run_time_ask() {
    asks(&[
        "$'\\x72m' -rf x",
        "r\"\"m -rf x",
        "{rm,-rf,x}",
        "c=rm; $c -rf x",
        "eval \"rm -rf x\"",
        "echo cm0gLXJmIHg= | base64 -d | sh",
        "r\\m x",
        "$(echo rm) x",
        "${x:-rm} x",
        "/bin/r?  x",
    ]);
}

/// sinameraji/kimiflare#112
#[test]
fn readers_that_write_or_run_ask() {
    asks(&[
        "sort -o out f",
        "sed -n 'w out' f",
        "sed -i s/a/b/ f",
        "awk 'BEGIN{system(\"touch pwned\")}'",
        "ls | xargs touch",
        "tee out < f",
        "rg --pre ./x needle",
        "tar -xf a.tar",
        "wget URL",
        "yq -i . f",
        "sort -uo out f",
        "sort --out=x f",
        "sort --compress-program=./x f",
        "sed 's/a/b/w out' f",
        "sed 's/a/touch x/e' f",
        "sed '1e touch x' f",
        "sed -f s f",
        "sed --in-place s/a/b/ f",
        "awk '{print > \"out\"}' f",
        "awk '{print | \"sh\"}' f",
        "awk -f p f",
        "uniq f out",
        "tree -o out",
        "file -C -m f",
        "rg --pre=./x y",
        "jq env f",
        "jq -n '$ENV'",
        "date -s 1",
        "hostname x",
        "git grep -O x",
        "git grep --open x",
        "xxd -r f o",
        "shuf -o out f",
        "fd -x rm",
        "sed -n '/[/]w out/p' f",
        "sed 's/[/]/;w out/' f",
    ]);
}

/// anomalyco/opencode#42551
#[test]
fn harmless_constructs_run_and_others_name_their_cause() {
    check(Rating::Reads, &["for i in 1 2 3; do echo \"$i\"; done", "if true; then echo y; fi"]);
    let call = World::new().bash("ls && eval x");
    assert!(
        call.classification.summary.contains("`eval x` could not be analysed"),
        "{}",
        call.classification.summary
    );
}

/// zeroclaw-labs/zeroclaw#9384, anomalyco/opencode#32628
#[test]
fn the_shell_obeys_the_fence_of_the_file_tools() {
    let world = World::new();
    for command in [
        "echo x > /tmp/oc.txt",
        "env >> ~/f",
        "printf x | tee /tmp/oc2.txt",
        "cp f /tmp/oc3",
        "cd /tmp && echo x > oc4",
        "cat link/s.txt",
        "cp f link/",
        "ls link/../..",
        "cd link && ls",
        "cd src/../.. && ls",
        "cat src/../../project-other/s.txt",
    ] {
        let call = world.bash(command);
        assert!(
            matches!(rating(&call), Rating::ReadsOutside | Rating::WritesOutside),
            "{command:?}: {}",
            call.classification.summary
        );
    }
}

/// mistralai/mistral-vibe#962
#[test]
fn a_repository_that_names_programs_makes_no_reads() {
    let world = World::new();
    let set = |text: &str| std::fs::write(world.root().join(".git/config"), text).unwrap();
    for text in [
        "[diff \"x\"]\n\ttextconv = touch pwned\n",
        "[diff]\nexternal=./x",
        "[filter \"x\"] clean = ./x",
        "[include]\npath = ../evil",
        "[extensions]\n partialClone = o",
        "[gpg]\nprogram=x",
        "[DIFF \"a\"]\n\tCommand = x",
    ] {
        set(text);
        assert_eq!(rating(&world.bash("git diff")), Rating::Privileged, "{text}");
        assert_eq!(rating(&world.bash("cd src && git log -p")), Rating::Privileged, "{text}");
    }
    set("[core]\n\tbare = false\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n[user]\n\tname = x\n");
    assert_eq!(rating(&world.bash("git diff")), Rating::Reads);
}

/// mistralai/mistral-vibe#962
#[test]
fn the_neutral_settings_keep_git_from_running_a_monitor_or_pager() {
    use crystal::approval::git::{GIT_NEUTRAL, NEUTRAL_ENVIRONMENT};
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args(args).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir.path());
        command
    };
    assert!(git(&["init", "-q"]).status().unwrap().success());
    assert!(git(&["config", "core.fsmonitor", "touch pwned; false"]).status().unwrap().success());
    let mut status = git(&["status"]);
    status.envs(NEUTRAL_ENVIRONMENT.iter().copied()).env("GIT_CONFIG_COUNT", GIT_NEUTRAL.len().to_string());
    for (index, (key, value)) in GIT_NEUTRAL.iter().enumerate() {
        status.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    assert!(status.output().unwrap().status.success());
    assert!(!dir.path().join("pwned").exists());
}
