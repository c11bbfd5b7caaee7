//! Spans of children: each lies under the call that began it (language 9.15).

use super::*;

const PROJECT: (&str, &str) = ("trellis.yaml", "bindings: {pay: {function: pay}}\n");
const END: (&str, &str) = ("end.md", "Done.\n");

/// The one span with this line.
fn span<'e>(all: &'e [Ended], line: &str) -> &'e Ended {
    let found: Vec<&Ended> = all.iter().filter(|ended| ended.line == line).collect();
    let [span] = found[..] else { panic!("{line}: {all:#?}") };
    span
}

#[test]
fn a_call_of_a_child_has_its_own_span_under_that_of_its_callers() {
    let start = ("start.md", "---\ndo: {graph: kid}\nto: end\non_error: end\n---\n");
    let kid = ("kid.md", "---\ndo: {graph: grandkid}\nto: end\non_error: end\n---\n");
    let grandkid = ("grandkid.md", "---\ndo: pay\nto: end\non_error: end\n---\n");
    let (stage, told) = told_of_spans(&[PROJECT, start, kid, grandkid, END]);
    let kept = Continued::default();
    let sessions = stage.sessions().hooks(Spans::new(kept.clone()));
    run(sessions.start(Start::default())).unwrap();
    drop(sessions);
    let all = kept.0.all(10);
    let pay = span(&all, "Call pay: success");
    assert_eq!(*told.lock().unwrap(), [format!("00-{:032x}-{:016x}-00", pay.trace, pay.id)], "{all:?}");
    // From the innermost call outwards: its visit, the call that began its child, the visit of that, and so on to the session.
    let mut above = Vec::new();
    let mut at = pay;
    while let Some(parent) = at.parent {
        at = all.iter().find(|ended| ended.id == parent).unwrap_or_else(|| panic!("{at:?} has no parent: {all:#?}"));
        above.push(at.line.as_str());
    }
    let expected = ["Visit grandkid", "Call graph: success", "Visit kid", "Call graph: success", "Visit start", "Session local: finished"];
    assert_eq!(above, expected);
    assert!(all.iter().all(|ended| ended.trace == pay.trace), "one trace for a tree");
}

#[test]
fn what_a_child_began_another_process_ends_under_the_same_names() {
    let start = ("start.md", "---\ndo: {parallel: {a: {graph: kid}, b: {graph: kid}}}\nto: end\non_error: end\n---\n");
    let kid = ("kid.md", "---\ndo: {name: pay, approve: true}\nto: end\non_error: end\n---\n");
    let (stage, _) = told_of_spans(&[PROJECT, start, kid, END]);
    let store = Arc::new(MemoryStore::new());
    let (before, after) = (Kept::default(), Kept::default());
    let seen = |kept: &Kept| {
        let sessions = stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph");
        sessions.hooks(Spans::new(kept.clone()))
    };
    let id = "local".into();
    let first = seen(&before);
    run(first.start(Start { session: Some(id), ..Start::default() })).unwrap();
    drop(first);
    assert_eq!(before.lines(1), ["Session local"], "everything else goes on elsewhere");
    let second = seen(&after);
    let id = "local".into();
    run(async {
        let mut turn = second.resume(&id).await.unwrap();
        for _ in 0..2 {
            turn = second.send(&turn.session, trellis_host::Reply::Approve { call: Some(approved(&turn)), yes: true }).await.unwrap();
        }
    });
    drop(second);
    let all = after.all(11);
    let (start, whole) = (span(&all, "Visit start"), span(&all, "Call parallel: success"));
    let session = span(&all, "Session local: finished");
    assert_eq!((whole.parent, start.parent), (Some(start.id), Some(session.id)), "{all:#?}");
    assert_eq!((session.parent, session.trace), (Some(before.all(1)[0].id), before.all(1)[0].trace));
    let pays: Vec<&Ended> = all.iter().filter(|ended| ended.line == "Call pay: success").collect();
    assert_eq!(pays.len(), 2, "{all:#?}");
    for pay in pays {
        let parent = |of: &Ended| all.iter().find(|ended| Some(ended.id) == of.parent).cloned();
        let visit = parent(pay).unwrap();
        let call = parent(&visit).unwrap();
        assert_eq!((visit.line.as_str(), call.line.as_str(), call.parent), ("Visit kid", "Call graph: success", Some(start.id)));
    }
}

#[test]
fn a_child_that_is_left_is_abandoned() {
    let start = ("start.md", "---\ndo: {graph: kid}\non_signal: {stop: end}\nto: end\non_error: end\n---\n");
    let kid = ("kid.md", "---\ndo: {name: pay, approve: true}\nto: end\non_error: end\n---\n");
    let (stage, _) = told_of_spans(&[PROJECT, start, kid, END]);
    let kept = Kept::default();
    let sessions = stage.sessions().hooks(Spans::new(kept.clone()));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        sessions.signal(&"local".into(), &"stop".into()).await.unwrap();
        sessions.resume(&"local".into()).await.unwrap();
    });
    drop(sessions);
    let lines = kept.lines(6);
    let expected =
        ["Call pay: abandoned", "Visit kid", "Call graph: abandoned", "Visit start !stop", "Visit end", "Session local: finished"];
    assert_eq!(lines, expected);
}

/// The call that a turn wants a decision about.
fn approved(turn: &trellis_host::Turn) -> trellis_core::id::CallId {
    match &turn.stop {
        trellis_host::Stop::Approve { call, .. } => call.id.clone(),
        stop => panic!("{stop:?}"),
    }
}
