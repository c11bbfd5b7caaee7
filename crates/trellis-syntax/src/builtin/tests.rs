//! The results of the builtins, and their codes (language 9.24).

use super::*;
use trellis_base::value::Mapping;

fn code(error: ToolError) -> String {
    format!("{}: {}", error.code.unwrap().as_str().unwrap(), error.message)
}

fn number(expression: &str) -> String {
    let arguments = Mapping::from_iter([("expression", Value::text(expression))]);
    math_evaluate(&arguments).map_or_else(code, |value| value.to_json())
}

/// Checks the result for each text; reports all that differ at once.
fn same(make: fn(&str) -> String, cases: &[(&str, &str)]) {
    let differ = cases.iter().filter(|(text, expected)| make(text) != *expected);
    let differ: Vec<_> = differ.map(|(text, expected)| format!("{text}\n  is   {}\n  not  {expected}", make(text))).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn expressions_are_numbers() {
    same(
        number,
        &[
            ("2 + 3 * (4 - 1)", "11"),
            ("-2**2", "4"),
            ("-(2**2)", "-4"),
            ("7 / 2", "3.5"),
            ("7 // 2", "3"),
            ("-7 // 2", "-4"),
            ("-7 % 3", "2"),
            ("1e3 + 0.5", "1000.5"),
            ("-3.14159 | abs | round(2)", "3.14"),
            ("(2 ** 0.5) | round(precision=3)", "1.414"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            (" 1 ", "1"),
        ],
    );
}

#[test]
fn what_is_no_number_is_an_expression_error() {
    let parentheses = "(".repeat(100_000) + "1" + &")".repeat(100_000);
    let nested = "(".repeat(200) + "1" + &")".repeat(200);
    let mut wrong = Vec::new();
    let long = format!("1{}", " + 1".repeat(200));
    for (expression, expected) in [
        ("2 + abc", "an expression has numbers, and no name like `abc`"),
        ("1/0", "unable to calculate 1 / 0"),
        ("1 // 0", "unable to calculate 1 // 0"),
        ("1 % 0", ""),
        ("1.0 / 0", ""),
        ("2 ** 99999", "unable to calculate 2 ** 99999"),
        ("9.0 ** 99999", "the result is no finite number"),
        ("1 / (1e308 * 10)", "the result is no finite number"),
        ("(0 - 8) ** 0.5", "the result is no finite number"),
        ("2 ** 64", "the number 18446744073709551616 does not fit 64 bits"),
        ("2 ** 64 - 1", "the number 18446744073709551616 does not fit 64 bits"),
        ("99999999999999999999", ""),
        ("18446744073709551615 + 1", ""),
        ("1e400", ""),
        ("'a' * 1e9", "an expression has numbers, no texts"),
        ("\"a\"", "an expression has numbers, no texts"),
        ("[1]", "an expression has numbers, no lists or mappings"),
        ("{}", "an expression has numbers, no lists or mappings"),
        ("2 ^ 3", "`^` is no operator: write `**` for a power"),
        ("1 ~ 2", "an expression has no comparisons, `and`, `or` or `~`"),
        ("1 < 2", "an expression has "),
        ("1 == 2 and 3", ""),
        ("1 | string", "an expression has the filters `abs` and `round`, not `string`"),
        ("range(3)", "an expression has numbers"),
        ("true", ""),
        ("none", ""),
        ("1 if 1", ""),
        ("not 1", ""),
        ("(1, 2)", ""),
        ("1 }} {{ 2", "an expression has numbers, no lists or mappings"),
        ("1 %", ""),
        ("", "the expression is empty"),
        ("(1", ""),
        (&*parentheses, "the expression has 200001 bytes, at most 4096 are read"),
        (&*nested, "this nests deeper than 100 levels"),
        (&*long, "this nests deeper than 100 levels"),
    ] {
        let made = number(expression);
        if !made.starts_with("expression: ") || !made.contains(expected) {
            wrong.push(format!("{}: {made}", &expression[..expression.len().min(40)]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let error = math_evaluate(&Mapping::from_iter([("expression", Value::text("2 + abc"))])).unwrap_err();
    assert_eq!(error.data.unwrap().to_json(), r#"{"at":4}"#);
    assert_eq!(code(math_evaluate(&Mapping::new()).unwrap_err()), "expression: `expression` needs a text, not nothing");
}

#[test]
fn json_is_read_exactly() {
    let read = |text: &str| json_parse(&Mapping::from_iter([("text", Value::text(text))])).map_or_else(code, |value| value.to_json());
    assert_eq!(read(r#" {"b": [1, 18446744073709551615, null], "a": "x"} "#), r#"{"a":"x","b":[1,18446744073709551615,null]}"#);
    for fenced in [
        "```json\n{\"a\": 1}\n```",
        "```\r\n{\"a\": 1}\r\n```",
        "\n```JSON\n{\"a\": 1}```\n",
        "Here is the plan:\n\n```json\n{\"a\": 1}\n```\nDone.",
        "Here is the plan: ```json {\"a\": 1} ``` Done.",
        "So: ```{\"a\": 1}```",
        "[1] `a`: ```json title=\n{\"a\": 1}\n```",
        "~~~json\n{\"a\": 1}\n~~~",
        "Here is the plan:\n\n~~~ JSON\n{\"a\": 1}\n~~~\nDone.",
        "Hello~~~ the plan:\n\n```json\n{\"a\": 1}\n```\nDone.",
        "````json\n{\"a\": 1}\n````",
        "~~~~~\n{\"a\": 1}\n~~~~~",
    ] {
        assert_eq!(read(fenced), r#"{"a":1}"#, "{fenced}");
    }
    assert_eq!(read(r#"{"a": "```json\n{}\n```"}"#), r#"{"a":"```json\n{}\n```"}"#, "a fence in a text");
    for (text, expected) in [
        ("", ""),
        ("{", ""),
        ("Here: {}", ""),
        ("Here: ```json\n{}", ""),
        ("```json\n{}\n```\nor\n```json\n{}\n```", ""),
        ("```json\n{}\n```\nor\n~~~json\n{}\n~~~", ""),
        ("~~~json\n{}", ""),
        ("Here: ```json\n{\"a\": 1, \"a\": 2}\n```", "the key `a` stands twice"),
        ("1 2", ""),
        ("NaN", ""),
        ("1e400", ""),
        (r#"{"a": 1, "a": 2}"#, "the key `a` stands twice"),
        ("18446744073709551616", "the number 18446744073709551616 does not fit 64 bits"),
        (&*("[".repeat(100_000) + &"]".repeat(100_000)), "nested 100000 levels deep, at most 127 can be read"),
    ] {
        let made = read(text);
        assert!(made.starts_with("malformed_json: ") && made.contains(expected), "{made}");
    }
    assert_eq!(code(json_parse(&Mapping::from_iter([("text", 1)])).unwrap_err()), "malformed_json: `text` needs a text, not integer");
}

#[test]
fn later_values_win_unless_they_are_empty() {
    let merged = |parts: &str| {
        let parts = Value::from_json(parts).unwrap();
        json_merge(&Mapping::from_iter([("parts", parts)])).map_or_else(code, |value| value.to_json())
    };
    same(
        merged,
        &[
            ("[]", "{}"),
            (r#"[{"a": 1, "b": 2}, {"b": 3, "c": 4}]"#, r#"{"a":1,"b":3,"c":4}"#),
            (
                r#"[{"a": 1, "b": "x", "c": [1], "d": {"e": 1}}, {"a": null, "b": "", "c": [], "d": {}}]"#,
                r#"{"a":1,"b":"x","c":[1],"d":{"e":1}}"#,
            ),
            (r#"[{"a": null}, {"a": ""}, null, {}]"#, r#"{"a":null}"#),
            (r#"[{"a": ""}, {"a": 0}, {"a": false}]"#, r#"{"a":false}"#),
            (r#"[{"a": {"x": 1}}, {"a": {"y": 2}}]"#, r#"{"a":{"y":2}}"#),
            ("[{}, [1]]", "malformed_json: part 2 is of kind list, not a mapping"),
            (r#""x""#, "malformed_json: `parts` needs a list, not text"),
        ],
    );
}
