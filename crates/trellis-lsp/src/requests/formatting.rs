//! Formatting: the output of `trellis fmt`, as edits of the lines that change.

use trellis_core::{
    Source,
    span::Span,
    syntax::format::{Formatted, format as format_source},
};

use crate::{
    carry::Replaced,
    state::ServerState,
    wire::{DocumentFormattingParams, TextEdit},
};

/// Returns the edits that format a file; none if it is not valid YAML.
pub(super) fn format(state: &mut ServerState, params: &DocumentFormattingParams) -> Option<Vec<TextEdit>> {
    let encoding = state.encoding();
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let text = graph.text(&path)?.clone();
    let Formatted::Changed { to: formatted, .. } = format_source(&Source::text(path, text.as_str())) else { return Some(Vec::new()) };
    let Replaced { start, end, length } = Replaced::between(text.as_str(), &formatted);
    // Both texts share what stands before and behind, so the bounds of letters are the same.
    let start = text.as_str().floor_char_boundary(start as usize);
    let end = text.as_str().ceil_char_boundary(end as usize);
    let unchanged_tail = text.as_str().len() - end;
    let new = formatted.get(start..formatted.len() - unchanged_tail).map(str::to_owned);
    debug_assert!(length as usize <= formatted.len(), "a part is not longer than the whole");
    let edit = TextEdit { range: text.range(Span::new(start, end), encoding), new_text: new.unwrap_or_default() };
    Some(vec![edit])
}
