//! Typographic quotes in conditions.

use super::{ConditionToken, Reader};
use trellis_base::{diagnostic::Diagnostic, span::SourceMap};

/// The quotes of word processors.
pub(super) const CURLY: [&str; 7] = ["“", "”", "„", "‘", "’", "«", "»"];

impl Reader<'_> {
    /// Offers plain quotes in place of the typographic ones at a token and at the end of the condition.
    pub(super) fn with_plain_quotes(&self, at: usize, found: Diagnostic) -> Box<Diagnostic> {
        let is_curly = |token: &&ConditionToken<'_>| CURLY.contains(&token.text);
        let mut others = self.tokens[at + 1..].iter().filter(is_curly);
        let (Some(last), None) = (others.next(), others.next()) else { return found.into() };
        let first = &self.tokens[at];
        let inner = &self.text[first.end..last.start];
        if inner.contains(['"', '\'', '\\']) || !matches!(self.map, SourceMap::Slice(_)) {
            return found.into();
        }
        let quote = self.quote;
        found.fix("write plain quotes", self.map.span(first.start..last.end), format!("{quote}{inner}{quote}")).into()
    }
}
