//! Additions that findings ask for: a node, a module, a predicate, an `undo`; and the predicate that a condition may have meant.

use serde_json::{Value as Json, json};
use trellis_core::{
    Code, Diagnostic, Document, Source,
    diagnostic::{FilePath, Place, TextEdit, nearest},
    query::Symbol,
    span::Span,
    syntax::{cursor::cursor_context, document::Content},
};

use super::FIX;
use crate::{client::Client, graph::Graph, requests::edits::plain_edit, text::to_u32};

/// Tools that are offered as an `undo`.
const UNDOS: usize = 4;

/// Returns what can be added so that a finding goes.
pub(super) fn offers(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Vec<Json> {
    match found.code {
        Code::UnknownTarget | Code::UnknownModule => nodes(graph, path, found, client),
        Code::MissingStart => vec![new_file("add `start.md`", graph, &beside(path, "start.md"), "---\n---\nHello.\n", client)],
        Code::UnknownPredicate => written(graph, path, found).and_then(|name| predicate(graph, path, &name, client)).into_iter().collect(),
        // While a file cannot be read, it might set the key: then a bare name is no unknown predicate yet.
        Code::UndefinedVariable => bare(graph, path, found, client),
        Code::UnknownTool => tool(graph, path, found, client).into_iter().collect(),
        Code::RollbackGap => undos(graph, path, found, client),
        Code::UnclosedFrontmatter if found.fix.is_none() => fence(graph, path, client).into_iter().collect(),
        _ => Vec::new(),
    }
    .into_iter()
    .filter(|action| !action["edit"].is_null())
    .collect()
}

/// Returns the text that a finding is about, without quotes.
fn written(graph: &Graph, path: &FilePath, found: &Diagnostic) -> Option<String> {
    let place = found.place.as_ref()?;
    let text = graph.document(path)?.text.get(place.span.range())?.trim_matches(['"', '\'']);
    let text = text.strip_prefix("not ").unwrap_or(text);
    (!text.is_empty() && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

/// Returns a path in the folder of a file.
fn beside(path: &str, name: &str) -> String {
    path.rsplit_once('/').map_or_else(|| name.to_owned(), |(folder, _)| format!("{folder}/{name}"))
}

/// Returns the node that a target names, and the module of that name.
fn nodes(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Vec<Json> {
    let Some(target) = written(graph, path, found) else { return Vec::new() };
    let (Some(place), Some(document)) = (&found.place, graph.document(path)) else { return Vec::new() };
    // In a graph of one file nodes have no files.
    if matches!(document.content, Content::Nodes(..)) {
        return Vec::new();
    }
    let line = document.text[..place.span.start as usize].rsplit('\n').next().unwrap_or_default();
    let is_call = line.trim_end_matches(['"', '\'']).trim_end().ends_with("graph:");
    let index = graph.index();
    let here = index.node_around(path, place.span.start);
    let folder = here.as_ref().map_or("", |node| node.id.folder()).to_owned();
    let own_root = index.root_of(path).to_owned();
    let joined = |folder: &str, name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let id = match (target.strip_prefix("./"), target.strip_prefix('/')) {
        (Some(below), _) => joined(&folder, below),
        (_, Some(below)) => joined(&own_root, below),
        // A path is one from the root, a name one from here.
        _ if target.contains('/') => joined(&own_root, &target),
        _ => joined(&folder, &target),
    };
    let is_part = |part: &str| !part.is_empty() && !part.starts_with(['.', '_']) && part.trim() == part;
    // `bye.md` would be the file `bye.md.md`.
    if !trellis_project::is_graph_file(&format!("{id}.md")) || trellis_project::is_graph_file(&id) || !id.split('/').all(is_part) {
        return Vec::new();
    }
    let name = id.rsplit('/').next().unwrap_or_default().replace(['_', '-'], " ");
    let text = format!(
        "---\n---\n{}{}.\n",
        name.chars().next().into_iter().flat_map(char::to_uppercase).collect::<String>(),
        name.chars().skip(1).collect::<String>()
    );
    if is_call {
        let files = [
            (format!("{id}/trellis.yaml"), format!("name: {}\n", id.rsplit('/').next().unwrap_or_default())),
            (format!("{id}/start.md"), text),
        ];
        return vec![new_files(&format!("add the graph `{id}`"), graph, &files, client)];
    }
    if found.code == Code::UnknownModule {
        return vec![new_file(&format!("make `{id}` a module: add `{id}/start.md`"), graph, &format!("{id}/start.md"), &text, client)];
    }
    vec![
        new_file(&format!("add node `{id}`"), graph, &format!("{id}.md"), &text, client),
        new_file(&format!("add `{id}/start.md`, a module"), graph, &format!("{id}/start.md"), &text, client),
    ]
}

fn new_file(title: &str, graph: &Graph, path: &str, text: &str, client: &Client) -> Json {
    new_files(title, graph, &[(path.to_owned(), text.to_owned())], client)
}

/// Returns the action that makes files; without an edit where the client cannot, or one of them is there.
fn new_files(title: &str, graph: &Graph, files: &[(String, String)], client: &Client) -> Json {
    let start = json!({ "line": 0, "character": 0 });
    let changes: Vec<Json> = files
        .iter()
        .flat_map(|(path, text)| {
            let uri = crate::uri::of_path(&graph.file(path));
            let edit = json!({ "range": { "start": start, "end": start }, "newText": text });
            [
                json!({ "kind": "create", "uri": uri, "options": { "overwrite": false } }),
                json!({ "textDocument": { "uri": uri, "version": null }, "edits": [edit] }),
            ]
        })
        .collect();
    // Nothing is said about files that exist: Neovim makes a folder only for a file that is certainly new.
    let is_new = files.iter().all(|(path, _)| !graph.file(path).exists());
    let edit = if client.file_creations && client.versioned_edits && is_new { json!({ "documentChanges": changes }) } else { Json::Null };
    json!({ "title": title, "kind": FIX, "edit": edit })
}

/// Returns what a condition asks for whose whole text is a name that nothing sets: the nearest predicate, or a declaration.
fn bare(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Vec<Json> {
    let (Some(name), Some(place)) = (written(graph, path, found), &found.place) else { return Vec::new() };
    if !graph.document(path).is_some_and(|document| is_condition(path, &document.text, place.span, &name)) {
        return Vec::new();
    }
    let index = graph.index();
    let (own, symbols) = (index.graph_of(path), index.symbols());
    let predicates = symbols.iter().filter_map(|symbol| match symbol {
        Symbol::Predicate(of, name) if *of == own => Some(&**name),
        _ => None,
    });
    let near = nearest(&name, predicates).map(|near| {
        let start = place.span.end as usize - name.len();
        let edit = TextEdit { place: Place::new(path, Span::new(start, start + name.len())), text: near.to_owned() };
        json!({ "title": format!("did you mean `{near}`?"), "kind": FIX, "edit": plain_edit(graph, &[edit], client) })
    });
    near.into_iter().chain(predicate(graph, path, &name, client)).collect()
}

/// Returns whether a name is all that a condition says, but for a `not`.
fn is_condition(path: &str, text: &str, place: Span, name: &str) -> bool {
    let context = cursor_context(path, text, place.end as usize);
    let is_whole = context.prefix.strip_prefix("not ").unwrap_or(&context.prefix) == name;
    let after = text[place.end as usize..].trim_start_matches(['"', '\'', ' ', '\r']);
    is_whole && matches!(context.key(), Some("condition" | "assert")) && (after.is_empty() || after.starts_with(['\n', ',', '}', ']', '#']))
}

/// Returns the action that declares a predicate in the project file of the graph.
fn predicate(graph: &mut Graph, path: &FilePath, name: &str, client: &Client) -> Option<Json> {
    let root = graph.index().root_of(path).to_owned();
    let project = if root.is_empty() { "trellis.yaml".to_owned() } else { format!("{root}/trellis.yaml") };
    let title = format!("declare predicate `{name}`");
    let Some(document) = graph.document(&project) else {
        return Some(new_file(&title, graph, &project, &format!("predicates: [{name}]\n"), client));
    };
    let (at, text) = declaration(&document.text, name);
    let edit = TextEdit { place: Place::new(&FilePath::from(project), Span::at(at)), text };
    Some(json!({ "title": title, "kind": FIX, "edit": plain_edit(graph, &[edit], client) }))
}

/// Returns where a predicate is declared in a project file, and how.
fn declaration(text: &str, name: &str) -> (usize, String) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("predicates:") {
            let (value, end) = (rest.trim(), start + line.trim_end().len());
            if let Some(list) = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
                let comma = if list.trim().is_empty() { "" } else { ", " };
                return (end - 1, format!("{comma}{name}"));
            }
            let next = text[start + line.len()..].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let indent = &next[..next.len() - next.trim_start().len()];
            let entry = if next.trim_start().starts_with("- ") {
                format!("{indent}- {name}\n")
            } else {
                format!("{}{name}: {{}}\n", if indent.is_empty() { "  " } else { indent })
            };
            return (start + line.len(), entry);
        }
        start += line.len();
    }
    let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    (text.len(), format!("{lead}predicates: [{name}]\n"))
}

/// Returns the action that declares a tool at the node that calls it.
fn tool(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Option<Json> {
    found.help.as_deref().filter(|help| help.starts_with("declare it under `tools` here"))?;
    let name = written(graph, path, found)?;
    let document = graph.document(path).filter(|document| !document.path.ends_with(".json"))?;
    let Content::Node(node) = &document.content else { return None };
    let key = ["tools", "do", "undo", "before_each"].into_iter().find_map(|key| node.key(key));
    let (at, text) = declared_tool(&document.text, key?.start as usize, node.key("tools").is_some(), &name)?;
    let edit = TextEdit { place: Place::new(path, Span::at(at)), text };
    Some(json!({ "title": format!("declare `{name}` here"), "kind": FIX, "edit": plain_edit(graph, &[edit], client) }))
}

/// Returns where a tool is declared in a node, and how: in the list at the offset `key`, or above the key there.
fn declared_tool(text: &str, key: usize, is_list: bool, name: &str) -> Option<(usize, String)> {
    if key > 0 && !text[..key].ends_with('\n') {
        return None;
    }
    let tool = format!("{{ name: {name} }}");
    if !is_list {
        return Some((key, format!("tools:\n  - {tool}\n")));
    }
    let (line, below) = text[key..].split_once('\n')?;
    let value = line.split_once(':')?.1.trim();
    if let Some(list) = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        let comma = if list.trim().is_empty() { "" } else { ", " };
        return Some((key + line.trim_end().len() - 1, format!("{comma}{tool}")));
    }
    let next = below.lines().find(|line| !line.trim().is_empty())?;
    let indent = &next[..next.len() - next.trim_start().len()];
    let is_block = value.is_empty() && next.trim_start().starts_with("- ");
    is_block.then(|| (key + line.len() + 1, format!("{indent}- {tool}\n")))
}

/// Returns actions that give a call an `undo`, by the tools that there are.
fn undos(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Vec<Json> {
    let Some(place) = &found.place else { return Vec::new() };
    let index = graph.index();
    let called = index.at(path, place.span.start).map(|one| one.symbol);
    let others: Vec<String> = index
        .symbols()
        .into_iter()
        .filter(|symbol| Some(symbol) != called.as_ref())
        .filter_map(|symbol| if let Symbol::Tool(name) = symbol { Some(name.to_string()) } else { None })
        .take(UNDOS)
        .collect();
    let Some(document) = graph.document(path) else { return Vec::new() };
    let text = document.text.clone();
    let Some(line) = line_of_do(&text, place.span.start as usize) else { return Vec::new() };
    let indent: String = text[line..].chars().take_while(|char| *char == ' ').collect();
    let action = |name: &String| {
        let edit =
            TextEdit { place: Place::new(path, Span { start: to_u32(line), end: to_u32(line) }), text: format!("{indent}undo: {name}\n") };
        json!({ "title": format!("add `undo: {name}`"), "kind": FIX, "edit": plain_edit(graph, &[edit], client) })
    };
    others.iter().map(action).collect()
}

/// Returns the action that closes the frontmatter where most of the file is understood then, if any of it is read as YAML.
fn fence(graph: &mut Graph, path: &FilePath, client: &Client) -> Option<Json> {
    let document = graph.document(path)?;
    let text = &*document.text;
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let dialect = document.dialect().map(|named| named.value).unwrap_or_default();
    let closed = |at: usize| {
        let gap = if text[..at].ends_with('\n') { "" } else { line_break };
        let fence = format!("{gap}---{line_break}");
        let closed = format!("{}{fence}{}", &text[..at], &text[at..]);
        let found = Document::parse(&Source::text(FilePath::clone(path), &closed), dialect).diagnostics;
        let is_closed = !found.iter().any(|found| matches!(found.code, Code::UnclosedFrontmatter | Code::YamlSyntax));
        is_closed.then(|| (found.iter().filter(|found| found.is_error()).count(), at, fence))
    };
    let (_, at, fence) = ends_of_matter(text).into_iter().filter_map(closed).min_by_key(|(errors, ..)| *errors)?;
    let edit = TextEdit { place: Place::new(path, Span::at(at)), text: fence };
    Some(json!({ "title": "close the frontmatter with `---`", "kind": FIX, "edit": plain_edit(graph, &[edit], client) }))
}

/// Returns where frontmatter that is never closed may end: above the first line that is no part of a mapping, and above the first blank line.
fn ends_of_matter(text: &str) -> [usize; 2] {
    let is_key = |line: &str| {
        let (key, rest) = line.split_once(':').unwrap_or_default();
        let is_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '"' | '\'');
        !key.is_empty() && key.chars().all(is_name) && (rest.trim().is_empty() || rest.starts_with(' '))
    };
    // A comment at the margin could as well be a heading.
    let belongs =
        |line: &str| line.starts_with([' ', '\t', '}', ']']) || line.starts_with("- ") || line.starts_with("# trellis:") || is_key(line);
    let first = text.find("---").and_then(|at| Some(at + text[at..].find('\n')? + 1)).unwrap_or(text.len());
    let (mut at, mut end, mut blank) = (first, first, None);
    for line in text[first..].split_inclusive('\n') {
        let written = line.trim_end();
        if written.is_empty() {
            blank.get_or_insert(at);
        } else if !belongs(written) {
            break;
        } else {
            end = at + line.len();
        }
        at += line.len();
    }
    [end, blank.unwrap_or(end)]
}

/// Returns where the line with the `do:` of a place begins.
fn line_of_do(text: &str, at: usize) -> Option<usize> {
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let mut starts = text[..end].match_indices('\n').map(|(at, _)| at + 1).collect::<Vec<_>>();
    starts.insert(0, 0);
    starts.into_iter().rev().find(|start| text[*start..].trim_start_matches(' ').starts_with("do:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_ends_above_text_or_a_blank_line() {
        let ends = |text: &'static str| ends_of_matter(text).map(|at| &text[..at]);
        assert_eq!(ends("---\nto: a\n\nHello.\n"), ["---\nto: a\n"; 2]);
        assert_eq!(ends("---\ntransitions:\n  - to: a\n# Title\n"), ["---\ntransitions:\n  - to: a\n"; 2]);
        assert_eq!(ends("---\nto: a\n\n- b\nWhich?"), ["---\nto: a\n\n- b\n", "---\nto: a\n"]);
        assert_eq!((ends("---\nHello."), ends("---")), (["---\n"; 2], ["---"; 2]));
    }

    #[test]
    fn a_tool_is_declared_in_each_form_of_the_list() {
        let declared = |text: &str| {
            let key = text.find("tools:").or(text.find("do:")).unwrap_or_default();
            let (at, new) = declared_tool(text, key, text.contains("tools:"), "pay")?;
            Some(format!("{}{new}{}", &text[..at], &text[at..]))
        };
        assert_eq!(declared("to: a\ndo: pay\n").as_deref(), Some("to: a\ntools:\n  - { name: pay }\ndo: pay\n"));
        assert_eq!(declared("tools: []\ndo: pay\n").as_deref(), Some("tools: [{ name: pay }]\ndo: pay\n"));
        assert_eq!(declared("tools: [a]\r\ndo: pay\r\n").as_deref(), Some("tools: [a, { name: pay }]\r\ndo: pay\r\n"));
        assert_eq!(declared("tools:\n- a\ndo: pay\n").as_deref(), Some("tools:\n- { name: pay }\n- a\ndo: pay\n"));
        assert_eq!((declared("{ do: pay }\n"), declared("tools: [a,\n  b]\ndo: pay\n")), (None, None));
    }

    #[test]
    fn a_predicate_is_declared_in_each_form_of_the_list() {
        let declared = |text: &str| {
            let (at, new) = declaration(text, "vip");
            format!("{}{new}{}", &text[..at], &text[at..])
        };
        assert_eq!(declared("name: a"), "name: a\npredicates: [vip]\n");
        assert_eq!(declared("predicates: []\n"), "predicates: [vip]\n");
        assert_eq!(declared("predicates: [a]\nname: b\n"), "predicates: [a, vip]\nname: b\n");
        assert_eq!(declared("predicates:\n  - a\n"), "predicates:\n  - vip\n  - a\n");
        assert_eq!(declared("predicates:\n  a: { needs: [b] }\n"), "predicates:\n  vip: {}\n  a: { needs: [b] }\n");
    }
}
