//! What a turn may spend. A limit that is none does not exist.

use std::time::Duration;

use tokio::time::Instant;

/// The limits of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Model calls.
    pub model_calls: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Time from the turn's start.
    pub duration: Option<Duration>,
}

/// What a turn has spent so far, against its limits.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    deadline: Option<Instant>,
    /// Whether a handler lowered the model calls.
    lowered: bool,
    model_calls: u64,
    tool_calls: u64,
}

impl Budget {
    /// A fresh budget whose clock starts now.
    pub fn new(limits: Limits) -> Self {
        let deadline = limits.duration.and_then(|duration| Instant::now().checked_add(duration));
        Self { limits, deadline, lowered: false, model_calls: 0, tool_calls: 0 }
    }
    /// When the turn must have ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
    /// Model calls made.
    pub fn model_calls(&self) -> u64 {
        self.model_calls
    }
    /// Tool calls made.
    pub fn tool_calls(&self) -> u64 {
        self.tool_calls
    }
    /// Model calls left; none when unlimited.
    pub fn model_calls_left(&self) -> Option<u64> {
        self.limits.model_calls.map(|limit| limit.saturating_sub(self.model_calls))
    }
    /// Model calls allowed in all; none when unlimited.
    pub fn model_call_limit(&self) -> Option<u64> {
        self.limits.model_calls
    }
    /// Whether another model call may be made, or which limit stands in the way.
    pub fn check_model_call(&self) -> Result<(), String> {
        self.check_time()?;
        match (self.model_calls_left(), self.lowered) {
            (Some(0), true) => Err(format!(
                "the turn used its {} model calls, as many as a handler of PreStep left it",
                self.model_calls
            )),
            (Some(0), false) => Err(format!(
                "the turn used its {} model calls (--model-calls raises the limit)",
                self.model_calls
            )),
            _ => Ok(()),
        }
    }
    /// Counts a model call.
    pub fn count_model_call(&mut self) {
        self.model_calls += 1;
    }
    /// Counts a tool call, or says which limit stands in the way.
    pub fn take_tool_call(&mut self) -> Result<(), String> {
        self.check_time()?;
        if self.limits.tool_calls.is_some_and(|limit| self.tool_calls >= limit) {
            return Err(format!(
                "the turn used its {} tool calls (--tool-calls raises the limit)",
                self.tool_calls
            ));
        }
        self.tool_calls += 1;
        Ok(())
    }
    /// Lowers the model calls left to `left`; never raises them.
    pub fn lower_model_calls(&mut self, left: u64) {
        let limit = self.model_calls.saturating_add(left);
        if self.limits.model_calls.is_none_or(|old| limit < old) {
            self.limits.model_calls = Some(limit);
            self.lowered = true;
        }
    }

    fn check_time(&self) -> Result<(), String> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(time_is_up(self.limits.duration)),
            _ => Ok(()),
        }
    }
}

/// The sentence for a turn whose time is up.
pub fn time_is_up(duration: Option<Duration>) -> String {
    let seconds = duration.unwrap_or_default().as_secs();
    format!("the turn used its {seconds} seconds (--duration raises the limit)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { model_calls: Some(2), tool_calls: Some(1), duration: None };

    #[test]
    fn each_limit_stops_at_its_number_and_says_how_to_raise_it() {
        let mut budget = Budget::new(LIMITS);
        for _ in 0..2 {
            assert!(budget.check_model_call().is_ok());
            budget.count_model_call();
        }
        assert!(budget.check_model_call().unwrap_err().contains("--model-calls"));
        assert!(budget.take_tool_call().is_ok());
        assert!(budget.take_tool_call().unwrap_err().contains("--tool-calls"));
    }

    #[test]
    fn a_limit_can_only_be_lowered() {
        let mut budget = Budget::new(LIMITS);
        budget.lower_model_calls(9);
        assert_eq!(budget.model_calls_left(), Some(2));
        budget.lower_model_calls(0);
        assert_eq!(budget.model_calls_left(), Some(0));
        assert!(budget.check_model_call().unwrap_err().contains("PreStep"));
    }

    #[tokio::test(start_paused = true)]
    async fn time_runs_out_for_both_kinds_of_call() {
        let mut budget = Budget::new(Limits {
            model_calls: None,
            tool_calls: None,
            duration: Some(Duration::from_secs(5)),
        });
        assert!(budget.check_model_call().is_ok());
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(budget.check_model_call().unwrap_err().contains("--duration"));
        assert!(budget.take_tool_call().unwrap_err().contains("5 seconds"));
    }
}
