//! The texts of random nodes: templates that read typed keys, by their own names and by those of a template.

use super::rng::Rng;

/// The result of a `find`.
pub(super) const FOUND: &str = r#"{ "type": "object", "required": ["rows", "count", "name", "kind"], "properties": {
    "rows": { "type": "array", "items": { "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" }, "note": { "type": "string" } } } },
    "count": { "type": "integer" }, "name": { "type": "string" }, "kind": { "enum": ["a", "b"] }, "more": { "type": "number" } } }"#;

/// Results that a `find` may have.
pub(super) const RESULTS: [&str; 4] = [
    r#"{"rows":[{"id":1,"note":"x"},{"id":2}],"count":2,"name":"Ann","kind":"a"}"#,
    r#"{"rows":[],"count":0,"name":"","kind":"b","more":1.5}"#,
    r#"{"rows":[{"id":-7,"note":""}],"count":1,"name":"é","kind":"a","other":[1]}"#,
    r#"{"rows":[{"note":"no id"}],"count":1,"name":"x","kind":"a"}"#,
];

/// The values that a node saves under `list` and `pairs`.
pub(super) const LIST: &str = r#"[{ "a": 1, "b": "x" }, { "a": 2 }]"#;
pub(super) const PAIRS: &str = r#"{ "x": 1, "y": 2 }"#;

/// Read where `found` is there.
const OF_FOUND: [&str; 18] = [
    "{{ found.name | upper }} {{ found.count * 2 - 1 }}",
    "{% set f = found %}{{ f.name }} {{ f.rows | length }}",
    "{% set f = found %}{% if f.more %}{{ f.more + 1 }}{% endif %}",
    "{{ found.more | default(0) }}",
    "{{ found.more }}",
    "{% for r in found.rows %}{{ loop.index }}: {{ r.id + 1 }} {{ r.note | default('-') }}{% endfor %}",
    "{% for r in found.rows %}{% if r.note %}{{ r.note | title }}{% endif %}{% else %}none{% endfor %}",
    "{% for r in found.rows %}{{ r.note }}{% endfor %}",
    "{% for r in found.rows | sort(attribute='id') %}{{ r.id }}{% endfor %}",
    "{% for r in found.rows if r.note is defined %}{{ r.id }}{{ r.note }}{% endfor %}",
    "{% with rows = found.rows %}{% for r in rows | reverse %}{{ r.id }}{% endfor %}{% endwith %}",
    "{% if found.kind == 'a' %}{% set t = 'A' %}{% else %}{% set t = 'B' %}{% endif %}{{ t | lower }}",
    "{% if found.kind == 'a' %}{% set t = found.name %}{% endif %}{{ t }}",
    "{% set rows = found.rows %}{{ (rows | first).id }}",
    "{% set first = found.rows | first %}{% if first %}{{ first.id }}{% endif %}",
    "{{ found.name | round }}",
    "{{ found.rows[0].id }}",
    "{{ 'x' in found.name }} {{ found.kind in ['a'] }} {{ found.count > 1 and found.name }}",
];

/// Read where `list` and `pairs` are there.
const OF_LIST: [&str; 8] = [
    "{% for i in list %}{{ i.a * 2 }}{% endfor %}",
    "{% for i in list %}{{ i.b }}{% endfor %}",
    "{% for i in list %}{{ i.b | default(i.a) }}{% endfor %}",
    "{% for name, of in pairs | items %}{{ name | upper }}{{ of + 1 }}{% endfor %}",
    "{% for name in pairs %}{{ name ~ '!' }}{% endfor %}",
    "{% set l = list %}{% for i in l | default([]) %}{{ i.a - 1 }}{% endfor %}",
    "{% set p = pairs %}{{ p.x + p.y }} {{ p.z | default(1) }}",
    "{% set p = pairs %}{{ p.z }}",
];

/// Read where `number` is there.
const OF_NUMBER: [&str; 6] = [
    "{{ number + 1 }} {{ -number }} {{ number | abs }}",
    "{{ number / 2 }} {{ number % 3 }}",
    "{% set n = number %}{{ n * 2 }}",
    "{{ number | upper }} {{ number ~ 'x' }}",
    "{{ number | length }}",
    "{{ (number | string) - 1 }}",
];

/// Something to say.
pub(super) fn words(rng: &mut Rng) -> String {
    let (key, phrases): (&str, &[&str]) = match rng.below(3) {
        0 => ("found", &OF_FOUND),
        1 => ("list", &OF_LIST),
        _ => ("number", &OF_NUMBER),
    };
    let phrase = *rng.pick(phrases);
    if rng.chance(90) { format!("{{% if {key} is defined %}}{phrase}{{% endif %}}") } else { phrase.to_owned() }
}

/// Calculations with a key that may be of any kind, or missing.
pub(super) const CALCULATED: [&str; 8] = [
    "{{ k | default(0) + 1 }}",
    "{{ k | default(7) // 2 - 1 }}",
    "{{ k | default(7) / 2 }}",
    "{{ k | default(2) * 2.5 }}",
    "{{ k | default('x') ~ 1 }}",
    "{{ 1 if other is defined else 'x' }}",
    "{{ [k | default(1), 'x'] }}",
    "{{ k | default([]) + [1] }}",
];
