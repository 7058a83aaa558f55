//! Any call, classified: the built-in tools by what they touch, `bash` by reading its line, all others as
//! write + workspace.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::approval::grant::{Any, Rule, What};
use crate::approval::judgement::{Judgement, Kind};
use crate::approval::shell;
use crate::fence::{Fence, Place, Special};
use crate::model::judgement::{Authority, Classification, Risk};
use crate::model::port::Reach;

/// What a call is judged against.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Paths.
    pub fence: &'a Fence,
    /// Skill directories outside the workspace (real paths): reads inside them pass.
    pub skills: &'a [PathBuf],
}

/// Judges a call by its tool's name and its arguments, which were checked against the tool's schema.
pub fn classify(tool: &str, arguments: &Map<String, Value>, scene: &Scene<'_>) -> Judgement {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let path = arguments.get("path").and_then(Value::as_str).filter(|path| !path.is_empty());
    match tool {
        "todoread" | "todowrite" | "question" => {
            plain(Kind::Session, Risk::Read, format!("{tool} only touches the session"))
        }
        "skill" => plain(Kind::Look, Risk::Read, format!("load the skill {}", text("name"))),
        "read" => file(tool, text("path"), Access::Read, scene),
        "glob" => glob(path.unwrap_or("."), text("pattern"), scene),
        "grep" => file(tool, path.unwrap_or("."), Access::Search, scene),
        "edit" | "write" => file(tool, text("path"), Access::Write, scene),
        "bash" => bash(text("command"), scene),
        _ => external(tool, scene),
    }
}

fn bash(command: &str, scene: &Scene<'_>) -> Judgement {
    let reading = shell::read(command, scene.fence);
    let classification =
        Classification { risk: reading.risk, authority: reading.authority, summary: reading.summary.clone() };
    let rule = reading.canonical.filter(|_| reading.risk != Risk::Forbidden).map(|canonical| Rule {
        workspace: scene.fence.root().to_path_buf(),
        tool: "bash".into(),
        what: What::Command(canonical),
        risk: reading.risk,
        authority: reading.authority,
    });
    Judgement {
        classification,
        kind: Kind::Shell,
        rule: rule.filter(|_| reading.always_ask.is_none()),
        always_ask: reading.always_ask,
        parts: reading.parts,
        reach: Reach::Workspace,
    }
}

/// A search is judged by where it starts: the directory it is given, and where its pattern leads from there.
fn glob(base: &str, pattern: &str, scene: &Scene<'_>) -> Judgement {
    let given = file("glob", base, Access::Search, scene);
    let wild = |part: &&str| part.contains(['*', '?', '[', '{']);
    let mut before: Vec<&str> = pattern.split('/').take_while(|part| !wild(part)).collect();
    let climbs = pattern.split('/').skip(before.len()).any(|part| part.contains(".."));
    if before.len() == pattern.split('/').count() {
        // The last one names a file.
        before.pop();
    }
    let start = before.join("/");
    let start = match start.as_str() {
        _ if climbs => "/".to_string(),
        "" if pattern.starts_with('/') => "/".to_string(),
        start if pattern.starts_with(['/', '~']) => start.to_string(),
        start => format!("{base}/{start}"),
    };
    let led = file("glob", &start, Access::Search, scene);
    let weight = |call: &Judgement| (call.classification.risk, call.classification.authority);
    if weight(&led) > weight(&given) { led } else { given }
}

fn external(tool: &str, scene: &Scene<'_>) -> Judgement {
    let mut call = plain(
        Kind::External,
        Risk::Write,
        format!("{tool} is an external tool, so what it does is not known"),
    );
    call.rule = Some(Rule {
        workspace: scene.fence.root().to_path_buf(),
        tool: tool.into(),
        what: What::Calls(Any::Any),
        risk: Risk::Write,
        authority: Authority::Workspace,
    });
    call
}

fn plain(kind: Kind, risk: Risk, summary: String) -> Judgement {
    Judgement {
        classification: Classification { risk, authority: Authority::Workspace, summary },
        kind,
        always_ask: None,
        parts: Vec::new(),
        rule: None,
        reach: Reach::Workspace,
    }
}

/// What a file tool does with its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Search,
    Write,
}

fn file(tool: &str, path: &str, access: Access, scene: &Scene<'_>) -> Judgement {
    let kind = if access == Access::Write { Kind::File } else { Kind::Look };
    let place = match scene.fence.judge(path) {
        Ok(place) => place,
        // The tool will say the same; what cannot be resolved is never let pass by itself.
        Err(error) => {
            let mut call = plain(kind, Risk::Write, format!("{tool} {path}: {error}"));
            call.classification.authority = Authority::OutsideWorkspace;
            return call;
        }
    };
    let shown = shown(&place, scene.fence.root());
    let mut call = plain(
        kind,
        if access == Access::Write { Risk::Write } else { Risk::Read },
        format!("{tool} {shown}"),
    );
    let skill = access != Access::Write && scene.skills.iter().any(|skills| place.path.starts_with(skills));
    if !place.inside {
        call.reach = Reach::Approved;
        if !skill {
            call.classification.authority = Authority::OutsideWorkspace;
            call.classification.summary = format!("{tool} {shown}, which is outside the workspace");
        }
    }
    match place.special {
        Some(Special::Credential) => forbid(&mut call, format!("{tool} {shown}, which holds credentials")),
        Some(Special::Home) if !skill => {
            forbid(&mut call, format!("{tool} {shown}, which belongs to Crystal's own home"))
        }
        Some(Special::Control) if access == Access::Write => {
            call.always_ask = Some(format!(
                "{tool} {shown}, which steers Crystal, its rules or git; such writes are always asked"
            ));
        }
        _ => {}
    }
    if call.classification.risk != Risk::Forbidden && call.always_ask.is_none() {
        call.rule = Some(rule(tool, &place, access, &call.classification, scene));
    }
    call
}

fn forbid(call: &mut Judgement, summary: String) {
    call.classification.risk = Risk::Forbidden;
    call.classification.summary = summary;
}

fn rule(tool: &str, place: &Place, access: Access, judged: &Classification, scene: &Scene<'_>) -> Rule {
    let what = match place.path.parent() {
        Some(parent) if access != Access::Search => What::Directory(parent.to_path_buf()),
        _ => What::Path(place.path.clone()),
    };
    Rule {
        workspace: scene.fence.root().to_path_buf(),
        tool: tool.into(),
        what,
        risk: judged.risk,
        authority: judged.authority,
    }
}

/// A path as the operator reads it: relative inside the workspace, absolute outside.
pub(crate) fn shown(place: &Place, root: &Path) -> String {
    match place.path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => place.path.display().to_string(),
    }
}
