//! Budgets: how many calls a session may make, and how many tokens they may take (language 11.6).

use serde::{Deserialize, Serialize};
use trellis_core::{Mapping, ToolError, ToolOutcome, ToolResult, Value};

/// Bounds of the calls of a session, with those of its children; `None` is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Attempts that may start.
    pub calls: Option<u64>,
    /// Tokens of models; the call after the sum reached it fails.
    pub tokens: Option<u64>,
}

/// The amount that the calls of a session have spent: a fold of their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Attempts with a result.
    pub calls: u64,
    /// Tokens of `meta.usage`, those read and those written.
    pub tokens: u64,
}

impl Spent {
    /// Returns whether nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Takes the result of an attempt. A call that was denied, or failed before it started, spent nothing.
    pub(crate) fn count(&mut self, result: &ToolResult) {
        let is_unstarted = match &result.outcome {
            ToolOutcome::Success(_) => false,
            ToolOutcome::Denied(_) => true,
            ToolOutcome::Error(error) => error.is_final && matches!(error.code.as_ref().and_then(Value::as_str), Some("budget" | "policy")),
        };
        if is_unstarted {
            return;
        }
        let usage = result.meta.as_ref().and_then(|meta| meta.get("usage"));
        let tokens = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or_default();
        self.calls = self.calls.saturating_add(1);
        self.tokens = self.tokens.saturating_add(tokens("input")).saturating_add(tokens("output"));
    }
}

impl Budget {
    /// Refuses a call that would start now, while `running` others run.
    ///
    /// # Errors
    /// Code `budget`, final, with the bound and the amount spent.
    pub fn admit(&self, spent: Spent, running: u64) -> Result<(), ToolError> {
        let calls = spent.calls.saturating_add(running);
        let over = |bound: Option<u64>, value: u64| bound.filter(|bound| value >= *bound);
        let (name, bound, value) = match (over(self.calls, calls), over(self.tokens, spent.tokens)) {
            (Some(bound), _) => ("calls", bound, calls),
            (None, Some(bound)) => ("tokens", bound, spent.tokens),
            (None, None) => return Ok(()),
        };
        let message = format!("`budget.{name}` is spent: it allows {bound} in a session, and {value} were taken");
        let data = Mapping::from_iter([("budget", Value::text(name)), ("bound", Value::UInt(bound)), ("value", Value::UInt(value))]);
        Err(ToolError { data: Some(Value::Map(data)), ..ToolError::coded("budget", message).finally() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: ToolOutcome, meta: Option<&str>) -> ToolResult {
        ToolResult::new("c".into(), outcome).with_meta(meta.map(|meta| Value::from_json(meta).unwrap()))
    }

    // language 11.6
    #[test]
    fn every_attempt_that_started_counts_with_its_tokens() {
        let mut spent = Spent::default();
        spent.count(&result(ToolOutcome::Success(Value::Null), Some(r#"{"usage":{"input":30,"output":12}}"#)));
        spent.count(&result(ToolOutcome::Error(ToolError::new("no")), Some(r#"{"usage":{"input":"30"}}"#)));
        spent.count(&result(ToolOutcome::Denied(None), None));
        let refused = Budget { calls: Some(2), tokens: None }.admit(spent, 0).unwrap_err();
        spent.count(&result(ToolOutcome::Error(refused.clone()), None));
        assert_eq!(spent, Spent { calls: 2, tokens: 42 });
        assert_eq!((refused.code, refused.is_final), (Some(Value::text("budget")), true));
        assert_eq!(refused.data.unwrap().to_json(), r#"{"bound":2,"budget":"calls","value":2}"#);
    }

    #[test]
    fn calls_are_reserved_and_tokens_are_known_after() {
        let budget = Budget { calls: Some(3), tokens: Some(100) };
        let admits = |calls, tokens, running| budget.admit(Spent { calls, tokens }, running).is_ok();
        assert!(admits(0, 0, 0) && admits(2, 99, 0) && admits(1, 0, 1));
        assert!(!admits(1, 0, 2) && !admits(3, 0, 0) && !admits(0, 100, 0) && !admits(0, u64::MAX, 0));
        assert!(Budget::default().admit(Spent { calls: u64::MAX, tokens: u64::MAX }, 1).is_ok());
        assert!(Budget { calls: Some(0), tokens: None }.admit(Spent::default(), 0).is_err());
    }
}
