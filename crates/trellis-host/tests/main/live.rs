//! Graphs on disk that are edited while they run: a save that could not start is refused, and what waits goes on waiting.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use trellis_core::{Code, Predicates, SessionId, Start, Value};
use trellis_host::{
    Bindings, Policy, Reply, Stop, Unbound, Verdict,
    assembly::{Assembled, Assembly, LiveGraph, NotRunnable},
    interceptor::Intercepted,
    store::MemoryStore,
};

use crate::stage::run;

const SHOP: [(&str, &str); 5] = [
    ("trellis.yaml", "predicates: [is_open]\n"),
    ("start.md", "---\ntransitions: [{ condition: is_open, to: charge }, { to: closed }]\n---\n"),
    ("charge.md", "---\ntools: [{ name: charge }]\ndo: charge\nsave_to: id\nto: paid\n---\n"),
    ("paid.md", "---\noutput: \"{{ id }}\"\n---\nPaid.\n"),
    ("closed.md", "---\n---\nClosed.\n"),
];

/// Writes a file at once: no look finds half of it.
fn write(folder: &Path, path: &str, text: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file.persist(folder.join(path)).unwrap();
}

fn shop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    SHOP.iter().for_each(|(path, text)| write(folder.path(), path, text));
    folder
}

/// The shop as its host runs it: with a function, a predicate, and no client that could carry calls out.
fn open(folder: &Path, made: &Arc<AtomicUsize>) -> LiveGraph {
    let made = Arc::clone(made);
    let charge = move |bindings: Bindings| {
        let made = Arc::clone(&made);
        bindings.function("charge", move |_, _| {
            made.fetch_add(1, Ordering::Relaxed);
            Ok(Value::Int(7))
        })
    };
    let open = Predicates::new().with("is_open", |_| true);
    let assembly = Assembly::new().policy(Policy::new().unbound(Unbound::Fail)).asks_nobody(true).predicates(open).functions(charge);
    LiveGraph::open(folder, assembly).unwrap()
}

/// Saves a file, and returns what the graph is then.
fn save(graph: &mut LiveGraph, path: &str, text: &str) -> Assembled {
    write(&graph.live().root(), path, text);
    graph.next().unwrap().assembled.unwrap()
}

fn id() -> SessionId {
    SessionId::from("local")
}

#[test]
fn a_save_is_refused_exactly_if_a_start_would_be_and_the_last_good_program_goes_on() {
    let (folder, made) = (shop(), Arc::default());
    let mut graph = open(folder.path(), &made);
    let sessions = graph.assembly().sessions(graph.assemble().runnable.unwrap(), None).unwrap();
    let uncalled = "---\nset: { id: 1 }\nto: paid\n---\n";
    let unbound = "---\ntools: [{ name: charge }, { name: mail }]\ndo: { parallel: { a: { name: charge }, b: { name: mail } } }\nsave_to: id\nto: paid\n---\n";
    for (path, text) in [("charge.md", uncalled), ("charge.md", unbound), ("trellis.yaml", "predicates: [is_open, is_late]\n")] {
        let saved = save(&mut graph, path, text);
        let refused = saved.runnable.unwrap_err();
        let at_start = open(folder.path(), &made).assemble();
        assert_eq!(at_start.runnable.unwrap_err(), refused);
        let codes: Vec<_> = saved.findings.iter().map(|found| found.code).collect();
        assert_eq!(codes, at_start.findings.iter().map(|found| found.code).collect::<Vec<_>>());
        match refused {
            NotRunnable::Functions(unknown) => assert_eq!((text, unknown.names.len()), (uncalled, 1)),
            NotRunnable::Mistakes => assert_eq!((text, &codes[..]), (unbound, &[Code::UnboundTool][..])),
            NotRunnable::Unanswered(names) => assert_eq!((names.len(), &*names[0]), (1, "is_late")),
            other => panic!("{other}"),
        }
        let turn = run(sessions.start(Start { session: Some(text.len().to_string().as_str().into()), ..Start::default() })).unwrap();
        assert!(matches!(&turn.stop, Stop::Ended(ended) if ended.output == Some(Value::Int(7))), "{turn:?}");
        let (_, good) = SHOP.iter().find(|(known, _)| *known == path).unwrap();
        save(&mut graph, path, good).runnable.unwrap();
    }
}

#[test]
fn a_held_call_outlives_a_save_of_its_graph() {
    let (folder, made) = (shop(), Arc::default());
    let mut graph = open(folder.path(), &made);
    run(async {
        let sessions = graph.assembly().sessions(graph.assemble().runnable.unwrap(), None).unwrap();
        let hold = |_: Intercepted<'_>| Verdict::Hold { ask: Some("More than allowed?".to_owned()), expires: None };
        let sessions = sessions.store(Arc::new(MemoryStore::new()), "shop").interceptor(hold);
        sessions.start(Start::default()).await.unwrap();
        let saved = save(&mut graph, "paid.md", "---\noutput: \"{{ id }}\"\n---\nThank you.\n").runnable.unwrap();
        sessions.swap(saved.engine, saved.bindings).await.unwrap();
        let held = sessions.resume(&id()).await.unwrap();
        let asked = held.stop.held().and_then(|call| call.approve.as_ref()?.ask.as_deref());
        assert_eq!((asked, made.load(Ordering::Relaxed)), (Some("More than allowed?"), 0));
        let paid = sessions.send(&id(), Reply::Approve { call: None, yes: true }).await.unwrap();
        assert_eq!((&*paid.said[0].text, made.load(Ordering::Relaxed)), ("Thank you.\n", 1));
    });
}
