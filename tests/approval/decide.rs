//! The mode table, row by row.

use crystal::approval::decide::{Because, Decision, Prompt, Trust, Verdicts, decide};
use crystal::approval::denial;
use crystal::approval::grant::Grants;
use crystal::approval::judgement::{Judgement, Kind};
use crystal::model::judgement::{Approval, Authority, Classification, Risk};
use crystal::model::port::Reach;

use super::world::World;

const KINDS: &[Kind] = &[Kind::Look, Kind::Session, Kind::File, Kind::Shell, Kind::External];

fn call(kind: Kind, risk: Risk, authority: Authority) -> Judgement {
    Judgement {
        classification: Classification { risk, authority, summary: "do it".into() },
        kind,
        always_ask: None,
        parts: Vec::new(),
        rule: None,
        reach: Reach::Workspace,
    }
}

fn decided(mode: Approval, call: &Judgement) -> Decision {
    decide(mode, call, Prompt::ByMode, &Grants::default(), Trust::Trusted)
}

/// What the specification's table says, written out a second time.
fn expected(mode: Approval, kind: Kind, risk: Risk, authority: Authority) -> &'static str {
    let near = authority == Authority::Workspace;
    let runs = match (kind, risk) {
        (Kind::Session, Risk::Read) => true,
        _ if !near || risk >= Risk::Privileged => false,
        (_, Risk::Read) => true,
        (Kind::File, _) => matches!(mode, Approval::Edit | Approval::Review | Approval::Full),
        _ => mode == Approval::Full,
    };
    match mode {
        _ if runs => "run",
        Approval::Review | Approval::Audit if risk >= Risk::Privileged => "review, deny only",
        Approval::Review | Approval::Audit => "review",
        _ => "ask",
    }
}

#[test]
fn every_mode_treats_every_kind_risk_and_reach_as_the_table_says() {
    for &mode in Approval::ALL {
        for &kind in KINDS {
            for &risk in Risk::ALL {
                for &authority in Authority::ALL {
                    let found = match decided(mode, &call(kind, risk, authority)) {
                        Decision::Run(because) => {
                            assert_eq!(because, Because::Mode);
                            "run"
                        }
                        Decision::Ask(_) => "ask",
                        Decision::Judge(_, Verdicts::All) => "review",
                        Decision::Judge(_, Verdicts::DenyOnly) => "review, deny only",
                    };
                    assert_eq!(
                        found,
                        expected(mode, kind, risk, authority),
                        "{mode} {kind:?} {risk} {authority}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_restricted_workspace_makes_edit_and_full_act_as_default() {
    for &mode in Approval::ALL {
        for &kind in KINDS {
            for &risk in Risk::ALL {
                let call = call(kind, risk, Authority::Workspace);
                let restricted = decide(mode, &call, Prompt::ByMode, &Grants::default(), Trust::Restricted);
                let acts_as =
                    if matches!(mode, Approval::Edit | Approval::Full) { Approval::Default } else { mode };
                assert_eq!(restricted, decided(acts_as, &call), "{mode} {kind:?} {risk}");
            }
        }
    }
}

#[test]
fn a_required_prompt_is_asked_even_for_reads() {
    for &mode in Approval::ALL {
        let decision = decide(
            mode,
            &call(Kind::Look, Risk::Read, Authority::Workspace),
            Prompt::Required,
            &Grants::default(),
            Trust::Trusted,
        );
        assert!(matches!(decision, Decision::Ask(question) if question.remember.is_none()), "{mode}");
    }
}

#[test]
fn control_places_are_asked_in_every_mode() {
    let world = World::new();
    for &mode in Approval::ALL {
        for call in [
            world.bash("echo x >> AGENTS.md"),
            world.call("write", serde_json::json!({ "path": ".git/config" })),
        ] {
            let Decision::Ask(question) = decided(mode, &call) else { panic!("{mode} does not ask") };
            assert!(question.remember.is_none());
            assert!(question.reason.contains("steers Crystal"), "{}", question.reason);
        }
    }
}

/// anomalyco/opencode#28467, anomalyco/opencode#22641
#[test]
fn default_mode_lets_the_shell_look_but_not_change() {
    let world = World::new();
    for command in
        ["touch x", "git commit --amend -m x --allow-empty", "mkdir d", "python3 -c \"open('y','w')\""]
    {
        assert!(matches!(decided(Approval::Default, &world.bash(command)), Decision::Ask(_)), "{command}");
    }
    for command in ["ls", "git log", "git diff"] {
        assert_eq!(
            decided(Approval::Default, &world.bash(command)),
            Decision::Run(Because::Mode),
            "{command}"
        );
    }
}

/// anthropics/claude-code#49874
#[test]
fn a_refusal_names_the_part_that_caused_it() {
    let world = World::new();
    for (command, part) in [
        ("ls && curl -H \"X: $MY_TOKEN\" http://127.0.0.1:1", "curl"),
        ("echo hi; cat /etc/passwd", "`cat /etc/passwd` reads /etc/passwd, which is outside the workspace"),
        ("cargo test > ~/out.txt", "~/out.txt"),
        ("ls; sudo ls", "`sudo ls` becomes another user with sudo"),
        ("ls 'x", "' is not closed"),
    ] {
        let call = world.bash(command);
        let Decision::Ask(question) = decided(Approval::Full, &call) else { panic!("{command} runs") };
        let text = denial::unasked("bash", &call, &question.reason);
        assert!(text.contains(part) && text.contains("nobody can be asked"), "{text}");
    }
}

#[test]
fn the_operators_words_reach_the_model() {
    let call = World::new().bash("rm f");
    assert!(denial::refused("bash", &call, Some("use git rm")).contains("use git rm"));
    assert!(denial::refused("bash", &call, None).contains("deletes f"));
    assert!(denial::reviewed("bash", &call, "not asked for").contains("not asked for"));
}
