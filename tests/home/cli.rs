//! `crystal keys` and `crystal config`, run as functions on a console of their own.

use std::fs;
use std::io::{self, Cursor, Write};

use crystal::cli::console::{Console, Input};
use crystal::cli::{config, keys};
use crystal::error::Exit;
use crystal::home::environment::Environment;
use crystal::home::paths::Home;
use tempfile::TempDir;

struct Given {
    _dir: TempDir,
    home: Home,
}

struct Ran {
    exit: Exit,
    out: String,
    notes: String,
    error: String,
}

fn given() -> Given {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path().join("home"));
    Given { _dir: dir, home }
}

impl Given {
    fn run(&self, line: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Ran {
        let home = self.home.root().to_str().unwrap();
        let option = clap::Arg::new("home").long("home").global(true);
        let command = clap::Command::new("crystal")
            .arg(option)
            .subcommand(keys::command())
            .subcommand(config::command());
        let args = command.get_matches_from([&["crystal"], line, &["--home", home]].concat());
        let environment = Environment::given(variables.iter().copied());
        let (mut input, mut out, mut notes) = (Cursor::new(stdin), Vec::new(), Vec::new());
        let mut console = Console {
            environment: &environment,
            input: Input::Stream(&mut input),
            out: &mut out,
            notes: &mut notes,
        };
        let result = match args.subcommand() {
            Some(("keys", args)) => keys::run_on(args, &self.home, &mut console),
            Some(("config", args)) => config::run_on(args, &self.home, &mut console),
            _ => panic!("no verb"),
        };
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (exit, error) = match result {
            Ok(exit) => (exit, String::new()),
            Err(failure) => (failure.exit, failure.message),
        };
        Ran { exit, out: text(out), notes: text(notes), error }
    }
}

/// charmbracelet/crush#411
#[test]
fn a_key_from_stdin_is_stored_and_never_shown() {
    let given = given();
    let ran = given.run(&["keys", "set", "deepseek"], " sk-secret \nsecond line\n", &[]);
    assert_eq!((ran.exit, ran.error.as_str()), (Exit::Done, ""));
    let stored = fs::read_to_string(given.home.credentials()).unwrap();
    assert!(stored.contains("\"sk-secret\"") && !stored.contains("second"), "{stored}");
    let list = given.run(&["keys", "list"], "", &[]);
    let path = given.home.credentials().display().to_string();
    assert!(list.out.contains(&format!("deepseek   {path}\n")), "{}", list.out);
    assert!(
        list.out.contains("anthropic  none\n") && list.out.contains("ollama     none needed\n"),
        "{}",
        list.out
    );
    for shown in [ran.out, ran.notes, list.out, list.notes] {
        assert!(!shown.contains("sk-secret"), "{shown}");
    }
}

#[test]
fn a_blank_or_impossible_key_is_refused_and_stores_nothing() {
    let given = given();
    for stdin in ["", "\n", "  \nsk-late\n", "sk-top secret\n", "sk-\u{7}\n"] {
        let ran = given.run(&["keys", "set", "deepseek"], stdin, &[]);
        assert_eq!(ran.exit, Exit::Usage);
        assert!(ran.error.contains("nothing was stored") && !ran.error.contains("sk-"), "{}", ran.error);
    }
    assert!(!given.home.root().exists());
}

#[test]
fn a_key_that_will_not_be_used_is_noted() {
    let given = given();
    let variables = [("DEEPSEEK_API_KEY", "sk-other")];
    let ran = given.run(&["keys", "set", "deepseek"], "sk-1\n", &variables);
    assert_eq!(ran.notes, "note: the variable DEEPSEEK_API_KEY is used instead\n");
    let ran = given.run(&["keys", "rm", "deepseek"], "", &variables);
    assert_eq!(ran.notes, "note: the variable DEEPSEEK_API_KEY is still used\n");
    let ran = given.run(&["keys", "set", "deepsek"], "sk-1\n", &[]);
    assert_eq!(ran.notes, "note: there is no provider `deepsek` yet; did you mean `deepseek`?\n");
    let list = given.run(&["keys", "list"], "", &[]).out;
    assert!(list.contains("deepsek ") && list.contains("(no such provider)"), "{list}");
}

#[test]
fn forgetting_a_key_that_is_not_stored_is_an_error_that_lists_what_is() {
    let given = given();
    given.run(&["keys", "set", "openai"], "sk-1\n", &[]);
    let ran = given.run(&["keys", "rm", "deepseek"], "", &[]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.error.starts_with("no key of `deepseek` is stored in"), "{}", ran.error);
    assert!(ran.error.ends_with("stored are: openai"), "{}", ran.error);
    assert_eq!(given.run(&["keys", "rm", "openai"], "", &[]).out, "forgot the stored key of openai\n");
    assert_eq!(fs::read_to_string(given.home.credentials()).unwrap().trim(), "{}");
}

#[test]
fn damaged_credentials_are_not_overwritten_by_a_new_key() {
    let given = given();
    given.home.create().unwrap();
    fs::write(given.home.credentials(), "{ \"openai\": { \"apiKey\": \"sk-old\" }").unwrap();
    let ran = given.run(&["keys", "set", "deepseek"], "sk-new\n", &[]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.error.contains("credentials.json:1:") && !ran.error.contains("sk-"), "{}", ran.error);
    assert!(fs::read_to_string(given.home.credentials()).unwrap().contains("sk-old"));
}

#[test]
fn the_path_is_printed_even_when_the_file_is_broken() {
    let given = given();
    given.home.create().unwrap();
    fs::write(given.home.config(), "{").unwrap();
    let ran = given.run(&["config", "path"], "", &[]);
    assert_eq!(ran.out, format!("{}\n", given.home.config().display()));
    let ran = given.run(&["config", "show"], "", &[]);
    assert!(ran.error.contains("config.json:1:"), "{}", ran.error);
}

#[test]
fn what_is_in_force_is_shown_with_its_source() {
    let given = given();
    given.home.create().unwrap();
    let config = "{\n  \"approval\": \"edit\",\n  \"aproval\": 1,\n  \"pluginSettings\": { \"home\": { \"notes\": { \"token\": \"sk-p\" } } }\n}";
    fs::write(given.home.config(), config).unwrap();
    let variables = [("CRYSTAL_MODEL", "m"), ("DEEPSEEK_API_KEY", "sk-d")];
    let ran = given.run(&["config", "show", "--format", "json"], "", &variables);
    let shown: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let config = given.home.config().display().to_string();
    assert_eq!(shown["approval"], serde_json::json!({"value": "edit", "source": format!("{config}:2")}));
    assert_eq!(shown["model"], serde_json::json!({"value": "m", "source": "CRYSTAL_MODEL"}));
    assert_eq!(shown["provider"], serde_json::json!({"value": null, "source": "default"}));
    assert_eq!(shown["bashTimeoutSeconds"]["value"], 120);
    assert_eq!(shown["home"]["value"], given.home.root().to_str().unwrap());
    assert_eq!(shown["home"]["source"], "--home");
    assert_eq!(shown["pluginSettings"]["value"], serde_json::json!(["home/notes"]));
    assert!(ran.notes.contains("did you mean `approval`?"), "{}", ran.notes);

    let text = given.run(&["config", "show"], "", &variables);
    let row = text.out.lines().find(|line| line.starts_with("approval ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["approval", "edit", &format!("{config}:2")]);
    assert!(!ran.out.contains("sk-") && !text.out.contains("sk-"));
}

struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// vercel-labs/agent-browser#144
#[test]
fn a_reader_that_has_gone_ends_the_command_quietly() {
    let given = given();
    let args = keys::command().get_matches_from(["keys", "list"]);
    let environment = Environment::default();
    let mut notes = Vec::new();
    let mut console =
        Console { environment: &environment, input: Input::Terminal, out: &mut Closed, notes: &mut notes };
    assert_eq!(keys::run_on(&args, &given.home, &mut console).unwrap(), Exit::Done);
    assert!(notes.is_empty());
}
