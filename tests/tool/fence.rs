//! The fence: where a path really leads decides, when it is judged and again when it is used.

use std::os::unix::fs::symlink;
use std::path::Path;

use crystal::fence::{Fence, Special};
use crystal::model::port::Reach;
use serde_json::json;

use crate::tool::desk::{Desk, names_in};

fn judged(desk: &Desk, path: &str) -> (bool, Option<Special>) {
    let place = desk.cx.fence.judge(path).unwrap();
    (place.inside, place.special)
}

/// Every file tool refuses the path, and nothing appears there.
async fn refused_everywhere(desk: &Desk, path: &str) {
    for (tool, arguments) in [
        ("read", json!({"path": path})),
        ("edit", json!({"path": path, "old_string": "secret", "new_string": "gone"})),
        ("write", json!({"path": path, "contents": "pwned"})),
    ] {
        let text = desk.refused(tool, arguments).await;
        assert!(!text.contains("secret\n"), "{tool} {path}: {text}");
    }
}

/// QwenLM/qwen-code#5453, HKUDS/DeepCode#176
#[tokio::test]
async fn a_sibling_with_the_same_beginning_is_outside() {
    let desk = Desk::new();
    let sibling = desk.beside("project-other");
    std::fs::create_dir(&sibling).unwrap();
    std::fs::write(sibling.join("s.txt"), "secret\n").unwrap();
    for path in [sibling.join("s.txt").to_str().unwrap(), "../project-other/s.txt"] {
        assert_eq!(judged(&desk, path), (false, None));
        refused_everywhere(&desk, path).await;
    }
    assert_eq!(std::fs::read(sibling.join("s.txt")).unwrap(), b"secret\n");
}

/// coder/xum#1939
#[tokio::test]
async fn a_tilde_is_the_home_directory_when_judged_and_when_used() {
    let desk = Desk::new();
    std::fs::write(desk.beside("user/secret.txt"), "secret\n").unwrap();
    let user = desk.beside("user").canonicalize().unwrap();
    assert_eq!(desk.cx.fence.judge("~/secret.txt").unwrap().path, user.join("secret.txt"));
    assert_eq!(desk.cx.fence.judge("~").unwrap().path, user);
    for path in ["~/secret.txt", "~/new.txt", "~//new.txt", "~root/x"] {
        refused_everywhere(&desk, path).await;
    }
    assert!(desk.cx.fence.judge("~root/x").unwrap_err().0.contains("./~root/x"));
    // What no tool expands is an ordinary name.
    assert_eq!(judged(&desk, "$HOME/secret.txt"), (true, None));
    assert_eq!(judged(&desk, "./~/x"), (true, None));
    assert_eq!(judged(&desk, "~draft.md"), (true, None));
    assert_eq!(names_in(&user), [".crystal", "secret.txt"]);
}

/// octos-org/octos#886, cacheplane/b4run#225, Lore-Hex/QuillCode#722
#[tokio::test]
async fn a_link_leads_where_it_leads_even_to_what_does_not_exist_yet() {
    let desk = Desk::new();
    let outside = desk.beside("elsewhere");
    std::fs::write(outside.join("passwd"), "secret\n").unwrap();
    symlink(&outside, desk.path("escape")).unwrap();
    symlink("../elsewhere", desk.path("relative")).unwrap();
    symlink(outside.join("not-yet"), desk.path("dangling")).unwrap();
    symlink("escape", desk.path("twice")).unwrap();
    for path in [
        "escape/passwd",
        "relative/passwd",
        "twice/passwd",
        "escape/newdir/evil.txt",
        "dangling",
        "escape/../elsewhere/x",
        "sub/../../elsewhere/passwd",
    ] {
        assert_eq!(judged(&desk, path), (false, None), "{path}");
        refused_everywhere(&desk, path).await;
    }
    assert_eq!(names_in(&outside), ["passwd"]);
    assert_eq!(std::fs::read(outside.join("passwd")).unwrap(), b"secret\n");
}

/// cacheplane/b4run#225
#[tokio::test]
async fn a_workspace_reached_through_a_link_is_itself() {
    let desk = Desk::new();
    desk.put("a", "x\n");
    let link = desk.beside("p");
    symlink(desk.path(""), &link).unwrap();
    let through = link.to_str().unwrap();
    for workspace in [through.to_owned(), format!("{through}/")] {
        let fence = Fence::new(Path::new(&workspace), &desk.beside("user/.crystal")).unwrap();
        for path in [
            "a".to_owned(),
            format!("{through}/a"),
            desk.path("a").to_str().unwrap().to_owned(),
            through.to_owned(),
        ] {
            let place = fence.judge(&path).unwrap();
            assert!(place.inside && place.exists, "{workspace}: {path}");
        }
        let opened = fence.open(&format!("{through}/a"), Reach::Workspace).unwrap();
        assert_eq!(opened.read_regular(10).unwrap().unwrap().bytes, b"x\n");
    }
}

#[test]
fn links_inside_the_workspace_stay_inside() {
    let desk = Desk::new();
    desk.put("deep/real/f", "x");
    symlink("deep/real", desk.path("near")).unwrap();
    symlink("../../deep", desk.path("deep/real/up")).unwrap();
    assert_eq!(judged(&desk, "near/f"), (true, None));
    assert_eq!(judged(&desk, "near/up/real/f"), (true, None));
    // `..` behind a link is the real directory's parent, as the kernel has it.
    assert_eq!(desk.cx.fence.judge("near/..").unwrap().path, desk.cx.fence.root().join("deep"));
    assert_eq!(judged(&desk, "none/../x"), (true, None));
    assert_eq!(judged(&desk, "."), (true, None));
    assert_eq!(judged(&desk, "../project/new/dir/f"), (true, None));
    assert_eq!(judged(&desk, ".."), (false, None));
}

#[test]
fn special_places_are_known_by_their_names_and_where_they_lie() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.beside("user/.crystal/skills/one")).unwrap();
    symlink(desk.beside("user/.crystal"), desk.path("shortcut")).unwrap();
    for (path, inside, special) in [
        ("src/main.rs", true, None),
        (".ssh/id_rsa", true, Some(Special::Credential)),
        (".SSH/config", true, Some(Special::Credential)),
        ("~/.ssh", false, Some(Special::Credential)),
        ("~/.gnupg/x", false, Some(Special::Credential)),
        ("~/.aws/credentials", false, Some(Special::Credential)),
        ("~/.aws/config", false, None),
        ("~/.config/gcloud/any/thing", false, Some(Special::Credential)),
        ("~/.kube/config", false, Some(Special::Credential)),
        ("~/.docker/config.json", false, Some(Special::Credential)),
        ("~/.netrc", false, Some(Special::Credential)),
        ("~/.git-credentials", false, Some(Special::Credential)),
        ("~/.npmrc", false, Some(Special::Credential)),
        (".npmrc", true, None),
        (".azure/config", true, None),
        ("~/.azure/msal_token_cache.json", false, Some(Special::Credential)),
        ("credentials.json", true, Some(Special::Credential)),
        ("/etc/shadow", false, Some(Special::Credential)),
        ("/proc/self/environ", false, Some(Special::Credential)),
        ("~/.crystal", false, Some(Special::Home)),
        ("~/.crystal/config.json", false, Some(Special::Home)),
        ("shortcut/sessions/x.jsonl", false, Some(Special::Home)),
        ("~/.crystal/credentials.json", false, Some(Special::Credential)),
        ("~/.crystal/skills/one/SKILL.md", false, Some(Special::Control)),
        (".git/config", true, Some(Special::Control)),
        ("sub/.git", true, Some(Special::Control)),
        (".GIT/hooks/pre-commit", true, Some(Special::Control)),
        (".gitignore", true, None),
        (".crystal/plugins/x/plugin.toml", true, Some(Special::Control)),
        (".crystal.md", true, Some(Special::Control)),
        ("docs/AGENTS.md", true, Some(Special::Control)),
        ("claude.md", true, Some(Special::Control)),
        ("CONTEXT.md", true, Some(Special::Control)),
    ] {
        assert_eq!(judged(&desk, path), (inside, special), "{path}");
    }
}

#[test]
fn crystals_home_is_never_a_part_of_the_workspace_around_it() {
    let desk = Desk::new();
    let (user, home) = (desk.beside("user"), desk.beside("user/.crystal"));
    let fence = Fence::new(&user, &home).unwrap().with_user_home(&user);
    let place = fence.judge(".crystal/config.json").unwrap();
    assert_eq!((place.inside, place.special), (true, Some(Special::Home)));
    assert!(fence.open(".crystal/config.json", Reach::Approved).is_err());
    assert_eq!(fence.judge(".crystal-notes").unwrap().special, None);
}

#[test]
fn an_approval_opens_what_is_outside_but_never_credentials_or_crystals_home() {
    let desk = Desk::new();
    let fence = &desk.cx.fence;
    std::fs::create_dir_all(desk.beside("user/.ssh")).unwrap();
    std::fs::create_dir_all(desk.beside("user/.crystal/skills/one")).unwrap();
    std::fs::write(desk.beside("elsewhere/f"), "x").unwrap();
    symlink(desk.beside("user/.ssh"), desk.path("innocent")).unwrap();
    let outside = desk.beside("elsewhere/f");
    assert!(fence.open(outside.to_str().unwrap(), Reach::Workspace).is_err());
    let opened = fence.open(outside.to_str().unwrap(), Reach::Approved).unwrap();
    assert_eq!(opened.read_regular(10).unwrap().unwrap().bytes, b"x");
    for (path, word) in [
        ("~/.ssh/config", "credentials"),
        ("innocent/authorized_keys", "credentials"),
        ("~/.crystal/config.json", "Crystal's own home"),
        ("~/.crystal/plugins/new/plugin.toml", "Crystal's own home"),
        ("~/.crystal/credentials.json", "credentials"),
    ] {
        for reach in [Reach::Workspace, Reach::Approved] {
            let error = fence.open(path, reach).unwrap_err();
            assert!(error.0.contains(word), "{path}: {error}");
        }
    }
    assert!(fence.open("~/.crystal/skills/one/SKILL.md", Reach::Approved).is_ok());
}

#[test]
fn paths_that_cannot_be_are_errors_in_words() {
    let desk = Desk::new();
    desk.put("file", "x");
    symlink("loop-b", desk.path("loop-a")).unwrap();
    symlink("loop-a", desk.path("loop-b")).unwrap();
    let deep = "d/".repeat(3000);
    let long = "n".repeat(300);
    for (path, part) in [
        ("", "empty"),
        ("a\0b", "NUL"),
        (long.as_str(), "300 bytes"),
        (deep.as_str(), "6000 bytes"),
        ("loop-a", "too many links"),
        ("loop-a/x", "too many links"),
        (&format!("~{}", "u".repeat(5000)), "5001 bytes"),
        ("file/x", "not a directory"),
        ("file/..", "not a directory"),
    ] {
        assert!(desk.cx.fence.judge(path).unwrap_err().0.contains(part), "{part}");
        assert!(desk.cx.fence.open(path, Reach::Approved).unwrap_err().0.contains(part), "{part}");
    }
}

#[test]
fn an_opened_place_is_used_through_its_directory() {
    let desk = Desk::new();
    let fence = &desk.cx.fence;
    let mut opened = fence.open("new/sub/f.txt", Reach::Workspace).unwrap();
    assert_eq!(opened.metadata().unwrap(), None);
    assert!(opened.replace(b"x", None).unwrap_err().0.contains("does not exist"));
    let made = opened.create_dirs().unwrap();
    assert_eq!(made, [fence.root().join("new"), fence.root().join("new/sub")]);
    // The directory moves; the open place goes with it and no new one appears at the old path.
    std::fs::rename(desk.path("new"), desk.path("moved")).unwrap();
    opened.replace(b"one", Some(0o640)).unwrap();
    assert_eq!(desk.get("moved/sub/f.txt"), b"one");
    assert!(!desk.path("new").exists());
    assert_eq!(opened.metadata().unwrap().unwrap().mode, 0o640);
    opened.replace(b"two", None).unwrap();
    assert_eq!(opened.metadata().unwrap().unwrap().mode, 0o640);
    assert!(opened.read_regular(2).unwrap_err().0.contains("larger than 2 bytes"));
    let listed = fence.open("moved/sub", Reach::Workspace).unwrap().list().unwrap();
    assert_eq!(listed.iter().map(|entry| entry.name.to_str().unwrap()).collect::<Vec<_>>(), ["f.txt"]);
    assert!(fence.open(".", Reach::Workspace).unwrap().list().unwrap().len() == 1);
    assert_eq!((opened.remove().unwrap(), opened.remove().unwrap()), (true, false));
    assert!(fence.open("moved/sub", Reach::Workspace).unwrap().remove_dir().unwrap());
    assert!(fence.open("moved", Reach::Workspace).unwrap().remove().is_err());
}

#[test]
fn a_link_that_appears_at_the_name_is_replaced_or_refused_but_not_followed() {
    let desk = Desk::new();
    let target = desk.beside("elsewhere/f");
    std::fs::write(&target, "secret\n").unwrap();
    let opened = desk.cx.fence.open("f", Reach::Workspace).unwrap();
    symlink(&target, desk.path("f")).unwrap();
    assert!(opened.read_regular(100).unwrap_err().0.contains("link"));
    assert!(opened.replace(b"pwned", None).unwrap_err().0.contains("link"));
    assert_eq!(std::fs::read(&target).unwrap(), b"secret\n");
}

/// Exchanges `dir` in the workspace with a link to `outside` while places below it are opened and written.
#[cfg(target_os = "linux")]
fn race(desk: &Desk, outside: &Path, reach: Reach) -> usize {
    desk.put("dir/inner/f", "mine");
    std::fs::create_dir_all(outside.join("inner")).unwrap();
    std::fs::write(outside.join("inner/f"), "secret").unwrap();
    symlink(outside, desk.path("swap")).unwrap();
    let (dir, swap) = (desk.path("dir"), desk.path("swap"));
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let mut swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &dir, rustix::fs::CWD, &swap, flags).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let mut opened = 0;
    for round in 0..4000 {
        let Ok(mut place) = desk.cx.fence.open("dir/inner/f", reach) else { continue };
        opened += 1;
        assert!(place.path.starts_with(desk.cx.fence.root()), "{}", place.path.display());
        if let Ok(Some(file)) = place.read_regular(100) {
            assert_ne!(file.bytes, b"secret");
        }
        if round % 16 == 0 {
            let _ = place.replace(b"mine", None);
            if let Ok(mut new) = desk.cx.fence.open(&format!("dir/new{round}/f"), reach) {
                let _ = new.create_dirs().and_then(|_| new.replace(b"mine", None));
            }
        }
        let _ = place.create_dirs();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 0);
    assert_eq!(std::fs::read(outside.join("inner/f")).unwrap(), b"secret");
    assert_eq!(names_in(outside), ["inner"]);
    assert_eq!(names_in(&outside.join("inner")), ["f"]);
    opened
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_swapped_for_a_link_never_leads_out_of_the_workspace() {
    let desk = Desk::new();
    let opened = race(&desk, &desk.beside("elsewhere"), Reach::Workspace);
    assert!(opened > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_swapped_for_a_link_never_leads_to_credentials_even_when_approved() {
    let desk = Desk::new();
    let opened = race(&desk, &desk.beside("user/.ssh"), Reach::Approved);
    assert!(opened > 0);
}
