//! `kill -9` at a hundred random moments: every session opens, nothing that was told is missing, no file is half-written.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crystal::model::item::Body;
use crystal::session::store::load;
use serde_json::{Value, json};

use crate::support::chat;
use crate::support::crystal::{Ended, Place};
use crate::support::server::{Reply, Server};

const KILLS: usize = 100;
/// Steps of one task.
const STEPS: usize = 4;
/// Files that are rewritten as a whole, and by an edit.
const WRITTEN: &str = "written.txt";
const EDITED: &str = "deep/edited.txt";

/// Version `n` of a file; long enough for a torn one to show.
fn version(n: usize) -> String {
    format!("version {n}\n{}end {n}\n", "forty characters of filling, line by line\n".repeat(60))
}

/// Version `n` of the file that only the edit tool changes.
fn edited(n: usize) -> String {
    format!("version {n}\n{}end\n", "what stays as it is, in every version\n".repeat(60))
}

/// Which version a file holds; fails when it holds none.
fn held(path: &Path, of: fn(usize) -> String) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let first = text.lines().next().unwrap_or_default();
    let n = first.strip_prefix("version ").and_then(|n| n.parse().ok());
    let n = n.unwrap_or_else(|| panic!("{} begins with {first:?}", path.display()));
    assert!(text == of(n), "{} is half-written", path.display());
    n
}

/// A model that, in each step, reads, writes, edits and makes a file, going by what is on the disk now.
fn model(workspace: &Path) -> Server {
    let (workspace, made) = (workspace.to_owned(), Arc::new(AtomicUsize::new(0)));
    Server::answering(move |request, _| {
        let body = request.json();
        paired(&body);
        let messages = body["messages"].as_array().unwrap();
        let since = messages.iter().rposition(|message| message["role"] == "user").unwrap();
        let steps = messages[since..].iter().filter(|message| message["tool_calls"].is_array()).count();
        if steps >= STEPS {
            return Reply::sse(chat::says("all done"));
        }
        let n = made.fetch_add(1, Ordering::SeqCst);
        let (w, e) = (held(&workspace.join(WRITTEN), version), held(&workspace.join(EDITED), edited));
        let id = |letter: &str| format!("{letter}{n}");
        let change = json!({ "path": EDITED, "old_string": format!("version {e}\n"), "new_string": format!("version {}\n", e + 1) });
        Reply::sse(chat::calls(&[
            (&id("r"), "read", json!({ "path": WRITTEN, "limit": 2 })),
            (&id("g"), "grep", json!({ "pattern": "^version" })),
            (&id("w"), "write", json!({ "path": WRITTEN, "contents": version(w + 1) })),
            (&id("e"), "edit", change),
            (&id("m"), "write", json!({ "path": format!("made/{n}/new.txt"), "contents": version(n) })),
        ]))
    })
}

/// Every call has exactly one result, right behind its answer.
#[track_caller]
fn paired(body: &Value) {
    let mut open: Vec<&str> = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at =
                open.iter().position(|open| *open == id).unwrap_or_else(|| panic!("{id} was not called"));
            open.remove(at);
        } else {
            assert!(open.is_empty(), "{open:?} have no result");
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            open = calls.map(|call| call["id"].as_str().unwrap()).collect();
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
}

fn random(below: Duration) -> Duration {
    below.mul_f64(f64::from(getrandom::u32().unwrap()) / f64::from(u32::MAX))
}

/// One task in a place of its own, killed and continued until it is done.
struct Task {
    place: Place,
    server: Server,
    /// What results the program told of, over all its processes.
    told: Vec<String>,
}

impl Task {
    fn new() -> Self {
        let place = Place::new();
        place.write(WRITTEN, &version(0));
        place.write(EDITED, &edited(0));
        let server = model(&place.workspace());
        place.provider(&server.base_uri(), json!({ "contextWindow": 1_000_000 }));
        Self { place, server, told: Vec::new() }
    }

    fn args<'a>(&self, how: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["run", "--provider", "mock", "--workspace-trust", "assume", "--approval", "edit"];
        args.extend(["--format", "json"]);
        args.extend(how);
        args
    }

    /// Begins, or goes on: the interrupted turn, or another one in the same session.
    fn next(&self, round: usize) -> Vec<&'static str> {
        match (self.place.sessions().is_empty(), round.is_multiple_of(3)) {
            (true, _) => self.args(&["change things"]),
            (false, true) => self.args(&["--continue", "go on"]),
            (false, false) => self.args(&["--continue"]),
        }
    }

    /// Runs and kills at a random moment; none when the run ended before.
    fn killed(&mut self, round: usize, within: Duration) -> Option<()> {
        let mut child = self.place.command(&self.next(round)).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            out.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        });
        // The moment is the test's subject, not a wait for something.
        std::thread::sleep(random(within));
        child.kill().unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let status = child.wait().unwrap();
        let mut out = reader.join().unwrap();
        out.truncate(out.rfind('\n').map_or(0, |end| end + 1));
        let ended = Ended { code: status.code(), out, err };
        let tools = ended.of_type("tool_use");
        self.told.extend(tools.iter().map(|tool| tool["output"].as_str().unwrap().to_owned()));
        self.look();
        match ended.code {
            None => Some(()),
            // Killed after its turn had ended and before it could say so.
            Some(1) if ended.err.contains("no turn of this session was interrupted") => None,
            Some(_) => {
                ended.exits(0);
                None
            }
        }
    }

    /// What must hold after each kill, in the workspace, in the session file and in what was sent.
    fn look(&mut self) {
        held(&self.place.workspace().join(WRITTEN), version);
        held(&self.place.workspace().join(EDITED), edited);
        for entry in std::fs::read_dir(self.place.workspace().join("made")).into_iter().flatten() {
            let path = entry.unwrap().path().join("new.txt");
            if path.exists() {
                held(&path, version);
            }
        }
        if let Some(path) = self.place.sessions().first() {
            let loaded = load::read(path).unwrap();
            let results = loaded.items.iter().filter_map(|item| match &item.body {
                Body::ToolResult(result) => Some(result.text.as_ref()),
                _ => None,
            });
            holds_in_order(&results.collect::<Vec<_>>(), &self.told);
        } else {
            assert!(self.told.is_empty());
        }
    }

    /// A run that nobody kills: everything that was told of goes out again.
    fn last_run(&mut self) {
        let ended = self.place.crystal(&self.args(&["--continue", "go on"]));
        ended.exits(0);
        assert_eq!(ended.result()["text"], "all done");
        self.look();
        let requests = self.server.requests();
        let last = requests.last().unwrap().json();
        let results = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        let results: Vec<&str> = results.map(|message| message["content"].as_str().unwrap()).collect();
        holds_in_order(&results, &self.told);
    }

    /// After a run that ended by itself.
    fn nothing_is_left_over(&self) {
        let mut stray = Vec::new();
        files(&self.place.workspace(), &mut stray);
        stray.retain(|path| path.extension().is_some_and(|end| end == "tmp"));
        assert_eq!(stray, Vec::<std::path::PathBuf>::new(), "temporary files pile up");
        self.place.crystal(&["sessions", "show", "last"]).exits(0);
        let list = self.place.crystal(&["sessions", "list"]);
        list.exits(0);
        assert!(list.err.is_empty(), "{}", list.err);
    }
}

#[track_caller]
fn holds_in_order(have: &[&str], wanted: &[String]) {
    let mut have = have.iter();
    for (place, wanted) in wanted.iter().enumerate() {
        assert!(have.any(|have| have == wanted), "result {place} is missing: {wanted}");
    }
}

fn files(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn a_hundred_kills_lose_nothing_and_tear_nothing() {
    // How long a whole task takes here and now says what the random moments are drawn from.
    let begun = Instant::now();
    let whole = Task::new();
    whole.place.crystal(&whole.args(&["change things"])).exits(0);
    assert_eq!(held(&whole.place.workspace().join(WRITTEN), version), STEPS);
    assert_eq!(held(&whole.place.workspace().join(EDITED), edited), STEPS);
    let within = begun.elapsed();
    whole.nothing_is_left_over();

    let mut kills = 0;
    while kills < KILLS {
        let mut task = Task::new();
        // A session that grows for ever would only test patience.
        let rounds = (1..=12).take_while(|round| task.killed(*round, within).is_some()).count();
        kills += rounds;
        if task.place.sessions().is_empty() {
            continue;
        }
        if rounds == 12 {
            task.last_run();
        }
        task.nothing_is_left_over();
    }
}
