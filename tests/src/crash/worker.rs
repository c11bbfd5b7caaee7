//! The process that is killed: it walks its sessions side by side, and writes down every turn that was acknowledged.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{Arc, Mutex},
};

use tokio::task::JoinSet;
use trellis_core::{Input, Mapping, SessionId, Start, Value};
use trellis_host::{
    Policy, Reply, SendError, Sessions, Stop, Turn,
    store::{SessionStore, StoreError},
};

use super::graph;

/// The number of payments of a session before it ends.
const PAYMENTS: i64 = 5;

/// Walks the sessions `s0` … to their ends, from wherever they are.
///
/// # Errors
/// The folder cannot be written, or a session cannot go on.
pub async fn work(store: Arc<dyn SessionStore>, folder: &Path, sessions: usize) -> io::Result<()> {
    let host = Sessions::new(graph::engine(), graph::bindings(folder)?)
        .map_err(io::Error::other)?
        .policy(Policy::default())
        .store(store, graph::NAME);
    let host = Arc::new(host);
    let acknowledged = OpenOptions::new().create(true).append(true).open(folder.join("acknowledged"))?;
    let acknowledged = Arc::new(Mutex::new(acknowledged));
    let mut walking = JoinSet::new();
    for n in 0..sessions {
        walking.spawn(walk(Arc::clone(&host), name(folder, n), Arc::clone(&acknowledged)));
    }
    while let Some(walked) = walking.join_next().await {
        walked.map_err(io::Error::other)?.map_err(io::Error::other)?;
    }
    Ok(())
}

/// The name of a session, which no other folder has: a store may hold those of many.
pub fn name(folder: &Path, n: usize) -> SessionId {
    let folder = folder.file_name().map(|name| name.to_string_lossy().replace('.', "")).unwrap_or_default();
    SessionId::new(format!("{folder}-s{n}"))
}

async fn walk(host: Arc<Sessions>, id: SessionId, acknowledged: Arc<Mutex<File>>) -> Result<(), SendError> {
    let context = Mapping::from_iter([("who", Value::text(id.as_str())), ("n", Value::Int(1))]);
    let begun = host.start(Start { session: Some(id.clone()), context, ..Start::default() }).await;
    let mut turn = match begun {
        Err(SendError::Exists(_)) => host.resume(&id).await,
        begun => begun,
    };
    loop {
        let reply = match &turn {
            // The store was away for a moment: the session is where it was stored.
            Err(SendError::Store(StoreError::Unavailable { .. } | StoreError::Conflict { .. })) => None,
            Err(error) => return Err(error.clone()),
            Ok(turn) => {
                acknowledge(&host, turn, &acknowledged);
                match reply(&host, turn) {
                    None => return Ok(()),
                    reply => reply,
                }
            }
        };
        turn = match reply {
            Some(reply) => host.send(&id, reply).await,
            None => host.resume(&id).await,
        };
    }
}

/// Writes down which records stand behind what a client was told.
fn acknowledge(host: &Sessions, turn: &Turn, acknowledged: &Mutex<File>) {
    let told = host.look(&turn.session, |session| (session.journal().next_seq(), session.state().step));
    let Some((next, step)) = told else { return };
    let line = format!("{} {next} {step}\n", turn.session);
    let mut file = acknowledged.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.write_all(line.as_bytes()).expect("the folder can be written");
}

/// Returns the reply of a person; `None` at the end.
fn reply(host: &Sessions, turn: &Turn) -> Option<Reply> {
    match &turn.stop {
        Stop::Ended(_) => None,
        Stop::Approve { call, .. } => Some(Reply::Approve { call: Some(call.id.clone()), yes: !call.id.as_str().ends_with('7') }),
        Stop::Ask { .. } => {
            let paid = host.look(&turn.session, |session| session.state().context.get("n").cloned()).flatten();
            let is_last = matches!(paid, Some(Value::Int(paid)) if paid > PAYMENTS);
            let unwinds = turn.session.as_str().ends_with(['3', '6']);
            let answer = if !is_last {
                "pay"
            } else if unwinds {
                "unwind"
            } else {
                "stop"
            };
            Some(Reply::Input(Input::Text(answer.into())))
        }
        stop => panic!("nobody can answer {stop:?}"),
    }
}
