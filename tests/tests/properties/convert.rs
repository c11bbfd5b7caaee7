//! Texts of the Go dialect and what they become in Jinja: over every context both render the same, or both fail.

use proptest::{collection, prelude::*, sample};
use trellis_core::{
    Context, Dialect, Value,
    diagnostic::Report,
    scope::Scope,
    span::SourceMap,
    template::{RenderLimits, Template, go_to_jinja},
};

const LIMITS: RenderLimits = RenderLimits { output: 1 << 16, fuel: 100_000 };

/// Keys of contexts and of what is in them: some look like words of Jinja or like names that a conversion gives.
const KEYS: [&str; 8] = ["a", "b", "item", "item2", "value", "loop", "tags", "é"];

fn key() -> impl Strategy<Value = &'static str> {
    sample::select(&KEYS[..])
}

fn spaces() -> impl Strategy<Value = &'static str> {
    sample::select(&["", "", " ", "\n", "  \n\t"][..])
}

fn words() -> impl Strategy<Value = String> {
    let part = sample::select(&["x", " ", "\n", "{", "}", "}}", "{%", "{#", "%}", "#}", "- ", "é", "{% raw %}", "\"", "\\"][..]);
    collection::vec(part, 0..4).prop_map(|parts| {
        let text = parts.concat();
        // Two braces would open an action.
        if text.contains("{{") || text.ends_with('{') { "{ ".to_owned() } else { text }
    })
}

fn constant() -> impl Strategy<Value = String> {
    let texts = ["\"\"", "\"x\"", "`a`", "\"{{ \\\"\"", "\"{%\"", "\"}}\"", "`\\n'`", "\"\\x07\\t\"", "\"/*\"", "\"#}\""];
    let others = ["0", "1", "-1", "2.5", "-0.5", "1e20", "18446744073709551615", "true", "false", "nil"];
    prop_oneof![sample::select(&texts[..]), sample::select(&others[..])].prop_map(str::to_owned)
}

/// A value as an argument, in a `range` or `with` or outside.
fn operand(depth: u32) -> BoxedStrategy<String> {
    let path = (sample::select(&["", "", "$"][..]), collection::vec(key(), 1..3))
        .prop_map(|(root, keys)| format!("{root}{}", keys.iter().map(|key| format!(".{key}")).collect::<String>()));
    let leaf = prop_oneof![6 => path, 2 => constant(), 1 => Just(".".to_owned()), 1 => Just("$x".to_owned()), 1 => Just("$i".to_owned())];
    if depth == 0 {
        return leaf.boxed();
    }
    prop_oneof![4 => leaf, 2 => pipeline(depth - 1).prop_map(|inside| format!("({inside})"))].boxed()
}

fn pipeline(depth: u32) -> BoxedStrategy<String> {
    let one = || operand(depth);
    let many = || collection::vec(operand(depth), 1..4).prop_map(|all| all.join(" "));
    prop_oneof![
        5 => one(),
        1 => (one(), one()).prop_map(|(otherwise, value)| format!("default {otherwise} {value}")),
        1 => (one(), one()).prop_map(|(value, otherwise)| format!("{value} | default {otherwise}")),
        1 => (one(), one()).prop_map(|(value, key)| format!("index {value} {key}")),
        1 => one().prop_map(|value| format!("toJson {value}")),
        1 => one().prop_map(|value| format!("{value} | toJson | default \"x\"")),
        1 => one().prop_map(|value| format!("not {value}")),
        2 => (sample::select(&["and", "or", "coalesce"][..]), many()).prop_map(|(name, values)| format!("{name} {values}")),
        1 => (one(), many()).prop_map(|(value, values)| format!("eq {value} {values}")),
        1 => (one(), one()).prop_map(|(one, other)| format!("ne {one} {other}")),
    ]
    .boxed()
}

/// An action around what it says, with or without markers that trim.
fn action(inside: String, trims: (bool, bool)) -> String {
    format!("{{{{{} {inside} {}}}}}", if trims.0 { "-" } else { "" }, if trims.1 { "-" } else { "" })
}

fn tag(inside: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (spaces(), inside, (prop::bool::weighted(0.2), prop::bool::weighted(0.2)), spaces())
        .prop_map(|(before, inside, trims, after)| format!("{before}{}{after}", action(inside, trims)))
}

fn text(depth: u32) -> BoxedStrategy<String> {
    let print = tag(pipeline(2));
    let comment = tag(sample::select(&["/* c */", "/*-*/", "/**/", "/* #} {{ .a }} */"][..]).prop_map(str::to_owned));
    if depth == 0 {
        return collection::vec(prop_oneof![3 => words(), 3 => print, 1 => comment], 0..3).prop_map(|parts| parts.concat()).boxed();
    }
    let end = || tag(Just("end".to_owned()));
    let fixed = |word: &str| tag(Just(word.to_owned()));
    let body = || text(depth - 1);
    let otherwise = || prop_oneof![Just(String::new()), (fixed("else"), body()).prop_map(|(tag, body)| tag + &body)];
    let condition = |word: &'static str| tag(pipeline(1).prop_map(move |value| format!("{word} {value}")));
    let branch = (
        condition("if"),
        body(),
        prop_oneof![Just(String::new()), (condition("else if"), body()).prop_map(|(tag, body)| tag + &body)],
        otherwise(),
        end(),
    )
        .prop_map(|(tag, body, elif, otherwise, end)| tag + &body + &elif + &otherwise + &end);
    let opening = prop_oneof![Just("range"), Just("range $x :="), Just("range $i, $x :="), Just("with")]
        .prop_flat_map(move |word| tag(pipeline(1).prop_map(move |value| format!("{word} {value}"))));
    let block = (opening, body(), otherwise(), end()).prop_map(|(tag, body, otherwise, end)| tag + &body + &otherwise + &end);
    collection::vec(prop_oneof![3 => words(), 3 => print, 1 => comment, 2 => branch, 4 => block], 0..4)
        .prop_map(|parts| parts.concat())
        .boxed()
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let numbers = [serde_json::json!(0), serde_json::json!(1), serde_json::json!(-3), serde_json::json!(2.5), serde_json::json!(u64::MAX)];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        sample::select(numbers.to_vec()),
        sample::select(&["", "x", "a", "{{ .a }}", "{% x"][..]).prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let entries = collection::btree_map(key(), inner.clone(), 0..4);
        prop_oneof![
            collection::vec(inner, 0..3).prop_map(serde_json::Value::from),
            entries.prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn context() -> impl Strategy<Value = serde_json::Value> {
    collection::btree_map(key(), value(), 0..7)
        .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The template, unless it is refused.
fn parsed(text: &str, dialect: Dialect) -> Option<Template> {
    let mut report = Report::new(&"a.md".into());
    let template = Template::parse(text, &SourceMap::Slice(0), dialect, &mut report);
    report.diagnostics.is_empty().then_some(template)
}

fn rendered(template: &Template, context: &serde_json::Value) -> Result<String, ()> {
    let context = Value::from_json(&context.to_string()).ok().and_then(|value| value.as_map().cloned()).unwrap_or_default();
    let scope = Scope { context: Context::new(context), ..Scope::default() };
    template.render(&scope, LIMITS).map(|text| text.to_string()).map_err(|_| ())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_converted_text_renders_the_same(text in text(2), contexts in collection::vec(context(), 4)) {
        let go = parsed(&text, Dialect::Go);
        match go_to_jinja(&text) {
            Ok(converted) => {
                let jinja = parsed(&converted, Dialect::Jinja);
                prop_assert!(jinja.is_some(), "{text}\n{converted}");
                prop_assert!(go.is_some(), "{text}\n{converted}");
                if let (Some(go), Some(jinja)) = (go, jinja) {
                    for context in contexts {
                        prop_assert_eq!(rendered(&go, &context), rendered(&jinja, &context), "{}\n{}\n{}", text, converted, context);
                    }
                }
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert!(text.get(problem.place.clone()).is_some(), "{text}: {problem:?}");
                    let of_jinja = ["`loop` is not a key", "this always fails", "cannot be given this"];
                    let is_known = of_jinja.iter().any(|reason| problem.reason.contains(reason));
                    prop_assert!(go.is_none() || is_known, "{text}: {problem:?}");
                }
            }
        }
    }

    #[test]
    fn junk_is_converted_or_refused(text in "(\\{\\{|\\}\\}|[-.$a-z\"`|() \n{}%#/*é0-9\u{1}]){0,40}") {
        if let Ok(converted) = go_to_jinja(&text) {
            prop_assert!(parsed(&converted, Dialect::Jinja).is_some(), "{text}\n{converted}");
        }
    }
}
