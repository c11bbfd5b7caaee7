//! The lines of a block `tools`: what calls return.

use std::path::Path;

use super::read::outcome;
use trellis_base::value::{Mapping, Value};
use trellis_engine::engine::ToolOutcome;

/// A line of a block `tools`.
#[derive(Clone, Debug, PartialEq)]
pub enum DoubleLine<'l> {
    /// `NAME [{args}] OUTCOME [?]`.
    Double {
        /// The tool, or `graph:NODE`.
        name: &'l str,
        /// Arguments that the call must have; `None` if any will do.
        args: Option<Mapping>,
        /// The outcome of the call.
        outcome: ToolOutcome,
        /// `?`: it need not be used.
        is_optional: bool,
    },
    /// `FILE.jsonl [?]`: a recording.
    Recording {
        /// The file, beside the sheet.
        file: &'l str,
        /// `?`: none of its results need be used.
        is_optional: bool,
    },
}

impl<'l> DoubleLine<'l> {
    /// Reads a line; `None` for a blank line and a remark.
    ///
    /// # Errors
    /// It has no outcome, or one that is no JSON.
    pub fn read(text: &'l str) -> Result<Option<Self>, String> {
        let text = text.trim_end_matches('\r');
        if text.trim().is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let text = text.trim();
        let (text, is_optional) = text.strip_suffix(" ?").map_or((text, false), |text| (text.trim_end(), true));
        if Path::new(text).extension().is_some_and(|extension| extension == "jsonl") && !text.contains(char::is_whitespace) {
            return Ok(Some(Self::Recording { file: text, is_optional }));
        }
        let (name, rest) =
            text.split_once(' ').ok_or_else(|| format!("`{text}` has no outcome: write `{text} null` for one that returns nothing"))?;
        let rest = rest.trim_start();
        let (args, rest) = arguments(rest).map_or((None, rest), |(args, outcome)| (Some(args), outcome));
        Ok(Some(Self::Double { name, args, outcome: outcome(rest)?, is_optional }))
    }
}

/// Splits a mapping of arguments from the outcome that follows it.
fn arguments(text: &str) -> Option<(Mapping, &str)> {
    if !text.starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    values.next()?.ok()?;
    let (args, outcome) = text.split_at(values.byte_offset());
    let outcome = outcome.trim_start();
    let Ok(Value::Map(args)) = Value::from_json(args) else { return None };
    (!outcome.is_empty()).then_some((args, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_json_values_the_first_is_the_arguments() {
        let read = |text| DoubleLine::read(text).unwrap();
        assert!(matches!(
            read("a {\"id\": 1}"),
            Some(DoubleLine::Double { args: None, outcome: ToolOutcome::Success(Value::Map(_)), is_optional: false, .. })
        ));
        assert!(matches!(read("a {\"id\": 1} null ?"), Some(DoubleLine::Double { name: "a", args: Some(_), is_optional: true, .. })));
        assert!(DoubleLine::read("a").is_err() && DoubleLine::read("a {").is_err());
        assert_eq!((read("  "), read("# a")), (None, None));
    }

    #[test]
    fn a_line_that_is_a_file_is_a_recording() {
        let recording = |text, file, is_optional| assert_eq!(DoubleLine::read(text), Ok(Some(DoubleLine::Recording { file, is_optional })));
        recording("runs/a.jsonl ?", "runs/a.jsonl", true);
        recording("a.jsonl\r", "a.jsonl", false);
        assert!(DoubleLine::read("a b.jsonl").is_err());
    }
}
