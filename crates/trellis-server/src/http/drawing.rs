//! The route of a graph: its nodes and edges, with their places, or as a drawing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use axum::{
    http::{HeaderValue, header},
    response::IntoResponse as _,
};
use base64::{display::Base64Display, prelude::BASE64_STANDARD};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use trellis_core::{
    Program,
    draw::{
        self, Drawing, Format,
        layout::{Direction, LayoutSettings},
    },
};

use super::{answer::Answered, ask::Ask, fields, graphs};
use crate::{
    served::ServedGraph,
    trouble::{Code, Trouble},
};

/// The content security policy of a picture: its own style sheet, and nothing else.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = Sha256::digest(draw::STYLE);
    let digest = Base64Display::new(&digest, &BASE64_STANDARD);
    let rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let policy = HeaderValue::from_str(&format!("default-src 'none'; style-src 'sha256-{digest}'; {rest}"));
    policy.unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

pub(super) async fn graph(ask: Ask) -> Answered {
    let graph = Arc::clone(graphs::named(&ask)?);
    let (program, is_sound) = (graph.program()?, graph.now().is_sound);
    let (direction, choice) = (direction(&ask)?, Choice::of(&ask));
    let text = move |text: String, kind| ([(header::CONTENT_TYPE, kind)], text).into_response();
    match ask.query("format") {
        None | Some("json") => {
            let tag = Arc::clone(program.fingerprint());
            let json = run_blocking(move || full(&graph, &program, is_sound, direction, choice)).await?;
            Ok(ask.tagged(&tag, json))
        }
        Some("svg") => {
            let picture = run_blocking(move || {
                let drawing = Drawing::new(&program);
                let settings = choice.settings(&drawing, direction.unwrap_or_default(), true);
                draw::picture(&drawing, &graph.layouts.of(&program, &drawing, &settings))
            });
            let mut response = text(picture.await?, "image/svg+xml");
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
            Ok(response)
        }
        Some("mermaid") => Ok(text(draw::draw(&program, Format::Mermaid), "text/plain; charset=utf-8")),
        Some("dot") => Ok(text(draw::draw(&program, Format::Dot), "text/plain; charset=utf-8")),
        Some(other) => Err(fields::unknown("format", other, &["json", "mermaid", "dot", "svg"]).into()),
    }
}

/// Does work that may take long on a thread where it blocks no request.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))
}

/// The graph as JSON, with places where a layout is asked for.
fn full(graph: &ServedGraph, program: &Program, is_sound: bool, direction: Option<Direction>, choice: Choice) -> Json {
    let mut json: Json = serde_json::from_str(&draw::draw(program, Format::Json)).unwrap_or_default();
    let drawing = Drawing::new(program);
    let mut modules = BTreeMap::<&str, Vec<&str>>::new();
    for node in drawing.spots.iter().filter(|spot| spot.at.is_some()) {
        modules.entry(node.module).or_default().push(&node.id);
    }
    let modules: Vec<_> = modules.into_iter().map(|(id, nodes)| json!({ "id": id, "nodes": nodes })).collect();
    json["name"] = (&*graph.name).into();
    json["program"] = (&**program.fingerprint()).into();
    json["status"] = graphs::status(is_sound).into();
    json["modules"] = modules.into();
    if let Some(direction) = direction {
        let settings = choice.settings(&drawing, direction, false);
        json["layout"] = json!(*graph.layouts.of(program, &drawing, &settings));
    }
    json
}

/// The modules that are one box each.
struct Choice {
    collapsed: Option<BTreeSet<String>>,
    expanded: BTreeSet<String>,
}

impl Choice {
    fn of(ask: &Ask) -> Self {
        let list = |name: &str| ask.query_list(name).map(|names| names.map(str::to_owned).collect());
        Self { collapsed: list("collapsed"), expanded: list("expanded").unwrap_or_default() }
    }

    fn settings(self, drawing: &Drawing<'_>, direction: Direction, has_labels: bool) -> LayoutSettings {
        let mut settings = LayoutSettings { direction, has_labels, ..LayoutSettings::for_drawing(drawing) };
        if let Some(collapsed) = self.collapsed {
            settings.collapsed = collapsed;
        }
        settings.collapsed.retain(|module| !self.expanded.contains(module));
        settings
    }
}

/// The direction of the layout, where one is asked for.
fn direction(ask: &Ask) -> Result<Option<Direction>, Trouble> {
    match ask.query("layout") {
        Some("down") => Ok(Some(Direction::Down)),
        Some("right") => Ok(Some(Direction::Right)),
        Some(other) => Err(fields::unknown("layout", other, &["down", "right"])),
        None => Ok(None),
    }
}
