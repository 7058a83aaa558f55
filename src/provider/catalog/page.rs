//! The reference page of `providers.json`, made from the tables of its fields and from the built-in catalog.

use std::fmt::Write;

use crate::provider::catalog::field::{Field, Kind, MODEL, PRICE, PROVIDER, TIMEOUTS, expected};
use crate::provider::catalog::{Catalog, CatalogError, overlay};

/// The page's part about providers and keys.
pub fn reference() -> Result<String, CatalogError> {
    let mut page = String::from(INTRODUCTION);
    let tables = [
        ("Fields of a provider", PROVIDER),
        ("Fields of a model", MODEL),
        ("Fields of `price`", PRICE),
        ("Fields of `timeouts`", TIMEOUTS),
    ];
    for (title, fields) in tables {
        let _ = write!(page, "\n### {title}\n\n| field | value | meaning |\n| --- | --- | --- |\n");
        for Field { key, kind, doc } in fields {
            let _ = writeln!(page, "| `{key}` | {} | {doc} |", value(*kind));
        }
    }
    page.push_str(BUILT_IN);
    built_in(&mut page, &overlay::starter()?);
    page.push_str(KEYS);
    Ok(page)
}

fn built_in(page: &mut String, catalog: &Catalog) {
    page.push_str("\n| provider | protocol | model | context window | images | price in, out, cached |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for provider in &catalog.providers {
        for entry in &provider.entries {
            for model in &entry.models {
                let images = if model.image_input { "yes" } else { "no" };
                let price = model.price.map_or("–".to_owned(), |price| {
                    let cached = price.cached_input.map_or("–".to_owned(), |cached| cached.to_string());
                    format!("{}, {}, {cached}", price.input, price.output)
                });
                let _ = writeln!(
                    page,
                    "| `{}` | `{}` | `{}` | {} | {images} | {price} |",
                    provider.name, entry.protocol, model.name, model.context_window
                );
            }
        }
    }
}

fn value(kind: Kind) -> String {
    match kind {
        // Their fields have a table of their own.
        Kind::Object(_) => "an object".into(),
        other => expected(other),
    }
}

const INTRODUCTION: &str = r#"
## Providers

`providers.json` in the data directory describes providers and models on top of the built-in ones:

```json
{
  // Another address for a built-in provider, and one model more.
  "openai": {
    "baseUri": "https://gateway.example/v1",
    "models": { "house-model": { "contextWindow": 200000 } }
  },
  // A provider of your own. An array of such objects lets one name hold several protocols.
  "gateway": {
    "protocol": "openai",
    "baseUri": "https://models.example/v1",
    "apiKey": "{env:GATEWAY_TOKEN}",
    "models": { "small": { "contextWindow": 32000 }, "large": { "contextWindow": 128000, "imageInput": true } }
  }
}
```

An object without `protocol` changes fields of the built-in provider of its name. One with `protocol`, or an array, takes
the built-in provider's place: its models start from built-in models of the same name, and without `models` it keeps all
of them. `null` removes a provider or a model.

The model is chosen like this: provider and model, when both are named; a provider alone means its first model; a model
alone means the first provider that has it, those with a key or without need of one before the rest. When both are named
in places of different rank (an option and the file, say) and do not fit together, the higher rank wins. With nothing
named it is the first provider with a key, those of `providers.json` before the built-in ones; one that `providers.json` describes with
`"requiresApiKey": false` counts as having a key. `offline` is used only when it is named.
"#;

const BUILT_IN: &str = "
### Built-in providers

Prices are US dollars per million tokens, as listed for ordinary requests: surcharges for very long prompts are not
counted, nor are discounts for quiet hours. A dash means that the price is not known or depends on the request. The windows of
`ollama` models are what is asked of the local server, not what the models could take; raise them where there is memory.
";

const KEYS: &str = r#"
## Keys

`crystal keys set PROVIDER` stores a key in `credentials.json`, which only its owner can read; a note appears when others
can. `crystal keys list` shows where each provider's key comes from, `crystal keys rm PROVIDER` forgets a stored one. A key
is looked for in this order; a blank value counts as not set, and white space around a key is dropped:

1. the variable that the provider's `apiKeyEnvironment` names;
2. `<PROVIDER>_API_KEY`: the provider's name in upper case, hyphens as underscores;
3. `CRYSTAL_API_KEY`, unless the provider has `"requiresApiKey": false`;
4. the provider's `apiKey`: the key itself, `{env:NAME}` or `{file:path}` (`~/` is the user's home directory; a relative
   path counts from the data directory);
5. `credentials.json`: `{"deepseek": {"apiKey": "…"}}`.

Commands that the model runs, hooks and plugins do not see any of these variables: `CRYSTAL_API_KEY`, every provider's
`<PROVIDER>_API_KEY`, and every variable that `apiKeyEnvironment`, `apiKey` or `headers` name. A key is never printed,
logged or put in a session.
"#;
