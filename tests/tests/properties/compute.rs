//! `compute` files and the builtins that only calculate: the same arguments give the same result, and no text makes them panic (language 9.24, 9.27).

use proptest::{collection, prelude::*, sample::select};
use trellis_core::{
    Mapping, Value, builtin,
    template::{Compute, DEFAULT_FUEL, RenderLimits},
};

const LIMITS: RenderLimits = RenderLimits { output: 1 << 16, fuel: DEFAULT_FUEL / 10 };

/// The sample that the benchmark runs too.
const APPLY_PLAN: &str = include_str!("../../benches/compute/apply_plan.jinja");

/// Parts of files, right and wrong ones.
const PARTS: [&str; 34] = [
    "{% set result = ",
    "{% set error = ",
    "{% set s = namespace(",
    "{% set s.a = ",
    "{% for i in ",
    "{% endfor %}",
    "{% if ",
    "{% else %}",
    "{% endif %}",
    " %}",
    "{{ ",
    " }}",
    "{% set result %}",
    "{% endset %}",
    "{% include 'x' %}",
    "state",
    "s.a",
    "i",
    "n",
    "1",
    "'x'",
    "[1, 2]",
    "{'a': 1}",
    "range(9)",
    " + ",
    " ~ ",
    " * ",
    " / ",
    " | merge(",
    " | without(",
    ")",
    " | list",
    " | default(",
    "\u{1F9EE}",
];

fn arguments() -> impl Strategy<Value = Mapping> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    let value = scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            collection::btree_map("[a-d]", inner, 0..4).prop_map(|entries| Value::map(entries.into_iter()))
        ]
    });
    (value.clone(), value).prop_map(|(state, n)| Mapping::from_iter([("state", state), ("n", n)]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(927), ..ProptestConfig::default() })]

    #[test]
    fn the_same_arguments_give_the_same_result(parts in collection::vec(select(&PARTS[..]), 0..14), arguments in arguments()) {
        let text = format!("{}{{% set result = [state, n] %}}", parts.concat());
        for text in [text.as_str(), &parts.concat()] {
            let Ok(file) = Compute::parse("f.jinja", text) else { continue };
            let first = file.evaluate(&arguments, LIMITS, 1 << 12);
            let again = Compute::parse("f.jinja", text).expect("it was parsed before").evaluate(&arguments, LIMITS, 1 << 12);
            prop_assert_eq!(&first, &again);
            if let Ok(result) = first {
                prop_assert!(result.size() <= 1 << 12);
            }
        }
    }

    #[test]
    fn no_text_makes_them_panic(text in ".{0,200}", expression in "[-+*/%().0-9e|a-z ^]{0,60}") {
        let _ = Compute::parse("f.jinja", text.as_str());
        for text in [&text, &expression] {
            let of = |name: &str| Mapping::from_iter([(name, Value::text(text.as_str()))]);
            if let Ok(number) = builtin::math_evaluate(&of("expression")) {
                prop_assert!(number.as_f64().is_some());
            }
            let _ = builtin::json_parse(&of("text"));
            let _ = builtin::json_merge(&of("parts"));
        }
    }
}

#[test]
fn a_plan_interrupts_waits_and_is_not_revived() {
    let file = Compute::parse("apply_plan.jinja", APPLY_PLAN).expect("it is right");
    let apply = |state: &Value, plan: &str| {
        let plan = Value::from_json(plan).expect("JSON");
        file.evaluate(&Mapping::from_iter([("state", state.clone()), ("plan", plan)]), LIMITS, 1 << 16)
    };
    let stack = |result: &Value| {
        let goals = result.at("state.stack").and_then(Value::as_list).expect("a stack").iter();
        let goals = goals.map(|id| result.at(&format!("state.goals.{}", id.as_str().expect("an id"))).expect("a goal"));
        let told = goals
            .map(|goal| format!("{} {}", goal.get("type").expect("a type").to_json(), goal.get("status").expect("a status").to_json()));
        told.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    let empty = Value::from_json(r#"{"version": 0, "stack": [], "goals": {}, "slots": {}}"#).expect("JSON");
    let plan = |kind: &str, priority: u32| {
        format!(r#"{{"goal_type": "{kind}", "priority": {priority}, "slots_patch": {{"a": {priority}}}, "missing": []}}"#)
    };
    let quote = apply(&empty, &plan("sales.quote", 50)).expect("a new goal");
    assert_eq!(stack(&quote), "sales.quote active");
    let refund = apply(&quote.at("state").expect("a state").clone(), &plan("support.refund", 100)).expect("an interruption");
    assert_eq!(stack(&refund), "support.refund active, sales.quote suspended");
    assert_eq!(refund.at("goal.id").and_then(Value::as_str), Some("g2"));
    let state = refund.at("state").expect("a state").clone();
    let order = apply(&state, &plan("sales.order", 70)).expect("a lower priority");
    assert_eq!(stack(&order), "support.refund active, sales.order suspended, sales.quote suspended");
    assert_eq!(stack(&apply(&state, &plan("support.refund", 100)).expect("the same goal")), "support.refund active, sales.quote suspended");
    let done = Value::from_json(
        r#"{"version": 0, "stack": [], "goals": {"g1": {"type": "sales.quote", "status": "done", "priority": 1}}, "slots": {}}"#,
    );
    let error =
        apply(&done.expect("JSON"), &plan("sales.quote", 50).replace("{\"goal", "{\"goal_id\": \"g1\", \"goal")).expect_err("it is done");
    assert_eq!((error.code, &*error.message), (Value::text("goal_done"), "`g1` is done"));
}
