//! The provider catalog, `providers.json` on top of it, and the choice of a model.

use std::fs;
use std::time::Duration;

use crystal::home::environment::Environment;
use crystal::home::keys::Keys;
use crystal::home::paths::Home;
use crystal::model::request::Gear;
use crystal::provider::catalog::choice::{Named, Wanted};
use crystal::provider::catalog::{Catalog, CatalogError};
use crystal::provider::endpoint::{Endpoint, TokenLimit};
use tempfile::TempDir;

const PROTOCOLS: &[&str] = &["deepseek", "openai", "anthropic", "gemini", "ollama", "offline"];

struct Given {
    dir: TempDir,
    home: Home,
    environment: Environment,
}

fn given(providers: &str, variables: &[(&str, &str)]) -> Given {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    if !providers.is_empty() {
        fs::write(home.providers(), providers).unwrap();
    }
    Given { dir, home, environment: Environment::given(variables.iter().copied()) }
}

impl Given {
    fn load(&self) -> Result<Catalog, String> {
        let prefix = format!("{}/", self.dir.path().display());
        Catalog::load(&self.home).map_err(|e| e.to_string().replace(&prefix, ""))
    }
    fn endpoint(&self, provider: (&str, u8), model: (&str, u8)) -> Result<Endpoint, CatalogError> {
        let keys = Keys { home: &self.home, environment: &self.environment };
        let named = |(name, rank): (&str, u8)| (!name.is_empty()).then(|| Named { name: name.into(), rank });
        let wanted = Wanted { provider: named(provider), model: named(model) };
        Catalog::load(&self.home)?.choose(&wanted, PROTOCOLS, &keys)?.endpoint(&keys)
    }
    fn chosen(&self, provider: (&str, u8), model: (&str, u8)) -> String {
        match self.endpoint(provider, model) {
            Ok(endpoint) => format!("{}/{}", endpoint.provider, endpoint.model.name),
            Err(e) => e.to_string(),
        }
    }
}

const NONE: (&str, u8) = ("", 0);
const KEYS: &[(&str, &str)] =
    &[("DEEPSEEK_API_KEY", "k-d"), ("ANTHROPIC_API_KEY", "k-a"), ("OPENAI_API_KEY", "k-o")];

#[test]
fn the_built_in_catalog_has_the_promised_providers_and_sound_models() {
    let catalog = given("", &[]).load().unwrap();
    assert_eq!(
        catalog.names().collect::<Vec<_>>(),
        ["deepseek", "openai", "anthropic", "gemini", "ollama", "offline"]
    );
    for provider in &catalog.providers {
        for entry in &provider.entries {
            let local = ["ollama", "offline"].contains(&&*provider.name);
            assert_eq!(entry.requires_key, !local, "{}", provider.name);
            assert!(!entry.models.is_empty());
            assert!(&*provider.name == "offline" || entry.base_uri.starts_with("http"));
            for model in &entry.models {
                assert!(model.max_tokens.is_none_or(|most| most < model.context_window), "{}", model.name);
            }
        }
    }
}

#[test]
fn an_object_without_protocol_changes_fields_and_adds_models() {
    let given = given(
        r#"{ "openai": {
            "baseUri": "http://127.0.0.1:9/v1/",
            "models": { "gpt-4.1": { "contextWindow": 1000 }, "house": { "contextWindow": 2000 }, "gpt-4.1-mini": null }
        } }"#,
        KEYS,
    );
    let changed = given.endpoint(("openai", 3), ("gpt-4.1", 3)).unwrap();
    assert_eq!(changed.base_uri, "http://127.0.0.1:9/v1");
    assert_eq!(changed.model.context_window, 1000);
    assert_eq!(changed.model.max_tokens, Some(32768));
    assert_eq!(changed.token_limit, Some(TokenLimit::MaxCompletionTokens));
    let catalog = given.load().unwrap();
    let models: Vec<_> = catalog.provider("openai").unwrap().models().collect();
    assert!(models.contains(&"house") && !models.contains(&"gpt-4.1-mini"), "{models:?}");
    assert_eq!(models.iter().filter(|name| **name == "house").count(), 1);
}

#[test]
fn an_object_with_protocol_takes_the_built_in_place() {
    let given = given(
        r#"{ "anthropic": { "protocol": "openai", "models": { "claude-opus-5-5": { "maxTokens": 5 }, "x": { "contextWindow": 9 } } } }"#,
        KEYS,
    );
    let endpoint = given.endpoint(("anthropic", 3), NONE).unwrap();
    assert_eq!((&*endpoint.protocol, &*endpoint.model.name), ("openai", "claude-opus-5-5"));
    assert_eq!((endpoint.model.context_window, endpoint.model.max_tokens), (1_000_000, Some(5)));
    assert_eq!(endpoint.base_uri, "https://api.openai.com/v1");
    assert_eq!(given.load().unwrap().provider("anthropic").unwrap().models().count(), 2);
}

#[test]
fn every_field_of_a_provider_of_ones_own_arrives() {
    let given = given(
        r#"{
          // two protocols under one name
          "gate": [
            { "protocol": "openai", "baseUri": "https://gate.example/v1", "organization": "o", "project": "p",
              "replayReasoningContent": true, "tokenLimit": "max_tokens", "apiKey": "{env:GATE_TOKEN}",
              "headers": { "x-team": "blue", "x-token": "{env:TEAM_TOKEN}", "x-gone": "{env:ABSENT}" },
              "timeouts": { "connect": 1, "firstByte": 2.5, "idle": 3, "silence": 4 },
              "models": { "small": {
                "contextWindow": 1000, "temperature": 0, "topP": 0.5, "maxTokens": 10, "thinking": "low",
                "thinkingEfforts": ["low", "high"], "thinkingCanDisable": true, "imageInput": true,
                "audioInput": true, "videoInput": true, "serviceTier": "flex", "speed": "fast",
                "price": { "input": 1, "output": 2.5, "cachedInput": 0 } } } },
            { "protocol": "anthropic", "models": { "large": { "contextWindow": 2000 } } },
          ],
        }"#,
        &[("GATE_TOKEN", "k-gate"), ("TEAM_TOKEN", "k-team")],
    );
    let endpoint = given.endpoint(("gate", 3), NONE).unwrap();
    assert_eq!(endpoint.key.unwrap().reveal(), "k-gate");
    assert_eq!((endpoint.organization.as_deref(), endpoint.project.as_deref()), (Some("o"), Some("p")));
    assert!(endpoint.replay_reasoning);
    assert_eq!(endpoint.token_limit, Some(TokenLimit::MaxTokens));
    let headers: Vec<_> =
        endpoint.headers.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(headers, [("x-team", "blue"), ("x-token", "k-team")]);
    let waits = endpoint.timeouts;
    assert_eq!(
        [waits.connect, waits.first_byte, waits.idle, waits.silence],
        [1000, 2500, 3000, 4000].map(Duration::from_millis)
    );
    let model = endpoint.model;
    assert_eq!((model.temperature, model.top_p, model.max_tokens), (Some(0.0), Some(0.5), Some(10)));
    assert_eq!((model.thinking, model.thinking_efforts), (Some(Gear::Low), vec![Gear::Low, Gear::High]));
    assert!(model.thinking_can_disable && model.image_input && model.audio_input && model.video_input);
    assert_eq!((model.service_tier.as_deref(), model.speed.as_deref()), (Some("flex"), Some("fast")));
    let price = model.price.unwrap();
    assert_eq!((price.input, price.output, price.cached_input), (1.0, 2.5, Some(0.0)));

    // The second entry has its own protocol and, without an address, that of its protocol.
    let catalog = given.load().unwrap();
    let second = &catalog.provider("gate").unwrap().entries[1];
    assert_eq!((&*second.protocol, second.base_uri.as_str()), ("anthropic", "https://api.anthropic.com"));
    assert_eq!(catalog.names().next(), Some("gate"));
}

#[test]
fn null_removes_a_provider() {
    let catalog = given(r#"{ "gemini": null }"#, &[]).load().unwrap();
    assert!(catalog.provider("gemini").is_none() && catalog.provider("deepseek").is_some());
}

#[test]
fn a_mistake_is_an_error_with_file_line_and_field() {
    for (line, error) in [
        (r#""a": 5"#, "`a`: expected an object or an array of objects, found a number"),
        (r#""a": []"#, "`a`: expected an object or an array of objects, found an empty array"),
        (r#""a": [7]"#, "`a` entry 1: expected an object, found a number"),
        (r#""a": {}"#, "`a`: `protocol` is missing"),
        (
            r#""a": { "protocol": "openai", "models": { "m": {} } }"#,
            "`a.models.m`: `contextWindow` is missing",
        ),
        (r#""a": { "protocol": 1 }"#, "`a.protocol`: expected a text that is not blank, found `1`"),
        (
            r#""a": [{ "protocol": "x", "baseUri": "ftp://x" }]"#,
            "`a.0.baseUri`: expected an address that starts with http:// or https://, found a string",
        ),
        (
            r#""a": { "apiKey": { "k": "sk-secret" } }"#,
            "`a.apiKey`: expected a text that is not blank, found an object",
        ),
        (
            r#""a": { "requiresApiKey": "sk-secret" }"#,
            "`a.requiresApiKey`: expected true or false, found a string",
        ),
        (
            r#""a": { "headers": { "bad name": "x" } }"#,
            "`a.headers`: expected an object of HTTP header names and their values, found an object",
        ),
        (
            r#""a": { "timeouts": { "idle": 0 } }"#,
            "`a.timeouts.idle`: expected a number of seconds above 0, found `0`",
        ),
        (r#""a": { "models": { "m": 5 } }"#, "`a.models.m`: expected an object, found a number"),
        (
            r#""a": { "models": { "m": { "contextWindow": -1 } } }"#,
            "`a.models.m.contextWindow`: expected a whole number from 1, found `-1`",
        ),
        (
            r#""a": { "protocol": "x", "models": { "m": { "contextWindow": 1, "price": { "input": 1 } } } }"#,
            "`a.models.m.price`: `output` is missing",
        ),
        (
            r#""a": { "models": { "m": { "thinkingEfforts": ["loud"] } } }"#,
            "`a.models.m.thinkingEfforts`: expected an array of off, default, minimal, low, medium, high, maximum, found an array",
        ),
    ] {
        let found = given(&format!("{{\n  {line}\n}}"), &[]).load().unwrap_err();
        assert_eq!(found, format!("providers.json:2: {error}"));
    }
}

#[test]
fn an_unknown_field_draws_a_warning_with_the_nearest_known_one() {
    let catalog =
        given("{\n  \"ollama\": { \"models\": {\n    \"qwen3:4b\": { \"contextWindw\": 5 } } }\n}", &[])
            .load()
            .unwrap();
    let [warning] = &catalog.warnings[..] else { panic!("{:?}", catalog.warnings) };
    assert!(
        warning.ends_with(
            "providers.json:3: unknown field `ollama.models.qwen3:4b.contextWindw` is ignored; did you mean `contextWindow`?"
        ),
        "{warning}"
    );
}

#[test]
fn with_nothing_named_the_first_provider_with_a_key_is_chosen() {
    assert_eq!(given("", KEYS).chosen(NONE, NONE), "deepseek/deepseek-flash");
    assert_eq!(given("", &KEYS[1..2]).chosen(NONE, NONE), "anthropic/claude-sonnet-5-5");
    let own = r#"{ "mine": { "protocol": "openai", "requiresApiKey": false, "models": { "m": { "contextWindow": 9 } } } }"#;
    assert_eq!(given(own, KEYS).chosen(NONE, NONE), "mine/m");
}

#[test]
fn without_any_key_nothing_is_chosen_and_offline_never() {
    let error = given("", &[]).chosen(NONE, NONE);
    assert!(error.contains("`crystal keys set PROVIDER` (deepseek, openai, anthropic, gemini)"), "{error}");
    assert!(error.contains("--provider (ollama, offline)"), "{error}");
    assert_eq!(given("", &[]).chosen(("offline", 3), NONE), "offline/offline");
    let described = given(r#"{ "offline": { "requiresApiKey": false } }"#, &[]).chosen(NONE, NONE);
    assert!(described.contains("none has a key"), "{described}");
}

#[test]
fn a_model_alone_finds_its_provider() {
    assert_eq!(given("", KEYS).chosen(NONE, ("claude-opus-5-5", 3)), "anthropic/claude-opus-5-5");
    // Of two providers that have it, the one with a key.
    let twice =
        r#"{ "gate": { "protocol": "openai", "models": { "deepseek-flash": { "contextWindow": 9 } } } }"#;
    assert_eq!(given(twice, KEYS).chosen(NONE, ("deepseek-flash", 3)), "deepseek/deepseek-flash");
    // One that needs no key, or whose protocol exists, goes before one that cannot be called.
    let gate = r#"{
        "strange": { "protocol": "telepathy", "models": { "qwen3:4b": { "contextWindow": 9 } } },
        "gate": { "protocol": "openai", "models": { "qwen3:4b": { "contextWindow": 9 } } }
    }"#;
    assert_eq!(given(gate, &[]).chosen(NONE, ("qwen3:4b", 3)), "ollama/qwen3:4b");
    let error = given(twice, &[]).chosen(NONE, ("deepseek-flash", 3));
    assert!(error.contains("no key for provider `gate`"), "{error}");
}

#[test]
fn the_higher_rank_wins_when_provider_and_model_do_not_fit() {
    let given = given("", KEYS);
    assert_eq!(given.chosen(("deepseek", 1), ("claude-opus-5-5", 3)), "anthropic/claude-opus-5-5");
    assert_eq!(given.chosen(("anthropic", 3), ("deepseek-flash", 1)), "anthropic/claude-sonnet-5-5");
    assert_eq!(given.chosen(("anthropic", 3), ("claude-haiku-4-5", 1)), "anthropic/claude-haiku-4-5");
    let error = given.chosen(("anthropic", 3), ("deepseek-flash", 3));
    assert!(error.starts_with("provider `anthropic` has no model `deepseek-flash`"), "{error}");
}

#[test]
fn unknown_names_list_what_exists_and_the_nearest() {
    let given = given("", KEYS);
    let error = given.chosen(("deepsek", 3), NONE);
    assert!(
        error.starts_with(
            "there is no provider `deepsek` (did you mean `deepseek`?); there are deepseek, openai,"
        ),
        "{error}"
    );
    let error = given.chosen(("deepseek", 3), ("deepseek-flsh", 3));
    assert!(
        error.contains("(did you mean `deepseek-flash`?); there are deepseek-flash, deepseek-v4-pro"),
        "{error}"
    );
    let error = given.chosen(NONE, ("claude-opus-5.5", 3));
    assert!(
        error.starts_with("the catalog has no model `claude-opus-5.5` (did you mean `claude-opus-5-5`?)"),
        "{error}"
    );
}

#[test]
fn an_unknown_protocol_is_an_error_only_when_it_is_needed() {
    let file =
        r#"{ "new": { "protocol": "telepathy", "apiKey": "k", "models": { "m": { "contextWindow": 9 } } } }"#;
    let given = given(file, KEYS);
    let error = given.chosen(("new", 3), NONE);
    assert_eq!(
        error,
        "provider `new` uses the protocol `telepathy`, which does not exist; there are deepseek, openai, anthropic, gemini, ollama, offline"
    );
    assert_eq!(given.chosen(NONE, ("m", 3)), error);
    assert_eq!(given.chosen(NONE, NONE), "deepseek/deepseek-flash");
    // The openai provider has an entry whose protocol exists; its models are the ones to choose from.
    assert_eq!(given.chosen(("openai", 3), NONE), "openai/gpt-4.1");
}

#[test]
fn the_common_key_serves_only_providers_that_need_one() {
    let given = given("", &[("CRYSTAL_API_KEY", "k-common"), ("OFFLINE_API_KEY", "k-x")]);
    let key =
        |provider: &str| given.endpoint((provider, 3), NONE).unwrap().key.map(|key| key.reveal().to_owned());
    assert_eq!(key("gemini").as_deref(), Some("k-common"));
    assert_eq!(key("ollama"), None);
    assert_eq!(key("offline"), None);
}

#[test]
fn a_missing_key_is_an_error_when_the_endpoint_is_made() {
    let error = given("", &[]).chosen(("deepseek", 3), NONE);
    assert!(
        error.starts_with("no key for provider `deepseek`: looked in the variable DEEPSEEK_API_KEY"),
        "{error}"
    );
}

#[test]
fn all_variables_that_may_hold_keys_are_known() {
    let given = given(
        r#"{ "my-gate": { "protocol": "openai", "apiKeyEnvironment": "OWN", "apiKey": "{env:NAMED}",
                          "headers": { "x-token": "{env:TEAM}", "x-plain": "p" } } }"#,
        &[],
    );
    assert_eq!(
        given.load().unwrap().key_variables(),
        [
            "ANTHROPIC_API_KEY",
            "CRYSTAL_API_KEY",
            "DEEPSEEK_API_KEY",
            "GEMINI_API_KEY",
            "MY_GATE_API_KEY",
            "NAMED",
            "OFFLINE_API_KEY",
            "OLLAMA_API_KEY",
            "OPENAI_API_KEY",
            "OWN",
            "TEAM"
        ]
    );
}

#[test]
fn all_keys_that_can_be_found_are_known_whoever_they_serve() {
    let given = given(
        r#"{ "my-gate": { "protocol": "openai", "apiKey": "{file:key.txt}", "headers": { "x-token": "{env:TEAM}", "x-colour": "blue" } } }"#,
        &[("OPENAI_API_KEY", " k-openai\n"), ("TEAM", "k-of-team"), ("CRYSTAL_API_KEY", ""), ("OTHER", "x")],
    );
    fs::write(given.home.root().join("key.txt"), "k-in-file\n").unwrap();
    fs::write(given.home.credentials(), r#"{ "gone": { "apiKey": "k-stored" } }"#).unwrap();
    let keys = Keys { home: &given.home, environment: &given.environment };
    let values = given.load().unwrap().key_values(&keys).unwrap();
    let values: Vec<_> = values.iter().map(|value| value.reveal()).collect();
    assert_eq!(values, ["k-in-file", "k-of-team", "k-openai", "k-stored"]);
}

#[test]
fn a_debug_print_of_the_catalog_shows_no_key() {
    let file = r#"{ "a": { "protocol": "openai", "apiKey": "sk-secret", "headers": { "x": "sk-header" },
                          "models": { "m": { "contextWindow": 9 } } } }"#;
    let given = given(file, &[]);
    let shown = format!("{:?} {:?}", given.load().unwrap(), given.endpoint(("a", 3), NONE).unwrap());
    assert!(shown.contains("Secret(…)") && !shown.contains("sk-"), "{shown}");
}
