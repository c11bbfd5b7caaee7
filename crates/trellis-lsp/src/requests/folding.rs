//! Folding ranges: the frontmatter, mappings and lists by indentation, and sections of the body.

use super::outline::{Section, outline, parts};
use crate::{
    state::ServerState,
    text::{Text, to_u32},
    wire::{FoldingRange, FoldingRangeKind, FoldingRangeParams},
};

/// Returns the ranges of lines that can be folded.
pub(super) fn fold(state: &mut ServerState, params: &FoldingRangeParams) -> Option<Vec<FoldingRange>> {
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let text = graph.text(&path)?.clone();
    let mut ranges = Vec::new();
    if path.to_ascii_lowercase().ends_with(".md") {
        let (yaml, _) = parts(&text);
        if yaml.start > 0 && yaml.end < text.lines() && yaml.end > yaml.start {
            ranges.push(range(yaml.start - 1, yaml.end, Some(FoldingRangeKind::Region)));
        }
    }
    let sections = outline(&path, &text);
    sections.iter().for_each(|section| add(section, &text, &mut ranges));
    Some(ranges)
}

fn add(section: &Section, text: &Text, ranges: &mut Vec<FoldingRange>) {
    let line = |offset: u32| text.position(offset as usize, crate::text::Encoding::Utf8).line as usize;
    let (start, end) = (line(section.span.start), line(section.span.end));
    if end > start {
        ranges.push(range(start, end, None));
    }
    section.below.iter().for_each(|below| add(below, text, ranges));
}

fn range(start: usize, end: usize, kind: Option<FoldingRangeKind>) -> FoldingRange {
    FoldingRange { start_line: to_u32(start), end_line: to_u32(end), kind, ..FoldingRange::default() }
}
