//! Routes of graphs: their descriptions and findings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{
    http::{StatusCode, header},
    response::IntoResponse as _,
};
use serde_json::{Value as Json, json};
use trellis_project::wire::{Diagnostic, Places, Report, Summary};

use super::{answer::Answered, ask::Ask, html};
use crate::{
    act,
    served::ServedGraph,
    trouble::{Code, Trouble},
};

pub(super) async fn list(ask: Ask) -> Answered {
    let mut held = BTreeMap::<Arc<str>, usize>::new();
    for (graph, _) in act::approvals(&ask.app.served, None).await? {
        *held.entry(Arc::clone(&graph.name)).or_default() += 1;
    }
    let mut items = Vec::new();
    for graph in ask.app.served.all() {
        let now = graph.now();
        let (errors, warnings) = numbers(&now.findings);
        let inputs = now.program.as_ref().and_then(|program| program.root().inputs.as_ref()).map(|inputs| inputs.source().to_json());
        let inputs: Option<Json> = inputs.and_then(|inputs| serde_json::from_str(&inputs).ok());
        let program = now.program.as_ref().map(|program| Arc::clone(program.fingerprint()));
        items.push(json!({
            "name": graph.name, "status": status(now.is_sound), "since": now.since, "program": program, "nodes": now.nodes,
            "errors": errors, "warnings": warnings, "inputs": inputs,
            "sessions": { "open": act::count_open(graph).await?, "held": held.get(&graph.name).copied().unwrap_or_default() },
        }));
    }
    let mut list = json!({ "items": items, "next": null });
    let extra: BTreeSet<_> = ask.app.extra.iter().map(super::ExtraRoute::path).collect();
    if !extra.is_empty() {
        // The additional routes, so that a page need not try them.
        list["extra"] = json!(extra);
    }
    Ok(ask.json(StatusCode::OK, list))
}

pub(super) fn status(is_sound: bool) -> &'static str {
    if is_sound { "sound" } else { "broken" }
}

pub(super) fn numbers(findings: &[trellis_core::Diagnostic]) -> (usize, usize) {
    let errors = findings.iter().filter(|found| found.is_error()).count();
    (errors, findings.len() - errors)
}

pub(super) fn named(ask: &Ask) -> Result<&Arc<ServedGraph>, Trouble> {
    let name = ask.param("graph");
    ask.app.served.graph(Some(name).filter(|name| !name.is_empty()))
}

pub(super) async fn node(ask: Ask) -> Answered {
    let found = act::node(named(&ask)?, ask.param("node"))?;
    let mut json = json!(found);
    json["html"] = html::of(&found.content).into();
    Ok(ask.json(StatusCode::OK, json))
}

pub(super) async fn diagnostics(ask: Ask) -> Answered {
    let graph = named(&ask)?;
    let json = report(graph);
    let tag = crate::digest::digest(&[json.to_string().as_bytes()]);
    Ok(ask.tagged(&tag, json))
}

/// The findings of a graph, as `check --format json` has them, with its status.
pub(crate) fn report(graph: &ServedGraph) -> Json {
    let now = graph.now();
    let places = Places::new(&now.documents, "");
    let found = now.findings.iter().map(|found| Diagnostic::new(found, &places)).collect();
    let (errors, warnings) = numbers(&now.findings);
    let report = Report::new(found, Summary::new(now.nodes, now.unchecked, errors, warnings));
    let mut json = json!(report);
    json["status"] = status(now.is_sound).into();
    json["since"] = now.since.into();
    json["sources"] = sources(&now.findings, &now.documents);
    json
}

/// Returns the texts of the files that findings are about, by path: a client that shows an excerpt needs them as they were checked.
fn sources(findings: &[trellis_core::Diagnostic], documents: &[Arc<trellis_core::Document>]) -> Json {
    let places = findings.iter().flat_map(|found| found.place.iter().chain(found.labels.iter().map(|label| &label.place)));
    let paths: BTreeSet<&str> = places.map(|place| &*place.path).collect();
    let texts = documents.iter().filter(|document| paths.contains(&*document.path));
    texts.map(|document| (document.path.to_string(), Json::from(&*document.text))).collect::<serde_json::Map<_, _>>().into()
}

pub(super) async fn search(ask: Ask) -> Answered {
    let found = act::search(named(&ask)?, ask.query("q").unwrap_or_default(), ask.limit()?)?;
    Ok(ask.list(found.into_iter().map(|found| json!(found)).collect(), None))
}

pub(super) async fn fit(ask: Ask) -> Answered {
    let fits = act::fit(named(&ask)?).await?;
    Ok(ask.list(fits.into_iter().map(|fit| json!(fit)).collect(), None))
}

pub(super) async fn reload(ask: Ask) -> Answered {
    ask.fields(&[])?;
    let graph = named(&ask)?;
    crate::live::reload(graph).await?;
    let program = graph.now().program.map(|program| Arc::clone(program.fingerprint()));
    let mut json = report(graph);
    json["program"] = json!(program);
    Ok(ask.json(StatusCode::OK, json))
}

pub(super) async fn explain(ask: Ask) -> Answered {
    let code = ask.param("code");
    let page = match (trellis_core::Code::named(code), Code::named(code)) {
        (Some(code), _) => code.page().to_owned(),
        (None, Some(code)) => code.page(),
        (None, None) => {
            let known = trellis_core::Code::ALL.iter().map(|code| code.as_str()).chain(Code::ALL.iter().map(|code| code.as_str()));
            let near = trellis_core::diagnostic::did_you_mean(code, known).map(|near| format!("; {near}")).unwrap_or_default();
            return Err(Trouble::new(Code::UnknownCode, format!("nothing has the code `{code}`{near}")).into());
        }
    };
    let accepts = ask.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("*/*");
    let accepts =
        |kind: &str| accepts.split(',').any(|accepted| accepted.split(';').next().is_some_and(|accepted| accepted.trim() == kind));
    if accepts("text/markdown") || accepts("*/*") || accepts("text/*") || accepts("text/plain") {
        return Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response());
    }
    if accepts("text/html") {
        return Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html::of(&page)).into_response());
    }
    Err(Trouble::new(Code::NotAcceptable, "a page is `text/markdown` or `text/html`").into())
}
