//! Edits of a project in memory: one file is parsed, and nothing is listed or read.

use std::sync::Arc;

use trellis_core::{Dialect, Source, diagnostic::FilePath, syntax::document::Bytes};

use crate::{
    FILE_LIMIT, Project,
    loader::{file_name, folder, is_graph_file},
    parse::Parsed,
    project::{PROJECT_FILE, documents},
};

impl Project {
    /// Gives files another text, or takes them out where it is `None`. Only these files are parsed, and those whose template dialect they
    /// decide. Returns the files that are not as they were, sorted. Paths that no file of a graph has are left out.
    ///
    /// The loader does not see the edits, and a later [`Project::reload`] returns to its texts, so an editor gives them to an [`crate::Overlay`] too.
    pub fn edit(&mut self, edits: &[(FilePath, Option<&str>)]) -> Vec<FilePath> {
        let mut changed = Vec::new();
        // Project files first, since they name the dialect of others.
        let (projects, others): (Vec<_>, Vec<_>) =
            edits.iter().filter(|(path, _)| is_graph_file(path)).partition(|(path, _)| file_name(path) == PROJECT_FILE);
        for (path, text) in projects {
            let before = self.dialect_below(folder(path));
            self.replace(path, *text, &mut changed);
            if self.dialect_below(folder(path)) != before {
                self.parse_below(folder(path), &mut changed);
            }
        }
        for (path, text) in others {
            self.replace(path, *text, &mut changed);
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Parses one file, or takes it out.
    fn replace(&mut self, path: &FilePath, text: Option<&str>, changed: &mut Vec<FilePath>) {
        let found = self.documents.binary_search_by(|document| document.path.cmp(path));
        let Some(text) = text else {
            if self.files.remove(path).is_some() {
                changed.push(FilePath::clone(path));
            }
            if let Ok(at) = found {
                self.documents.remove(at);
            }
            return;
        };
        let dialect = if file_name(path) == PROJECT_FILE { Dialect::default() } else { self.dialect_below(folder(path)) };
        let parsed = Parsed::of(source(path, text), dialect, self.loader.is_file(), self.files.get(path));
        let document = Arc::clone(&parsed.document);
        let before = self.files.insert(FilePath::clone(path), parsed);
        if before.is_some_and(|before| Arc::ptr_eq(&before.document, &document)) {
            return;
        }
        changed.push(FilePath::clone(path));
        match found {
            Ok(at) => self.documents[at] = document,
            Err(at) => self.documents.insert(at, document),
        }
    }

    /// The dialect that holds in a folder: that of the nearest project file.
    fn dialect_below(&self, mut here: &str) -> Dialect {
        loop {
            let path = if here.is_empty() { PROJECT_FILE.to_owned() } else { format!("{here}/{PROJECT_FILE}") };
            match self.files.get(path.as_str()) {
                Some(file) => return file.document.dialect().map(|named| named.value).unwrap_or_default(),
                None if here.is_empty() => return Dialect::default(),
                None => here = folder(here),
            }
        }
    }

    /// Parses the files below a folder again, after its dialect changed.
    fn parse_below(&mut self, root: &str, changed: &mut Vec<FilePath>) {
        let is_below = |path: &str| root.is_empty() || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        let below: Vec<FilePath> = self.files.keys().filter(|path| is_below(path) && file_name(path) != PROJECT_FILE).cloned().collect();
        for path in below {
            let dialect = self.dialect_below(folder(&path));
            let Some(known) = self.files.get(&path).filter(|known| known.is_text()) else { continue };
            let text = Arc::clone(&known.document.text);
            let parsed = Parsed::of(source(&path, &text), dialect, self.loader.is_file(), Some(known));
            if !Arc::ptr_eq(&parsed.document, &known.document) {
                changed.push(FilePath::clone(&path));
                self.files.insert(path, parsed);
            }
        }
        self.documents = documents(&self.files);
    }
}

/// A text as a loader would hand it over: one that is too large is not read.
fn source(path: &FilePath, text: &str) -> Source {
    let size = text.len() as u64;
    match size > FILE_LIMIT {
        true => Source { path: FilePath::clone(path), bytes: Bytes::TooLarge { size, limit: FILE_LIMIT } },
        false => Source::text(FilePath::clone(path), text),
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::{Code, Document, compile::Compiler};

    use super::*;
    use crate::Memory;

    fn codes(project: &Project) -> Vec<Code> {
        project.compile().diagnostics.iter().map(|found| found.code).collect()
    }

    fn document(project: &Project, path: &str) -> Arc<Document> {
        Arc::clone(project.documents().iter().find(|document| *document.path == *path).expect("it is there"))
    }

    #[test]
    fn an_edit_parses_one_file_and_comes_to_what_a_reload_does() {
        let files = [("start.md", "---\nto: end\n---\n"), ("end.md", "---\n---\nbye\n")];
        let mut project = Project::with_loader(files.into_iter().collect::<Memory>()).unwrap();
        let start = document(&project, "start.md");
        assert_eq!(project.edit(&[("end.md".into(), Some("---\nto: [\n---\n"))]), ["end.md".into()]);
        assert_eq!(codes(&project), [Code::YamlSyntax]);
        assert!(Arc::ptr_eq(&start, &document(&project, "start.md")));
        assert!(project.edit(&[("end.md".into(), Some("---\nto: [\n---\n"))]).is_empty(), "nothing changed");

        let edits = [("end.md".into(), None), ("more/new.md".into(), Some("---\n---\n")), ("picture.png".into(), Some("x"))];
        assert_eq!(project.edit(&edits), ["end.md", "more/new.md"].map(FilePath::from));
        let now = [("start.md", "---\nto: end\n---\n"), ("more/new.md", "---\n---\n")];
        let fresh = Project::with_loader(now.into_iter().collect::<Memory>()).unwrap();
        assert_eq!(project.compile().diagnostics, fresh.compile().diagnostics);
        assert!(project.documents().is_sorted_by(|one, other| one.path < other.path));
    }

    #[test]
    fn a_project_file_decides_the_dialect_of_the_files_below_it() {
        let files = [
            ("start.md", "---\ninput_type: text\nsave_to: name\nto: sub/greet\n---\nName?\n"),
            ("sub/greet.md", "---\n---\nHello {{ .name }}\n"),
        ];
        let mut project = Project::with_loader(files.into_iter().collect::<Memory>()).unwrap();
        assert_eq!(codes(&project), [Code::TemplateSyntax]);
        let changed = project.edit(&[("trellis.yaml".into(), Some("templates: go\n"))]);
        assert_eq!(changed, ["start.md", "sub/greet.md", "trellis.yaml"].map(FilePath::from));
        assert_eq!(codes(&project), []);
        project.edit(&[("trellis.yaml".into(), None)]);
        assert_eq!(codes(&project), [Code::TemplateSyntax]);
    }

    #[test]
    fn a_snapshot_is_not_edited() {
        let mut project = Project::with_loader([("start.md", "---\nto: [\n---\n")].into_iter().collect::<Memory>()).unwrap();
        let before = project.snapshot();
        project.edit(&[("start.md".into(), Some("---\n---\n"))]);
        let mut compiler = Compiler::default();
        assert_eq!(before.recompile(&mut compiler).diagnostics.len(), 1);
        assert!(project.snapshot().recompile(&mut compiler).diagnostics.is_empty());
    }
}
