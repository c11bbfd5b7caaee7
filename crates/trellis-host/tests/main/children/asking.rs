//! Children that ask side by side: one request at a time, timeouts where they wait, and who takes a signal (language 10.10, 10.11).

use super::*;

/// The lines of a run of two children that ask side by side.
fn lines(input: &str) -> Vec<String> {
    let (stage, _) = stage(&sides());
    let mut output = Vec::new();
    run(stage.json_runner(input.as_bytes(), &mut output).run(start())).unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

/// The children that `REQUEST_INPUT` lines name, in order.
fn requests(lines: &[String]) -> Vec<String> {
    let requests = lines.iter().filter(|line| line.contains("REQUEST_INPUT"));
    requests.map(|line| child_of(line)).collect()
}

fn child_of(line: &str) -> String {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["child"].as_str().unwrap().to_owned()
}

// 10.10
#[test]
fn of_two_children_that_ask_one_request_stands_at_a_time() {
    let asked = lines("");
    let child = |said: &str| child_of(asked.iter().find(|line| line.contains(said)).unwrap());
    let (left, right) = (child("Left?"), child("Right?"));
    assert_ne!(left, right);
    assert_eq!(requests(&asked), std::slice::from_ref(&left), "{asked:#?}");

    let both = lines("{\"input\": 1}\n{\"input\": 2}\n");
    assert_eq!(requests(&both), [left.clone(), right.clone()], "{both:#?}");
    assert!(both.last().unwrap().contains(r#""output":{"a":1,"b":2}"#), "{both:#?}");

    // Who answers the other child first leaves the request of the first as it stands.
    let other_first = lines(&format!("{{\"input\": 2, \"to\": \"{right}\"}}\n{{\"input\": 1}}\n"));
    assert!(requests(&other_first).iter().all(|child| *child == left), "{other_first:#?}");
    assert!(other_first.last().unwrap().contains(r#""output":{"a":1,"b":2}"#), "{other_first:#?}");
}

// `docs/serve.md#turns`: an answer to nobody in particular is for the child that asked first when it was given
#[test]
fn an_answer_to_the_first_of_two_is_not_taken_by_the_second() {
    run_timeless(async {
        let (stage, _) = stage(&sides());
        let sessions = stage.sessions();
        let seen = sessions.start(start()).await.unwrap();
        assert_eq!(seen.seq, 3, "{seen:?}");
        let (id, right) = (seen.session.clone(), seen.others[0].child.clone());
        let answer = |to: Option<SessionId>, words: &str| Sent { expected: Some(3), to, ..Sent::from(text(words)) };
        // An answer to the second one leaves the question of the first as it is.
        let other = sessions.send(&id, answer(right.clone(), "2")).await.unwrap();
        assert_eq!((&other.child, other.others.len()), (&seen.child, 0), "{other:?}");
        sessions.send(&id, answer(None, "1")).await.unwrap();

        let (stage, _) = self::stage(&sides());
        let sessions = stage.sessions();
        let seen = sessions.start(start()).await.unwrap();
        let (id, right) = (seen.session.clone(), seen.others[0].child.clone());
        let next = sessions.send(&id, answer(None, "1")).await.unwrap();
        assert_eq!(next.child, right, "{next:?}");
        let late = sessions.send(&id, answer(None, "7")).await.unwrap_err();
        assert!(matches!(&late, SendError::Stale(turn) if turn.child == right), "{late:?}");
        let done = sessions.send(&id, answer(right, "2")).await.unwrap();
        assert!(matches!(done.stop, Stop::Ended(_)), "{done:?}");
    });
}

/// The files of two children that ask, with other ones of these names.
fn sides_with<'f>(others: &[(&'f str, &'f str)]) -> Stage {
    let mut files: Vec<(&'f str, &'f str)> =
        sides().into_iter().filter(|(path, _)| others.iter().all(|(other, _)| other != path)).collect();
    files.extend(others);
    stage(&files).0
}

// 10.11: `timeout` is raised where it waits
#[test]
fn a_timeout_of_a_node_in_a_child_is_taken_there_and_no_other_child_hears_of_it() {
    let right = "---\ninput_type: int\nsave_to: n\ntimeout: 10s\non_timeout: told_nothing\nto: told\n---\nRight?\n";
    let stage = sides_with(&[("right.md", right)]);
    run_timeless(async {
        let sessions = stage.sessions();
        let turn = sessions.start(start()).await.unwrap();
        assert_eq!((turn.node.as_str(), turn.others.len(), turn.due()), ("left", 1, Some(11_000)), "{turn:?}");
        tokio::time::sleep(Duration::from_secs(11)).await;
        let after = sessions.resume(&id()).await.unwrap();
        assert_eq!((after.node.as_str(), after.others.len(), after.due()), ("left", 0, None), "{after:?}");
        let done = sessions.send(&id(), turn.answer(text("1"))).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"a":1,"b":"nothing"}"#);
    });
}

// 10.11, 5.4: the defaults of the graph are those of its root, so an unhandled timeout in a child fails the child
#[test]
fn a_timeout_that_no_node_of_a_child_takes_is_the_end_of_that_child() {
    let project = ("trellis.yaml", "on_signal_default: {timeout: stopped}\n");
    let right = "---\ninput_type: int\nsave_to: n\ntimeout: 10s\non_signal: {skip: told_nothing}\nto: told\n---\nRight?\n";
    let stage = sides_with(&[project, ("right.md", right)]);
    run_timeless(async {
        let sessions = stage.sessions();
        sessions.start(start()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(11)).await;
        let done = sessions.resume(&id()).await.unwrap();
        let output = ended(&done).1.unwrap().to_json();
        assert!(output.contains(r#""code":"timeout""#) && output.contains("right"), "{output}");
    });
}

// 10.11: the innermost, outwards along the callers, then the default of the root
#[test]
fn a_signal_to_a_child_that_nobody_takes_is_the_roots_by_default() {
    let project = ("trellis.yaml", "on_signal_default: {halt: halted}\n");
    let halted = ("halted.md", "---\noutput: halted\n---\n");
    let stage = sides_with(&[project, halted]);
    run(async {
        let sessions = stage.sessions();
        let turn = sessions.start(start()).await.unwrap();
        let right = turn.others[0].child.clone().unwrap();
        let unknown = sessions.send(&id(), Sent::from(Input::Signal("hup".into())).to(right.clone())).await.unwrap_err();
        assert!(matches!(unknown, SendError::Refused(_)), "{unknown:?}");
        assert_eq!(sessions.resume(&id()).await.unwrap().others.len(), 1, "a refusal moves nothing");
        let done = sessions.send(&id(), Sent::from(Input::Signal("halt".into())).to(right)).await.unwrap();
        assert_eq!(ended(&done).1, Some(Value::text("halted")));
    });
}
