//! The unread part of a graph, and the findings that must not be claimed because of it.

use std::{path::Path, sync::Arc};

use trellis_core::{Code, Compiled, Document};

use crate::{LoadError, aliases};

/// The part of a graph that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    Nothing,
    Files,
    /// A folder, so that the list of files is incomplete.
    Folders,
}

impl Unread {
    pub(crate) fn of(problems: &[LoadError]) -> Self {
        let is_unlisted = |problem: &LoadError| matches!(problem, LoadError::Unreadable { path, .. } if path.is_dir());
        match problems {
            [] => Self::Nothing,
            problems if problems.iter().any(is_unlisted) => Self::Folders,
            _ => Self::Files,
        }
    }

    /// Removes results that must not be claimed while a part of the graph is unread: the program, and findings about unknown names.
    pub(crate) fn apply(self, root: Option<&Path>, documents: &[Arc<Document>], mut compiled: Compiled) -> Compiled {
        if let Some(root) = root {
            aliases::dedup_aliased(root, documents, &mut compiled);
        }
        if self != Self::Nothing {
            compiled.program = None;
        }
        // A name may refer to a file in a folder that could not be listed.
        if self == Self::Folders {
            let lacks = [Code::UnknownTarget, Code::UnknownModule, Code::MissingToolLibrary, Code::UnknownTool, Code::UnreachableNode];
            compiled.diagnostics.retain(|found| !lacks.contains(&found.code));
        }
        compiled
    }
}
