//! Sealed stores: nothing in the clear, keys that come and go, texts that were tampered with.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;
use trellis_host::store::{Append, Keys, MemoryStore, Row, Sealed, SessionStore, StoreError};

use crate::{
    make::{append, load, record, snapshot, texts, with_snapshot},
    place::Place,
};

/// A fresh key file, which lies as long as the folder.
fn key_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    Keys::generate(&file).unwrap();
    (folder, file)
}

fn sealed(store: &Arc<MemoryStore>, file: &Path) -> Sealed<Arc<MemoryStore>> {
    Sealed::new(Arc::clone(store), Keys::read(file).unwrap())
}

fn place() -> Place {
    let (folder, file) = key_file();
    let store = Arc::new(MemoryStore::new());
    Place::new(move || {
        let _lies_on = &folder;
        let store: Arc<dyn SessionStore> = Arc::new(sealed(&store, &file));
        async move { store }
    })
}

contract!(contract, place());

/// Everything that the inner store has, in one text.
async fn everything(store: &MemoryStore, session: &str) -> String {
    let stored = store.load(&[session.into()]).await.unwrap().remove(0).unwrap();
    let rows = store.records(&session.into(), 0, usize::MAX).await.unwrap();
    let texts = rows.into_iter().map(|row| row.text.unwrap()).chain(stored.snapshot.map(|(_, text)| text));
    texts.map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn nothing_is_kept_in_the_clear_and_equal_texts_do_not_look_equal() {
    let (_folder, file) = key_file();
    let inner = Arc::new(MemoryStore::new());
    let store = sealed(&inner, &file);
    store.append(with_snapshot(append("one", 0, &["hunter2", "hunter2"]), "hunter2")).await.unwrap();
    let kept = everything(&inner, "one").await;
    assert!(!kept.contains("hunter2") && !kept.contains("text"), "{kept}");
    let lines: Vec<_> = kept.lines().collect();
    assert!(lines[0] != lines[1] && lines.iter().all(|line| line.starts_with("{\"sealed\":1,\"key\":\"k-")), "{kept}");
    serde_json::from_str::<serde_json::Value>(lines[0]).unwrap();
}

#[tokio::test]
async fn a_new_key_seals_from_now_on_and_the_old_one_still_opens() {
    let (_folder, file) = key_file();
    let inner = Arc::new(MemoryStore::new());
    sealed(&inner, &file).append(append("one", 0, &["a"])).await.unwrap();
    let newest = Keys::generate(&file).unwrap();
    sealed(&inner, &file).append(append("one", 1, &["b"])).await.unwrap();
    let kept = everything(&inner, "one").await;
    let (old, new) = kept.split_once('\n').unwrap();
    assert!(!old.contains(&newest) && new.contains(&newest), "{kept}");
    assert_eq!(texts(&sealed(&inner, &file), "one", 0).await, [record(0, "a"), record(1, "b")]);
}

#[tokio::test]
async fn a_missing_key_and_a_wrong_one_are_named() {
    let (_folder, file) = key_file();
    let (_other, other) = key_file();
    let inner = Arc::new(MemoryStore::new());
    sealed(&inner, &file).append(with_snapshot(append("one", 0, &["a"]), "a")).await.unwrap();
    sealed(&inner, &file).append(append("one", 1, &["b"])).await.unwrap();
    let name = fs::read_to_string(&file).unwrap().split(' ').next().unwrap().to_owned();
    let missing = sealed(&inner, &other);
    let error = missing.load(&["one".into()]).await.unwrap_err();
    let place = other.display();
    let expected = format!(
        "the snapshot of session `one` is sealed with the key `{name}`, which is not in {place}: add its line there, after the first"
    );
    assert_eq!(error, StoreError::Key(expected));
    // History is shown as far as it can be.
    missing.append(append("one", 2, &["c"])).await.unwrap();
    let rows = missing.records(&"one".into(), 0, 10).await.unwrap();
    assert!(rows[1].text.as_ref().unwrap_err().starts_with(&format!("record 1 of session `one` is sealed with the key `{name}`")));
    assert_eq!(rows[2], Row { seq: 2, text: Ok(record(2, "c")) });
    // Another key under the same name.
    let text = fs::read_to_string(&other).unwrap();
    let (_, key) = text.split_once(' ').unwrap();
    fs::write(&other, format!("{name} {key}")).unwrap();
    let StoreError::Key(message) = sealed(&inner, &other).load(&["one".into()]).await.unwrap_err() else { panic!() };
    assert!(message.starts_with(&format!("the key `{name}` of {place} does not open the snapshot of session `one`")), "{message}");
}

/// An inner store that holds these texts, as records of session `two`, and the last also as its snapshot.
async fn holding(texts: &[&str]) -> Arc<MemoryStore> {
    let inner = Arc::new(MemoryStore::new());
    let records: Vec<Arc<str>> = texts.iter().map(|text| Arc::from(*text)).collect();
    let plain = append("two", 0, &vec![""; texts.len()]);
    inner.append(Append { records, ..plain }).await.unwrap();
    inner
}

#[tokio::test]
async fn what_was_changed_or_put_elsewhere_does_not_open() {
    let (_folder, file) = key_file();
    let inner = Arc::new(MemoryStore::new());
    sealed(&inner, &file).append(with_snapshot(append("two", 0, &["a", "b"]), "s")).await.unwrap();
    sealed(&inner, &file).append(append("one", 0, &["a"])).await.unwrap();
    let kept = everything(&inner, "two").await;
    let [a, b, s] = kept.lines().collect::<Vec<_>>()[..] else { panic!() };
    let elsewhere = everything(&inner, "one").await;
    let (front, last) = b.split_at(b.len() - 6);
    let flipped = format!("{front}{}{}", if last.starts_with('A') { 'B' } else { 'A' }, &last[1..]);
    let cut = format!("{}\"}}", &b[..b.len() - 30]);
    let changed = "record 1 of session `two` was changed after it was sealed, or was put there from elsewhere";
    for text in
        [a, &elsewhere, s, &flipped, &cut, "{\"sealed\":1", "{\"sealed\":1,\"key\":\"x\",\"wrapped\":\"\",\"data\":\"\",\"more\":1}"]
    {
        let store = Sealed::new(holding(&[a, text]).await, Keys::read(&file).unwrap());
        let stored = load(&store, "two").await.unwrap();
        assert_eq!(stored.records[0].text, Ok(record(0, "a")));
        assert_eq!(stored.records[1].text.as_deref().unwrap_err().as_ref(), changed, "{text}");
    }
    // Every single character counts, also in the key that is wrapped.
    for at in 0..a.len() {
        let mut bytes = a.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
        let text = String::from_utf8(bytes).unwrap();
        let store = Sealed::new(holding(&[&text]).await, Keys::read(&file).unwrap());
        let opened = store.load(&["two".into()]).await.map(|mut stored| stored.remove(0).unwrap().records.remove(0).text);
        // A text that does not begin as a sealed one was never sealed; the session reports that it cannot read it.
        let is_plain = at < "{\"sealed\":".len();
        assert!(if is_plain { opened == Ok(Ok(text.as_str().into())) } else { !matches!(opened, Ok(Ok(_))) }, "{at}: {text}");
    }
    let newer = b.replace("{\"sealed\":1", "{\"sealed\":2,\"more\":0");
    let store = Sealed::new(holding(&[&newer]).await, Keys::read(&file).unwrap());
    assert!(matches!(store.load(&["two".into()]).await, Err(StoreError::Newer { found: 2, known: 1, .. })));
    // A snapshot cannot be done without.
    let inner = Arc::new(MemoryStore::new());
    inner.append(Append { snapshot: Some(s.into()), ..append("three", 0, &["a", "b"]) }).await.unwrap();
    let error = Sealed::new(inner, Keys::read(&file).unwrap()).load(&["three".into()]).await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt { place, .. } if place == "the snapshot of session `three`"), "{error}");
}

#[tokio::test]
async fn what_was_there_before_the_key_is_read_and_what_follows_is_sealed() {
    let (_folder, file) = key_file();
    let inner = Arc::new(MemoryStore::new());
    inner.append(with_snapshot(append("one", 0, &["plain"]), "plain")).await.unwrap();
    let store = sealed(&inner, &file);
    store.append(append("one", 1, &["hidden"])).await.unwrap();
    let stored = load(&store, "one").await.unwrap();
    assert_eq!((stored.snapshot, stored.records[0].text.clone()), (Some((1, snapshot("plain"))), Ok(record(1, "hidden"))));
    assert!(!everything(&inner, "one").await.contains("hidden"));
}

#[test]
fn a_key_file_is_for_its_owner_and_says_what_is_wrong_without_its_keys() {
    let (folder, file) = key_file();
    let says = |text: &str| {
        fs::write(&file, text).unwrap();
        let StoreError::Key(message) = Keys::read(&file).unwrap_err() else { panic!() };
        assert!(!message.contains("q83v"), "{message}");
        message.replace(&file.display().to_string(), "FILE")
    };
    assert_eq!(says("# none\n\n"), "the key file FILE holds no key");
    assert_eq!(says("q83vEiM0VniavN7w"), "line 1 of the key file FILE is no name and key");
    assert_eq!(
        says("# x\nq83v/q83v q83v"),
        "line 2 of the key file FILE does not begin with a name: up to 64 letters, digits, `-`, `_` and `.`"
    );
    assert_eq!(says("a q83v?"), "line 1 of the key file FILE holds no Base64 after the name");
    assert_eq!(says("a q83vEiM0VniavN7w"), "line 1 of the key file FILE holds 12 bytes; a key has 32");
    let key = "q83vEiM0VniavN7wESIzRFVmd4iZqrvM3e7/ABEiM0Q=";
    assert_eq!(says(&format!("a {key}\nb {key}\na {key}")), "line 3 of the key file FILE names the key `a` again");
    // A file that is no key file is not made one.
    assert!(Keys::generate(&file).is_err());
    fs::write(&file, format!("a {key}\nb\t{key}\r\n")).unwrap();
    let keys = Keys::read(&file).unwrap();
    assert_eq!(format!("{keys:?}"), "[\"a\", \"b\"]");
    let newest = Keys::generate(&file).unwrap();
    assert_eq!(format!("{:?}", Keys::read(&file).unwrap()), format!("[{newest:?}, \"a\", \"b\"]"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let StoreError::Key(message) = Keys::read(&file).unwrap_err() else { panic!() };
        assert!(message.starts_with("others may read the key file") && message.contains("chmod 600"), "{message}");
    }
}

/// A session that stands at `at`, with a history.
async fn real(store: &dyn SessionStore, name: &str, at: u64) -> trellis_core::State {
    use trellis_core::{Dialect, Document, Engine, Input, Predicates, Source, Start, Value};
    use trellis_host::{Clock, Session};
    let text = "---\ninput_type: text\nsave_to: said\ntransitions: [{condition: said == \"stop\", to: end}, {to: start}]\n---\nAnd then?\n";
    let parse = |path, text| Document::parse(&Source::text(path, text), Dialect::default()).into();
    let compiled = trellis_core::compile(&[parse("start.md", text), parse("end.md", "Bye.\n")]);
    let engine = Engine::new(compiled.program.unwrap(), Predicates::new()).unwrap();
    let begins = Start { session: Some(name.into()), ..Start::default() };
    let mut session = Session::start(engine, begins, [].into(), Clock::fixed(at)).unwrap();
    for said in ["hunter2", "hunter3"] {
        session.advance().unwrap();
        session.send(Input::Value(Value::text(said))).unwrap();
    }
    let records: Vec<Arc<str>> = session.journal().records().iter().map(|record| serde_json::to_string(record).unwrap().into()).collect();
    let next = records.len() as u64;
    let head = trellis_host::store::Head { at, node: "start".into(), ..crate::make::head(name, next) };
    store.append(Append { session: name.into(), expected: 0, records, head, snapshot: None }).await.unwrap();
    session.state().clone()
}

#[tokio::test]
async fn what_an_old_key_sealed_goes_on_without_it() {
    let (_folder, file) = key_file();
    let inner = Arc::new(MemoryStore::new());
    let mut states = Vec::new();
    for at in 0..5 {
        states.push(real(&sealed(&inner, &file), &format!("s{at}"), at).await);
    }
    // One that no key seals, and one whose key is lost.
    states.push(real(&*inner, "s5", 5).await);
    let (_lost, lost) = key_file();
    real(&sealed(&inner, &lost), "s6", 6).await;
    Keys::generate(&file).unwrap();
    let store = sealed(&inner, &file);
    let (mut after, mut sealed_anew, mut failed) = (None, 0, Vec::new());
    loop {
        let page = store.reseal(after, 3).await.unwrap();
        sealed_anew += page.sealed;
        failed.extend(page.failed);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(sealed_anew, 6);
    assert!(matches!(&failed[..], [(session, StoreError::Key(_))] if session.as_str() == "s6"), "{failed:?}");
    // Again, there is nothing to do.
    let page = store.reseal(None, 100).await.unwrap();
    assert_eq!((page.sealed, page.already_sealed, page.failed.len(), page.next), (0, 6, 1, None));
    // The newest key alone opens where they are.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.lines().next().unwrap()).unwrap();
    let store = sealed(&inner, &file);
    for (at, state) in states.iter().enumerate() {
        let stored = load(&store, &format!("s{at}")).await.unwrap();
        assert_eq!(trellis_host::store::Snapshot::of(&stored).unwrap().state, *state);
        assert_eq!((stored.head.next, stored.head.at), (4, at as u64));
        let rows = store.records(&state.session_id, 0, 10).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.text.is_ok()).collect::<Vec<_>>(), [at == 5, at == 5, at == 5, true]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_are_exchanged_while_sessions_go_on() {
    let (_folder, file) = key_file();
    let inner = Arc::new(MemoryStore::new());
    // Two processes each work on sessions of their own and look at all of them; neither is told of new keys.
    let stores: Vec<_> = (0..2).map(|_| Arc::new(sealed(&inner, &file))).collect();
    for session in 0..6 {
        real(&*stores[session % 2], &format!("s{session}"), 1).await;
    }
    let steps = |store: Arc<Sealed<Arc<MemoryStore>>>| async move {
        for _ in 0..50 {
            for session in 0..6 {
                let name = format!("s{session}");
                let stored = load(&*store, &name).await.unwrap();
                let here = trellis_host::store::Snapshot::of(&stored).unwrap();
                let next = stored.head.next;
                let nothing =
                    serde_json::json!({ "seq": next, "at": here.at, "kind": "context", "keys": {}, "to": "start", "program": "p" });
                let head = trellis_host::store::Head { next: next + 1, ..stored.head };
                let append = Append {
                    session: name.as_str().into(),
                    expected: next,
                    records: vec![nothing.to_string().into()],
                    head,
                    snapshot: None,
                };
                match store.append(append).await {
                    Ok(()) | Err(StoreError::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            tokio::task::yield_now().await;
        }
    };
    let working: Vec<_> = stores.iter().map(|store| tokio::spawn(steps(Arc::clone(store)))).collect();
    let mut newest = String::new();
    for _ in 0..5 {
        newest = Keys::generate(&file).unwrap();
        let store = sealed(&inner, &file);
        let failed = store.reseal(None, 100).await.unwrap().failed;
        // A session that never stands still keeps its key until the next time.
        assert!(failed.iter().all(|(_, error)| matches!(error, StoreError::Conflict { .. })), "{failed:?}");
    }
    for working in working {
        working.await.unwrap();
    }
    assert!(sealed(&inner, &file).reseal(None, 100).await.unwrap().failed.is_empty());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.lines().next().unwrap()).unwrap();
    for session in 0..6 {
        let stored = load(&sealed(&inner, &file), &format!("s{session}")).await.unwrap();
        assert!(trellis_host::store::Snapshot::of(&stored).is_ok(), "the newest key alone opens where it is");
    }
    // Whoever was open before seals with the newest as soon as they met it.
    stores[0].append(append("s9", 0, &["a"])).await.unwrap();
    assert!(everything(&inner, "s9").await.contains(&newest));
}

#[test]
fn of_many_who_put_a_key_in_at_once_none_loses_its_own() {
    let (folder, file) = key_file();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let file = file.clone();
            std::thread::spawn(move || {
                let made = (0..40).filter_map(|_| match Keys::generate(&file) {
                    Ok(name) => Some(name),
                    Err(StoreError::Key(message)) => {
                        assert!(message.contains("another process is changing it"), "{message}");
                        None
                    }
                    Err(error) => panic!("{error}"),
                });
                made.collect::<Vec<_>>()
            })
        })
        .collect();
    let made: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let keys = Keys::read(&file).unwrap();
    let held: Vec<_> = keys.names().collect();
    assert!(!made.is_empty() && made.iter().all(|name| held.contains(&name.as_str())), "{made:?}\n{held:?}");
    assert_eq!(held.len(), made.len() + 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
