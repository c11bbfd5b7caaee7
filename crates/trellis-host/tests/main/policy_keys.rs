//! `policy:` and `budget:` as they are written: each mistake is one finding, at its place (language 9.1, 11.3, 11.4, 11.6).

use std::sync::Arc;

use trellis_core::{Dialect, Document, Source, diagnostic::Severity};
use trellis_host::binding::check_bindings;

/// The findings of a project file: the text at the place of each, its message and its help.
fn found(project: &str) -> Vec<(String, String, String)> {
    let files = [("trellis.yaml", project), ("start.md", "Hi.\n")];
    let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
    let told = |found: trellis_core::Diagnostic| {
        assert_eq!(found.severity, Severity::Error);
        let span = found.place.unwrap().span;
        (project[span.range()].to_owned(), found.message, found.help.unwrap_or_default().to_string())
    };
    check_bindings(&documents).into_iter().map(told).collect()
}

const SCORE: &str = "files: \"logs/*.json\", field: score, risk: risk";

#[test]
fn what_is_right_has_no_finding() {
    let policy = format!(
        "policy:\n  - {{ forced: {{ env: FORCE }} }}\n  - {{ block: [\"shell.*\", {{ tool: mail, args: {{ required: [to] }} }}, \"graph:inner/*\"] }}\n  \
         - {{ allow: [crm.find], else: ask }}\n  - {{ tool: gate }}\n  - {{ score: {{ {SCORE}, verdict: v, at: t, max_age: 5m, block_below: 1, auto_above: 2.5 }} }}\n"
    );
    assert_eq!(found(&format!("{policy}budget: {{ calls: 9, tokens: 100 }}\n")), []);
}

#[test]
fn each_mistake_in_a_policy_has_its_place() {
    let long = |score: &str| format!("[{{ score: {{ {score} }} }}]");
    let mut wrong = Vec::new();
    for (policy, place, message, help) in [
        ("[block]", "block", "`policy.0` takes a mapping, not text", "one of `forced`, `block`"),
        ("[{}]", "{}", "`policy.0` names no provider", "one of `forced`, `block`"),
        ("[{ blok: [x] }]", "[x]", "`policy.0` has no key `blok`", "did you mean `block`?"),
        ("[{ block: [x], ask: [y] }]", "[y]", "`policy.0` has `block` and `ask`", "write an item for each"),
        ("[{ block: mail }]", "mail", "`block` takes a list of patterns, not text", "a pattern is a glob"),
        ("[{ block: [3] }]", "3", "`block.0` names no tool", "a pattern is a glob"),
        ("[{ ask: [x, \"a[\"] }]", "a[", "`a[` is no glob", "a pattern is a glob"),
        ("[{ ask: [{ tol: x, tool: y }] }]", "x", "`ask.0` has no key `tol`", "did you mean `tool`?"),
        ("[{ ask: [{ tool: y, args: { type: 3 } }] }]", "{ type: 3 }", "`ask.0.args` is no JSON Schema", ""),
        ("[{ ask: [x], else: block }]", "block", "`else` stands beside `allow`, not beside `ask`", ""),
        ("[{ allow: [x], else: blok }]", "blok", "`else` takes `ask`, `block` or `pass`, not `blok`", "did you mean `block`?"),
        ("[{ tool: [x] }]", "[x]", "`tool` takes a text, not a list", "tool: house_gate"),
        ("[{ forced: FORCE }]", "FORCE", "`forced` takes a mapping, not a text", "forced: {env: FORCE_DECISION}"),
        ("[{ forced: {} }]", "{}", "`forced` names no variable", "forced: {env: FORCE_DECISION}"),
        ("[{ forced: { var: X } }]", "X", "`forced` has no key `var`", "`env`"),
        ("[{ score: high }]", "high", "`score` takes a mapping, not text", ""),
        (&long("field: score, risk: risk"), "{ field: score, risk: risk }", "`score` has no `files`", "files: logs/health_*.json"),
        (&long("files: a, risk: risk"), "{ files: a, risk: risk }", "`score` has no `field`", "field: score"),
        (&long("files: a, field: score"), "{ files: a, field: score }", "`score` has no `risk`", "risk: risk_score"),
        (&long(&format!("{SCORE}, max_age: soon")), "soon", "`soon` is no duration", "60m"),
        (&long(&format!("{SCORE}, block_below: low")), "low", "`block_below` takes a number", "write a number"),
        (&long(&format!("{SCORE}, auto_above: .inf")), ".inf", "`auto_above` takes a number", "write a number"),
        (&long(&format!("{SCORE}, maxage: 5m")), "5m", "`policy.0.score` has no key `maxage`", "did you mean `max_age`?"),
        (&long("files: \"a[\", field: score, risk: risk"), "a[", "`a[` is no glob", ""),
        (&long("files: a, field: \"a b\", risk: risk"), "a b", "", "dotted path"),
    ] {
        let project = format!("policy: {policy}\n");
        let found = found(&project);
        let is_it = |(at, said, helped): &(String, String, String)| at == place && said.contains(message) && helped.contains(help);
        if found.len() != 1 || !is_it(&found[0]) {
            wrong.push(format!("{project}{found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn several_mistakes_are_several_findings() {
    let found = found("policy:\n  - { block: [3, x, \"a[\"] }\n  - { else: ask }\n  - { tol: gate }\nbudget: { calls: -1, token: 5 }\n");
    let places: Vec<_> = found.iter().map(|(place, ..)| place.as_str()).collect();
    assert_eq!(places, ["3", "a[", "{ else: ask }", "gate", "-1", "5"], "{found:#?}");
}

#[test]
fn each_mistake_in_a_budget_has_its_place() {
    for (budget, place, message, help) in [
        ("{ calls: -1 }", "-1", "`calls` takes a whole number from 0 on, not a negative number", "budget: {calls: 100, tokens: 50000}"),
        ("{ calls: 1.5 }", "1.5", "`calls` takes a whole number from 0 on, not a decimal", ""),
        ("{ tokens: many }", "many", "`tokens` takes a whole number from 0 on, not a text", ""),
        ("{ tokens: null }", "null", "`tokens` takes a whole number from 0 on, not null", ""),
        ("{ call: 3 }", "3", "`budget` has no key `call`", "did you mean `calls`?"),
        ("{ money: 3 }", "3", "`budget` has no key `money`", "it takes `calls`, `tokens`"),
    ] {
        let project = format!("budget: {budget}\n");
        let found = found(&project);
        assert_eq!(found.len(), 1, "{project}{found:#?}");
        let (at, said, helped) = &found[0];
        assert!(at == place && said.contains(message) && helped.contains(help), "{project}{found:#?}");
    }
}
