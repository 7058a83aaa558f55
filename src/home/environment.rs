//! Environment variables as a value that is passed in, so that nothing below the command line reads the process's own
//! environment behind its caller's back.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables that a run sees.
#[derive(Clone, Debug, Default)]
pub struct Environment(Variables);

#[derive(Clone, Debug)]
enum Variables {
    Process,
    Given(BTreeMap<OsString, OsString>),
}

impl Default for Variables {
    fn default() -> Self {
        Self::Given(BTreeMap::new())
    }
}

impl Environment {
    /// The environment of this process, looked up one variable at a time.
    pub fn of_process() -> Self {
        Self(Variables::Process)
    }
    /// Exactly these variables.
    pub fn given<K, V>(variables: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        Self(Variables::Given(variables.into_iter().map(|(k, v)| (k.into(), v.into())).collect()))
    }
    /// The variable as it is; none when it is not set.
    pub fn raw(&self, name: &str) -> Option<OsString> {
        match &self.0 {
            Variables::Process => std::env::var_os(name),
            Variables::Given(map) => map.get(std::ffi::OsStr::new(name)).cloned(),
        }
    }
    /// The variable's text without surrounding white space; none when it is not set, blank or not UTF-8.
    pub fn text(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?.into_string().ok()?;
        let text = raw.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}
