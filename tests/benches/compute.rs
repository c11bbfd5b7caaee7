//! The costs of a `compute` file: parsing it once, and each call.
//!
//! `cargo bench -p trellis-tests --bench compute`; `docs/performance.md` says what must come out.

use std::hint::black_box;

use divan::Bencher;
use trellis_core::{
    Mapping, Value, builtin,
    template::{Compute, DEFAULT_FUEL, RenderLimits},
};

fn main() {
    divan::main();
}

const APPLY_PLAN: &str = include_str!("compute/apply_plan.jinja");

const LIMITS: RenderLimits = RenderLimits { output: 1 << 20, fuel: DEFAULT_FUEL };

/// A state with so many goals, all of them on the stack, and a plan that interrupts them.
fn arguments(goals: usize) -> Mapping {
    let goal = |at: usize| {
        let goal = [("type", Value::text(format!("sales.kind_{at}"))), ("status", Value::text("suspended")), ("priority", Value::from(50))];
        (format!("g{at}"), Value::map(goal.into_iter().chain([("missing", Value::from(["article"]))])))
    };
    let state = [
        ("goals", Value::map((1..=goals).map(goal))),
        ("stack", Value::list((1..=goals).map(|at| Value::text(format!("g{at}"))))),
        ("slots", Value::map([("article", "lamp"), ("colour", "red")])),
        ("version", Value::from(3)),
    ];
    let plan = r#"{"goal_type": "support.refund", "priority": 100, "slots_patch": {"order": "A-7"}, "missing": ["reason"]}"#;
    Mapping::from_iter([("state", Value::map(state)), ("plan", Value::from_json(plan).expect("JSON"))])
}

/// One call of `apply_plan`, by goals of the state. The arguments are new, as those of a call are.
#[divan::bench(args = [1, 10, 100])]
fn apply_plan(bencher: Bencher<'_, '_>, goals: usize) {
    let file = Compute::parse("apply_plan.jinja", APPLY_PLAN).expect("it is right");
    bencher
        .with_inputs(|| arguments(goals))
        .bench_local_refs(|arguments| file.evaluate(black_box(arguments), LIMITS, 1 << 20).expect("it has a result"));
}

/// Parsing `apply_plan`.
#[divan::bench]
fn parse(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| Compute::parse("apply_plan.jinja", black_box(APPLY_PLAN)).expect("it is right"));
}

/// `math.evaluate` of a short expression, parsed each time.
#[divan::bench]
fn math_evaluate(bencher: Bencher<'_, '_>) {
    let arguments = Mapping::from_iter([("expression", "2 + 3 * (4 - 1)")]);
    bencher.bench_local(|| builtin::math_evaluate(black_box(&arguments)).expect("a number"));
}
