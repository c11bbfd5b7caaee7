//! Patterns of calls: a glob of tool names, perhaps with a schema of the arguments (language 11.3).

use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use trellis_core::{Mapping, Value, schema::Schema};

/// A pattern of calls. `graph:PATH` is the name of a call that starts a child.
#[derive(Clone, Debug)]
pub struct CallPattern {
    text: Arc<str>,
    tool: GlobMatcher,
    args: Option<Schema>,
}

impl CallPattern {
    /// Matches calls of the tools that a glob names: `*` matches any characters, also dots and slashes.
    ///
    /// # Errors
    /// It is no glob, with why.
    pub fn new(tool: &str) -> Result<Self, String> {
        let glob = Glob::new(tool).map_err(|error| error.kind().to_string())?;
        Ok(Self { text: tool.into(), tool: glob.compile_matcher(), args: None })
    }

    /// Also requires that their arguments fit a JSON Schema.
    #[must_use]
    pub fn args(self, args: Schema) -> Self {
        Self { args: Some(args), ..self }
    }

    /// Returns whether a call matches.
    pub fn matches(&self, tool: &str, args: &Mapping) -> bool {
        self.tool.is_match(tool) && self.args.as_ref().is_none_or(|schema| schema.fits(&Value::Map(args.clone())))
    }

    /// The glob as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(json: &str) -> Mapping {
        let Ok(Value::Map(args)) = Value::from_json(json) else { panic!("{json}") };
        args
    }

    // language 11.3
    #[test]
    fn a_glob_names_tools_and_a_schema_their_arguments() {
        let matches = |glob: &str, tool: &str| CallPattern::new(glob).unwrap().matches(tool, &Mapping::new());
        assert!(matches("mail.*", "mail.send") && matches("mail.*", "mail.send.now") && matches("*", "x"));
        assert!(!matches("mail.*", "mailer") && !matches("mail", "mail.send"));
        assert!(matches("graph:billing/*", "graph:billing/pay") && !matches("graph:*", "billing"));
        assert!(matches("{mail,sms}.send", "sms.send"));

        let schema = Value::from_json(r#"{"required":["amount"],"properties":{"amount":{"minimum":100}}}"#).unwrap();
        let large = CallPattern::new("pay").unwrap().args(Schema::new(&schema).unwrap());
        assert!(large.matches("pay", &args(r#"{"amount":100}"#)));
        assert!(!large.matches("pay", &args(r#"{"amount":99}"#)) && !large.matches("pay", &args("{}")));
        assert!(!large.matches("payout", &args(r#"{"amount":100}"#)));
    }

    #[test]
    fn what_is_no_glob_says_why() {
        assert!(CallPattern::new("mail.[").unwrap_err().contains("unclosed"));
    }
}
