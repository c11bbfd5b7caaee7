//! Parts of values, and paths of files: libraries, pages that bodies link to.

use std::collections::BTreeSet;

use trellis_core::{
    diagnostic::FilePath,
    query::Symbol,
    span::Span,
    syntax::document::Content,
    value::{Key, Value},
};

use super::{Desk, Offer};
use crate::wire::CompletionItemKind;

/// The names below `sys` (language 4.1).
const SYSTEM: [(&str, &str); 7] = [
    ("ans", "the last answer"),
    ("error", "the error that is handled here"),
    ("node", "the current node"),
    ("step", "the number of accepted moves"),
    ("visits", "how often this node was entered, if it has `max_visits`"),
    ("session", "the id of the session"),
    ("rollback", "what was undone"),
];

/// Returns the parts of a value that schemas declare or other places name.
pub(super) fn parts(desk: &mut Desk<'_>, path: &str) -> Vec<Offer> {
    if path == "sys" {
        return SYSTEM.into_iter().map(|(name, about)| Offer::new(name, CompletionItemKind::Field).about(about)).collect();
    }
    let mut names: Vec<&str> = path.split('.').collect();
    let root = Key::from(names.remove(0));
    let own = desk.path.clone();
    let graph = desk.index().graph_of(&own);
    let mut found: BTreeSet<String> = BTreeSet::new();
    for document in desk.graph.documents() {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        for (_, schema) in project.context.iter().filter(|(key, _)| key.value == root) {
            found.extend(properties(&schema.value, &names));
        }
    }
    for one in desk.index().occurrences(&Symbol::Key(graph, root)) {
        let text = desk.graph.document(&one.path).and_then(|document| document.text.get(one.span.start as usize..)).unwrap_or_default();
        let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.');
        let whole = &text[..text.find(|char| !is_part(char)).unwrap_or(text.len())];
        let here = one.path == own && one.span.start <= desk.offset && desk.offset <= one.span.start + crate::text::to_u32(whole.len());
        let below = whole.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')).filter(|_| !here);
        found.extend(below.and_then(|below| below.split('.').next()).filter(|name| !name.is_empty()).map(str::to_owned));
    }
    found.into_iter().map(|name| Offer::new(name, CompletionItemKind::Field)).collect()
}

/// Returns the names that a schema declares below a path.
fn properties(schema: &Value, path: &[&str]) -> Vec<String> {
    let below = path.iter().try_fold(schema, |schema, name| schema.get("properties")?.get(name));
    let properties = below.and_then(|schema| schema.get("properties")?.as_map());
    properties.into_iter().flat_map(|all| all.keys().map(ToString::to_string)).collect()
}

/// Returns the libraries of the graph, as they are named here (language 1.7).
pub(super) fn libraries(desk: &mut Desk<'_>) -> Vec<Offer> {
    let own = desk.path.clone();
    let root = desk.index().root_of(&own).to_owned();
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let below = |path: &FilePath, folder: &str| match folder {
        "" => Some(path.to_string()),
        folder => path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned),
    };
    let documents = desk.graph.documents().iter().filter(|document| matches!(document.content, Content::Library(_)));
    let named = documents.filter_map(|document| {
        let beside =
            below(&document.path, folder).filter(|_| !folder.is_empty() || !document.path.contains('/')).map(|name| format!("./{name}"));
        beside.or_else(|| below(&document.path, &root))
    });
    named.map(|name| Offer::new(name, CompletionItemKind::File).detail("library").rank(1)).collect()
}

/// Returns the files that a link of a body may lead to.
pub(super) fn links(desk: &mut Desk<'_>, line: &str, offset: usize) -> (Vec<Offer>, Span) {
    let typed = line.rfind("](").map(|at| &line[at + 2..]).filter(|typed| !typed.contains([')', ' ', ':', '#']));
    let Some(typed) = typed else { return (Vec::new(), desk.context.prefix_span) };
    let own = desk.path.clone();
    let folder: Vec<&str> = own.split('/').collect();
    let folder = &folder[..folder.len() - 1];
    let files = desk.graph.documents().iter().map(|document| &document.path).filter(|path| **path != own && path.ends_with(".md"));
    let relative = |path: &FilePath| {
        let parts: Vec<&str> = path.split('/').collect();
        let same = folder.iter().zip(&parts[..parts.len() - 1]).take_while(|(one, other)| one == other).count();
        let up = vec![".."; folder.len() - same];
        (up.len(), up.into_iter().chain(parts[same..].iter().copied()).collect::<Vec<_>>().join("/"))
    };
    let offers = files.map(relative).map(|(far, name)| Offer::new(name, CompletionItemKind::File).rank(far)).collect();
    (offers, Span::new(offset - typed.len(), offset))
}
