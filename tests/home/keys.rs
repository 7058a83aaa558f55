//! Where keys are looked up, and how they are kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crystal::home::credentials;
use crystal::home::environment::Environment;
use crystal::home::keys::{Common, Found, KeyError, Keys, Place, Wanted};
use crystal::home::paths::Home;
use crystal::home::secret::Secret;
use tempfile::TempDir;

struct Given {
    _dir: TempDir,
    home: Home,
}

impl Given {
    fn new(credentials: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        home.create().unwrap();
        if !credentials.is_empty() {
            fs::write(home.credentials(), credentials).unwrap();
        }
        Self { _dir: dir, home }
    }
    fn find(&self, variables: &[(&str, &str)], variable: &str, written: &str) -> Result<Found, KeyError> {
        let environment = Environment::given(variables.iter().copied());
        let written = Secret::new(written);
        Keys { home: &self.home, environment: &environment }.find(&Wanted {
            provider: "my-gate",
            variable: (!variable.is_empty()).then_some(variable),
            written: (!written.reveal().is_empty()).then_some(&written),
            common: Common::Serves,
        })
    }
}

const STORED: &str = r#"{ "my-gate": { "apiKey": "k-stored" } }"#;

#[test]
fn each_place_wins_over_those_after_it() {
    let given = Given::new(STORED);
    fs::write(given.home.root().join("key.txt"), "k-file\n").unwrap();
    let variables = [
        ("OWN", "k-own"),
        ("MY_GATE_API_KEY", "k-provider"),
        ("CRYSTAL_API_KEY", "k-common"),
        ("NAMED", "k-named"),
    ];
    let found = |skipped: usize, written: &str| {
        let found = given.find(&variables[skipped..], "OWN", written).unwrap();
        (found.key.reveal().to_owned(), found.place)
    };
    let variable = |name: &str| Place::Variable(name.into());
    assert_eq!(found(0, "k-literal"), ("k-own".into(), variable("OWN")));
    assert_eq!(found(1, "k-literal"), ("k-provider".into(), variable("MY_GATE_API_KEY")));
    assert_eq!(found(2, "k-literal"), ("k-common".into(), variable("CRYSTAL_API_KEY")));
    assert_eq!(found(3, "k-literal"), ("k-literal".into(), Place::Literal));
    assert_eq!(found(3, "{env:NAMED}"), ("k-named".into(), Place::NamedVariable("NAMED".into())));
    let file = given.home.root().join("key.txt");
    assert_eq!(found(3, "{file:key.txt}"), ("k-file".into(), Place::NamedFile(file)));
    let stored = ("k-stored".into(), Place::Credentials(given.home.credentials()));
    assert_eq!(found(3, ""), stored);
    // What is named but not there is passed over.
    assert_eq!(found(3, "{env:ABSENT}"), stored);
    assert_eq!(found(3, "{file:absent.txt}"), stored);
}

/// flyteorg/flyte-sdk#1006
#[test]
fn blank_values_count_as_not_set_and_white_space_is_dropped() {
    let given = Given::new(STORED);
    for blank in ["", "   ", "\n"] {
        let found = given.find(&[("MY_GATE_API_KEY", blank)], "", "").unwrap();
        assert_eq!(found.key.reveal(), "k-stored");
    }
    for padded in ["sk-x\n", " sk-x ", "sk-x\r\n"] {
        let found = given.find(&[("MY_GATE_API_KEY", padded)], "", "").unwrap();
        assert_eq!(found.key.reveal(), "sk-x");
    }
}

#[test]
fn a_key_that_cannot_be_one_is_refused_without_being_shown() {
    let given = Given::new("");
    for key in ["sk-top secret", "sk-top\nsecret", "sk-topsécret"] {
        let error = given.find(&[("MY_GATE_API_KEY", key)], "", "").unwrap_err().to_string();
        assert!(error.contains("the variable MY_GATE_API_KEY") && !error.contains("sk-top"), "{error}");
    }
}

#[test]
fn a_missing_key_names_every_place_and_the_way_out() {
    let given = Given::new("");
    let error = given.find(&[], "OWN", "{file:~/key}").unwrap_err().to_string();
    for part in [
        "`my-gate`",
        "the variable OWN, the variable MY_GATE_API_KEY, the variable CRYSTAL_API_KEY",
        "key (named by apiKey)",
        "credentials.json;",
        "`crystal keys set my-gate`",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    let error = given.find(&[], "", "   ").unwrap_err().to_string();
    assert!(error.contains("crystal keys set"), "{error}");
}

/// charmbracelet/crush#411
#[test]
fn stored_keys_are_private_and_others_who_can_read_them_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path().join("home"));
    credentials::store(&home, "my-gate", &Secret::new("k-1")).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.credentials()), 0o600);
    assert_eq!(mode(home.root().to_path_buf()), 0o700);
    assert_eq!(credentials::exposure(&home), None);

    fs::set_permissions(home.credentials(), PermissionsExt::from_mode(0o644)).unwrap();
    let note = credentials::exposure(&home).unwrap();
    assert!(note.contains("0644") && note.contains("chmod 600"), "{note}");
}

#[test]
fn forgetting_removes_the_key_and_keeps_the_rest() {
    let given = Given::new(
        "{\n  // mine\n  \"a\": { \"apiKey\": \"1\" },\n  \"b\": { \"apiKey\": \"2\", \"plan\": \"x\" }\n}\n",
    );
    assert!(credentials::forget(&given.home, "a").unwrap());
    assert!(credentials::forget(&given.home, "b").unwrap());
    assert!(!credentials::forget(&given.home, "b").unwrap());
    assert!(!credentials::forget(&given.home, "c").unwrap());
    let text = fs::read_to_string(given.home.credentials()).unwrap();
    assert!(text.contains("// mine") && text.contains("plan") && !text.contains("apiKey"), "{text}");
}

#[test]
fn damaged_credentials_are_an_error_that_shows_no_key() {
    for text in [
        "{ \"my-gate\": { \"apiKey\": \"k-secret\" ",
        "{ \"my-gate\": \"k-secret\" }",
        "{ \"my-gate\": { \"apiKey\": 7 } }",
    ] {
        let given = Given::new(text);
        let error = given.find(&[], "", "").unwrap_err().to_string();
        assert!(error.contains("credentials.json:1") && !error.contains("k-secret"), "{error}");
        assert_eq!(fs::read_to_string(given.home.credentials()).unwrap(), text);
    }
}
