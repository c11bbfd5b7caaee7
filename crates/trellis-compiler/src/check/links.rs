//! `broken-link`: a relative link to a Markdown file that is not there.

use std::sync::Arc;

use super::super::names::at_path;
use trellis_base::diagnostic::{Code, Diagnostic, nearest};
use trellis_syntax::document::{Content, Document};

/// Broken links that get a suggestion, as far as it takes comparing names.
const MAX_LINK_COMPARISONS: usize = 2_000_000;

/// Checks the documents in `linking`.
pub(super) fn check(documents: &[Arc<Document>], linking: &[u32], found: &mut Vec<Diagnostic>) {
    let mut patience = MAX_LINK_COMPARISONS;
    for document in linking.iter().map(|&at| &documents[at as usize]) {
        let Content::Node(node) = &document.content else { continue };
        for link in &node.links {
            let target = follow(&document.path, &link.value);
            if target.as_ref().is_some_and(|target| at_path(documents, target).is_some()) {
                continue;
            }
            let known = documents.iter().take(patience).map(|document| &*document.path);
            patience = patience.saturating_sub(documents.len());
            let near = nearest(target.as_deref().unwrap_or(&link.value), known);
            let message = format!("the link leads to `{}`, which is not there", link.value);
            let broken = Diagnostic::new(Code::BrokenLink, &document.path, link.span, message);
            found.push(match near {
                Some(near) => broken.help(format!("did you mean `{near}`?")),
                None => broken,
            });
        }
    }
}

/// The path that a relative link names; `None` if it leaves the graph.
fn follow(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
