//! A session told again: its path, its steps taken once more, its transcript.

use serde_json::{Value as Json, json};
use trellis_core::SessionId;
use trellis_host::history::{self, History, hops, transcript};

use crate::{
    served::ServedGraph,
    trouble::{Code, Trouble},
};

/// The hops of a session, which a drawing shows.
///
/// # Errors
/// There is no such session, or the graph never had a program.
pub(crate) async fn path(graph: &ServedGraph, id: &SessionId) -> Result<Json, Trouble> {
    let program = graph.program()?;
    let history = History::open(graph.store(), id).await?;
    let first = history.records.first().map_or(0, |record| record.seq);
    let hops = hops(&program, &history);
    let hops: Vec<_> = hops.iter().map(|hop| json!({ "seq": hop.seq, "from": hop.from, "to": hop.to, "why": hop.on })).collect();
    Ok(json!({ "hops": hops, "first": first }))
}

/// Takes every recorded step again on the graph as it is.
///
/// # Errors
/// As [`path`].
pub(crate) async fn replay(graph: &ServedGraph, id: &SessionId) -> Result<Json, Trouble> {
    let engine = graph.engine()?;
    let history = History::open(graph.store(), id).await?;
    match history::replay(&engine, &history) {
        Ok(done) if done.records == 0 => Err(Trouble::new(Code::Lost, "the records are missing that say where it was")),
        Ok(done) => Ok(json!({
            "same": true, "records": done.records, "left_out": done.left_out, "redacted": done.redacted, "unchecked": done.unchecked,
        })),
        Err(divergence) => {
            let message = match graph.redactions.learned(graph.store(), id).await? {
                // It may be about anything of the first record and later.
                Some(redactor) => redactor.at(0).text(&divergence.message),
                None => divergence.message.clone(),
            };
            let (path, line) = divergence.at.as_ref().map(|(path, at)| (path, at.line)).unzip();
            let node = divergence.node.as_ref().map(ToString::to_string);
            Ok(json!({ "same": false, "record": divergence.moment, "node": node, "path": path, "line": line, "message": message }))
        }
    }
}

/// The transcript of a session.
///
/// # Errors
/// As for [`path`]; or the session cannot be printed.
pub(crate) async fn export(graph: &ServedGraph, id: &SessionId) -> Result<String, Trouble> {
    let engine = graph.engine()?;
    let history = graph.redactions.history(graph.store(), id, 0).await?;
    let announce = transcript(&engine, &history, None)?;
    Ok(announce.sheet(&id.to_string(), engine.inspect().documents(), &[]))
}
