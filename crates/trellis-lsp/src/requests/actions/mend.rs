//! Proposals from the help of a finding, where that is no fix that a program may make by itself: the name that may be meant, the bracket that is
//! missing.

use serde_json::{Value as Json, json};
use trellis_core::{
    Code, Diagnostic, Document, Source,
    diagnostic::{FilePath, Place, TextEdit},
    span::Span,
    syntax::cursor::{CursorPlace, cursor_context},
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
        .or_else(|| untabbed(graph, path, found))
        .or_else(|| guarded(graph, path, found))
        .or_else(|| compared(graph, path, found));
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

/// "guard it, `{{ x | default("…") }}`": a text that is shown, with nothing in place of what is absent.
fn guarded(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<(String, TextEdit)> {
    let help = found.help.as_deref().filter(|_| found.code == Code::MaybeUndefined)?;
    help.contains("guard it, `{{ ").then_some(()).filter(|()| help.contains(" | default("))?;
    let text = std::sync::Arc::clone(&graph.document(path)?.text);
    let span = found.place.as_ref()?.span;
    let (before, after) = (text.get(..span.start as usize)?, text.get(span.end as usize..)?);
    let is_shown = before.trim_end().trim_end_matches('-').ends_with("{{") && after.trim_start().starts_with(['}', '|', '-']);
    // The type of a value that is no text would be another one.
    let context = cursor_context(path, &text, span.end as usize);
    let is_text = context.place == CursorPlace::Body || matches!(context.key(), Some("content" | "text" | "ask" | "reason"));
    if !is_shown || !is_text {
        return None;
    }
    let written = &text[span.range()];
    // In quotes of YAML the other quotes stand.
    let edit = ["\"\"", "''"].into_iter().find_map(|empty| {
        read_with(graph, path, TextEdit { place: Place::new(path, Span::at(span.end as usize)), text: format!(" | default({empty})") })
    })?;
    Some((format!("write `{written}{}`", edit.text), edit))
}

/// "compare it with what it can be: `x == "…"`"
fn compared(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<(String, TextEdit)> {
    let help = found.help.as_deref().filter(|_| found.code == Code::NeverTrue)?;
    let (_, comparison) = quoted(help).filter(|(before, _)| *before == "compare it with what it can be: ")?;
    let span = found.place.as_ref()?.span;
    let subject = comparison.split(" == ").next()?;
    let is_alone = graph.document(path)?.text.get(span.range())? == subject;
    let edit = TextEdit { place: Place::new(path, span), text: comparison.to_owned() };
    is_alone.then(|| read_with(graph, path, edit)).flatten().map(|edit| (format!("write `{comparison}`"), edit))
}

/// Returns an edit if nothing new is wrong with the file by itself after it.
fn read_with(graph: &Graph, path: &FilePath, edit: TextEdit) -> Option<TextEdit> {
    let document = graph.document(path)?;
    let (text, span) = (&*document.text, edit.place.span);
    let dialect = document.dialect().map(|named| named.value).unwrap_or_default();
    let wrong = |text: &str| Document::parse(&Source::text(FilePath::clone(path), text), dialect).diagnostics.len();
    let edited = format!("{}{}{}", text.get(..span.start as usize)?, edit.text, text.get(span.end as usize..)?);
    (wrong(&edited) <= wrong(text)).then_some(edit)
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
