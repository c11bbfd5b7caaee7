//! YAML (and JSON, which is YAML) as a tree that remembers all places.
//!
//! The input is the bytes of one YAML document, the output a [`Node`]; syntax that YAML forbids, or that graphs do not use, is reported.
//!
//! **Invariant:** every span is a range of the whole file on character boundaries, the tree is at most [`MAX_YAML_DEPTH`] deep, and aliases unfold to
//! at most 10,000 values, so that its readers may recurse.

mod build;

use std::{borrow::Cow, ops::Range};

use super::scalar::{Plain, Style, source_map};
use trellis_base::{
    diagnostic::Report,
    span::{SourceMap, Span},
};

/// The depth to which mappings and lists may nest.
pub(super) const MAX_YAML_DEPTH: usize = 64;

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct YamlNode<'t> {
    pub(super) data: YamlData<'t>,
    /// A scalar without its quotes; a list or mapping up to its last item or bracket.
    pub(super) span: Span,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum YamlData<'t> {
    Scalar(Cow<'t, str>, Style),
    List(Vec<YamlNode<'t>>),
    Map(Vec<YamlEntry<'t>>),
    /// A value that was reported already: no other check reports it again.
    Reported,
}

/// One `key: value`.
#[derive(Clone, Debug)]
pub(super) struct YamlEntry<'t> {
    pub(super) key: Cow<'t, str>,
    /// The key without its quotes.
    pub(super) span: Span,
    pub(super) value: YamlNode<'t>,
    /// True for a key of `{ … }` without `:`, as the part of a text behind a comma is.
    pub(super) bare: bool,
}

/// The document is broken; its one diagnostic was reported.
#[derive(Debug)]
pub(super) struct Malformed;

impl<'t> YamlNode<'t> {
    /// Resolves an unquoted scalar; everything else is text.
    pub(super) fn plain(&self) -> Plain {
        match &self.data {
            YamlData::Scalar(text, Style::Plain) => Plain::of(text),
            _ => Plain::Text,
        }
    }

    /// Returns whether the value is empty, or `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.data, YamlData::Scalar(text, Style::Plain) if Plain::is_null(text))
    }

    /// Returns its name in messages, with its article.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            YamlData::Scalar(..) => self.plain().kind(),
            YamlData::List(_) => "a list",
            YamlData::Map(_) => "a mapping",
            YamlData::Reported => "nothing",
        }
    }

    /// Maps the bytes of a scalar to the file.
    pub(super) fn map(&self, text: &str) -> SourceMap {
        match &self.data {
            YamlData::Scalar(decoded, style) => source_map(text, decoded, self.span, *style),
            _ => SourceMap::Whole(self.span),
        }
    }

    /// Returns the number of its values, and how deep they nest.
    fn size(&self) -> (usize, usize) {
        let children = |sizes: &mut dyn Iterator<Item = (usize, usize)>| {
            let (size, depth) = sizes.fold((0, 0), |(size, depth), child| (size + child.0, depth.max(child.1)));
            (size + 1, depth + 1)
        };
        match &self.data {
            YamlData::List(items) => children(&mut items.iter().map(YamlNode::size)),
            YamlData::Map(entries) => children(&mut entries.iter().map(|entry| entry.value.size())),
            YamlData::Scalar(..) | YamlData::Reported => (1, 0),
        }
    }
}

/// Reads the one YAML document at `range` of `text`; `None` for one without content.
///
/// # Errors
/// Reads YAML. Malformed YAML gives one diagnostic with the reason.
pub(super) fn read<'t>(text: &'t str, range: Range<usize>, report: &mut Report) -> Result<Option<YamlNode<'t>>, Malformed> {
    if let Some(root) = fast_path::read(text, range.clone()) {
        return Ok(Some(root));
    }
    let before = report.diagnostics.len();
    let result = build::build(text, range, report);
    if result.is_err() {
        // Findings before the error are found again once it is fixed.
        let cause = report.diagnostics.pop();
        report.diagnostics.truncate(before);
        report.diagnostics.extend(cause);
    }
    result
}

/// The last token, for explaining an error after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastToken {
    /// The end of the token.
    pub(super) end: usize,
    /// The last unquoted scalar, if that was it.
    pub(super) plain: Option<Span>,
}

mod fast_path;
#[cfg(test)]
mod tests;
