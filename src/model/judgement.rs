//! How a call is judged: risk, authority, approval modes. The words are the specification's.

use serde::{Deserialize, Serialize};

/// How much a call can harm; ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Looks only.
    Read,
    /// Changes things that can be put back.
    Write,
    /// Changes what the operator would want to be asked about.
    Privileged,
    /// Asked every time, never granted for longer than once, denied where nobody can be asked.
    Forbidden,
}

/// How far a call reaches; ordered from near to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// Stays in the workspace.
    Workspace,
    /// Touches files outside it.
    OutsideWorkspace,
    /// Talks to another machine.
    Network,
    /// Becomes another user.
    PrivilegedEscalation,
}

/// What is known of a call before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classification {
    /// The risk.
    pub risk: Risk,
    /// The reach.
    pub authority: Authority,
    /// One English line for the operator, and the reason a refusal names.
    pub summary: String,
}

/// Approval mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Approval {
    #[default]
    Default,
    Edit,
    Review,
    Audit,
    Full,
}

/// How long a yes holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Grant {
    Once,
    Session,
    Always,
}

macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The name in files, options and payloads.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
            /// The value of that name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use names;

names!(Risk { Read = "read", Write = "write", Privileged = "privileged", Forbidden = "forbidden" });
names!(Authority {
    Workspace = "workspace",
    OutsideWorkspace = "outside_workspace",
    Network = "network",
    PrivilegedEscalation = "privileged_escalation",
});
names!(Approval { Default = "default", Edit = "edit", Review = "review", Audit = "audit", Full = "full" });
names!(Grant { Once = "once", Session = "session", Always = "always" });
