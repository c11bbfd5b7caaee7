//! The secrets of graphs by name: those that are stored, and those that their files name. No value is asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Serialize;
use trellis_host::{
    Secrets,
    secrets::{named_by_host, named_in},
};

use crate::{
    served::{GraphVersion, Served},
    trouble::{Code, Trouble},
};

/// A secret of a graph.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ListedSecret {
    graph: Arc<str>,
    name: Arc<str>,
    /// The moment at which its value was stored, in milliseconds since 1970.
    set: Option<u64>,
    /// True if a file of the graph names it.
    is_named: bool,
    /// True if it is named and this host does not have it.
    is_missing: bool,
}

/// Every secret of one graph or of all, by graph and name.
///
/// # Errors
/// There is no such graph, or a vault cannot be read.
pub(crate) async fn secrets(served: &Served, graph: Option<&str>) -> Result<Vec<ListedSecret>, Trouble> {
    let graphs: Vec<_> = match graph {
        Some(name) => vec![served.graph(Some(name))?],
        None => served.all().collect(),
    };
    let mut found = Vec::new();
    for graph in graphs {
        let (name, secrets, named) = (Arc::clone(&graph.name), graph.source.assembly.secrets().clone(), named(&graph.now()));
        let listed = tokio::task::spawn_blocking(move || listed(&name, &secrets, &named)).await;
        let listed = listed.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
        found.extend(listed?);
    }
    Ok(found)
}

/// The names in the files of a version.
fn named(version: &GraphVersion) -> BTreeSet<Arc<str>> {
    let documents = version.documents.iter();
    documents.flat_map(|document| [named_in(document), named_by_host(document)].concat()).map(|(name, _)| name).collect()
}

fn listed(graph: &Arc<str>, secrets: &Secrets, named: &BTreeSet<Arc<str>>) -> Result<Vec<ListedSecret>, Trouble> {
    let stored = secrets.names();
    let stored = stored.map_err(|error| Trouble::new(Code::StoreUnavailable, "the vault cannot be read").logged(error.to_string()))?;
    let stored: BTreeMap<Arc<str>, u64> = stored.into_iter().map(|one| (one.name, one.set)).collect();
    let names: BTreeSet<&Arc<str>> = named.iter().chain(stored.keys()).collect();
    let listed = names.into_iter().map(|name| {
        let is_named = named.contains(name);
        let is_missing = is_named && secrets.find(name).is_err();
        ListedSecret { graph: Arc::clone(graph), name: Arc::clone(name), set: stored.get(name).copied(), is_named, is_missing }
    });
    Ok(listed.collect())
}
