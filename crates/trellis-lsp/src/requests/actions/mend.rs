//! Proposals from the help of a finding, where that is no fix that a program may make by itself: the name that may be meant, the bracket that is
//! missing.

use serde_json::{Value as Json, json};
use trellis_core::{
    Code, Diagnostic, Document, Source,
    diagnostic::{FilePath, Place, TextEdit},
    span::Span,
};

use super::FIX;
use crate::{client::Client, graph::Graph, requests::edits::plain_edit};

/// Returns what a finding without a fix proposes.
pub(super) fn offers(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Vec<Json> {
    if found.fix.is_some() {
        return Vec::new();
    }
    let proposed = meant(graph, path, found)
        .or_else(|| closed(graph, path, found))
        .or_else(|| doubled(graph, path, found))
        .or_else(|| untabbed(graph, path, found));
    let action = |(title, edit)| json!({ "title": title, "kind": FIX, "edit": plain_edit(graph, &[edit], client) });
    proposed.map(action).into_iter().collect()
}

/// The text between the first backticks of a text, and what stands before them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once('`')?;
    Some((before, rest.split_once('`')?.0))
}

/// "did you mean `…`?"
fn meant(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<(String, TextEdit)> {
    let help = found.help.as_deref()?;
    let (_, name) = quoted(help).filter(|(before, _)| *before == "did you mean ")?;
    let span = found.place.as_ref()?.span;
    let text = graph.document(path)?.text.get(span.range())?.to_owned();
    let bare = text.trim_matches(['"', '\'']);
    // What the finding is about is the name alone, and one of its message.
    if bare.is_empty() || !found.message.contains(&format!("`{bare}`")) {
        return None;
    }
    let start = span.start as usize + text.find(bare)?;
    let edit = TextEdit { place: Place::new(path, Span::new(start, start + bare.len())), text: name.to_owned() };
    Some((format!("did you mean `{name}`?"), edit))
}

/// "close it with …": at the end of its line, if the YAML can be read then.
fn closed(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<(String, TextEdit)> {
    let mark = found.help.as_deref().filter(|_| found.code == Code::YamlSyntax)?.strip_prefix("close it with ")?.trim_matches('`');
    let document = graph.document(path)?;
    let text = &*document.text;
    let at = found.place.as_ref()?.span.start as usize;
    let line = text.get(at..)?.split('\n').next().unwrap_or_default();
    let end = at + line.split(" #").next().unwrap_or(line).trim_end().len();
    let closed = format!("{}{mark}{}", &text[..end], &text[end..]);
    let dialect = document.dialect().map(|named| named.value).unwrap_or_default();
    let parsed = Document::parse(&Source::text(FilePath::clone(path), &closed), dialect);
    let is_read = !parsed.diagnostics.iter().any(|found| found.code == Code::YamlSyntax);
    is_read.then(|| (format!("close it with `{mark}`"), TextEdit { place: Place::new(path, Span::at(end)), text: mark.to_owned() }))
}

/// "a tab cannot indent YAML": every tab at the beginning of a line becomes two spaces, if the YAML can be read then.
fn untabbed(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<(String, TextEdit)> {
    let document = graph.document(path).filter(|_| found.code == Code::YamlSyntax && found.message.starts_with("a tab "))?;
    let text = &*document.text;
    let (mut spaced, mut fences) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        fences += usize::from(path.ends_with(".md") && line.trim_end() == "---");
        let inner = line.trim_start_matches([' ', '\t']);
        let blanks = &line[..line.len() - inner.len()];
        // The body of a Markdown file may be indented with tabs.
        spaced.push_str(&if fences < 2 { blanks.replace('\t', "  ") } else { blanks.to_owned() });
        spaced.push_str(inner);
    }
    let dialect = document.dialect().map(|named| named.value).unwrap_or_default();
    let parsed = Document::parse(&Source::text(FilePath::clone(path), &spaced), dialect);
    let is_read = !parsed.diagnostics.iter().any(|found| found.code == Code::YamlSyntax);
    let edit = TextEdit { place: Place::new(path, Span::new(0, text.len())), text: spaced };
    is_read.then(|| ("indent with spaces".to_owned(), edit))
}

/// "`}}` belongs here, not `}`"
fn doubled(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<(String, TextEdit)> {
    let (before, wanted) = quoted(&found.message).filter(|(before, _)| before.is_empty() && found.code == Code::TemplateSyntax)?;
    let rest = found.message.strip_prefix(before)?.split_once("` belongs here, not ")?.1;
    let (_, written) = quoted(rest)?;
    let start = found.place.as_ref()?.span.start as usize;
    let is_there = graph.document(path)?.text.get(start..)?.starts_with(written) && wanted.starts_with(written);
    let edit = TextEdit { place: Place::new(path, Span::new(start, start + written.len())), text: wanted.to_owned() };
    is_there.then(|| (format!("write `{wanted}`"), edit))
}
