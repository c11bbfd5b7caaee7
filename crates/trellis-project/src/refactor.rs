//! A change of a graph's files, proved to leave the graph as it is but for the names (the rule of every refactoring).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trellis_core::{
    Code, Compiled, Diagnostic, Document,
    compile::Compiler,
    diagnostic::{FilePath, TextEdit, fixes::edited},
    query::{GraphChange, RenameRefusal, difference},
};

use crate::Project;

/// Returns the texts of the files that a change leaves, by their new paths, if the graph that they make is the same but for the names.
///
/// # Errors
/// The edits overlap, a file that changes has mistakes, or the graph would differ: the reason names the first difference.
pub fn refactored(documents: &[Arc<Document>], change: &GraphChange) -> Result<BTreeMap<FilePath, String>, RenameRefusal> {
    let (mut project, mut compiler) = (Project::of_documents(documents), Compiler::default());
    let before = project.recompile(&mut compiler);
    let mut edits: BTreeMap<&FilePath, Vec<&TextEdit>> = BTreeMap::new();
    change.edits.iter().for_each(|edit| edits.entry(&edit.place.path).or_default().push(edit));
    let moves: BTreeMap<&FilePath, &FilePath> = change.files.iter().map(|file| (&file.from, &file.to)).collect();
    let touched: BTreeSet<&FilePath> = edits.keys().chain(moves.keys()).copied().collect();
    let is_touched = |found: &&Diagnostic| found.is_error() && found.place.as_ref().is_some_and(|place| touched.contains(&place.path));
    let mistaken = before.diagnostics.iter().find(is_touched);
    if let Some(found) = mistaken {
        let path = found.place.as_ref().map_or("", |place| &place.path);
        return Err(RenameRefusal(format!("`{path}` has a mistake: {}", found.message)));
    }
    let mut texts: BTreeMap<FilePath, String> = BTreeMap::new();
    for document in documents {
        let text = match edits.remove(&document.path) {
            Some(edits) => {
                edited(&document.text, edits).ok_or_else(|| RenameRefusal(format!("two changes in `{}` overlap", document.path)))?
            }
            None => document.text.to_string(),
        };
        texts.insert(moves.get(&document.path).map_or(&document.path, |to| to).clone(), text);
    }
    let gone = moves.keys().filter(|path| !texts.contains_key(**path)).map(|path| (FilePath::clone(path), None));
    let changed = documents.iter().map(|document| &document.path).filter(|path| touched.contains(path));
    let changed = changed.map(|path| moves.get(path).copied().unwrap_or(path));
    let changed = changed.filter_map(|path| Some((path.clone(), Some(texts.get(path)?.as_str()))));
    let all: Vec<(FilePath, Option<&str>)> = gone.chain(changed).collect();
    project.edit(&all);
    let after = project.recompile(&mut compiler);
    let (Some(one), Some(other)) = (&before.draft, &after.draft) else { return Err(RenameRefusal("the graph has no `start`".into())) };
    if let Some(difference) = difference(one.program(), other.program(), change) {
        return Err(RenameRefusal(difference));
    }
    let moved = |path: &FilePath| moves.get(path).map_or_else(|| path.clone(), |to| FilePath::clone(to));
    let is_guessing = before.diagnostics.iter().any(|found| found.is_error() && found.code != Code::UnreachableNode);
    let findings = |compiled: &Compiled, moves: bool| {
        let place = |path: &FilePath| if moves { moved(path) } else { path.clone() };
        let compared = compiled.diagnostics.iter().filter_map(|found| Some((found, compared(found.code, is_guessing)?)));
        let mut all: Vec<_> = compared.map(|(found, code)| (found.place.as_ref().map(|at| place(&at.path)), code)).collect();
        all.sort();
        all
    };
    let (old, new) = (findings(&before, true), findings(&after, false));
    if old != new {
        let more = |here: &[(Option<FilePath>, Code)], there: &[(Option<FilePath>, Code)], found: &Diagnostic, path: Option<FilePath>| {
            let Some(code) = compared(found.code, is_guessing) else { return false };
            let key = (path, code);
            here.iter().filter(|other| **other == key).count() > there.iter().filter(|other| **other == key).count()
        };
        let path = |found: &Diagnostic| found.place.as_ref().map(|at| FilePath::clone(&at.path));
        let comes = after.diagnostics.iter().find(|found| more(&new, &old, found, path(found)));
        let goes = || before.diagnostics.iter().find(|found| more(&old, &new, found, path(found).map(|path| moved(&path))));
        let what = match comes {
            Some(found) => format!("this would be wrong: {}", found.message),
            None => goes().map_or_else(|| "a finding would go".to_owned(), |found| format!("this finding would go: {}", at(found))),
        };
        return Err(RenameRefusal(what));
    }
    Ok(texts)
}

/// Returns a finding with its file and code.
fn at(found: &Diagnostic) -> String {
    let path = found.place.as_ref().map(|place| format!("{}: ", place.path)).unwrap_or_default();
    format!("{path}{} ({})", found.message, found.code)
}

/// Returns the code as which a finding is compared; `None` if it is not. What a mistaken target of another file may have meant is guessed from the
/// names that there are, so that it changes with a name: whether it is one in the wrong case, and which nodes are said to be unreachable.
fn compared(code: Code, is_guessing: bool) -> Option<Code> {
    match code {
        Code::WrongCase => Some(Code::UnknownTarget),
        Code::UnreachableNode if is_guessing => None,
        code => Some(code),
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::query::SymbolIndex;

    use super::*;
    use crate::Memory;

    fn documents(files: &[(&str, &str)]) -> Vec<Arc<Document>> {
        let graph: Memory = files.iter().copied().collect();
        Project::with_loader(graph).expect("memory is always there").documents().to_vec()
    }

    #[test]
    fn a_rename_is_made_if_the_graph_stays_the_same() {
        let documents = documents(&[
            ("start.md", "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n"),
            ("greet.md", "---\n---\nHello {{ name }}\n"),
        ]);
        let mut index = SymbolIndex::default();
        index.update(&documents);
        let change = index.rename_node(&"greet".into(), "hello").expect("it can be");
        let after = refactored(&documents, &change).expect("it is the same");
        assert_eq!(after.keys().map(|path| &**path).collect::<Vec<_>>(), ["hello.md", "start.md"]);
        let key = index.rename_key(0, &"name".into(), "person").expect("it can be");
        let after = refactored(&documents, &key).expect("it is the same");
        assert_eq!(after["greet.md"], "---\n---\nHello {{ person }}\n");
    }

    #[test]
    fn a_rename_that_changes_the_graph_is_refused() {
        let documents = documents(&[
            ("start.md", "---\nto: orders\n---\n"),
            ("orders/start.md", "---\nto: find\n---\n"),
            ("orders/find.md", "---\nto: pay\n---\n"),
            ("pay.md", "---\n---\n"),
        ]);
        let mut index = SymbolIndex::default();
        index.update(&documents);
        let change = index.rename_node(&"pay".into(), "find").expect("names alone do not tell");
        assert!(refactored(&documents, &change).is_err());
    }

    #[test]
    fn files_with_mistakes_are_not_changed() {
        let documents = documents(&[("start.md", "---\nto: [\n---\n"), ("pay.md", "---\nto: nowhere\n---\n")]);
        let mut index = SymbolIndex::default();
        index.update(&documents);
        let change = index.rename_node(&"pay".into(), "cash").expect("names alone do not tell");
        assert!(refactored(&documents, &change).expect_err("it has a mistake").0.contains("pay.md"));
    }

    /// `docs/lsp.md#renames`: errors outside the files that change do not matter, whatever they guess of the name.
    #[test]
    fn what_a_mistake_elsewhere_may_have_meant_does_not_matter() {
        let renamed = |wrong: &str, new: &str| {
            let documents = documents(&[
                ("start.md", "---\nto: bye\n---\n"),
                ("bye.md", "---\n---\nBye.\n"),
                ("sub/start.md", &format!("---\nto: {wrong}\n---\n")),
            ]);
            let mut index = SymbolIndex::default();
            index.update(&documents);
            refactored(&documents, &index.rename_node(&"bye".into(), new).expect("names alone do not tell"))
        };
        for wrong in ["../bye", "Bye", "byee", "nowhere"] {
            let after = renamed(wrong, "ciao").expect(wrong);
            assert_eq!(after["sub/start.md"], format!("---\nto: {wrong}\n---\n"));
        }
        for wrong in ["ciao", "bye2"] {
            let refused = renamed(wrong, wrong).expect_err("the mistake would lead there").0;
            assert!(refused.contains("sub/start.md") || refused.contains("sub/start"), "{refused}");
        }
    }
}
