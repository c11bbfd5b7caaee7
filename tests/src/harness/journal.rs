//! A walked session once more, as the host's [`Session`]: its journal must lead where the walk led, by folding too.

use std::fmt::Write as _;

use trellis_core::{State, state::Status};
use trellis_host::{Entry, Record, Session, journal::fold, session::Halt};

use super::transcript::Played;

/// The records of a session, a line each: `seq kind from → to`.
pub fn print(played: &Played) -> String {
    let mut out = String::new();
    match journaled(played) {
        Ok(session) => {
            for record in session.journal().records() {
                let from = record.from.as_ref().map(|from| format!(" {from}")).unwrap_or_default();
                let _ = writeln!(out, "{} {}{from} → {}", record.seq, kind(record), record.to);
            }
        }
        Err(error) => drop(writeln!(out, "- {error}")),
    }
    out
}

/// Returns the differences between the host's session and the walk.
pub fn flaws(played: &Played) -> Vec<String> {
    let Some(last) = played.records.last().map(|record| &record.after) else { return Vec::new() };
    if last.status == Status::Active || played.is_stored {
        return Vec::new(); // the walk stopped on its way, or no host can begin like it
    }
    let session = match journaled(played) {
        Ok(session) => session,
        Err(error) => return vec![error],
    };
    let mut flaws = Vec::new();
    if json(session.state()) != json(last) {
        flaws.push(format!("the host's session is elsewhere:\n  walk {}\n  host {}", json(last), json(session.state())));
    }
    match fold(session.journal().records()) {
        Ok(state) if json(&state) == json(last) => {}
        Ok(state) => flaws.push(format!("the journal folds to another state:\n  walk {}\n  fold {}", json(last), json(&state))),
        Err(error) => flaws.push(format!("the journal does not fold: {error}")),
    }
    flaws
}

/// The walk's inputs, handed to a session of the host.
fn journaled(played: &Played) -> Result<Session, String> {
    let clock = trellis_host::Clock::fixed(0);
    let start = Session::start(played.engine.clone(), played.start.clone(), played.begun.clone(), clock);
    let mut session = start.map_err(|error| format!("the host cannot start: {error}"))?;
    loop {
        let turn = session.advance();
        let is_moment = |record: &&Record| !matches!(record.entry, Entry::End { .. } | Entry::Dead { .. });
        let done = session.journal().records().iter().filter(is_moment).count();
        let next = played.records.get(done).map(|record| &record.moment);
        match turn {
            Ok(Halt::Said { .. } | Halt::Invalid(_)) => {}
            Ok(Halt::Predicate(asked)) => {
                let name = asked.name;
                let answer = next.and_then(|moment| moment.answers.get(&name)).copied();
                let answer = answer.ok_or_else(|| format!("the host asks for `{name}`, the walk did not"))?;
                session.answer(&name, answer).map_err(|error| format!("the host's session refuses: {error}"))?;
            }
            Ok(Halt::Ask(_) | Halt::Call(_) | Halt::Parts { .. } | Halt::Ended(_)) | Err(_) => match next {
                None => return Ok(session),
                Some(moment) => session.send(moment.input.clone()).map_err(|error| format!("the host's session refuses: {error}"))?,
            },
        }
    }
}

fn kind(record: &Record) -> String {
    match &record.entry {
        Entry::Start { .. } => "start".into(),
        Entry::Input { .. } => "input".into(),
        Entry::Result { .. } => "result".into(),
        Entry::Signal { signal } => format!("signal {signal}"),
        Entry::Context { .. } => "context".into(),
        Entry::Reload { .. } => "reload".into(),
        Entry::Blocked { .. } => "blocked".into(),
        Entry::Move { .. } => "move".into(),
        Entry::Approve { .. } => "approve".into(),
        Entry::Policy { decided, .. } => format!("policy {}", decided.decision),
        Entry::Late { .. } => "late".into(),
        Entry::Settle { .. } => "settle".into(),
        Entry::Leave { .. } => "leave".into(),
        Entry::Dead { letter } => format!("dead {} {}", letter.cause.as_str(), letter.tool),
        Entry::Settled { .. } => "settled".to_owned(),
        Entry::End { ended } => format!("end {}", ended.reason.as_str()),
        other => panic!("a kind of record that the harness does not know: {other:?}"),
    }
}

fn json(state: &State) -> String {
    serde_json::to_string(state).expect("a state is JSON")
}
