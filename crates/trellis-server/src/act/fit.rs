//! Stored sessions against the current graph: the result of `session check`.

use serde::Serialize;
use trellis_host::history::{Check, EditVerdict};

use crate::{served::ServedGraph, trouble::Trouble};

/// The fit of a stored session to the current graph.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fit {
    session: String,
    node: String,
    /// The verdict about the session.
    verdict: String,
    /// True if it continues unchanged, or has ended.
    is_fine: bool,
    /// Keys that it lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
    /// The node where it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The reason why it cannot continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Every session of the graph that has not ended.
///
/// # Errors
/// The graph never had a program, or its store fails.
pub(crate) async fn fit(graph: &ServedGraph) -> Result<Vec<Fit>, Trouble> {
    let engine = graph.engine()?;
    let mut check = Check::new(graph.store(), &engine, &graph.name);
    let mut fits = Vec::new();
    loop {
        let page = check.page().await?;
        if page.is_empty() {
            return Ok(fits);
        }
        for checked in page {
            let mut fit = Fit {
                session: checked.head.session.to_string(),
                node: checked.head.node.to_string(),
                verdict: checked.verdict.as_str().to_owned(),
                is_fine: checked.verdict.is_fine(),
                keys: Vec::new(),
                to: None,
                why: None,
            };
            match checked.verdict {
                EditVerdict::Ended | EditVerdict::OtherGraph => continue,
                EditVerdict::GoesOn => {}
                EditVerdict::Elsewhere { to, .. } => fit.to = Some(to.to_string()),
                EditVerdict::Lacks { keys } => fit.keys = keys,
                EditVerdict::CallChanged { pending, now } => fit.why = Some(format!("`{pending}` is pending, the node calls `{now}` now")),
                EditVerdict::Stuck { why, .. } => fit.why = Some(why),
                EditVerdict::Unreadable { .. } => fit.why = Some("what is stored of it cannot be read".to_owned()),
            }
            fits.push(fit);
        }
    }
}
