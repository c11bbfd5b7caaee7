//! The files that sessions of sheets begin with: `$ context FILE.json`. A rename of a key changes it there, too.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{Document, Value, diagnostic::FilePath, query::GraphChange};

use super::{
    BlockKind, Item,
    files::{roots, sheets_of},
    items,
    renamed_keys::entry,
    renamed_sheet::RenamedSheet,
};

/// A file that sheets begin with, by the graphs that they are about.
#[derive(Debug, Default)]
struct ContextFile {
    /// A sheet of the graph that has the key.
    own: Option<PathBuf>,
    /// A sheet of another graph.
    other: Option<PathBuf>,
}

/// Returns the files beside sheets that give a key which a change renames, and what must be said of those that stay as they are. `text` reads a
/// file.
pub(super) fn renamed_contexts(
    root: &Path,
    documents: &[Arc<Document>],
    change: &GraphChange,
    text: &impl Fn(&Path) -> Option<String>,
) -> (Vec<RenamedSheet>, Vec<String>) {
    let (mut renamed, mut notes) = (Vec::new(), Vec::new());
    let Some((old, new)) = &change.key else { return (renamed, notes) };
    let (mut files, mut unread) = (BTreeMap::<PathBuf, ContextFile>::new(), BTreeSet::new());
    for folder in roots(documents) {
        let graph = root.join(folder);
        for sheet in sheets_of(&graph) {
            for name in text(&sheet).map(|text| named_files(&text)).unwrap_or_default() {
                let is_own = folder == change.key_root;
                match inside(&graph, &sheet, &name) {
                    Ok(path) => {
                        let file = files.entry(path).or_default();
                        let of = if is_own { &mut file.own } else { &mut file.other };
                        of.get_or_insert_with(|| sheet.clone());
                    }
                    Err(reason) if is_own => drop(unread.insert((sheet.clone(), name, reason))),
                    Err(_) => {}
                }
            }
        }
    }
    let shown = |path: &Path| below(path, root).unwrap_or_else(|| path.display().to_string());
    notes.extend(unread.into_iter().map(|(sheet, name, reason)| {
        format!("`{}` begins with `{name}`, which cannot be read and is not changed: {reason}", shown(&sheet))
    }));
    for (path, of) in files {
        let Some(sheet) = of.own else { continue };
        let found = renamed_context(&path, root, old, new, text).and_then(|found| match (found, of.other) {
            (Some(_), Some(other)) => Err(format!("`{}` begins with it, too, and is about another graph", shown(&other))),
            (Some(file), _) if is_of_graph(documents, change, &file.path) => Err("it is a file of the graph".to_owned()),
            (found, _) => Ok(found),
        });
        match found {
            Ok(file) => renamed.extend(file),
            Err(reason) => notes.push(format!("`{}`, with which `{}` begins, is not changed: {reason}", shown(&path), shown(&sheet))),
        }
    }
    (renamed, notes)
}

/// Returns whether a file is a node, or a library that the change is about anyway. What begins with `_`, or lies below, holds no nodes.
fn is_of_graph(documents: &[Arc<Document>], change: &GraphChange, path: &FilePath) -> bool {
    let is_hidden = path.split('/').any(|name| name.starts_with(['_', '.']));
    let is_known = documents.iter().any(|document| document.path == *path);
    is_known && !is_hidden || change.edits.iter().any(|edit| edit.place.path == *path)
}

/// The change of one file; `None` if it does not give the key.
fn renamed_context(
    path: &Path,
    root: &Path,
    old: &str,
    new: &str,
    text: &impl Fn(&Path) -> Option<String>,
) -> Result<Option<RenamedSheet>, String> {
    let written = text(path).ok_or("it cannot be read")?;
    let value = Value::from_json(&written).map_err(|error| error.to_string())?;
    let given = value.as_map().ok_or("it is no JSON mapping")?;
    if given.get(old).is_none() {
        return Ok(None);
    }
    if given.get(new).is_some() {
        return Err(format!("it gives `{new}` already"));
    }
    let range = entry(&written, old).ok_or_else(|| format!("the place of `{old}` is not found"))?;
    let path = below(path, root).ok_or("it lies outside the graph")?;
    Ok(Some(RenamedSheet { path: FilePath::from(path), edits: vec![(range, new.to_owned())], text: written }))
}

/// The files that a sheet names behind `$ context`.
fn named_files(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in items(text).unwrap_or_default() {
        let Item::Block(block) = item else { continue };
        if block.info.first().and_then(|word| BlockKind::named(word)) == Some(BlockKind::Transcript) {
            let values = text[block.range].lines().filter_map(|line| line.strip_prefix("$ context "));
            names.extend(values.filter(|value| !value.starts_with('{')).map(|value| value.trim_end().to_owned()));
        }
    }
    names
}

/// The file beside a sheet, which must lie inside its graph, as a path below the folder of the graph.
fn inside(graph: &Path, sheet: &Path, name: &str) -> Result<PathBuf, String> {
    let file = sheet.parent().unwrap_or(graph).join(name);
    let real = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
    let (file, real_graph) = (real(&file)?, real(graph)?);
    let rest = file.strip_prefix(&real_graph).map_err(|_| "it lies outside the graph".to_owned())?;
    Ok(graph.join(rest))
}

/// A path below the root, as the graph names it.
fn below(path: &Path, root: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.display().to_string().replace('\\', "/"))
}
