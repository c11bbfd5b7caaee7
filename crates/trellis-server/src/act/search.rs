//! Search in nodes: matching ids first, then matching texts.

use serde::Serialize;
use trellis_core::span::LineIndex;

use crate::{served::ServedGraph, trouble::Trouble};

/// Characters that an excerpt has on each side.
const AROUND: usize = 40;

/// A place in a node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Match {
    id: String,
    /// `id` or `text`.
    field: &'static str,
    path: String,
    line: usize,
    excerpt: String,
    /// The places of the words in the excerpt, in characters.
    spans: Vec<(usize, usize)>,
}

/// Returns the nodes that contain `words`, in any case; at most `limit`.
///
/// # Errors
/// The graph never had a program.
pub(crate) fn search(graph: &ServedGraph, words: &str, limit: usize) -> Result<Vec<Match>, Trouble> {
    let program = graph.program()?;
    let words = words.trim().to_lowercase();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let (mut by_id, mut by_text) = (Vec::new(), Vec::new());
    for node in program.nodes() {
        let document = &program.documents()[node.document as usize];
        let lines = LineIndex::new(&document.text);
        let found = |field, offset: usize, text: &str, at: (usize, usize)| {
            let (excerpt, span) = excerpt(text, at);
            let line = lines.locate(u32::try_from(offset).unwrap_or(u32::MAX)).line;
            Match { id: node.id.to_string(), field, path: document.path.to_string(), line, excerpt, spans: vec![span] }
        };
        if let Some(at) = position(node.id.as_str(), &words) {
            by_id.push(found("id", node.span.start as usize, node.id.as_str(), at));
        } else {
            // A file with one node is that node; of one with several, each has its part.
            let (start, end) = (node.span.start as usize, node.span.end as usize);
            let is_alone = program.nodes().iter().filter(|other| other.document == node.document).count() == 1;
            let (start, end) = if is_alone { (0, document.text.len()) } else { (start, end) };
            let Some(text) = document.text.get(start..end) else { continue };
            if let Some(at) = position(text, &words) {
                by_text.push(found("text", start + at.0, text, at));
            }
        }
    }
    by_id.append(&mut by_text);
    by_id.truncate(limit);
    Ok(by_id)
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
