//! Routes of approvals.

use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use trellis_host::wire::{Call, PolicyDecision};

use super::{
    answer::Answered,
    ask::Ask,
    fields::{Fields, unknown},
};
use crate::{
    act::{self, Decision},
    served::Served,
    trouble::Trouble,
};

pub(super) async fn list(ask: Ask) -> Answered {
    let items = held(&ask.app.served, ask.query("graph")).await?;
    Ok(ask.list(items, None))
}

/// Returns the calls that wait for an approval, of one graph or of all, without secrets.
///
/// # Errors
/// There is no such graph, or a store fails.
pub(crate) async fn held(served: &Served, graph: Option<&str>) -> Result<Vec<Json>, Trouble> {
    let mut items = Vec::new();
    for (graph, held) in act::approvals(served, graph).await? {
        let mut call = json!(Call::from(&*held.call));
        let mut ask = json!(held.call.approve.as_ref().and_then(|approval| approval.ask.clone()));
        let mut why = json!(held.why.as_ref().map(|decided| PolicyDecision::new(held.call.id.clone(), decided)));
        graph.redactions.hide(graph.store(), &held.session, &mut [&mut call, &mut ask, &mut why]).await.map_err(Trouble::from)?;
        let mut item = json!({
            "session": held.session, "graph": graph.name, "call": call, "ask": ask, "asked": held.asked, "due": held.due, "seq": held.seq,
        });
        if !why.is_null() {
            item["why"] = why;
        }
        if let Some(child) = held.child {
            item["child"] = child.as_str().into();
        }
        items.push(item);
    }
    Ok(items)
}

pub(super) async fn decide(ask: Ask) -> Answered {
    let fields = ask.fields(&["decision", "because"])?;
    let yes = match &*Fields::needed("decision", fields.text("decision")?)? {
        "approve" => true,
        "deny" => false,
        other => return Err(unknown("decision", other, &["approve", "deny"]).at("/decision").into()),
    };
    let decision = Decision { yes, because: fields.text("because")? };
    let target = ask.target().await?;
    let request = ask.request(None)?;
    let _flight = ask.fly(&request)?;
    match act::decide(target.clone(), ask.param("call"), decision, request, ask.wait()?.0).await {
        Ok(walked) => ask.turn(StatusCode::OK, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}
