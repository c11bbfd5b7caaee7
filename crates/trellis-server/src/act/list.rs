//! Sessions by their heads, those that moved last first.

use std::sync::Arc;

use serde::Serialize;
use trellis_core::SessionId;
use trellis_host::store::{Head, Query, SessionStatus, Which};

use crate::{
    served::{Served, ServedGraph},
    trouble::Trouble,
};

/// Maximum number of heads that one page reads.
const MAX_LOOKED_AT: usize = 10_000;
/// The number of heads that are read from a store at once.
const PER_QUERY: usize = 512;

/// The sessions to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeadQuery {
    pub(crate) graph: Option<String>,
    pub(crate) standing: Option<StandingFilter>,
    pub(crate) node: Option<String>,
    /// The beginning of the name.
    pub(crate) id: Option<String>,
    pub(crate) began_after: Option<u64>,
    pub(crate) moved_after: Option<u64>,
    pub(crate) limit: usize,
    /// The last one of the page before: the moment that it moved, its graph and its name.
    pub(crate) after: Option<(u64, String, String)>,
}

/// The status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandingFilter {
    /// It has not ended.
    Open,
    /// Exactly this.
    Is(SessionStatus),
}

/// A session as lists have it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HeadView {
    session: SessionId,
    graph: Arc<str>,
    program: Arc<str>,
    /// The number of the record that comes next.
    seq: u64,
    began: u64,
    at: u64,
    node: String,
    standing: &'static str,
    due: Option<u64>,
    /// True if the program was not edited since.
    fits: bool,
}

/// A head as lists have it.
fn head_view(graph: &ServedGraph, head: Head) -> HeadView {
    let now = graph.now().program;
    HeadView {
        fits: now.is_some_and(|program| *program.fingerprint() == head.program),
        session: head.session,
        graph: Arc::clone(&graph.name),
        program: head.program,
        seq: head.next,
        began: head.began,
        at: head.at,
        node: head.node.to_string(),
        standing: head.standing.as_str(),
        due: head.due,
    }
}

/// A page of heads, and the place behind it; `None` if it is the last page.
pub(crate) type HeadPage = (Vec<HeadView>, Option<(u64, String, String)>);

/// Lists sessions of one graph, or of all. A page may be short and have a next one.
///
/// # Errors
/// There is no such graph, or a store fails.
pub(crate) async fn list(served: &Served, query: HeadQuery) -> Result<HeadPage, Trouble> {
    let graphs: Vec<&Arc<ServedGraph>> = match &query.graph {
        Some(name) => vec![served.graph(Some(name))?],
        None => served.all().collect(),
    };
    // The graphs are merged by moment; of one moment, by graph, then by name.
    let mut sources = Vec::new();
    for graph in graphs {
        sources.push(HeadSource::new(graph, query.after.as_ref()));
    }
    let (mut items, mut last, mut looked_at) = (Vec::new(), None, 0);
    loop {
        let mut best: Option<usize> = None;
        for at in 0..sources.len() {
            sources[at].fill().await?;
            let Some(head) = sources[at].front() else { continue };
            let is_better = best.and_then(|best| sources[best].front()).is_none_or(|other| head.at > other.at);
            if is_better {
                best = Some(at);
            }
        }
        let Some(best) = best else { return Ok((items, None)) };
        if items.len() >= query.limit || looked_at >= MAX_LOOKED_AT {
            return Ok((items, last));
        }
        let Some(head) = sources[best].page.pop_front() else { return Ok((items, last)) };
        let graph = sources[best].graph;
        looked_at += 1;
        last = Some((head.at, graph.name.to_string(), head.session.to_string()));
        if query.admits(&head) {
            items.push(head_view(graph, head));
        }
    }
}

/// Returns the number of open sessions of a graph, among those that moved last.
///
/// # Errors
/// The store fails.
pub(crate) async fn count_open(graph: &Arc<ServedGraph>) -> Result<usize, Trouble> {
    let (mut source, mut open, mut looked_at) = (HeadSource::new(graph, None), 0, 0);
    loop {
        source.fill().await?;
        if source.page.is_empty() || looked_at >= MAX_LOOKED_AT {
            return Ok(open);
        }
        looked_at += source.page.len();
        open += source.page.drain(..).filter(|head| !head.standing.has_ended()).count();
    }
}

/// Returns the heads of those sessions that exist.
///
/// # Errors
/// The store fails.
pub(crate) async fn heads(graph: &ServedGraph, ids: &[SessionId]) -> Result<Vec<HeadView>, Trouble> {
    let stored = graph.store().load(ids).await?;
    Ok(stored.into_iter().flatten().map(|stored| head_view(graph, stored.head)).collect())
}

/// The heads of one graph, page by page.
struct HeadSource<'s> {
    graph: &'s Arc<ServedGraph>,
    page: std::collections::VecDeque<Head>,
    after: Option<(u64, SessionId)>,
    is_done: bool,
}

impl<'s> HeadSource<'s> {
    fn new(graph: &'s Arc<ServedGraph>, after: Option<&(u64, String, String)>) -> Self {
        let after = after.map(|(at, name, id)| {
            // Of that moment, a graph before the one of the cursor was listed whole, one behind it not at all.
            match (*graph.name).cmp(name.as_str()) {
                std::cmp::Ordering::Less => (*at, SessionId::from("\u{10ffff}")),
                std::cmp::Ordering::Equal => (*at, SessionId::from(id.as_str())),
                std::cmp::Ordering::Greater => (*at, SessionId::from("")),
            }
        });
        Self { graph, page: std::collections::VecDeque::new(), after, is_done: false }
    }

    fn front(&self) -> Option<&Head> {
        self.page.front()
    }

    async fn fill(&mut self) -> Result<(), Trouble> {
        if !self.page.is_empty() || self.is_done {
            return Ok(());
        }
        let graph = Some(Arc::clone(&self.graph.name));
        let page = self.graph.store().list(Query { graph, which: Which::Newest, after: self.after.take(), limit: PER_QUERY }).await?;
        self.is_done = page.len() < PER_QUERY;
        self.after = page.last().map(|head| (head.at, head.session.clone()));
        self.page = page.into();
        Ok(())
    }
}

impl HeadQuery {
    fn admits(&self, head: &Head) -> bool {
        let is_standing = match self.standing {
            None => true,
            Some(StandingFilter::Open) => !head.standing.has_ended(),
            Some(StandingFilter::Is(standing)) => head.standing == standing,
        };
        is_standing
            && self.node.as_ref().is_none_or(|node| head.node.as_str() == node)
            && self.id.as_ref().is_none_or(|id| head.session.as_str().starts_with(&**id))
            && self.began_after.is_none_or(|began| head.began > began)
            && self.moved_after.is_none_or(|moved| head.at > moved)
    }
}
