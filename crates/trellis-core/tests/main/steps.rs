//! Entering, choosing, failing, refusing (language 6.3–7.5).

use trellis_core::{
    Context, Engine, Event, Input, NavigateError, Next, Predicates, ToolError, ToolOutcome, ToolResult, Value,
    engine::{Action, Expected, StartError},
    state::Status,
};

use crate::graph::{Walk, engine, program, start};

const END: (&str, &str) = ("end.md", "The end.\n");

#[test]
fn a_terminal_that_only_speaks_ends_the_session_and_still_speaks() {
    let mut walk = Walk::new(&[("start.md", "---\nwait: true\nto: end\n---\nHello.\n"), END]);
    assert_eq!((walk.content().as_str(), walk.state.status), ("Hello.", Status::WaitingForInput));
    walk.say("");
    assert_eq!((walk.content().as_str(), walk.ended().as_str()), ("The end.", "finished"));
    assert_eq!(walk.events.len(), 3, "{:?}", walk.events);
    assert!(matches!(walk.refused(Input::Text("x".into())), NavigateError::Ended { .. }));
}

#[test]
fn the_actions_of_a_view_come_in_order_and_have_the_names_of_the_wire() {
    let names = |walk: &Walk| walk.view().actions().map(Action::name).collect::<Vec<_>>();
    let files = [
        ("start.md", "---\nto: ask\n---\nHello.\n"),
        ("ask.md", "---\ninput_type: confirm\nto: call\n---\nShall I?\n"),
        ("call.md", "---\ntools: [{name: ring}]\ndo: {name: ring}\non_error: end\nto: end\n---\n"),
        END,
    ];
    let mut walk = Walk::new(&files);
    assert_eq!(names(&walk), ["RENDER_CONTENT"], "a node that is passed through only speaks");
    walk.pass();
    assert_eq!(names(&walk), ["RENDER_CONTENT", "REQUEST_INPUT"]);
    assert!(matches!(walk.view().actions().next(), Some(Action::RenderContent("Shall I?\n"))));
    walk.say("yes");
    assert_eq!(names(&walk), ["CALL_TOOL"]);
    let id = walk.view().actions().find_map(|action| match action {
        Action::CallTool(call) => Some(call.id.clone()),
        _ => None,
    });
    walk.go(Input::Result(ToolResult::new(id.unwrap(), ToolOutcome::Error(ToolError::new("busy")))));
    assert_eq!(names(&walk), ["RENDER_CONTENT", "END"]);
    assert!(walk.view().terminal());
}

#[test]
fn a_listening_terminal_ends_after_its_input_and_is_silent_then() {
    let mut walk = Walk::new(&[("start.md", "---\nwait: true\noutput: \"{{ input }}\"\n---\nHello.\n")]);
    walk.say("bye");
    assert_eq!((walk.content().as_str(), walk.ended().as_str()), ("", "finished"));
    assert_eq!(walk.state.ended.as_ref().unwrap().output, Some(Value::text("bye")));
}

#[test]
fn a_failed_step_keeps_what_was_written_before_and_says_where() {
    let files = [("start.md", "---\nwait: true\nsave_to: a\nset: { b: 1, user.name: x, c: 2 }\nto: end\n---\n"), END];
    let mut walk = Walk::with(engine(&files), r#"{"user":"ann"}"#);
    walk.say("hi");
    assert_eq!(walk.ended(), "failed write");
    assert_eq!(walk.message(), "`start`: `user.name` cannot be written: `user` is text, not a mapping");
    assert_eq!((walk.key("a").as_deref(), walk.key("b").as_deref(), walk.key("c")), (Some(r#""hi""#), Some("1"), None));
    assert_eq!(walk.state.step, 1);
}

#[test]
fn comparing_what_is_absent_is_a_failure_at_run_time() {
    let project = ("trellis.yaml", "severity: { undefined-variable: \"off\" }\n");
    let files = [project, ("start.md", "---\nwait: true\ntransitions: [{ condition: 'order.id == 3', to: end }, { to: end }]\n---\n"), END];
    let mut walk = Walk::with(engine(&files), r#"{"order":{}}"#);
    walk.say("");
    assert_eq!(
        (walk.ended().as_str(), walk.message().as_str()),
        ("failed condition", "`start`: the condition reads `order.id`, which is not set")
    );
}

#[test]
fn a_refusal_says_what_is_accepted_and_changes_nothing() {
    let walk = Walk::new(&[("start.md", "---\noptions: [{ text: Order, to: end }, { text: Person, to: end }]\n---\nWhat?\n"), END]);
    let NavigateError::Invalid { message, expected: Expected::Input(request), .. } = walk.refused(Input::Text("dog".into())) else {
        panic!()
    };
    assert_eq!(message, "choose one of: Order, Person");
    assert_eq!(request.options.len(), 2);
    let result = ToolResult::new("x-1".into(), ToolOutcome::Error(ToolError::new("no")));
    assert_eq!(walk.refused(Input::Result(result)).to_string(), "`start` takes an input, not a tool result");
    assert_eq!(walk.refused(Input::Signal("dance".into())).to_string(), "`start` does not handle the signal `dance`");
}

#[test]
fn exhausted_nodes_lead_on_to_each_other_for_a_bounded_time() {
    let node = |other: &str| format!("---\nmax_visits: 1\non_max_visits: {other}\nwait: true\non_interrupt: fail\nto: {other}\n---\n");
    let (a, b) = (node("b"), node("a"));
    let mut walk = Walk::new(&[("start.md", "---\nto: a\n---\n"), ("a.md", &a), ("b.md", &b)]);
    walk.pass().say("").say("");
    assert_eq!(walk.ended(), "failed limit");
    assert!(walk.message().contains("the limit is 1000"), "{}", walk.message());
}

#[test]
fn a_predicate_is_asked_once_a_step_and_its_answer_recorded() {
    let files = [
        ("trellis.yaml", "predicates: [open]\n"),
        ("start.md", "---\nwait: true\ntransitions:\n  - { condition: not open, to: closed }\n  - { condition: open, to: end }\n---\n"),
        ("closed.md", "Closed.\n"),
        END,
    ];
    assert_eq!(
        Engine::new(program(&files), Predicates::new()).err().unwrap().to_string(),
        "the predicates `open` are not answered by the host"
    );
    let mut walk = Walk::with(Engine::new(program(&files), Predicates::new().with("open", |_| true)).unwrap(), "{}");
    walk.say("");
    let answers = walk.events.iter().filter(|event| matches!(event, Event::Predicate { answer: true, .. }));
    assert_eq!((answers.count(), walk.node()), (1, "end"));

    let deferred = Engine::new(program(&files), Predicates::new().deferred("open")).unwrap();
    let walk = Walk::with(deferred, "{}");
    assert!(matches!(walk.refused(Input::Pass), NavigateError::Unanswered(asked) if &*asked.name == "open"));
    let answering = walk.engine.answering([("open".into(), false)].into());
    assert_eq!(answering.navigate(&walk.state, Input::Pass).unwrap().state.current_node_id.as_str(), "closed");
}

#[test]
fn a_predicate_of_the_host_is_asked_about_the_context_after_the_writes() {
    let files = [
        ("trellis.yaml", "predicates: { adult: { needs: [age] } }\n"),
        ("start.md", "---\ninput_type: int\nsave_to: age\ntransitions:\n  - { condition: adult, to: end }\n  - { to: start }\n---\n"),
        END,
    ];
    let of_age = |context: &Context| context.get("age").and_then(Value::as_i64) >= Some(18);
    let mut walk = Walk::with(Engine::new(program(&files), Predicates::new().with("adult", of_age)).unwrap(), "{}");
    walk.say("17");
    assert_eq!(walk.node(), "start");
    walk.say("18");
    assert_eq!(walk.node(), "end");

    let deferred = Engine::new(program(&files), Predicates::new().deferred("adult")).unwrap();
    let walk = Walk::with(deferred, "{}");
    let NavigateError::Unanswered(asked) = walk.refused(Input::Text("18".into())) else { panic!() };
    assert_eq!(asked.context.get("age"), Some(&Value::Int(18)));
}

#[test]
fn a_session_does_not_start_without_its_inputs_and_hears_all_of_them() {
    let files = [
        ("trellis.yaml", "inputs: { type: object, required: [task] }\n"),
        ("start.md", "---\nrequired_context: [user.id]\ncontext_schema: { n: int, m: int }\ndefault_context: { m: 1 }\n---\nHello.\n"),
    ];
    let StartError::Inputs { problems } = engine(&files).start(start(r#"{"sys":1}"#)).unwrap_err() else { panic!() };
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert!(engine(&files).start(start(r#"{"task":"x","user":{"id":1},"n":3}"#)).is_ok());
}

#[test]
fn a_secret_is_saved_but_shows_up_nowhere_else() {
    let files = [("start.md", "---\ninput_type: secret\ninput_schema: { minLength: 6 }\nsave_to: pin\nto: end\n---\nPIN?\n"), END];
    let mut walk = Walk::new(&files);
    let refused = walk.refused(Input::Text("123".into()));
    assert!(!format!("{refused} {refused:?}").contains("123"));
    walk.say("hunter2");
    assert!(!format!("{:?} {:?}", walk.events, walk.state.system_context).contains("hunter2"));
    assert_eq!(walk.key("pin").as_deref(), Some(r#""hunter2""#));
}

#[test]
fn a_timeout_takes_the_default_as_if_it_was_typed() {
    let files = [
        (
            "start.md",
            "---\ninput_type: int\ntimeout: 5s\ninput_default: 7\nsave_to: x\ntransitions: [{ condition: input == 7, to: end }, { to: start }]\n---\n",
        ),
        END,
    ];
    let mut walk = Walk::new(&files);
    walk.go(Input::Signal("timeout".into()));
    assert_eq!((walk.node(), walk.key("x").as_deref()), ("end", Some("7")));
    assert_eq!(walk.state.system_context.ans, Some(Value::Int(7)));
}

#[test]
fn a_sleep_is_over_with_a_pass_and_answers_nothing() {
    let mut walk = Walk::new(&[("start.md", "---\nwait: 30s\nto: end\n---\n"), END]);
    let Next::Ask(request) = walk.view().next else { panic!() };
    assert_eq!(serde_json::to_string(&request).unwrap(), r#"{"input_type":"none","timeout":30000}"#);
    let NavigateError::Invalid { expected: Expected::Input(expected), .. } = walk.refused(Input::Text("wake".into())) else { panic!() };
    assert_eq!(*expected, request);
    walk.go(Input::Pass);
    assert_eq!((walk.node(), walk.state.system_context.ans.as_ref()), ("end", None));
}

#[test]
fn the_locale_follows_its_key_unless_the_start_names_one() {
    let files = [
        ("trellis.yaml", "locale: language\n"),
        ("start.md", "---\ninput_type: text\nsave_to: language\nto: end\n---\nWhich?\n"),
        ("end.md", "---\nmessages: { pt: Fim., pt-BR: Acabou. }\n---\nThe end.\n"),
    ];
    let said = |language: &str| Walk::new(&files).say(language).content();
    assert_eq!([said("pt-BR"), said("pt-PT"), said("fr")], ["Acabou.", "Fim.", "The end."]);
}
