//! Settings: order of the sources, checks of `config.json`, budgets.

use std::fs;
use std::time::Duration;

use crystal::home::environment::Environment;
use crystal::home::paths::Home;
use crystal::home::settings::{Given, Settings, Source, WorkspaceTrust};
use crystal::model::judgement::Approval;
use crystal::model::request::{Gear, Mode};

fn load(
    given: &[(&'static str, &str)],
    variables: &[(&str, &str)],
    config: &str,
) -> Result<Settings, String> {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    if !config.is_empty() {
        fs::write(home.config(), config).unwrap();
    }
    let given: Given = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let loaded = Settings::load(&given, &Environment::given(variables.iter().copied()), &home);
    let prefix = format!("{}/", dir.path().display());
    loaded.map_err(|e| e.to_string().replace(&prefix, ""))
}

#[test]
fn an_option_wins_over_a_variable_over_the_file_over_the_default() {
    let file = "{\n  \"model\": \"file\"\n}";
    let variables = [("CRYSTAL_MODEL", "variable")];
    let model = |settings: &Settings| {
        (settings.model.clone().unwrap_or_default(), settings.source("model").to_string())
    };
    let settings = load(&[("model", "option")], &variables, file).unwrap();
    assert_eq!(model(&settings), ("option".into(), "--model".into()));
    let settings = load(&[], &variables, file).unwrap();
    assert_eq!(model(&settings), ("variable".into(), "CRYSTAL_MODEL".into()));
    let settings = load(&[], &[("CRYSTAL_MODEL", " ")], file).unwrap();
    assert_eq!(settings.model.as_deref(), Some("file"));
    assert!(settings.source("model").to_string().ends_with("config.json:2"));
    let settings = load(&[], &[], "").unwrap();
    assert_eq!((settings.model, settings.provider), (None, None));
}

#[test]
fn without_anything_the_defaults_are_those_of_the_reference() {
    let settings = load(&[], &[], "").unwrap();
    assert_eq!(settings.approval, Approval::Default);
    assert_eq!(settings.mode, Mode::Work);
    assert_eq!(settings.thinking, Gear::Default);
    assert_eq!(settings.workspace_trust, WorkspaceTrust::Restricted);
    assert_eq!((settings.model_calls, settings.tool_calls), (Some(1024), Some(8192)));
    assert_eq!(settings.duration, Some(Duration::from_secs(7 * 24 * 3600)));
    assert_eq!(settings.bash_timeout, Some(Duration::from_secs(120)));
    assert!(!settings.continues && !settings.stream && !settings.trace && !settings.show_thinking);
    assert_eq!(settings.source("approval"), &Source::Default);
}

#[test]
fn every_field_of_the_file_arrives() {
    let settings = load(
        &[],
        &[],
        r#"{
          "provider": "p", "model": "m", "approval": "edit", "thinkingEffort": "high",
          "workspaceTrust": false, "bashTimeoutSeconds": 1.5,
          "pluginSettings": { "home": { "notes": { "on": true } } },
        }"#,
    )
    .unwrap();
    assert_eq!((settings.provider.as_deref(), settings.model.as_deref()), (Some("p"), Some("m")));
    assert_eq!((settings.approval, settings.thinking), (Approval::Edit, Gear::High));
    assert_eq!(settings.workspace_trust, WorkspaceTrust::Assume);
    assert_eq!(settings.bash_timeout, Some(Duration::from_millis(1500)));
    assert_eq!(settings.of_plugin("home", "notes")["on"], true);
    assert!(settings.of_plugin("project", "notes").is_empty());
    assert_eq!(settings.warnings, [""; 0]);
}

#[test]
fn unlimited_removes_a_budget() {
    let given = ["model-calls", "tool-calls", "duration", "bash-timeout"].map(|name| (name, "unlimited"));
    let settings = load(&given, &[], "").unwrap();
    assert_eq!((settings.model_calls, settings.tool_calls), (None, None));
    assert_eq!((settings.duration, settings.bash_timeout), (None, None));
    assert_eq!(load(&[], &[], "{\"bashTimeoutSeconds\": \"unlimited\"}").unwrap().bash_timeout, None);
}

#[test]
fn a_number_that_means_nothing_is_refused_with_its_option() {
    for word in ["0", "-3", "NaN", "18446744073709551616", "2.5", "ten"] {
        let error = load(&[("model-calls", word)], &[], "").unwrap_err();
        assert_eq!(
            error,
            format!("--model-calls: expected a whole number from 1, or `unlimited`, found `{word}`")
        );
    }
    for word in ["0", "-0.5", "nan", "inf", "1e99"] {
        let error = load(&[], &[("CRYSTAL_BASH_TIMEOUT", word)], "").unwrap_err();
        assert!(error.starts_with("CRYSTAL_BASH_TIMEOUT: expected") && error.contains(word), "{error}");
    }
}

/// Microck/opencode-studio#8
#[test]
fn an_unknown_key_draws_a_warning_with_the_nearest_known_one() {
    let settings =
        load(&[], &[], "{\n  \"aproval\": \"edit\",\n  \"zzz\": 1,\n  \"editMode\": \"vi\"\n}").unwrap();
    assert_eq!(settings.approval, Approval::Default);
    let [near, far] = &settings.warnings[..] else { panic!("{:?}", settings.warnings) };
    assert!(near.ends_with("config.json:2: unknown setting `aproval` is ignored; did you mean `approval`?"));
    assert!(far.ends_with("config.json:3: unknown setting `zzz` is ignored"), "{far}");
}

#[test]
fn a_value_of_another_type_is_an_error_with_its_line() {
    for (line, error) in [
        (
            "\"approval\": true",
            "`approval`: expected one of default, edit, review, audit, full, found `true`",
        ),
        (
            "\"approval\": \"yolo\"",
            "`approval`: expected one of default, edit, review, audit, full, found `\"yolo\"`",
        ),
        ("\"workspaceTrust\": \"assume\"", "`workspaceTrust`: expected true or false, found `\"assume\"`"),
        (
            "\"bashTimeoutSeconds\": 0",
            "`bashTimeoutSeconds`: expected a number of seconds above 0, or `unlimited`, found `0`",
        ),
        (
            "\"bashTimeoutSeconds\": \"120\"",
            "`bashTimeoutSeconds`: expected a number of seconds above 0, or `unlimited`, found `\"120\"`",
        ),
        ("\"model\": [1]", "`model`: expected a text that is not blank, found an array"),
        ("\"model\": \"\"", "`model`: expected a text that is not blank, found `\"\"`"),
        (
            "\"pluginSettings\": null",
            "`pluginSettings`: expected an object of objects of objects, found null",
        ),
        (
            "\"pluginSettings\": { \"home\": { \"notes\": 1 } }",
            "`pluginSettings`: expected an object of objects of objects, found an object",
        ),
    ] {
        assert_eq!(
            load(&[], &[], &format!("{{\n  {line},\n}}")).unwrap_err(),
            format!("config.json:2: {error}")
        );
    }
}

/// earendil-works/pi#1060
#[test]
fn a_broken_file_is_an_error_and_not_the_defaults() {
    let error = load(&[], &[], "{\n  \"approval\": \"default\"\n  \"model\": \"m\"\n}").unwrap_err();
    assert!(error.starts_with("config.json:2:"), "{error}");
}
