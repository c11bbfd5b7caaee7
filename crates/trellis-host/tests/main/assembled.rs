//! One check of a program for its start and for each reload: functions, unbound tools, predicates.

use std::{path::Path, sync::Arc};

use trellis_core::{Context, Predicates, Program, Start, Value};
use trellis_host::{
    Bindings, Policy, Sessions, Stop, Unbound,
    assembly::{Assembly, NotRunnable, Runnable, deferred_predicates},
};

use crate::stage::{program, run};

const WORKS: &[(&str, &str)] = &[("start.md", "---\ntools: [{name: work}]\ndo: work\nto: end\n---\n"), ("end.md", "---\n---\nDone.\n")];
const RESTS: &[(&str, &str)] = &[("start.md", "---\nto: end\n---\n"), ("end.md", "---\n---\nDone.\n")];

fn work(bindings: Bindings) -> Bindings {
    bindings.function("work", |_, _| Ok(Value::Null))
}

fn assemble(assembly: &Assembly, program: &Arc<Program>) -> Result<Runnable, NotRunnable> {
    assembly.assemble(Some(program), program.documents(), Path::new(".")).runnable
}

#[test]
fn a_save_that_calls_a_registered_function_no_more_is_refused_as_its_start_is() {
    let assembly = Assembly::new().functions(work);
    assert!(assemble(&assembly, &program(WORKS)).is_ok());
    let refused = assemble(&assembly, &program(RESTS)).unwrap_err();
    assert!(matches!(refused, NotRunnable::Functions(_)), "{refused}");

    // Whoever swaps programs by hand meets the same check, and the last program goes on.
    let engine = |program: &Arc<Program>| trellis_core::Engine::new(Arc::clone(program), deferred_predicates(program)).unwrap();
    let sessions = Sessions::new(engine(&program(WORKS)), work(Bindings::none())).unwrap();
    let vetoed = run(sessions.swap(engine(&program(RESTS)), work(Bindings::none()))).unwrap_err();
    assert!(vetoed.to_string().contains("the graph calls no tool named `work`"), "{vetoed}");
    assert_eq!(sessions.engine().inspect().fingerprint(), program(WORKS).fingerprint());
}

#[test]
fn one_setting_says_what_an_unbound_tool_is_at_a_start_and_at_a_reload() {
    for (unbound, is_run) in [(Unbound::Elsewhere, true), (Unbound::TypedIn, true), (Unbound::Fail, false)] {
        let assembly = Assembly::new().policy(Policy::new().unbound(unbound));
        assert_eq!(assemble(&assembly, &program(WORKS)).is_ok(), is_run, "{unbound:?}");
    }
}

#[test]
fn predicates_of_an_assembly_are_answered_in_each_program_and_nobody_is_asked() {
    let files = [
        ("trellis.yaml", "predicates: [is_open, is_late]\n"),
        ("start.md", "---\ntransitions: [{ condition: is_open, to: in }, { condition: is_late, to: late }, { to: out }]\n---\n"),
        ("in.md", "---\n---\nCome in.\n"),
        ("late.md", "---\n---\nLate.\n"),
        ("out.md", "---\n---\nWe are closed.\n"),
    ];
    let hour = |context: &Context| context.get("hour").is_some_and(|hour| matches!(hour, Value::Int(9..17)));
    let open = Predicates::new().with("is_open", hour);
    let assembly = Assembly::new().asks_nobody(true).predicates(open);
    let refused = assemble(&assembly, &program(&files)).unwrap_err();
    assert_eq!(refused, NotRunnable::Unanswered(vec!["is_late".into()]));

    let assembly = assembly.predicates(Predicates::new().with("is_late", |_| false));
    let sessions = assembly.sessions(assemble(&assembly, &program(&files)).unwrap(), None).unwrap();
    let start = Start { context: [("hour", Value::Int(10))].into_iter().collect(), ..Start::default() };
    let turn = run(sessions.start(start)).unwrap();
    assert!(matches!(turn.stop, Stop::Ended(_)));
    assert_eq!(&*turn.said[0].text, "Come in.\n");
}
