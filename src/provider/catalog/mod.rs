//! Providers and models: a built-in catalog, overlaid by `providers.json`, and the choice of one model from it.
//!
//! The key is looked up only when a choice becomes an [`Endpoint`](crate::provider::endpoint::Endpoint). Which
//! protocols exist is told by the caller, since plugins add some.

use std::sync::Arc;

use crate::home::credentials;
use crate::home::document::DocumentError;
use crate::home::keys::{
    COMMON_VARIABLE, Common, KeyError, Keys, Reference, Wanted as WantedKey, variable_of,
};
use crate::home::paths::Home;
use crate::home::secret::Secret;
use crate::provider::endpoint::{Model, Timeouts, TokenLimit};

pub mod choice;
mod entry;
pub mod field;
mod overlay;
pub mod page;

/// All providers.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Those of `providers.json` first, in its order, then the built-in ones.
    pub providers: Vec<Provider>,
    /// Fields of `providers.json` that mean nothing, each with the nearest one that does.
    pub warnings: Vec<String>,
}

/// A provider by name. It has several entries when it speaks several protocols.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Its name.
    pub name: Arc<str>,
    /// Its entries, never empty.
    pub entries: Vec<Entry>,
    /// Who describes it.
    pub origin: Origin,
}

/// Who describes a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The built-in catalog alone.
    BuiltIn,
    /// `providers.json`, perhaps on top of the built-in catalog.
    File,
}

/// A provider spoken to in one protocol.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Protocol token.
    pub protocol: Arc<str>,
    /// Base address without a trailing slash; empty where the protocol needs none.
    pub base_uri: String,
    /// Sent as the organization.
    pub organization: Option<String>,
    /// Sent as the project.
    pub project: Option<String>,
    /// Whether readable reasoning goes back in `reasoning_content`.
    pub replay_reasoning: bool,
    /// Which field carries the output limit.
    pub token_limit: Option<TokenLimit>,
    /// `apiKey`, as written.
    pub api_key: Option<Secret>,
    /// `apiKeyEnvironment`.
    pub api_key_variable: Option<String>,
    /// Whether a call without a key is refused.
    pub requires_key: bool,
    /// Headers, as written.
    pub headers: Vec<(String, Secret)>,
    /// Waits.
    pub timeouts: Timeouts,
    /// How often a call is tried in all, from 1.
    pub attempts: u32,
    /// The models, in the file's order.
    pub models: Vec<Model>,
}

/// Why no model can be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// `providers.json` cannot be read or is wrong.
    #[error(transparent)]
    File(#[from] DocumentError),
    /// The built-in catalog is wrong.
    #[error("the built-in provider catalog is broken: {0}")]
    Starter(String),
    /// No such provider.
    #[error("there is no provider `{name}`{}; there are {}", meant(nearest), known.join(", "))]
    Provider {
        /// What was asked for.
        name: String,
        /// The nearest name.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// No such model.
    #[error(
        "{} has no model `{name}`{}; there are {} (others can be described in providers.json)",
        provider.as_ref().map_or("the catalog".to_owned(), |provider| format!("provider `{provider}`")),
        meant(nearest), known.join(", ")
    )]
    Model {
        /// The provider; none when all were searched.
        provider: Option<String>,
        /// What was asked for.
        name: String,
        /// The nearest name.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The protocol does not exist.
    #[error("provider `{provider}` uses the protocol `{protocol}`, which does not exist; there are {}", known.join(", "))]
    Protocol {
        /// The provider.
        provider: String,
        /// Its protocol.
        protocol: String,
        /// All protocols.
        known: Vec<String>,
    },
    /// Nothing was asked for and nothing can be chosen.
    #[error(
        "no provider was named and none has a key; store one with `crystal keys set PROVIDER` ({}), or name a provider that needs none with --provider ({})",
        with_key.join(", "), without_key.join(", ")
    )]
    Nothing {
        /// Providers that need a key.
        with_key: Vec<String>,
        /// Providers that need none.
        without_key: Vec<String>,
    },
    /// The provider has no models.
    #[error("provider `{provider}` has no models; describe one under `models` in providers.json")]
    Empty {
        /// The provider.
        provider: String,
    },
    /// The key cannot be had.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Catalog {
    /// The built-in catalog with `providers.json` of `home` on top.
    pub fn load(home: &Home) -> Result<Self, CatalogError> {
        overlay::load(home)
    }
    /// The provider of that name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| &*provider.name == name)
    }
    /// The names of all providers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|provider| &*provider.name)
    }
    /// Every key that is known: in those variables, in `apiKey` and `headers`, in files they name, and stored. For
    /// hiding them where a text or a child's environment holds one under another name.
    pub fn key_values(&self, keys: &Keys<'_>) -> Result<Vec<Secret>, CatalogError> {
        let mut values = credentials::all(keys.home)?;
        let variables = self.key_variables();
        values.extend(variables.iter().filter_map(|name| keys.environment.text(name)).map(Secret::new));
        for provider in &self.providers {
            for written in provider.entries.iter().flat_map(Entry::written) {
                values.extend(keys.value(&provider.name, written)?.map(Secret::new));
            }
        }
        // No key is so short, and a short header value hides nothing but would be found everywhere.
        values.retain(|value| value.reveal().len() >= 8);
        values.sort_unstable_by(|a, b| a.reveal().cmp(b.reveal()));
        values.dedup();
        Ok(values)
    }
    /// Every variable that may hold a key, so that children are started without it: [`COMMON_VARIABLE`], and per
    /// provider `<PROVIDER>_API_KEY`, `apiKeyEnvironment` and what `apiKey` and `headers` name.
    pub fn key_variables(&self) -> Vec<String> {
        let mut names = vec![COMMON_VARIABLE.to_owned()];
        for provider in &self.providers {
            names.push(variable_of(&provider.name));
            for entry in &provider.entries {
                names.extend(entry.api_key_variable.clone());
                names.extend(entry.written().filter_map(|written| match Reference::of(written.reveal()) {
                    Reference::Variable(name) => Some(name.to_owned()),
                    _ => None,
                }));
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Entry {
    /// What may be or lead to a key: `apiKey` and the values of headers.
    fn written(&self) -> impl Iterator<Item = &Secret> {
        self.api_key.iter().chain(self.headers.iter().map(|(_, value)| value))
    }
}

impl Provider {
    /// How the key of one of its entries is looked up.
    pub fn key_of<'a>(&'a self, entry: &'a Entry) -> WantedKey<'a> {
        WantedKey {
            provider: &self.name,
            variable: entry.api_key_variable.as_deref(),
            written: entry.api_key.as_ref(),
            common: if entry.requires_key { Common::Serves } else { Common::Ignored },
        }
    }
    /// The names of its models.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().flat_map(|entry| &entry.models).map(|model| &*model.name)
    }
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
