//! Routes of approvals.

use axum::http::StatusCode;
use serde_json::json;
use trellis_host::wire::Call;

use super::{
    answer::Answered,
    ask::Ask,
    fields::{Fields, unknown},
};
use crate::{
    act::{self, Decision},
    trouble::Trouble,
};

pub(super) async fn list(ask: Ask) -> Answered {
    let mut items = Vec::new();
    for (graph, held) in act::approvals(&ask.app.served, ask.query("graph")).await? {
        let mut call = json!(Call::from(&*held.call));
        graph.redactions.hide(graph.store(), &held.session, &mut [&mut call]).await.map_err(Trouble::from)?;
        let why = held.call.approve.as_ref().and_then(|approval| approval.ask.clone());
        let mut item = json!({
            "session": held.session, "graph": graph.name, "call": call, "ask": why, "asked": held.asked, "due": held.due,
        });
        if let Some(child) = held.child {
            item["child"] = child.as_str().into();
        }
        items.push(item);
    }
    Ok(ask.list(items, None))
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
    let request = ask.request(false)?;
    let _flight = ask.fly(&request)?;
    match act::decide(target.clone(), ask.param("call"), decision, request, ask.wait()?.0).await {
        Ok(walked) => ask.turn(StatusCode::OK, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}
