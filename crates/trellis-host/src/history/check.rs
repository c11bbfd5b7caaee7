//! Every stored session against the graph as it is now, through [`Engine::adopt`]: before a deployment, or after it.
//!
//! Sessions come in pages, so that a hundred thousand of them need little memory, and each page is checked by several threads.
//!
//! **Invariant:** looking changes nothing; [`Check::apply`] appends its changes, unless another writer was faster.

use std::{num::NonZero, sync::Arc, thread};

use trellis_core::{
    Engine, NodeId, SessionId,
    engine::{Blocker, ChangedCall, Moved},
};

use super::{HistoryError, Operator, Put};
use crate::{
    journal::Clock,
    session::{Fitted, fit},
    store::{HEADS_PER_PAGE, Head, Query, SessionStatus, SessionStore, Snapshot, StoreError, Stored, Which, lacking},
};

/// Sessions below which another thread costs more than it saves.
const SHARE: usize = 64;

/// The effect of the current graph on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditVerdict {
    /// It has ended: nothing can happen to it.
    Ended,
    /// It continues at its node.
    GoesOn,
    /// It continues, but elsewhere, or by entering its node again.
    Elsewhere {
        /// The node.
        to: NodeId,
        /// The reason.
        why: Moved,
    },
    /// It certainly needs keys from here on that it does not have.
    Lacks {
        /// The keys.
        keys: Vec<String>,
    },
    /// Its node makes another call now, or with other arguments: a decision is needed when it is resumed.
    CallChanged {
        /// The call that is pending.
        pending: Arc<str>,
        /// The call that the node makes now.
        now: Arc<str>,
    },
    /// It cannot continue.
    Stuck {
        /// The node that cannot be entered; `None` for another reason.
        node: Option<NodeId>,
        /// The reason.
        why: String,
    },
    /// Its stored form cannot be read.
    Unreadable {
        /// The unreadable part, and the reason.
        error: StoreError,
    },
    /// It walks another graph.
    OtherGraph,
}

impl EditVerdict {
    /// As JSON has it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::GoesOn => "goes_on",
            Self::Elsewhere { .. } => "elsewhere",
            Self::Lacks { .. } => "lacks_keys",
            Self::CallChanged { .. } => "call_changed",
            Self::Stuck { .. } => "stuck",
            Self::Unreadable { .. } => "unreadable",
            Self::OtherGraph => "other_graph",
        }
    }

    /// Returns whether the session continues without any action.
    pub fn is_fine(&self) -> bool {
        matches!(self, Self::Ended | Self::GoesOn | Self::Elsewhere { .. } | Self::OtherGraph)
    }
}

/// One session, and the effect of the graph on it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checked {
    /// Its head: its node, the time of its last move, and the program of that move.
    pub head: Head,
    /// The verdict about it.
    pub verdict: EditVerdict,
    /// The state to which it would move, if any.
    moved: Option<Box<(Stored, Snapshot, Fitted)>>,
}

impl Checked {
    /// Returns whether the graph was edited since the session's last move.
    pub fn is_edited(&self, engine: &Engine) -> bool {
        self.head.program != *engine.inspect().fingerprint()
    }
}

/// Checks stored sessions, a page at a time.
#[derive(Debug)]
pub struct Check<'s> {
    store: &'s dyn SessionStore,
    engine: &'s Engine,
    graph: Arc<str>,
    after: Option<(u64, SessionId)>,
    is_done: bool,
}

impl<'s> Check<'s> {
    /// Creates a check of all sessions of a store, those of other graphs than `graph` only by their names.
    pub fn new(store: &'s dyn SessionStore, engine: &'s Engine, graph: &str) -> Self {
        Self { store, engine, graph: graph.into(), after: None, is_done: false }
    }

    /// The next page, those that moved last first; an empty one is the end.
    ///
    /// # Errors
    /// The store fails.
    pub async fn page(&mut self) -> Result<Vec<Checked>, StoreError> {
        if self.is_done {
            return Ok(Vec::new());
        }
        let query = Query { graph: None, which: Which::Newest, after: self.after.take(), limit: HEADS_PER_PAGE };
        let heads = self.store.list(query).await?;
        self.is_done = heads.len() < HEADS_PER_PAGE;
        self.after = heads.last().map(|head| (head.at, head.session.clone()));
        let is_live = |head: &Head| head.graph == self.graph && !head.standing.has_ended() || head.standing == SessionStatus::Unreadable;
        let ids: Vec<_> = heads.iter().filter(|head| is_live(head)).map(|head| head.session.clone()).collect();
        let mut loaded = self.loaded(&ids).await?.into_iter();
        let mut found = Vec::with_capacity(heads.len());
        for head in heads {
            let known = match is_live(&head) {
                true => match loaded.next() {
                    Some(Ok(Some(stored))) if stored.head.graph == self.graph => Ok(stored),
                    Some(Ok(Some(_))) => Err(EditVerdict::OtherGraph),
                    Some(Err(error)) => Err(EditVerdict::Unreadable { error }),
                    // It was removed since it was listed.
                    Some(Ok(None)) | None => continue,
                },
                false if head.graph != self.graph => Err(EditVerdict::OtherGraph),
                false => Err(EditVerdict::Ended),
            };
            found.push((head, known));
        }
        Ok(self.judged(found))
    }

    /// Loads stored sessions, one by one if one of them cannot be loaded.
    async fn loaded(&self, ids: &[SessionId]) -> Result<Vec<Result<Option<Stored>, StoreError>>, StoreError> {
        match self.store.load(ids).await {
            Ok(stored) => return Ok(stored.into_iter().map(Ok).collect()),
            Err(error @ StoreError::Unavailable { .. }) => return Err(error),
            Err(_) => {}
        }
        let mut loaded = Vec::with_capacity(ids.len());
        for id in ids {
            loaded.push(self.store.load(std::slice::from_ref(id)).await.map(|mut stored| stored.pop().flatten()));
        }
        Ok(loaded)
    }

    /// Judges sessions on a number of threads that pays off.
    fn judged(&self, found: Vec<(Head, Result<Stored, EditVerdict>)>) -> Vec<Checked> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(found.len() / SHARE + 1);
        let share = found.len().div_ceil(threads).max(1);
        let mut found = found.into_iter();
        let shares: Vec<Vec<_>> = std::iter::repeat_with(|| found.by_ref().take(share).collect()).take(threads).collect();
        thread::scope(|scope| {
            let judge = |share: Vec<_>| share.into_iter().map(|(head, stored)| judged(self.engine, head, stored)).collect::<Vec<_>>();
            let mut shares = shares.into_iter();
            let first = shares.next();
            let others: Vec<_> = shares.map(|share| scope.spawn(move || judge(share))).collect();
            let mut checked = first.map(judge).unwrap_or_default();
            for other in others {
                checked.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            checked
        })
    }

    /// Moves a session to the place where it continues; `None` if it stays.
    ///
    /// # Errors
    /// It advanced meanwhile, or the store fails; nothing was changed.
    pub async fn apply(&self, checked: Checked, clock: Clock) -> Result<Option<Put>, HistoryError> {
        let Some(moved) = checked.moved else { return Ok(None) };
        let (stored, now, fitted) = *moved;
        Operator::new(self.store, self.engine, &self.graph, clock).reload(&stored, now, fitted).await.map(Some)
    }
}

fn judged(engine: &Engine, head: Head, stored: Result<Stored, EditVerdict>) -> Checked {
    let stored = match stored {
        Ok(stored) => stored,
        Err(verdict) => return Checked { head, verdict, moved: None },
    };
    let now = match Snapshot::asked_by(engine.inspect(), &stored) {
        Ok(now) => now,
        Err(error) => return Checked { head, verdict: EditVerdict::Unreadable { error }, moved: None },
    };
    // It may have advanced since it was listed.
    let head = stored.head.clone();
    // It asks for redacted values before anything else.
    let keys = lacking(&now.state);
    if !keys.is_empty() {
        return Checked { head, verdict: EditVerdict::Lacks { keys }, moved: None };
    }
    match fit(engine, &now, ChangedCall::Blocks) {
        Ok(fitted) => match &fitted.moved {
            None => Checked { head, verdict: EditVerdict::GoesOn, moved: None },
            Some((_, why)) => {
                let verdict = EditVerdict::Elsewhere { to: fitted.state.current_node_id.clone(), why: *why };
                Checked { head, verdict, moved: Some(Box::new((stored, now, fitted))) }
            }
        },
        Err((_, blockers)) => Checked { head, verdict: blocked(blockers), moved: None },
    }
}

/// Returns the most serious blocker.
fn blocked(blockers: Vec<Blocker>) -> EditVerdict {
    let mut verdicts: Vec<_> = blockers.into_iter().map(verdict).collect();
    let gravity = |verdict: &EditVerdict| match verdict {
        EditVerdict::Stuck { .. } => 2,
        EditVerdict::Lacks { .. } => 1,
        _ => 0,
    };
    verdicts.sort_by_key(gravity);
    verdicts.pop().unwrap_or_else(|| EditVerdict::Stuck { node: None, why: "it does not fit".to_owned() })
}

fn verdict(blocker: Blocker) -> EditVerdict {
    match blocker {
        Blocker::MissingKeys(keys) => EditVerdict::Lacks { keys },
        Blocker::CallChanged { pending, now } => EditVerdict::CallChanged { pending, now },
        Blocker::NotEntered { node, message } => EditVerdict::Stuck { node: Some(node), why: message },
        Blocker::Version(version) => {
            EditVerdict::Stuck { node: None, why: format!("its state is of version {version}, which a newer version of trellis wrote") }
        }
    }
}
