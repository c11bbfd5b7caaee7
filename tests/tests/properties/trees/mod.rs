//! Trees of sessions: what the checker proves holds in parts and children too, and what is stored of a tree is sound after every record (language
//! 10.13, B).

mod graph;
mod same;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use trellis_core::{
    Engine, Predicates, SessionId,
    context_types::ContextTypes,
    state::{EndReason, State, Status},
};
use trellis_host::{
    Clock, Entry, Record, Session,
    journal::{fold, replay},
    store::Snapshot,
};
use trellis_tests::harness::{Loaded, run::guarded};

use self::walk::Walk;
use super::{rng::Rng, share::Share, walks::fails_on_data};

const GRAPHS: u64 = 2_500;
const WALKS: usize = 6;
const STEPS: usize = 60;

/// The results of the walks.
#[derive(Debug, Default)]
struct Seen {
    proved: u32,
    states: u32,
    states_of_children: u32,
    ended: u32,
    rolled_back: u32,
    left: u32,
    deepest: usize,
}

#[test]
fn what_is_proved_holds_in_children_and_what_is_stored_of_a_tree_is_sound() {
    let mut seen = Seen::default();
    let share = Share::of_today();
    for seed in share.of(GRAPHS) {
        let mut rng = Rng::new(seed);
        let files = graph::graph(&mut rng);
        let sources: Vec<_> = files.iter().map(|(path, text)| trellis_core::Source::text(path.as_str(), text.as_str())).collect();
        let loaded = guarded(|| Loaded::new(&sources)).unwrap_or_else(|panic| panic!("seed {seed}: {panic}\n{}", files[1].1));
        let is_needless = |code: &str| ["unreachable-node", "never-true", "unused-variable", "rollback-gap"].contains(&code);
        let compiled = &loaded.compiled;
        let is_proved = compiled.unchecked.is_empty() && compiled.diagnostics.iter().all(|found| is_needless(found.code.as_str()));
        let Some(program) = compiled.program.as_ref() else { continue };
        seen.proved += u32::from(is_proved);
        let types = ContextTypes::of(program);
        let engine = Engine::new(program.clone(), Predicates::new()).expect("there are no predicates");
        for _ in 0..WALKS {
            let mut walk = Walk::new(engine.clone());
            let walked = guarded(|| walked(&mut walk, &mut rng, &types, is_proved, &mut seen));
            walked.unwrap_or_else(|panic| panic!("seed {seed}: {panic}\n{}\n{}\n{}", files[0].1, files[1].1, walk.lines.join("\n")));
        }
    }
    println!("{seen:?}");
    assert!(seen.proved > share.least(25) && seen.states > share.least(10_000) && seen.states_of_children > share.least(5_000), "{seen:?}");
    assert!(
        seen.ended > share.least(500) && seen.rolled_back > share.least(50) && seen.left > share.least(50) && seen.deepest > 1,
        "{seen:?}"
    );
}

/// Walks one session; panics where something does not hold.
fn walked(walk: &mut Walk, rng: &mut Rng, types: &ContextTypes, is_proved: bool, seen: &mut Seen) {
    let mut children = BTreeSet::new();
    for _ in 0..STEPS {
        let before = walk.session.here().clone();
        let count = walk.session.journal().records().len();
        let goes_on = walk.step(rng);
        let here = walk.session.here();
        for (child, state) in states(here) {
            types.admit(state).unwrap_or_else(|problem| panic!("{child:?}: {problem}"));
            seen.states += 1;
            seen.states_of_children += u32::from(child.is_some());
            let ended = state.ended.as_ref().filter(|ended| is_proved && fails_on_data(ended));
            assert!(ended.is_none(), "{child:?}: {ended:?}");
        }
        let callers = here.children.keys().map(|child| here.tree().depth(child)).max();
        seen.deepest = seen.deepest.max(callers.unwrap_or(0));
        is_held_by_open_calls(&walk.session);
        stands_in_one_place(&before, here, &walk.session.journal().records()[count..]);
        for child in here.children.keys().filter(|child| !before.children.contains_key(*child)) {
            assert!(children.insert(child.clone()), "the name of {child} is that of two children");
        }
        if !goes_on {
            break;
        }
    }
    let records = walk.session.journal().records();
    seen.left += u32::from(records.iter().any(|record| matches!(record.entry, Entry::Leave { .. })));
    if let Some(ended) = &walk.session.state().ended {
        seen.ended += 1;
        seen.rolled_back += u32::from(ended.reason == EndReason::RolledBack);
    }
    folds(&walk.session, records);
}

fn states(here: &Snapshot) -> impl Iterator<Item = (Option<&SessionId>, &State)> {
    std::iter::once((None, &here.state)).chain(here.children.iter().map(|(id, child)| (Some(id), &child.here.state)))
}

/// No child lives whose caller does not wait for it.
fn is_held_by_open_calls(session: &Session) {
    for (id, child) in &session.here().children {
        let caller = session.caller_of(id);
        let open = session.open_calls(caller.as_ref());
        assert!(open.iter().any(|call| call.id == child.caller.call && call.id.as_str() == id.as_str()), "nobody waits for {id}");
        let of = caller.as_ref().unwrap_or(&session.state().session_id);
        assert_eq!(*of, child.caller.session);
    }
}

/// Returns the place of each effect that can be undone.
fn places(here: &Snapshot) -> BTreeMap<&str, Option<&SessionId>> {
    let mut places = BTreeMap::new();
    for (child, state) in states(here) {
        for effect in state.effects.undoable() {
            assert!(places.insert(effect.key.as_str(), child).is_none(), "the effect {} stands in two places", effect.key);
        }
    }
    places
}

/// An effect stays where it is, unless its session undoes it, finishes, or hands it to its caller.
fn stands_in_one_place(before: &Snapshot, here: &Snapshot, records: &[Record]) {
    let after = places(here);
    let finished: BTreeSet<&SessionId> = records
        .iter()
        .filter(|record| matches!(&record.entry, Entry::End { ended } if ended.reason == EndReason::Finished))
        .filter_map(|record| record.child.as_ref())
        .collect();
    for (key, place) in places(before) {
        let mut at = place;
        // A child that is gone gave it to whoever called it.
        while let Some(child) = at.filter(|child| !here.children.contains_key(*child)) {
            let ended = &before.children[child].here.state.ended;
            if finished.contains(child) || ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Finished) {
                return;
            }
            at = before.children.keys().find(|id| **id == before.children[child].caller.session);
        }
        let state = here.of_child(at).map(|here| &here.state).expect("it is alive");
        let undoes = matches!(state.status, Status::RollingBack | Status::Terminated);
        assert!(
            undoes || after.get(key) == Some(&at),
            "the effect {key} of {place:?} should stand at {at:?}, and stands at {:?}",
            after.get(key)
        );
    }
}

/// Every prefix of the records is a tree that can go on, the whole is what is in memory, and a replay comes to the same bytes.
fn folds(session: &Session, records: &[Record]) {
    let Entry::Start { state, .. } = &records[0].entry else { panic!("{:?}", records[0]) };
    let mut folded = Snapshot::beginning((**state).clone(), records[0].at);
    for (at, record) in records.iter().enumerate() {
        if at > 0 {
            folded.take(record);
        }
        let next = record.seq + 1;
        let mut resumed = Session::resume(session.engine().clone(), folded.clone(), next, Clock::fixed(1000));
        let children: Vec<Option<SessionId>> = folded.children.keys().cloned().map(Some).chain([None]).collect();
        for child in children.iter().filter(|child| folded.of_child(child.as_ref()).is_some()) {
            if let Err(error) = resumed.advance_in(child.as_ref()) {
                assert!(error.to_string().contains("passed through"), "after record {}: {error}", record.seq);
            }
        }
    }
    let json = |state: &State| serde_json::to_string(state).expect("a state is JSON");
    assert_eq!(json(&folded.state), json(session.state()));
    let children = |here: &Snapshot| here.children.iter().map(|(id, child)| (id.clone(), json(&child.here.state))).collect::<Vec<_>>();
    assert_eq!(children(&folded), children(session.here()));
    let (whole, again) = (fold(records).expect("records fold"), replay(session.engine(), records).expect("records replay"));
    assert_eq!(json(&whole), json(&again));
}
