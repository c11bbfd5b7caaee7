//! Checks that every graph can be run.

use trellis_host::store::{Query, Which};

use crate::{
    served::Served,
    trouble::{Code, Trouble},
};

/// Checks that every graph has a program and a store that responds.
///
/// # Errors
/// One has not, or the server stops.
pub(crate) async fn ready(served: &Served) -> Result<(), Trouble> {
    if served.is_stopping() {
        return Err(Trouble::new(Code::Stopping, Code::Stopping.title()));
    }
    for graph in served.all() {
        graph.program()?;
        graph.store().list(Query { graph: Some(graph.name.clone()), which: Which::Newest, after: None, limit: 1 }).await?;
    }
    Ok(())
}
