//! `trellis/graph`: the picture of a graph, as `trellis graph` draws it, of the last link.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use trellis_core::draw::{self, Drawing, Format};

use crate::{state::ServerState, wire::Uri};

/// The parameters of a request.
#[derive(Deserialize)]
pub(super) struct DrawingParams {
    /// A file of the graph.
    uri: Uri,
    /// Modules that are one box; without it those that `trellis graph` collapses.
    collapsed: Option<BTreeSet<String>>,
    #[serde(default)]
    format: DrawingFormat,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DrawingFormat {
    #[default]
    Svg,
    Json,
}

/// Returns the picture, and whether it is one of an older text.
pub(super) fn draw(state: &mut ServerState, params: &DrawingParams) -> Option<Json> {
    let (graph, _) = state.graph(&params.uri)?;
    let program = graph.program()?;
    let text = match (&params.format, &params.collapsed) {
        (DrawingFormat::Json, _) => draw::draw(program, Format::Json),
        (DrawingFormat::Svg, None) => draw::draw(program, Format::Svg),
        (DrawingFormat::Svg, Some(collapsed)) => draw::picture_collapsed(&Drawing::new(program), None, collapsed.clone()),
    };
    Some(json!({ "text": text, "stale": !graph.is_linked() }))
}
