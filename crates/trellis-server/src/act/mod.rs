//! Acts: the requests that a door can make, one verb per file. A request goes in, an outcome or trouble comes out.
//!
//! **Invariant:** no act knows a protocol; every door uses these.

mod approve;
mod at;
mod dead;
mod engine;
mod find;
mod fit;
mod list;
mod look;
mod pause;
mod ready;
mod records;
mod relocate;
mod remove;
mod replay;
mod search;
mod secrets;
mod send;
mod settle;
mod start;
mod target;

use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::{
    approve::{Decision, approvals, decide},
    at::state_at,
    dead::{drop_letter, letter, letters, retry},
    engine::{EngineInput, engine_navigate, engine_render, engine_signal, engine_start},
    find::node,
    fit::fit,
    list::{HeadQuery, StandingFilter, count_open, heads, list},
    look::{look, step},
    pause::{pause, pause_for_task},
    ready::ready,
    records::{RecordQuery, RecordRow, has_records, records, rows_since},
    relocate::{Relocation, fork, relocate},
    remove::remove,
    replay::{export, path, replay},
    search::search,
    secrets::secrets,
    send::{Answer, resume, send},
    settle::{SettleByHand, settle},
    start::{Beginning, new_name, start},
    target::{Target, Walked},
};

/// The longest time that is waited at once; a wait is longer than any turn takes then.
const MAX_WAIT: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Returns the moment after a wait from now.
pub(crate) fn deadline(wait: Duration) -> Instant {
    let wait = wait.min(MAX_WAIT);
    Instant::now().checked_add(wait).unwrap_or_else(Instant::now)
}
