//! Moments of the judgement of a call. Ordinary handlers only ever make it stricter.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::reply::{take_bool, take_text};
use crate::hook::tool::call_value;
use crate::model::item;
use crate::model::judgement::{self, Authority, Classification, Risk};

/// `approval`: handlers raise.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval(pub Judgement);

/// `rewrite_approval`: handlers set.
#[derive(Clone, Debug, PartialEq)]
pub struct RewriteApproval(pub Judgement);

/// How a call is judged so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The call.
    pub call: item::ToolCall,
    /// The classification as it stands.
    pub facts: Classification,
    /// The approval mode.
    pub mode: judgement::Approval,
    /// Whether the operator must be asked, whatever mode, grants and reviewer say.
    pub require_prompt: bool,
    /// Why, in a handler's words; none when no handler gave any.
    pub reason: Option<Arc<str>>,
}

impl Judgement {
    fn facts(&self) -> Value {
        let Classification { risk, authority, summary } = &self.facts;
        json!({ "risk": risk, "authority": authority, "summary": summary, "approval": self.mode })
    }
}

impl Moment for Approval {
    const PLACE: usize = place("approval");
    /// The facts show what earlier handlers advised, where they did.
    fn offer(&self) -> Offer {
        let mut facts = self.0.facts();
        if self.0.require_prompt {
            facts["require_prompt"] = true.into();
        }
        if let Some(reason) = &self.0.reason {
            facts["reason"] = (**reason).into();
        }
        Offer::of([call_value(&self.0.call), facts])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut advice = given.object()?;
        let mut now = self.clone();
        if let Some(risk) = take_text(&mut advice, "risk")? {
            let risk = named_risk(&risk)?;
            if risk < now.0.facts.risk {
                return Err(Rejection::rule(format!(
                    "it lowers the risk from {} to {risk}, which only a raw hook may",
                    now.0.facts.risk
                )));
            }
            now.0.facts.risk = risk;
        }
        now.0.require_prompt |= take_bool(&mut advice, "require_prompt")?.unwrap_or(false);
        if let Some(reason) = take_text(&mut advice, "reason")?.filter(|reason| !reason.trim().is_empty()) {
            now.0.reason = Some(reason.into());
        }
        Ok(Accepted::if_other(self, now))
    }
}

impl Moment for RewriteApproval {
    const PLACE: usize = place("rewrite_approval");
    fn offer(&self) -> Offer {
        Offer::of([call_value(&self.0.call), self.0.facts(), self.0.require_prompt.into()])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut reply = given.object()?;
        let mut now = self.clone();
        if let Some(risk) = take_text(&mut reply, "risk")? {
            now.0.facts.risk = named_risk(&risk)?;
        }
        if let Some(name) = take_text(&mut reply, "authority")? {
            now.0.facts.authority = Authority::parse(&name)
                .ok_or_else(|| Rejection::shape(unknown("authority", &name, Authority::ALL)))?;
        }
        if let Some(summary) = take_text(&mut reply, "summary")? {
            now.0.facts.summary = summary;
        }
        if let Some(prompt) = take_bool(&mut reply, "require_prompt")? {
            now.0.require_prompt = prompt;
        }
        Ok(Accepted::if_other(self, now))
    }
}

fn named_risk(name: &str) -> Result<Risk, Rejection> {
    Risk::parse(name).ok_or_else(|| Rejection::shape(unknown("risk", name, Risk::ALL)))
}

fn unknown(field: &str, name: &str, all: &[impl ToString]) -> String {
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    format!("its `{field}` is `{name}`, not one of {}", all.join(", "))
}
