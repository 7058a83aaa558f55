//! Choosing one model, and making the endpoint of a choice.
//!
//! With provider and model named in places of the same rank, both must fit. Otherwise the higher rank wins and the
//! other is kept only where it fits. A provider alone means its first model; a model alone means the first provider
//! that has it, those that can be called (key found, or none needed) before the rest. Nothing named means the first provider with a key, or one that
//! `providers.json` describes as needing none.

use std::sync::Arc;

use crate::home::keys::{KeyError, Keys};
use crate::home::secret::Secret;
use crate::home::settings::Settings;
use crate::home::spelling;
use crate::provider::catalog::{Catalog, CatalogError, Entry, Origin, Provider};
use crate::provider::endpoint::{Endpoint, Model};

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The provider.
    pub provider: Option<Named>,
    /// The model.
    pub model: Option<Named>,
}

/// A name and how strongly it was asked for.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The rank of its source; see [`crate::home::settings::Source::rank`].
    pub rank: u8,
}

/// One model of one provider.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The provider.
    pub provider: &'a Provider,
    /// The entry that has the model.
    pub entry: &'a Entry,
    /// The model.
    pub model: &'a Model,
}

impl Wanted {
    /// What the settings ask for.
    pub fn of(settings: &Settings) -> Self {
        let named = |value: &Option<String>, setting| {
            value.as_ref().map(|name| Named { name: name.clone(), rank: settings.source(setting).rank() })
        };
        Self { provider: named(&settings.provider, "provider"), model: named(&settings.model, "model") }
    }
}

impl Catalog {
    /// The model to use. `protocols` are the tokens of the protocols that exist.
    pub fn choose(
        &self,
        wanted: &Wanted,
        protocols: &[&str],
        keys: &Keys<'_>,
    ) -> Result<Choice<'_>, CatalogError> {
        match (&wanted.provider, &wanted.model) {
            (None, None) => self.first(protocols, keys)?.ok_or_else(|| self.nothing()),
            (Some(provider), None) => default_of(self.named(provider)?, protocols),
            (None, Some(model)) => self.with_model(&model.name, protocols, keys),
            (Some(provider), Some(model)) if provider.rank >= model.rank => {
                let found = self.named(provider)?;
                match find(found, &model.name, protocols)? {
                    Some(choice) => Ok(choice),
                    None if provider.rank > model.rank => default_of(found, protocols),
                    None => Err(no_model(Some(found), &model.name, found.models())),
                }
            }
            (Some(provider), Some(model)) => {
                let preferred = self.provider(&provider.name);
                match preferred.map(|found| find(found, &model.name, protocols)).transpose()?.flatten() {
                    Some(choice) => Ok(choice),
                    None => self.with_model(&model.name, protocols, keys),
                }
            }
        }
    }

    fn named(&self, wanted: &Named) -> Result<&Provider, CatalogError> {
        self.provider(&wanted.name).ok_or_else(|| CatalogError::Provider {
            name: wanted.name.clone(),
            nearest: spelling::nearest(&wanted.name, self.names()).map(str::to_owned),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    fn with_model(
        &self,
        name: &str,
        protocols: &[&str],
        keys: &Keys<'_>,
    ) -> Result<Choice<'_>, CatalogError> {
        let (mut usable, mut broken) = (None, None);
        for provider in self.providers.iter().filter(|provider| provider.models().any(|model| model == name))
        {
            match find(provider, name, protocols) {
                Ok(Some(choice)) if choice.is_ready(keys)? => return Ok(choice),
                Ok(found) => usable = usable.or(found),
                Err(error) => broken = broken.or(Some(error)),
            }
        }
        let missing = || no_model(None, name, self.providers.iter().flat_map(Provider::models));
        usable.ok_or_else(|| broken.unwrap_or_else(missing))
    }

    fn first(&self, protocols: &[&str], keys: &Keys<'_>) -> Result<Option<Choice<'_>>, CatalogError> {
        for provider in &self.providers {
            let Ok(choice) = default_of(provider, protocols) else { continue };
            let described = provider.origin == Origin::File && !choice.entry.requires_key;
            if &*choice.entry.protocol != OFFLINE && (described || choice.has_key(keys)?) {
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }

    fn nothing(&self) -> CatalogError {
        let (with_key, without_key): (Vec<&Provider>, _) = self
            .providers
            .iter()
            .partition(|provider| provider.entries.iter().any(|entry| entry.requires_key));
        let names = |providers: Vec<&Provider>| providers.iter().map(|p| p.name.to_string()).collect();
        CatalogError::Nothing { with_key: names(with_key), without_key: names(without_key) }
    }
}

/// The protocol that is never chosen unless it is named.
const OFFLINE: &str = "offline";

impl Choice<'_> {
    /// Whether it can be called: it needs no key, or its key is there.
    fn is_ready(&self, keys: &Keys<'_>) -> Result<bool, KeyError> {
        Ok(!self.entry.requires_key || self.has_key(keys)?)
    }
    /// Whether a key for it is there.
    fn has_key(&self, keys: &Keys<'_>) -> Result<bool, KeyError> {
        Ok(keys.look(&self.provider.key_of(self.entry))?.is_some())
    }

    /// What a protocol needs to reach the model; the key is looked up here.
    pub fn endpoint(&self, keys: &Keys<'_>) -> Result<Endpoint, CatalogError> {
        let wanted = self.provider.key_of(self.entry);
        let found = match self.entry.requires_key {
            true => Some(keys.find(&wanted)?),
            false if &*self.entry.protocol == OFFLINE => None,
            false => keys.look(&wanted)?,
        };
        let mut headers = Vec::new();
        for (name, written) in &self.entry.headers {
            if let Some(value) = keys.value(&self.provider.name, written)? {
                headers.push((name.clone(), Secret::new(value)));
            }
        }
        Ok(Endpoint {
            provider: Arc::clone(&self.provider.name),
            protocol: Arc::clone(&self.entry.protocol),
            base_uri: self.entry.base_uri.clone(),
            key: found.map(|found| found.key),
            organization: self.entry.organization.clone(),
            project: self.entry.project.clone(),
            headers,
            replay_reasoning: self.entry.replay_reasoning,
            token_limit: self.entry.token_limit,
            model: self.model.clone(),
            timeouts: self.entry.timeouts,
            attempts: self.entry.attempts,
        })
    }
}

/// The provider's first model whose protocol exists.
fn default_of<'a>(provider: &'a Provider, protocols: &[&str]) -> Result<Choice<'a>, CatalogError> {
    let mut unknown = None;
    for entry in &provider.entries {
        if !protocols.contains(&&*entry.protocol) {
            unknown = unknown.or(Some(entry));
            continue;
        }
        if let Some(model) = entry.models.first() {
            return Ok(Choice { provider, entry, model });
        }
    }
    match unknown {
        Some(entry) => Err(no_protocol(provider, entry, protocols)),
        None => Err(CatalogError::Empty { provider: provider.name.to_string() }),
    }
}

/// The provider's model of that name; none when it has none, an error when only its protocol is missing.
fn find<'a>(
    provider: &'a Provider,
    name: &str,
    protocols: &[&str],
) -> Result<Option<Choice<'a>>, CatalogError> {
    let mut unknown = None;
    for entry in &provider.entries {
        let Some(model) = entry.models.iter().find(|model| &*model.name == name) else { continue };
        if protocols.contains(&&*entry.protocol) {
            return Ok(Some(Choice { provider, entry, model }));
        }
        unknown = Some(entry);
    }
    unknown.map_or(Ok(None), |entry| Err(no_protocol(provider, entry, protocols)))
}

fn no_protocol(provider: &Provider, entry: &Entry, protocols: &[&str]) -> CatalogError {
    CatalogError::Protocol {
        provider: provider.name.to_string(),
        protocol: entry.protocol.to_string(),
        known: protocols.iter().map(|token| (*token).to_owned()).collect(),
    }
}

fn no_model<'a>(
    provider: Option<&Provider>,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> CatalogError {
    let known: Vec<&str> = known.collect();
    CatalogError::Model {
        provider: provider.map(|provider| provider.name.to_string()),
        name: name.to_owned(),
        nearest: spelling::nearest(name, known.iter().copied()).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}
