//! Each slip: its message at its place, and whether its fix mends it.

use super::*;
use crate::tree;

/// The one diagnostic of a broken document, as `place: message`, and the text after its fix.
fn broken(text: &str) -> (String, Option<String>) {
    let mut report = Report::new(&"a.yaml".into());
    assert!(tree::read(text, 0..text.len(), &mut report).is_err(), "{text}");
    let [found] = &report.diagnostics[..] else { panic!("{text}: {:?}", report.diagnostics) };
    assert_eq!(found.code, Code::YamlSyntax, "{text}");
    let fixed = found.fix.as_ref().map(|fix| {
        let edit = &fix.edits[0];
        format!("{}{}{}", &text[..edit.place.span.start as usize], edit.text, &text[edit.place.span.end as usize..])
    });
    let place = found.place.as_ref().map(|place| &text[place.span.range()]).unwrap_or_default();
    (format!("{place}: {}", found.message), fixed)
}

#[test]
fn each_slip_has_its_own_message_at_its_own_place() {
    for (text, expected) in [
        ("to: a: b\n", ":: unquoted text cannot hold `: `"),
        ("to start\nb: c\n", "to start: this line is no `key: value`"),
        ("a: b\nto start\n", "to start: this line is no `key: value`"),
        ("a: b\nto:start\nc: d\n", ":: a space is missing after `:`"),
        ("a:\n- b\n-c\nto: x\n", "-: a space is missing after `-`"),
        ("a: b\n  c: d\n", "c: this line is indented deeper than the one above, so it continues that line's text"),
        ("a:\n  b: 1\n c: 2\n", "c: 2: this line does not fit the indentation of those above"),
        ("a: b\n\tc: d\n", "\t: a tab cannot indent YAML"),
        ("a: \"b\nc: d\n", "\"b: the quote \" is never closed"),
        ("a: 'b\n", "'b: the quote ' is never closed"),
        ("a: 'it's'\n", "s': there is text after the closing quote"),
        ("a: [b, c\nd: e\n", "[: `[` is never closed"),
        ("a: { b: c\n", "{: `{` is never closed"),
        ("a: [b] c\nd: e\n", "c: the value ended before this"),
        ("a: b]\nc: {d]}\n", "{: `{` is closed by `]`"),
        ("a: @b\n", "@: unquoted text cannot begin with `@`"),
        ("a: {% if x %}b{% endif %}\n", "{% if x %}b{% endif %}: a template needs quotes: YAML takes `{` for the beginning of a mapping"),
        ("a: {{ b }} and more # note\n", "{{ b }} and more: a template needs quotes: YAML takes `{` for the beginning of a mapping"),
        ("a: { b: {{ c[0] }}, d: e }\n", "{{ c[0] }}: a template needs quotes: YAML takes `{` for the beginning of a mapping"),
        ("a: { condition: b in [1, 2], to: x }\n", "[: a condition with `[` needs quotes inside `{ … }`"),
        ("a: \"\\ud800\"\n", "\"\\ud800\": half of a surrogate pair is no character"),
        ("a: 1\n---\nb: 2\n", "---: a second YAML document begins here"),
        ("a: &b [*b]\n", "*b: this alias stands inside what it refers to"),
    ] {
        assert_eq!(broken(text).0, expected, "{text}");
    }
}

#[test]
fn fixes_mend_what_they_promise_to() {
    for text in [
        "to: a: b\n",
        "a: b\nto:start\nc: d\n",
        "a:\n- b\n-c\nto: x\n",
        "a: @b # note\n",
        "a: {{ b }} and \"more\" # note\n",
        "a: { b: {{ c[0] }}, d: e }\n",
        "a: { condition: b in [1, \"2\"], to: x }\n",
    ] {
        let fixed = broken(text).1.unwrap();
        let mut report = Report::new(&"a.yaml".into());
        assert!(tree::read(&fixed, 0..fixed.len(), &mut report).is_ok(), "{fixed}");
        assert_eq!(report.diagnostics, [], "{fixed}");
    }
}

#[test]
fn a_line_separator_behind_a_bracket_is_cut_nowhere() {
    let text = "tools:\n  - name: charge\n    parameters:\n      required: [\u{2028}    properties: { amount: { type: number }, \
                currency: { enum: [EUR, USD] } }\n      addon_error: x\nionalProperties: false\ninput_type: float\n";
    assert!(!broken(text).0.is_empty());
}
