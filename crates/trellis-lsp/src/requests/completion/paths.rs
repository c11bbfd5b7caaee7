//! Parts of values, and paths of files: libraries, pages that bodies link to.

use trellis_core::{diagnostic::FilePath, query::Symbol, span::Span, syntax::document::Content, value::Key};

use super::{Desk, Offer};
use crate::{
    requests::{parts::parts_of, words::SYSTEM},
    wire::CompletionItemKind,
};

/// Returns the parts of a value that schemas declare or other places name.
pub(super) fn parts(desk: &mut Desk<'_>, path: &str) -> Vec<Offer> {
    if path == "sys" {
        return SYSTEM.into_iter().map(|(name, about)| Offer::new(name, CompletionItemKind::Field).about(about)).collect();
    }
    let root = Key::from(path.split('.').next().unwrap_or_default());
    let own = desk.path.clone();
    let graph = desk.index().graph_of(&own);
    let mut found = parts_of(desk.graph, &own, desk.offset, path);
    for one in desk.index().occurrences(&Symbol::Key(graph, root)) {
        let text = desk.graph.document(&one.path).and_then(|document| document.text.get(one.span.start as usize..)).unwrap_or_default();
        let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.');
        let whole = &text[..text.find(|char| !is_part(char)).unwrap_or(text.len())];
        let here = one.path == own && one.span.start <= desk.offset && desk.offset <= one.span.start + crate::text::to_u32(whole.len());
        let below = whole.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')).filter(|_| !here);
        if let Some(name) = below.and_then(|below| below.split('.').next()).filter(|name| !name.is_empty()) {
            found.entry(name.to_owned()).or_default();
        }
    }
    found.into_iter().map(|(name, kind)| Offer::new(name, CompletionItemKind::Field).detail(kind)).collect()
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
