//! The results of `compute` files, their mistakes, and their bounds (language 9.27).

use super::*;
use crate::template::DEFAULT_FUEL;

const LIMITS: RenderLimits = RenderLimits { output: 1 << 20, fuel: DEFAULT_FUEL };
const OUTPUT: u64 = 1 << 20;

fn arguments() -> Mapping {
    let json = r#"{"n": 3, "huge": 18446744073709551615, "text": "abcd", "items": [{"id": "a", "n": 1}, {"id": "b", "n": 2}],
        "state": {"stack": ["a"], "goals": {"a": {"type": "x"}}}, "nothing": null, "input": 1}"#;
    Value::from_json(json).unwrap().as_map().unwrap().clone()
}

fn run(text: &str) -> Result<Value, ComputeError> {
    let file = Compute::parse("lib/f.jinja", text).unwrap_or_else(|found| panic!("{text}: {found:?}"));
    file.evaluate(&arguments(), LIMITS, OUTPUT)
}

/// The result as JSON, or the code and the message of the error.
fn made(text: &str) -> String {
    run(text).map_or_else(|error| format!("{}: {error}", error.code.to_json()), |value| value.to_json())
}

/// Checks the result for each text; reports all that differ at once.
fn same(make: fn(&str) -> String, cases: &[(&str, &str)]) {
    let differ = cases.iter().filter(|(text, expected)| make(text) != *expected);
    let differ: Vec<_> = differ.map(|(text, expected)| format!("{text}\n  is   {}\n  not  {expected}", make(text))).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The first mistake with its line and column.
fn mistake(text: &str) -> String {
    let found = Compute::parse("f.jinja", text).expect_err(text).remove(0);
    let at = crate::span::LineIndex::new(text).locate(found.place.unwrap().span.start);
    format!("{}:{} {}", at.line, at.column, found.message)
}

#[test]
fn a_result_keeps_its_type() {
    same(
        made,
        &[
            ("{% set result = n + 1 %}", "4"),
            ("\n  {% set result = {\"a\": text, \"b\": [n, nothing]} %}\n\t", r#"{"a":"abcd","b":[3,null]}"#),
            ("{% set result = state %}", r#"{"goals":{"a":{"type":"x"}},"stack":["a"]}"#),
            ("{% set result %} {{ n }} {% endset %}", r#"" 3 ""#),
            ("{% if n > 2 %}{% set result = 1 %}{% else %}{% set result = 2 %}{% endif %}", "1"),
            ("{% set result = none %}", "null"),
            ("{% set result = huge %}", "18446744073709551615"),
            ("{% set a, result = [1, 2] %}", "2"),
            ("{# a note #}{% set result = input %}", "1"),
        ],
    );
}

#[test]
fn namespaces_merge_and_without() {
    same(
        made,
        &[
            ("{% set s = namespace(n=0) %}{% for i in items %}{% set s.n = s.n + i.n %}{% endfor %}{% set result = s.n %}", "3"),
            (
                "{% set s = namespace({\"l\": []}) %}{% for i in items %}{% set s.l = s.l + [i.id] %}{% endfor %}{% set result = s %}",
                r#"{"l":["a","b"]}"#,
            ),
            // A copy of a namespace does not change with it.
            (
                "{% set s = namespace(n=1) %}{% set t = s %}{% set s.n = 2 %}{% set s.of = s %}{% set result = [t, s] %}",
                r#"[{"n":1},{"n":2,"of":{"n":2}}]"#,
            ),
            ("{% set result = {\"a\": 1, \"b\": 2} | merge({\"b\": 3, \"c\": none}) %}", r#"{"a":1,"b":3,"c":null}"#),
            ("{% set result = state | merge({\"stack\": []}) | without(\"goals\") %}", r#"{"stack":[]}"#),
            ("{% set result = state | without([\"goals\", \"stack\", \"other\"]) %}", "{}"),
            ("{% set result = items | map(\"without\", \"id\") | list %}", r#"[{"n":1},{"n":2}]"#),
            ("{% set result = items | merge({}) %}", "\"compute\": `merge` needs a mapping, not list (lib/f.jinja:1:17)"),
            (
                "{% set result = state | without(n) %}",
                "\"compute\": `without` needs the name of an entry, or a list of names, not integer (lib/f.jinja:1:17)",
            ),
        ],
    );
}

#[test]
fn an_error_is_what_its_author_says() {
    same(
        made,
        &[
            ("{% set error = {\"code\": \"late\", \"message\": \"too late\"} %}{% set result = 1 %}", r#""late": too late"#),
            ("{% set error = {\"message\": \"no\"} %}", r#""compute": no"#),
            ("{% set error = {\"code\": 7, \"message\": \"no\"} %}", "7: no"),
            ("{% set error = none %}{% set result = 1 %}", "1"),
            ("{% set error = {} %}", r#""compute": `error` has no text `message`: `error` is `{code?, message, data?}`"#),
            ("{% set error = \"no\" %}", r#""compute": `error` was set to a value of kind text: `error` is `{code?, message, data?}`"#),
            (
                "{% set error = {\"message\": \"no\", \"mesage\": 1} %}",
                r#""compute": `error` has no key `mesage`: `error` is `{code?, message, data?}`"#,
            ),
            (
                "{% set error = {\"message\": \"no\", \"code\": []} %}",
                r#""compute": a code is a text or an integer, not of kind list: `error` is `{code?, message, data?}`"#,
            ),
            ("{% if n == 0 %}{% set result = 1 %}{% endif %}", r#""compute": `result` was not set"#),
            ("\n{% set a = n / (n - 3) %}{% set result = a %}", "\"compute\": unable to calculate 3 / 0 (lib/f.jinja:2:12)"),
            ("{% set result = absent %}", "\"compute\": `absent` is not set (lib/f.jinja:1:17)"),
            ("{% set result = huge + 1 %}", "\"compute\": the number 18446744073709551616 does not fit 64 bits"),
            ("{% set s = namespace() %}{% set result = s.absent %}", "\"compute\": `s.absent` is not set (lib/f.jinja:1:42)"),
        ],
    );
    let error = run("{% set error = {\"code\": \"late\", \"message\": \"m\", \"data\": [n]} %}").unwrap_err();
    let tool = crate::input::ToolError::from(error);
    assert_eq!((tool.code, tool.data), (Some(Value::text("late")), Some(Value::from([3]))));
}

#[test]
fn mistakes_have_line_and_column() {
    same(
        mistake,
        &[
            ("{% set result = 1 %}\nDone.", "2:1 this would be printed, and a `compute` file prints nothing"),
            ("{% set result = 1 %}\n  {{ n }}", "2:6 this would be printed, and a `compute` file prints nothing"),
            ("{% filter upper %} {% endfilter %}{% set result = 1 %}", "1:11 this would be printed, and a `compute` file prints nothing"),
            ("{% include \"other.jinja\" %}", "1:4 `include` is not part of the language"),
            ("{% import \"other.jinja\" as o %}", "1:4 `import` is not part of the language"),
            ("{% extends \"other.jinja\" %}", "1:4 `extends` is not part of the language"),
            ("{% set a = 1 %}", "1:1 nothing at the top of this file sets `result` or `error`"),
            ("{% for i in items %}{% set result = i %}{% endfor %}", "1:1 nothing at the top of this file sets `result` or `error`"),
            ("", "1:1 nothing at the top of this file sets `result` or `error`"),
            ("{% set a = {} %}\n{% set a.b = 1 %}{% set result = a %}", "2:8 `a` is no namespace"),
            ("{% set result = [namespace(n=1)] %}", "1:18 `namespace` stands alone: `{% set name = namespace(…) %}`"),
            ("{% set result = now() %}", "1:17 there is no function `now`"),
            ("{% set result = {} | merged({}) %}", "1:22 there is no filter `merged`"),
            ("{% set result = state | merge(1) %}", "1:25 `merge` cannot be given this: `merge` needs a mapping, not integer"),
            ("{% set result = 1 / 0 %}", "1:17 this always fails: unable to calculate 1 / 0"),
        ],
    );
}

#[test]
fn only_compute_files_have_their_names() {
    let mut report = Report::new(&"a.md".into());
    crate::template::Template::parse(
        "{{ {} | merge({}) }}{{ namespace() }}",
        &SourceMap::Slice(0),
        crate::template::Dialect::Jinja,
        &mut report,
    );
    let found: Vec<_> = report.diagnostics.iter().map(|found| (&*found.message, found.help.as_deref().unwrap_or_default())).collect();
    let help = "only a `compute` file has it";
    assert_eq!(found, [("there is no filter `merge`", help), ("there is no function `namespace`", help)]);
}

/// Nothing explodes: each ends early, by a bound that it names.
#[test]
fn bounds_hold() {
    let loops = "{% for a in range(10000) %}".repeat(3) + &"{% endfor %}".repeat(3) + "{% set result = 1 %}";
    let double = |first: &str, grown: &str| {
        format!(
            "{{% set s = namespace(v={first}) %}}{{% for i in range(60) %}}{{% set s.v = {grown} %}}{{% endfor %}}{{% set result = s.v | length %}}"
        )
    };
    let text = "longer than 1048576 bytes (`limits.template_output`)";
    let made = "has more than 1048576 bytes (`limits.tool_output`)";
    for (file, message) in [
        (&*loops, "more than 1000000 steps (`limits.template_fuel`)"),
        (&*double("'xxxx'", "s.v ~ s.v"), text),
        (&*double("'xxxx'", "s.v + s.v"), text),
        (&*double("'xxxx'", "s.v | replace('x', 'xx')"), text),
        (&*double("[1]", "s.v + s.v"), "the value has too many parts"),
        (&*double("[1]", "[s.v, s.v]"), "the value has too many parts"),
        (&*double("[1]", "[s.v]"), ""),
        (&*double("{'a': text * 1000}", "{'a': s.v, 'b': s.v}"), made),
        (&*double("{'a': text * 1000}", "{} | merge({'a': s.v, 'b': s.v})"), made),
        (&*double("{}", "s.v | merge({('k' ~ i): text * 10000})"), made),
        ("{% set result = text * 300000 %}", text),
    ] {
        let made = run(file);
        if message.is_empty() {
            assert!(made.is_ok(), "{file}: {made:?}");
            continue;
        }
        let error = made.expect_err(file);
        assert!(error.message.contains(message), "{file}: {error}");
    }
    // The result is counted, also where it is an argument handed on.
    let all = Compute::parse("f.jinja", "{% set result = items %}").unwrap();
    let error = all.evaluate(&arguments(), LIMITS, 10).unwrap_err();
    assert_eq!(error.message, "the result is 35 bytes, more than the 10 that `limits.tool_output` allows");
    assert!(all.evaluate(&arguments(), LIMITS, 35).is_ok());
    let most = RenderLimits { output: u64::MAX, fuel: u64::MAX };
    assert!(all.evaluate(&arguments(), most, u64::MAX).is_ok());
    let small = RenderLimits { output: 1, fuel: 2 };
    assert!(all.evaluate(&arguments(), small, 100).unwrap_err().message.contains("more than 2 steps"));
}

#[test]
fn names_are_checked_against_parameters() {
    let parameters = Value::from_json(
        r#"{"type": "object", "required": ["state", "items"], "properties": {"items": {"type": "array"}, "limit": {"type": "integer"},
            "state": {"type": "object", "required": ["stack"], "properties": {"stack": {}, "goals": {}}, "additionalProperties": false},
            "open": {"type": "object", "properties": {"a": {}}}}}"#,
    )
    .unwrap();
    let found = |text: &str| {
        let file = Compute::parse("f.jinja", text).unwrap_or_else(|found| panic!("{text}: {found:?}"));
        let line = |found: Diagnostic| {
            let at = crate::span::LineIndex::new(text).locate(found.place.unwrap().span.start);
            format!("{}:{} {} {}", at.line, at.column, found.code, found.message)
        };
        file.check(&parameters).into_iter().map(line).collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("{% set result = state.stack + items %}", None),
        ("{% set x = 1 %}{% for i in items %}{% set y = i.z + loop.index %}{% endfor %}{% set result = x %}", None),
        ("{% set s = namespace(a=1) %}{% set s.a = s.a + 1 %}{% set result = s.a %}", None),
        ("{% set result = limit | default(3) %}", None),
        ("{% set result = limit + 1 if limit is defined else 0 %}", None),
        ("{% set result = open.b if open is defined else 0 %}", None),
        (
            "{% set result = 1 %}\n{% if true %}{% set result = itmes | length %}{% endif %}",
            Some("2:30 undefined-variable no argument is called `itmes`"),
        ),
        ("{% set result = sate %}", Some("1:17 undefined-variable no argument is called `sate`")),
        ("{% set result = state.stak %}", Some("1:17 undefined-variable no argument is called `state.stak`")),
        ("{% set result = limit + 1 %}", Some("1:17 maybe-undefined `limit` may be missing: `parameters` do not require it")),
        (
            "{% set all = state.goals %}{% set result = all | length %}",
            Some("1:44 maybe-undefined `state.goals` may be missing: `parameters` do not require it"),
        ),
        ("{% set result = call.id %}", Some("1:17 undefined-variable no argument is called `call`")),
    ] {
        assert_eq!(found(text), Vec::from_iter(expected), "{text}");
    }
    assert!(Compute::parse("f.jinja", "{% set result = x %}").unwrap().check(&Value::Bool(true)).is_empty());
}
