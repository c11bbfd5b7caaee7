//! Mistakes in tools and libraries at their definition, independent of their users.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{MAX_LIBRARY_DEPTH, Tools, folder};
use crate::{document_index::references, schemas::Schemas};
use trellis_base::{
    diagnostic::{Code, Diagnostic, near},
    span::Spanned,
};
use trellis_syntax::{
    document::{Content, Document},
    node::ToolRef,
};

impl Tools<'_> {
    /// Reports nameless tools, broken schemas, missing libraries and cycles, each where it is written.
    pub(super) fn check_definitions(&self, owner: &[u32], tooled: &[u32], schemas: &mut Schemas, found: &mut Vec<Diagnostic>) {
        let mut done = FxHashSet::default();
        for &index in tooled {
            let document = &self.documents[index as usize];
            for reference in references(document) {
                match reference {
                    ToolRef::Inline(syntax) => {
                        schemas.check_tool(&document.path, syntax, found);
                        if syntax.name.is_none() {
                            found.push(
                                Diagnostic::new(Code::NamelessTool, &document.path, syntax.span, "this tool has no `name`")
                                    .help("add `name: …`"),
                            );
                        }
                    }
                    ToolRef::Library(written) => {
                        let root = &self.roots[owner[index as usize] as usize];
                        match self.library(&written.value, folder(&document.path), root) {
                            None => found.push(self.missing_library(document, written)),
                            Some(library) => found.extend(self.no_library(document, written, library)),
                        }
                    }
                    ToolRef::Name(_) => {}
                }
            }
            self.find_cycle(index, owner, &mut Vec::new(), &mut done, found);
        }
    }

    /// Returns the finding about a node without tools, which cannot be a library; none for a file with mistakes, whose purpose is unknown.
    fn no_library(&self, document: &Document, written: &Spanned<Arc<str>>, library: u32) -> Option<Diagnostic> {
        let named = &self.documents[library as usize];
        // A hidden file that cannot be read has no other finding: it could be a draft.
        if matches!(named.content, Content::Broken) && trellis_syntax::is_hidden(&named.path) {
            let message = format!("`{}` cannot be read as a library", named.path);
            let help = "see what is wrong with it: as long as its name, or its folder's, begins with `_`, that is not told";
            return Some(Diagnostic::new(Code::MissingToolLibrary, &document.path, written.span, message).help(help));
        }
        let is_node = matches!(named.content, Content::Node(_)) && !named.has_errors();
        (is_node && references(named).next().is_none()).then(|| {
            let message = format!("`{}` is a node without `tools`, and no library", named.path);
            Diagnostic::new(Code::MissingToolLibrary, &document.path, written.span, message)
                .help("name a file that holds `tools`, or take this reference out")
        })
    }

    fn missing_library(&self, document: &Document, written: &Spanned<Arc<str>>) -> Diagnostic {
        let libraries = self.documents.iter().filter(|document| references(document).next().is_some()).map(|document| &*document.path);
        let bare = written.value.trim_start_matches("./").trim_start_matches('/');
        let near = near(bare, libraries);
        let found =
            Diagnostic::new(Code::MissingToolLibrary, &document.path, written.span, format!("there is no library `{}`", written.value));
        match near {
            // Only from the root does the written text equal the path.
            Some(near) if written.value.starts_with("./") => found.help(near.question()),
            near => found.meant(written.span, near, || "library references start at the root, `./` at this file".into()),
        }
    }

    /// Walks library references depth first; a library met while it is being resolved closes a cycle (language 5.2).
    fn find_cycle(&self, index: u32, owner: &[u32], open: &mut Vec<u32>, done: &mut FxHashSet<u32>, found: &mut Vec<Diagnostic>) {
        if done.contains(&index) {
            return;
        }
        open.push(index);
        let document = &self.documents[index as usize];
        for reference in references(document) {
            let ToolRef::Library(written) = reference else { continue };
            let root = &self.roots[owner[index as usize] as usize];
            let Some(next) = self.library(&written.value, folder(&document.path), root) else { continue };
            if let Some(at) = open.iter().position(|&library| library == next) {
                let names: Vec<String> =
                    open[at..].iter().chain([&next]).map(|&library| format!("`{}`", self.documents[library as usize].path)).collect();
                found.push(
                    Diagnostic::new(
                        Code::ToolCycle,
                        &document.path,
                        written.span,
                        format!("libraries include each other: {}", names.join(" → ")),
                    )
                    .help("take one of these references out, or move the shared tools into a third library"),
                );
                continue;
            }
            if open.len() < MAX_LIBRARY_DEPTH {
                self.find_cycle(next, owner, open, done, found);
            } else if !done.contains(&next) {
                let message = format!("libraries are nested more than {MAX_LIBRARY_DEPTH} deep");
                found.push(
                    Diagnostic::new(Code::ToolCycle, &document.path, written.span, message).help("refer to the inner libraries directly"),
                );
            }
        }
        open.pop();
        done.insert(index);
    }
}
