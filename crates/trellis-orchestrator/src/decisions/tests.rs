//! Decisions that are made again, changed, or said in other words (orchestrator 5.5, source 003.13.4).

use std::fs;

use super::*;

fn decisions() -> (tempfile::TempDir, Decisions) {
    let folder = tempfile::tempdir().expect("a folder");
    let (decisions, warning) = Decisions::open(&folder.path().join("decisions/index.json")).expect("none yet");
    assert!(warning.is_none());
    (folder, decisions)
}

fn add(decisions: &Decisions, key: &str, value: &str, scope: DecisionScope, chat: &str, call: &str, at: i64) -> StoredDecision {
    let new = NewDecision { key: key.to_owned(), value: value.to_owned(), why: None, scope };
    let now = Timestamp::from_millisecond(at).expect("a moment");
    decisions.add(new, &ChatPlace::new("terminal", chat), call, now).expect("kept")
}

fn lines(decisions: &Decisions, chat: &str) -> Vec<String> {
    decisions.newest(&ChatPlace::new("terminal", chat), 50).iter().map(StoredDecision::line).collect()
}

// orchestrator 5.5, source 003.13.4: equal → counted; the same key and scope → the newer one; else by similarity
#[test]
fn a_decision_is_counted_superseded_or_merged() {
    let (_folder, decisions) = decisions();
    use DecisionScope::{Chat, Global};
    let first = add(&decisions, "Language", "Rust", Global, "a", "1", 1);
    let again = add(&decisions, "  language", "RUST!", Global, "b", "2", 2);
    assert_eq!((again.id, again.count, again.first_at, again.last_at), (first.id.clone(), 2, 1, 2));
    let newer = add(&decisions, "language", "Go", Global, "a", "3", 3);
    assert_eq!((newer.count, lines(&decisions, "a")), (1, vec!["- language: Go".to_owned()]));
    // Another scope is another matter.
    add(&decisions, "language", "Korean", Chat, "a", "4", 4);
    assert_eq!(lines(&decisions, "a"), ["- language: Go", "- language: Korean"]);
    assert_eq!(lines(&decisions, "b"), ["- language: Go"]);
    let long = "we deploy on every friday at noon and tell everybody";
    add(&decisions, "deploys", long, Global, "a", "5", 5);
    let merged = add(&decisions, "Deploys now", &long.to_uppercase(), Global, "a", "6", 6);
    assert_eq!((merged.count, merged.first_at), (2, 5));
    assert_eq!(lines(&decisions, "b").len(), 2);
    let other = add(&decisions, "deploys never", "on fridays", Global, "a", "7", 7);
    assert_eq!((other.count, lines(&decisions, "b").len()), (1, 3));
}

// orchestrator 5.5: signs that are no punctuation make another value, and the newer one wins
#[test]
fn values_of_other_signs_are_other_values() {
    let (_folder, decisions) = decisions();
    for (at, value) in (1..).zip(["C", "C++", "C#", "5", "-5", "👍", "👎", "👎."]) {
        let made = add(&decisions, "answer", value, DecisionScope::Global, "a", value, at);
        assert_eq!((made.count, &*made.value), if value == "👎." { (2, "👎") } else { (1, value) });
        assert_eq!(lines(&decisions, "a").len(), 1);
    }
}

// a call that is made again after a crash decides once
#[test]
fn the_same_call_counts_once() {
    let (folder, decisions) = decisions();
    add(&decisions, "a", "b", DecisionScope::Global, "a", "call", 1);
    let (decisions, _) = Decisions::open(&folder.path().join("decisions/index.json")).expect("again");
    assert_eq!(add(&decisions, "a", "b", DecisionScope::Global, "a", "call", 2).count, 1);
    assert_eq!(add(&decisions, "a", "b", DecisionScope::Global, "a", "other", 3).count, 2);
    assert_eq!(add(&decisions, "a", "b", DecisionScope::Global, "a", "other", 4).count, 2);
}

#[test]
fn a_file_that_people_wrote_is_tidied() {
    let (folder, decisions) = decisions();
    add(&decisions, "tea", "green", DecisionScope::Global, "a", "1", 1);
    assert!(!decisions.tidy().expect("nothing to do"));
    let file = folder.path().join("decisions/index.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("read")).expect("JSON");
    let mut newer = json["decisions"][0].clone();
    (newer["id"], newer["value"], newer["fingerprint"], newer["last_at"]) = ("2".into(), "black".into(), "f".into(), 2.into());
    json["decisions"].as_array_mut().expect("a list").insert(0, newer);
    fs::write(&file, json.to_string()).expect("written");
    let (decisions, _) = Decisions::open(&file).expect("again");
    assert_eq!(lines(&decisions, "a").len(), 2);
    assert!(decisions.tidy().expect("written") && !decisions.tidy().expect("nothing to do"));
    assert_eq!(lines(&decisions, "a"), ["- tea: black"]);
}

// orchestrator 9.1: a corrupt truth is moved aside and said; a newer one is refused, untouched
#[test]
fn a_file_that_is_not_understood_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("index.json");
    fs::write(&file, "{\"version\": 1, \"decisions\": [").expect("written");
    let (decisions, warning) = Decisions::open(&file).expect("it opens");
    assert!(lines(&decisions, "a").is_empty() && warning.as_ref().is_some_and(|warning| warning.contains("corrupt-")), "{warning:?}");
    assert_eq!(fs::read_dir(folder.path()).expect("files").count(), 1);
    fs::write(&file, "{\"version\": 2, \"decisions\": []}").expect("written");
    assert!(matches!(Decisions::open(&file), Err(ObjectFileError::Newer { found: 2, .. })));
    assert_eq!(fs::read_to_string(&file).expect("there"), "{\"version\": 2, \"decisions\": []}");
}
