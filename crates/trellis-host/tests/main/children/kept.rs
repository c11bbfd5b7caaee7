//! The records of a tree in a store, and their use elsewhere, in another process or on another program.

use super::*;

// Table B: whatever was stored when the process died, it goes on from there, and no key is used for two calls
#[test]
fn a_tree_goes_on_from_every_record() {
    let parent = (
        "start.md",
        "---\ndo: {parallel: {a: {graph: work, args: {n: 1}}, b: {graph: work, args: {n: 2}}, c: {name: note, args: {n: 9}}}, on_error: collect}\nsave_to: r\nto: end\n---\n",
    );
    let work = ("work.md", "---\nrequired_context: [n]\ndo: {name: note, args: {n: \"{{ n }}\"}}\nundo: {name: undo}\nto: ask\n---\n");
    let ask = ("ask.md", "---\ninput_type: int\nsave_to: m\ntransitions: [{condition: m == 0, to: fail}, {to: told}]\n---\nWhich?\n");
    let told = ("told.md", "---\noutput: \"{{ m }}\"\n---\n");
    let (stage, calls) = stage(&[parent, work, ask, told, END]);
    run(async {
        let store = Arc::new(MemoryStore::new());
        let expected = finish(&stage, &store, None).await;
        let history = History::open(&*store, &id()).await.unwrap();
        assert!(expected.contains("told") || expected.contains("error"), "{expected}");
        let texts: Vec<Arc<str>> = history.records.iter().map(|record| serde_json::to_string(record).unwrap().into()).collect();
        for upto in 1..texts.len() {
            calls.lock().unwrap().clear();
            let cut = Arc::new(MemoryStore::new());
            let last = &history.records[upto - 1];
            let head = Head { next: upto as u64, at: last.at, standing: SessionStatus::WaitingForTool, ..history.head.clone() };
            let append = Append { session: id(), expected: 0, records: texts[..upto].to_vec(), head, snapshot: None };
            cut.append(append).await.unwrap();
            assert_eq!(finish(&stage, &cut, Some(upto)).await, expected, "after {upto} records");
            let mut of_key = BTreeMap::new();
            for (tool, key, args) in calls.lock().unwrap().iter() {
                let first = of_key.entry(key.clone()).or_insert_with(|| (tool.clone(), args.clone()));
                assert_eq!(*first, (tool.clone(), args.clone()), "a key is that of one call");
            }
            let whole = History::open(&*cut, &id()).await.unwrap();
            replay(&stage.engine(), &whole).unwrap();
        }
    });
}

/// Answers the first question with 0 and the others with 7, to the end.
async fn finish(stage: &Stage, store: &Arc<MemoryStore>, from: Option<usize>) -> String {
    let sessions = stage.stored(store);
    let mut turn = match from {
        None => sessions.start(start()).await.unwrap(),
        Some(_) => sessions.resume(&id()).await.unwrap(),
    };
    loop {
        match &turn.stop {
            Stop::Ended(ended) => return ended.output.clone().unwrap_or_default().to_json(),
            Stop::Ask { .. } => {
                let is_first = sessions.look(&id(), |session| {
                    let here = session.here_in(turn.child.as_ref()).unwrap();
                    here.state.context.get("n") == Some(&Value::Int(1))
                });
                let answer = if is_first == Some(true) { "0" } else { "7" };
                turn = sessions.send(&id(), turn.answer(text(answer))).await.unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}

// B: only the root can be put elsewhere; its children are left, with what they did
#[test]
fn who_goes_elsewhere_leaves_its_children() {
    let parent = ("start.md", "---\ndo: {graph: work}\nsave_to: r\non_signal: {away: back}\nto: end\n---\n");
    let work = ("work.md", "---\ndo: {name: note, args: {n: 1}}\nundo: {name: undo, args: {n: 1}}\nto: ask\n---\n");
    let ask = ("ask.md", "---\ninput_type: int\nsave_to: r\nto: end\n---\nWhich?\n");
    let back = ("back.md", "---\ninput_type: text\ntransitions: [{to: rollback}]\n---\nUndo it?\n");
    let (stage, calls) = stage(&[parent, work, ask, back, END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(start()).await.unwrap();
        assert_eq!(turn.node.as_str(), "ask");
        drop(sessions);
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        let put = operator.goto(&id(), &NodeId::from("back")).await.unwrap();
        assert_eq!(put.state.effects.len(), 1, "what the child did");
        let sessions = stage.stored(&store);
        let turn = sessions.resume(&id()).await.unwrap();
        assert_eq!((turn.child.as_ref(), turn.node.as_str()), (None, "back"));
        let done = sessions.send(&id(), turn.answer(text("yes"))).await.unwrap();
        assert_eq!((ended(&done).0.as_str(), names(&calls)), ("rolled_back", vec!["note".to_owned(), "undo".to_owned()]));
    });
}

// B: an edit fits children first
#[test]
fn an_edit_moves_children_and_names_the_one_that_does_not_fit() {
    let parent = ("start.md", "---\ndo: {graph: work}\nsave_to: r\nto: end\n---\n");
    let work = ("work.md", "---\ninput_type: int\nsave_to: r\nto: end\n---\nWhich?\n");
    let renamed = ("which.md", "---\nwas: [work]\ninput_type: int\nsave_to: r\nto: end\n---\nWhich one?\n");
    let parent_after = ("start.md", "---\ndo: {graph: which}\nsave_to: r\nto: end\n---\n");
    let needs = ("work.md", "---\nrequired_context: [x]\ninput_type: int\nsave_to: r\nto: end\n---\nWhich {{ x }}?\n");
    let parent_needs = ("start.md", "---\ndo: {graph: work, args: {x: 1}}\nsave_to: r\nto: end\n---\n");
    let (stage, _) = stage(&[parent, work, END]);
    let after = |files: &[(&str, &str)]| self::stage(files).0;
    run(async {
        let sessions = stage.sessions();
        let first = sessions.start(start()).await.unwrap();
        let edited = after(&[parent_after, renamed, END]);
        sessions.swap(edited.engine(), edited.bindings()).await.unwrap();
        let moved = sessions.resume(&id()).await.unwrap();
        assert_eq!((moved.node.as_str(), said(&moved), &moved.child), ("which", vec!["Which one?"], &first.child));

        let edited = after(&[parent_needs, needs, END]);
        sessions.swap(edited.engine(), edited.bindings()).await.unwrap();
        let lacking = sessions.resume(&id()).await.unwrap();
        assert!(matches!(&lacking.stop, Stop::Changed { .. } | Stop::Keys { .. }), "{lacking:?}");
    });
}

// B: a child whose node is gone continues where it began, and never in the graph around it
#[test]
fn a_child_whose_node_is_gone_stays_in_what_was_called() {
    for (called, begins, folder) in [("work", "work.md", ""), ("shop/work", "shop/work.md", "shop/"), ("shop", "shop/start.md", "shop/")] {
        let parent = format!("---\ndo: {{graph: {called}}}\nsave_to: r\nto: end\n---\n");
        let graph = |asks: &str| {
            let begin = format!("---\ndo: {{name: note, args: {{n: 1}}}}\nto: {asks}\n---\n");
            let (asks, told) = (format!("{folder}{asks}.md"), format!("{folder}told.md"));
            let ask = "---\ninput_type: int\nsave_to: m\nto: told\n---\nWhich?\n";
            stage(&[("start.md", &parent), (begins, &begin), (&asks, ask), (&told, "---\noutput: \"{{ m }}\"\n---\n"), END])
        };
        let ((before, _), (after, calls)) = (graph("ask"), graph("asks"));
        run(async {
            let sessions = before.sessions();
            let first = sessions.start(start()).await.unwrap();
            assert_eq!(first.node.as_str(), format!("{folder}ask"), "{called}");
            sessions.swap(after.engine(), after.bindings()).await.unwrap();
            let turn = sessions.resume(&id()).await.unwrap();
            assert_eq!((turn.node.as_str(), &turn.child), (&*format!("{folder}asks"), &first.child), "{called}");
            assert_eq!(names(&calls), ["note"], "{called}");
            let done = sessions.send(&id(), turn.answer(Input::Value(Value::Int(3)))).await.unwrap();
            assert_eq!(ended(&done).1, Some(Value::Int(3)), "{called}");
        });
    }
}
