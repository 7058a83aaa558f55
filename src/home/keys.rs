//! Where a provider's key comes from, in order.
//!
//! Order: the provider's own variable (`apiKeyEnvironment`), `<PROVIDER>_API_KEY`, `CRYSTAL_API_KEY`, the provider's
//! `apiKey` (a literal, `{env:NAME}` or `{file:path}`), `credentials.json`. A blank value counts as not set and white
//! space around a key is dropped. No message holds any part of a key.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::home::credentials;
use crate::home::document::DocumentError;
use crate::home::environment::Environment;
use crate::home::paths::Home;
use crate::home::secret::Secret;

/// The variable that serves every provider which needs a key.
pub const COMMON_VARIABLE: &str = "CRYSTAL_API_KEY";

/// The places where keys are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// Holds `credentials.json`.
    pub home: &'a Home,
    /// Holds the variables.
    pub environment: &'a Environment,
}

/// Whose key, and what its catalog entry says of it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The provider's name.
    pub provider: &'a str,
    /// Its `apiKeyEnvironment`.
    pub variable: Option<&'a str>,
    /// Its `apiKey`, as written.
    pub written: Option<&'a Secret>,
    /// Whether [`COMMON_VARIABLE`] serves it too. It never serves a provider that works without a key, so that the key
    /// of another service is not sent to a local server.
    pub common: Common,
}

/// Whether [`COMMON_VARIABLE`] is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// It is.
    Serves,
    /// It is not.
    Ignored,
}

/// A key and where it was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The key.
    pub key: Secret,
    /// Its place.
    pub place: Place,
}

/// A place where a key may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A variable.
    Variable(String),
    /// `apiKey`, written out.
    Literal,
    /// `apiKey`, naming a variable.
    NamedVariable(String),
    /// `apiKey`, naming a file.
    NamedFile(PathBuf),
    /// The stored keys.
    Credentials(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Literal => f.write_str("apiKey in providers.json"),
            Self::NamedVariable(name) => write!(f, "the variable {name} (named by apiKey)"),
            Self::NamedFile(path) => write!(f, "the file {} (named by apiKey)", path.display()),
            Self::Credentials(path) => f.write_str(&path.display().to_string()),
        }
    }
}

/// Why a key cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Nothing was found.
    #[error(
        "no key for provider `{provider}`: looked in {}; store one with `crystal keys set {provider}` or set {}",
        list(places),
        variable_of(provider)
    )]
    Missing {
        /// The provider.
        provider: String,
        /// Where it was looked for.
        places: Vec<Place>,
    },
    /// What was found cannot travel in a header.
    #[error(
        "the key in {place} holds a space or another character that no key has; store it again with `crystal keys set {provider}`"
    )]
    Malformed {
        /// The provider.
        provider: String,
        /// Where it is.
        place: Place,
    },
    /// A file that `apiKey` names cannot be read for another reason than that it is not there.
    #[error("cannot read the key file {} of provider `{provider}`: {source}", path.display())]
    File {
        /// The provider.
        provider: String,
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// `credentials.json` cannot be read or changed.
    #[error(transparent)]
    Credentials(#[from] DocumentError),
}

impl Keys<'_> {
    /// The first key found; an error when there is none.
    pub fn find(&self, wanted: &Wanted<'_>) -> Result<Found, KeyError> {
        let missing = || KeyError::Missing { provider: wanted.provider.into(), places: self.places(wanted) };
        self.look(wanted)?.ok_or_else(missing)
    }
    /// The first key found, if any.
    pub fn look(&self, wanted: &Wanted<'_>) -> Result<Option<Found>, KeyError> {
        for place in self.places(wanted) {
            let Some(text) = self.text_at(&place, wanted)? else { continue };
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(KeyError::Malformed { provider: wanted.provider.into(), place });
            }
            return Ok(Some(Found { key: Secret::new(text), place }));
        }
        Ok(None)
    }
    /// Everywhere a key is looked for, in order.
    pub fn places(&self, wanted: &Wanted<'_>) -> Vec<Place> {
        let mut places: Vec<Place> =
            wanted.variable.iter().map(|name| Place::Variable((*name).to_owned())).collect();
        let own = variable_of(wanted.provider);
        if wanted.variable != Some(own.as_str()) {
            places.push(Place::Variable(own));
        }
        if wanted.common == Common::Serves {
            places.push(Place::Variable(COMMON_VARIABLE.into()));
        }
        places.extend(wanted.written.map(|written| match Reference::of(written.reveal()) {
            Reference::Literal => Place::Literal,
            Reference::Variable(name) => Place::NamedVariable(name.into()),
            Reference::File(path) => Place::NamedFile(self.path(path)),
        }));
        places.push(Place::Credentials(self.home.credentials()));
        places
    }
    /// The value of a configured text that may refer to a variable or a file, as `apiKey` and headers may; none when
    /// what it refers to is not there.
    pub fn value(&self, provider: &str, written: &Secret) -> Result<Option<String>, KeyError> {
        match Reference::of(written.reveal()) {
            Reference::Literal => Ok(Some(written.reveal().to_owned())),
            Reference::Variable(name) => Ok(self.environment.text(name)),
            Reference::File(path) => self.file(provider, &self.path(path)),
        }
    }

    fn text_at(&self, place: &Place, wanted: &Wanted<'_>) -> Result<Option<String>, KeyError> {
        match place {
            Place::Variable(name) | Place::NamedVariable(name) => Ok(self.environment.text(name)),
            Place::Literal => Ok(wanted.written.map(|written| written.reveal().to_owned())),
            Place::NamedFile(path) => self.file(wanted.provider, path),
            Place::Credentials(_) => Ok(credentials::key(self.home, wanted.provider)?),
        }
    }
    fn file(&self, provider: &str, path: &Path) -> Result<Option<String>, KeyError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => {
                Err(KeyError::File { provider: provider.into(), path: path.to_path_buf(), source })
            }
        }
    }
    /// `~/` is the user's home directory; a relative path counts from the data directory.
    fn path(&self, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), self.home.user()) {
            (Some(rest), Some(user)) => user.join(rest),
            _ => self.home.root().join(written),
        }
    }
}

/// `<PROVIDER>_API_KEY`: upper case, and every character that a variable cannot have becomes an underscore.
pub fn variable_of(provider: &str) -> String {
    let stem: String = provider
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    format!("{stem}_API_KEY")
}

/// A configured text that may lead elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// The text is the value.
    Literal,
    /// `{env:NAME}`.
    Variable(&'a str),
    /// `{file:path}`.
    File(&'a str),
}

impl<'a> Reference<'a> {
    /// What the text is.
    pub fn of(text: &'a str) -> Self {
        let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match inner.and_then(|inner| inner.split_once(':')) {
            Some(("env", name)) => Self::Variable(name.trim()),
            Some(("file", path)) => Self::File(path.trim()),
            _ => Self::Literal,
        }
    }
}

fn list(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(", ")
}
