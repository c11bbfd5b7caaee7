//! Document links: the files that targets, libraries, links of bodies and bindings name.

use serde_json::{Value as Json, json};

use crate::{state::ServerState, wire::DocumentLinkParams};

/// Returns the places that name a file which is there.
pub(super) fn links(state: &mut ServerState, params: &DocumentLinkParams) -> Option<Vec<Json>> {
    let encoding = state.encoding();
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let text = graph.text(&path)?.clone();
    let mut links = graph.index().links(&path);
    links.retain(|link| graph.document(&link.to).is_some() || graph.file(&link.to).is_file());
    let link = |link: &trellis_core::query::FileLink| json!({ "range": text.range(link.span, encoding), "target": graph.uri(&link.to) });
    Some(links.iter().map(link).collect())
}
