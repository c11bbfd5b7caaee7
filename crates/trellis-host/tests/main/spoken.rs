//! Trouble that would otherwise be silent: each says what is wrong.

use std::sync::{Arc, Mutex};

use trellis_core::{Input, SessionId, Start, ToolError, Value};
use trellis_host::{
    Policy, SendError, SessionEvent, Stop,
    store::{MemoryStore, SessionStore},
};

use crate::stage::{Stage, run};

const ASK: &[(&str, &str)] = &[
    ("trellis.yaml", "redact: [card]\ncontext: { card: string }\n"),
    ("start.md", "---\ninput_type: confirm\nto: card\n---\nBuy it?\n"),
    ("card.md", "---\ninput_type: text\nsave_to: card\nto: end\n---\nWhich card?\n"),
    ("end.md", "---\n---\nThank you.\n"),
];

fn id() -> SessionId {
    SessionId::from("local")
}

#[test]
fn a_start_under_the_name_of_another_graphs_session_says_so() {
    let (stage, store) = (Stage::new(ASK), Arc::new(MemoryStore::new()));
    run(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let other = stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "bank");
        let refused = other.start(Start::default()).await.unwrap_err();
        assert!(matches!(refused, SendError::OtherGraph { .. }), "{refused}");
        assert_eq!(refused, other.view(&id()).await.unwrap_err());
        assert!(matches!(stage.stored(&store).start(Start::default()).await, Err(SendError::Exists(_))));
    });
}

#[test]
fn a_detached_session_that_nothing_here_drives_says_so_once() {
    let files = [("start.md", "---\nwait: 1h\nto: end\n---\n"), ("end.md", "---\n---\nBye.\n")];
    let stage = Stage::new(&files).policy(Policy::new().detached(true));
    let told = Arc::new(Mutex::new(Vec::new()));
    run(async {
        let (sessions, tells) = (stage.stored(&Arc::new(MemoryStore::new())), Arc::clone(&told));
        sessions.observe(move |_, event| {
            if let SessionEvent::Trouble(code, _) = event {
                tells.lock().unwrap().push(*code);
            }
        });
        for name in ["one", "two"] {
            let turn = sessions.start(Start { session: Some(name.into()), ..Start::default() }).await.unwrap();
            assert!(matches!(turn.stop, Stop::Sleeping { .. }));
        }
    });
    assert_eq!(*told.lock().unwrap(), ["not-driven"]);
}

#[test]
fn an_edit_of_one_word_elsewhere_makes_no_answer_stale_also_where_values_are_redacted() {
    let mut files = ASK.to_vec();
    files[3].1 = "---\n---\nThanks.\n";
    let (before, after, store) = (Stage::new(ASK), Stage::new(&files), Arc::new(MemoryStore::new()));
    run(async {
        let asked = before.stored(&store).start(Start::default()).await.unwrap();
        // Another process has the edited graph.
        let sessions = after.stored(&store);
        let turn = sessions.send(&id(), asked.answer(Input::Text("yes".into()))).await.unwrap();
        assert_eq!(turn.node.as_str(), "card");
        let ended = sessions.send(&id(), turn.answer(Input::Text("4111".into()))).await.unwrap();
        assert_eq!(&*ended.said[0].text, "Thanks.\n");
    });
}

#[test]
fn an_end_to_which_a_failed_call_leads_says_why_it_failed() {
    let files = [
        ("start.md", "---\ntools: [{name: pay}]\ndo: pay\non_error: sorry\nto: end\n---\n"),
        ("sorry.md", "---\nend: failed\n---\nSorry.\n"),
        ("end.md", "---\n---\n"),
    ];
    let stage = Stage::new(&files).function(|bindings| bindings.function("pay", |_, _| Err::<Value, _>(ToolError::new("no money"))));
    let turn = run(stage.sessions().start(Start::default())).unwrap();
    let Stop::Ended(ended) = turn.stop else { panic!("{turn:?}") };
    assert_eq!(ended.message.as_deref(), Some("`sorry` ends as failed, since `pay` failed: no money"));
}
