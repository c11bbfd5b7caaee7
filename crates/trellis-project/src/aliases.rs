//! Files that a graph contains under several paths, because links lead to them: a mistake in their text is one mistake.
//!
//! Each path is a node of its own, so a finding about the node itself (its name or kind) is reported at each path.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{
    Code, Compiled, Document,
    diagnostic::{FilePath, Place},
    span::Span,
};

/// Reports each mistake in a text with several paths once, at the file itself where it is among them.
pub(crate) fn dedup_aliased(root: &Path, documents: &[Arc<Document>], compiled: &mut Compiled) {
    let text = |path: &FilePath| {
        let at = documents.binary_search_by(|document| document.path.cmp(path)).ok()?;
        Some(&*documents[at].text)
    };
    let mut files = RealPaths { root, known: BTreeMap::new() };
    let mut places: BTreeMap<(Code, Span), Vec<&Place>> = BTreeMap::new();
    for found in compiled.diagnostics.iter().filter(|found| !is_about_the_node(found.code)) {
        if let Some(place) = &found.place {
            places.entry((found.code, place.span)).or_default().push(place);
        }
    }
    let spans = compiled.unchecked.iter().map(|read| ((Code::UncheckedRead, read.place.span), &read.place));
    for (key, place) in spans {
        places.entry(key).or_default().push(place);
    }
    let mut again: Vec<(Code, Place)> = Vec::new();
    for ((code, _), alike) in places.into_iter().filter(|(_, alike)| alike.len() > 1) {
        // Files that differ are not one; so hardly any has to be asked for.
        let mut alike: Vec<(&str, &Place)> = alike.into_iter().filter_map(|place| Some((text(&place.path)?, place))).collect();
        alike.sort_by_key(|(text, place)| (text.len(), *text, &place.path));
        alike.dedup_by_key(|(_, place)| &place.path);
        for same in alike.chunk_by(|(one, _), (other, _)| one == other).filter(|same| same.len() > 1) {
            let mut one: BTreeMap<PathBuf, &Place> = BTreeMap::new();
            for (_, place) in same {
                let real = files.real(&place.path);
                let is_itself = real == root.join(&*place.path);
                match one.get(&real) {
                    None => drop(one.insert(real, place)),
                    Some(link) if is_itself => {
                        again.push((code, (*link).clone()));
                        one.insert(real, place);
                    }
                    Some(_) => again.push((code, (*place).clone())),
                }
            }
        }
    }
    let is_again = |code: Code, place: &Place| again.iter().any(|(known, at)| *known == code && at == place);
    if !again.is_empty() {
        compiled.diagnostics.retain(|found| !found.place.as_ref().is_some_and(|place| is_again(found.code, place)));
        compiled.unchecked.retain(|read| !is_again(Code::UncheckedRead, &read.place));
    }
}

/// Returns whether a finding is about the place of a node in the graph, not about its text.
fn is_about_the_node(code: Code) -> bool {
    matches!(code, Code::UnreachableNode | Code::EndlessLoop | Code::NoWayOut)
}

/// The real places of files, each looked up once.
struct RealPaths<'r> {
    root: &'r Path,
    known: BTreeMap<FilePath, PathBuf>,
}

impl RealPaths<'_> {
    /// Returns the real path, with links resolved; that of a vanished file is its written path.
    fn real(&mut self, path: &FilePath) -> PathBuf {
        let look = || {
            let written = self.root.join(&**path);
            fs::canonicalize(&written).unwrap_or(written)
        };
        self.known.entry(FilePath::clone(path)).or_insert_with(look).clone()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use crate::Project;

    /// Returns the findings in a graph of these files and links, as `path code`.
    fn found(files: &[(&str, &str)], links: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for (target, link) in links {
            let link = folder.path().join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target, link).unwrap();
        }
        let compiled = Project::open(folder.path()).unwrap().compile();
        let at = |place: &Option<trellis_core::diagnostic::Place>| place.as_ref().map_or_else(String::new, |place| place.path.to_string());
        let found = compiled.diagnostics.iter().map(|found| format!("{} {}", at(&found.place), found.code));
        (found.collect(), compiled.unchecked.iter().map(|read| read.place.path.to_string()).collect())
    }

    const START: (&str, &str) =
        ("start.md", "---\nwait: true\nsave_to: any\noptions: [{ text: A, to: a/x }, { text: B, to: b/x }]\nto: b/x\n---\n");

    #[test]
    fn what_is_wrong_with_a_text_is_said_once_at_the_file_itself() {
        let link = [("../b/x.md", "a/x.md")];
        for text in ["---\nto: nowhere\n---\n", "{{ any | uper }}", "---\nsav_to: x\n---\n"] {
            let (once, _) = found(&[START, ("b/x.md", text)], &link);
            assert_eq!(once.len(), 1, "{text}: {once:?}");
            assert!(once[0].starts_with("b/x.md "), "{once:?}");
        }
        assert_eq!(found(&[START, ("b/x.md", "{{ nmae }}")], &link).0.len(), 1, "what is never set is said where it is read first");
        let (_, unchecked) = found(&[START, ("b/x.md", "{{ any.size }}")], &link);
        assert_eq!(unchecked, ["b/x.md"]);
    }

    #[test]
    fn equal_files_are_two_and_so_is_what_is_wrong_with_them() {
        let (twice, _) = found(&[START, ("a/x.md", "{{ any | uper }}"), ("b/x.md", "{{ any | uper }}")], &[]);
        assert_eq!(twice, ["a/x.md unknown-filter", "b/x.md unknown-filter"]);
    }

    #[test]
    fn what_depends_on_the_place_of_a_node_is_said_where_it_is_so() {
        let files = [START, ("b/x.md", "---\nto: ./next\n---\n"), ("b/next.md", "Bye.")];
        assert_eq!(found(&files, &[("../b/x.md", "a/x.md")]).0, ["a/x.md unknown-target"]);
        let start = ("start.md", "Bye.");
        let (lonely, _) = found(&[start, ("b/x.md", "---\nend: failed\n---\n")], &[("../b/x.md", "a/x.md")]);
        assert_eq!(lonely, ["a/x.md unreachable-node", "b/x.md unreachable-node"]);
    }

    #[test]
    fn a_linked_folder_is_full_of_linked_files() {
        let (once, _) = found(&[START, ("b/x.md", "{{ any | uper }}")], &[("b", "a")]);
        assert_eq!(once, ["b/x.md unknown-filter"]);
    }
}
