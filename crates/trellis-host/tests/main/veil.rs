//! The hidden parts of a session: secrets and their copies, and without its graph every value.

use std::sync::Arc;

use trellis_core::{Start, Value};
use trellis_host::{
    Record,
    history::{History, Redactor},
    store::MemoryStore,
};

use crate::{
    history::{STAY, ended, history, id, say, stage},
    stage::{Stage, run},
};

fn json(records: &[Record]) -> String {
    records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect()
}

async fn asked(stage: &Stage, store: &Arc<MemoryStore>, answers: &[&str]) -> History {
    let sessions = stage.stored(store);
    sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap();
    for answer in answers {
        sessions.send(&id("s"), say(*answer)).await.unwrap();
    }
    history(store, "s").await
}

const PIN: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: { open: {} }\n"),
    ("start.md", "---\ninput_type: secret\nsave_to: pin\nto: count\n---\nPIN?\n"),
    ("count.md", "---\ninput_type: int\nsave_to: n\nto: open\n---\nHow many?\n"),
    (
        "open.md",
        "---\ndo: {name: open, args: {pin: \"{{ pin }}\", note: \"PIN {{ pin }}: {{ n }} of 512\", \"with\": [\"{{ {'p': pin} | tojson }}\"]}}\nsave_to: door\n---\n",
    ),
];

#[test]
fn a_short_secret_is_hidden_where_it_is_the_whole_value_and_a_long_one_anywhere() {
    for (pin, note) in [("12", "PIN 12: 3 of 512"), ("12ab\"", "PIN ***: 3 of 512"), ("of 5", "PIN ***: 3 ***12")] {
        let (stage, store) = (stage(PIN), Arc::new(MemoryStore::new()));
        run(async {
            let mut history = asked(&stage, &store, &[pin, "3"]).await;
            assert!(json(&history.records).contains(&Value::text(pin).to_json()));
            let mut veil = Redactor::new(Some(stage.program.documents()));
            veil.hide(&mut history);
            assert_eq!((history.records.len(), history.flaws.len()), (3, 0));
            let state = history.at(2).unwrap();
            assert_eq!(state.context.get("pin"), Some(&Value::text("***")));
            assert_eq!(state.context.get("n"), Some(&Value::Int(3)));
            let call = state.pending_tool_call.unwrap();
            assert_eq!(call.args.get("note"), Some(&Value::text(note)), "{pin}");
            let shown = json(&history.records);
            let inside = if pin.len() < 4 { pin } else { "***" };
            let arguments = format!(r#"{{\"p\":\"{inside}\"}}"#);
            assert!(!shown.contains(&Value::text(pin).to_json()) && shown.contains(&arguments), "{shown}");
            assert_eq!(veil.text(&format!("`pin` becomes {pin}, not 3")), format!("`pin` becomes {inside}, not 3"));
            assert_eq!(veil.text(pin), "***");
        });
    }
}

#[test]
fn an_answer_at_a_node_that_is_gone_is_taken_for_a_secret() {
    let (before, store) = (stage(PIN), Arc::new(MemoryStore::new()));
    let now = stage(&[PIN[0], ("start.md", "---\ninput_type: int\nsave_to: n\n---\nHow many?\n")]);
    run(async {
        let mut history = asked(&before, &store, &["hunter2", "31415"]).await;
        Redactor::new(Some(now.program.documents())).hide(&mut history);
        let shown = json(&history.records);
        // A value that the graph asks for openly is no secret; one that it does not know may be.
        assert!(shown.contains("hunter2") && !shown.contains("31415"), "{shown}");
    });
}

#[test]
fn without_its_graph_every_record_is_told_and_no_value() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let mut history = history(&store, "s").await;
        let (nodes, kinds) = (history.records.iter().map(|record| record.to.clone()).collect::<Vec<_>>(), history.records.len());
        let mut veil = Redactor::new(None);
        veil.hide(&mut history);
        assert_eq!((history.records.len(), history.flaws.len()), (kinds, 0));
        assert_eq!(history.records.iter().map(|record| record.to.clone()).collect::<Vec<_>>(), nodes);
        let shown = json(&history.records);
        for value in [":7", ":3,", "busy", "\"yes\""] {
            assert!(!shown.contains(&format!("{{\"id\"{value}")) && (value.starts_with(':') || !shown.contains(value)), "{value}: {shown}");
        }
        assert_eq!(history.at(3).unwrap().context.get("days"), Some(&Value::text("***")));
        assert_eq!(veil.text("`days` becomes 3"), "it is not shown without its graph");
    });
}
