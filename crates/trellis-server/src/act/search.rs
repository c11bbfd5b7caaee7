//! Search in nodes: matching ids first, then keys, tools and texts.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use trellis_core::{
    Document, NodeId,
    query::{Symbol, SymbolIndex},
    span::LineIndex,
};

use crate::{served::ServedGraph, trouble::Trouble};

/// Characters that an excerpt has on each side.
const AROUND: usize = 40;

/// The part of a node that has the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum MatchedField {
    Id,
    Key,
    Tool,
    Text,
}

/// A place in a node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Match {
    id: String,
    field: MatchedField,
    path: String,
    line: usize,
    excerpt: String,
    /// The places of the words in the excerpt, in characters.
    spans: Vec<(usize, usize)>,
}

/// Returns the nodes that contain `words`, in any case, at most `limit`: by their ids first, then by keys, by tools, and by other text.
///
/// # Errors
/// The graph never had a program.
pub(crate) fn search(graph: &ServedGraph, words: &str, limit: usize) -> Result<Vec<Match>, Trouble> {
    let program = graph.program()?;
    let words = words.trim().to_lowercase();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let named = names(program.documents(), &words);
    let mut found = Vec::new();
    for node in program.nodes() {
        let document = &program.documents()[node.document as usize];
        let start = node.span.start as usize;
        let mut add = |field, offset: usize, text: &str, at: (usize, usize)| {
            let (excerpt, span) = excerpt(text, at);
            let line = LineIndex::new(&document.text).locate(u32::try_from(offset).unwrap_or(u32::MAX)).line;
            let (id, path) = (node.id.to_string(), document.path.to_string());
            found.push(Match { id, field, path, line, excerpt, spans: vec![span] });
        };
        if let Some(at) = position(node.id.as_str(), &words) {
            add(MatchedField::Id, start, node.id.as_str(), at);
        } else if let Some(&(field, at)) = named.get(&node.id) {
            add(field, at.0, &document.text, at);
        } else {
            // A file with one node is that node; of one with several, each has its part.
            let is_alone = program.nodes().iter().filter(|other| other.document == node.document).count() == 1;
            let (start, end) = if is_alone { (0, document.text.len()) } else { (start, node.span.end as usize) };
            let Some(text) = document.text.get(start..end) else { continue };
            if let Some(at) = position(text, &words) {
                add(MatchedField::Text, start + at.0, text, at);
            }
        }
    }
    found.sort_by_key(|found| found.field);
    found.truncate(limit);
    Ok(found)
}

/// A field of a node, and a place in its file.
type NamedPlace = (MatchedField, (usize, usize));

/// The nodes that name a key or a tool with these words, each with the first such place.
fn names(documents: &[Arc<Document>], words: &str) -> BTreeMap<NodeId, NamedPlace> {
    let matching: Vec<_> = documents.iter().filter(|document| position(&document.text, words).is_some()).cloned().collect();
    let mut index = SymbolIndex::default();
    index.update(&matching);
    let mut named = BTreeMap::<NodeId, NamedPlace>::new();
    for document in &matching {
        for occurrence in index.of_file(&document.path) {
            let (field, name) = match &occurrence.symbol {
                Symbol::Key(_, key) => (MatchedField::Key, &**key),
                Symbol::Tool(tool) => (MatchedField::Tool, &**tool),
                _ => continue,
            };
            let (start, end) = (occurrence.span.start as usize, occurrence.span.end as usize);
            let at = document.text.get(start..end).filter(|_| position(name, words).is_some()).and_then(|text| position(text, words));
            let (Some(at), Some(node)) = (at, index.node_around(&document.path, occurrence.span.start)) else { continue };
            let place = (field, (start + at.0, start + at.1));
            named.entry(node.id).and_modify(|first| *first = place.min(*first)).or_insert(place);
        }
    }
    named
}

/// Returns the first place of the words, in bytes. Only ASCII letters match in either case.
fn position(text: &str, words: &str) -> Option<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    let at = lower.find(&words.to_ascii_lowercase())?;
    Some((at, at + words.len()))
}

/// One line around a place, and where the place is in it, in characters.
fn excerpt(text: &str, (start, end): (usize, usize)) -> (String, (usize, usize)) {
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at);
    let before: Vec<char> = text[line_start..start].chars().collect();
    let before: String = before[before.len().saturating_sub(AROUND)..].iter().collect();
    let after: String = text[end..line_end].chars().take(AROUND).collect();
    let first = before.chars().count();
    let span = (first, first + text[start..end].chars().count());
    (format!("{before}{}{after}", &text[start..end]), span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_a_line_around_its_match() {
        let text = "one\nSeé the Bridge now\nthree";
        let at = position(text, "bridge").unwrap_or_else(|| panic!("it is there"));
        let (line, (start, end)) = excerpt(text, at);
        assert_eq!((&*line, &*line.chars().skip(start).take(end - start).collect::<String>()), ("Seé the Bridge now", "Bridge"));
    }
}
