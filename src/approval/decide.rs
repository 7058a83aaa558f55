//! The mode table: whether a judged call runs, is asked, or goes to the reviewing model first. Pure.

use crate::approval::grant::{Grants, Rule};
use crate::approval::judgement::{Judgement, Kind};
use crate::model::judgement::{Approval, Authority, Risk};

/// Whether a hook wants the operator asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prompt {
    /// As the mode says.
    #[default]
    ByMode,
    /// The operator is asked, whatever mode and grants say.
    Required,
}

/// Whether the workspace is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The mode holds as it is.
    Trusted,
    /// `edit` and `full` act as `default`.
    Restricted,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Run(Because),
    /// The operator is asked; where nobody can be asked, the call is denied with [`crate::approval::denial::unasked`].
    Ask(Question),
    /// The reviewing model judges first. What it may not settle goes to the operator with the same question.
    Judge(Question, Verdicts),
}

/// Why a call runs unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The mode lets such calls pass.
    Mode,
    /// The operator granted it before.
    Granted,
}

/// What the operator is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Why this call is asked, in one sentence that names the part that caused it.
    pub reason: String,
    /// What "session" and "always" would remember; none when a yes may hold once only.
    pub remember: Option<Rule>,
}

/// Which verdicts of the reviewing model count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdicts {
    /// Allow runs the call, deny refuses it, ask goes to the operator.
    All,
    /// Deny refuses it; allow and ask both go to the operator.
    DenyOnly,
}

/// Decides a call.
pub fn decide(mode: Approval, call: &Judgement, prompt: Prompt, grants: &Grants, trust: Trust) -> Decision {
    let mode = effective(mode, trust);
    let risk = call.classification.risk;
    if let Some(why) = &call.always_ask {
        return Decision::Ask(Question { reason: why.clone(), remember: None });
    }
    if risk != Risk::Forbidden && prompt == Prompt::ByMode {
        if passes(mode, call) {
            return Decision::Run(Because::Mode);
        }
        if grants.cover(call) {
            return Decision::Run(Because::Granted);
        }
    }
    let remember = call.rule.clone().filter(|_| risk != Risk::Forbidden && prompt == Prompt::ByMode);
    let question = Question { reason: reason(mode, call, prompt), remember };
    match mode {
        _ if prompt == Prompt::Required => Decision::Ask(question),
        Approval::Review | Approval::Audit => Decision::Judge(question, verdicts(risk)),
        Approval::Default | Approval::Edit | Approval::Full => Decision::Ask(question),
    }
}

/// The least mode in which a call runs unasked in a trusted workspace; none where every mode asks.
pub fn least_mode(call: &Judgement, prompt: Prompt, grants: &Grants) -> Option<Approval> {
    let runs =
        |mode: &Approval| matches!(decide(*mode, call, prompt, grants, Trust::Trusted), Decision::Run(_));
    [Approval::Default, Approval::Edit, Approval::Full].into_iter().find(runs)
}

/// The mode as it acts.
pub fn effective(mode: Approval, trust: Trust) -> Approval {
    match (mode, trust) {
        (Approval::Edit | Approval::Full, Trust::Restricted) => Approval::Default,
        _ => mode,
    }
}

/// Whether the mode lets such a call pass by itself.
fn passes(mode: Approval, call: &Judgement) -> bool {
    let (risk, authority) = (call.classification.risk, call.classification.authority);
    if call.kind == Kind::Session && risk == Risk::Read {
        return true;
    }
    if authority != Authority::Workspace {
        return false;
    }
    match (risk, mode) {
        (Risk::Read, _) => true,
        (Risk::Write, Approval::Edit | Approval::Review) => call.kind == Kind::File,
        (Risk::Write, Approval::Full) => true,
        (Risk::Write, Approval::Default | Approval::Audit) => false,
        (Risk::Privileged | Risk::Forbidden, _) => false,
    }
}

fn verdicts(risk: Risk) -> Verdicts {
    match risk {
        Risk::Read | Risk::Write => Verdicts::All,
        Risk::Privileged | Risk::Forbidden => Verdicts::DenyOnly,
    }
}

fn reason(mode: Approval, call: &Judgement, prompt: Prompt) -> String {
    let summary = &call.classification.summary;
    match (prompt, call.classification.risk) {
        (Prompt::Required, _) => format!("a plugin wants this call confirmed: {summary}"),
        (_, Risk::Forbidden) => format!("{summary}; this is asked every time"),
        _ => format!("{summary}; in {mode} mode this is asked"),
    }
}
