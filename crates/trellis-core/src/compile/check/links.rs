//! `broken-link`: a relative link to a Markdown file that is not there.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    diagnostic::{Code, Diagnostic, nearest},
    syntax::document::{Content, Document},
};

pub(super) fn check(documents: &[Arc<Document>], found: &mut Vec<Diagnostic>) {
    let linking = documents.iter().filter_map(|document| match &document.content {
        Content::Node(node) if !node.links.is_empty() => Some((document, node)),
        _ => None,
    });
    let mut paths: Option<FxHashSet<&str>> = None;
    for (document, node) in linking {
        let paths = paths.get_or_insert_with(|| documents.iter().map(|document| &*document.path).collect());
        for link in &node.links {
            let target = follow(&document.path, &link.value);
            if target.as_ref().is_some_and(|target| paths.contains(target.as_str())) {
                continue;
            }
            let mut known: Vec<&str> = paths.iter().copied().collect();
            known.sort_unstable();
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

/// The path that a relative link names, or nothing when it leaves the graph.
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
