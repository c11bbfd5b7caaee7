//! Findings made by hand, as people and programs get them.

use trellis_core::{Code, diagnostic::FilePath, span::Span};

use super::*;
use crate::terminal::Width;

fn document(path: &str, text: &str) -> Arc<Document> {
    Arc::new(Document::broken(path, text))
}

fn path(path: &str) -> FilePath {
    path.into()
}

fn plain(graphs: &[Checked]) -> String {
    anstream::adapter::strip_str(&human(graphs, Width { columns: 100, folds: false })).to_string()
}

fn graph(documents: &[(&str, &str)], diagnostics: Vec<Diagnostic>) -> Checked {
    let documents = documents.iter().map(|(path, text)| document(path, text)).collect();
    Checked { shown_below: "graphs/".into(), below: String::new(), documents, diagnostics, nodes: 2, unchecked: Vec::new() }
}

fn at(text: &str, part: &str) -> Span {
    let start = text.find(part).unwrap();
    Span::new(start, start + part.len())
}

#[test]
fn a_finding_looks_as_the_design_shows_it() {
    let human = "---\nto: bye\n---\nA person takes over order {{ order_id }}.\n";
    let start = "---\noptions:\n  - text: Talk to a person\n";
    let found =
        Diagnostic::new(Code::TypeMismatch, &path("human.md"), at(human, "order_id"), "`order_id` is not set on every path to `human`")
            .label(&path("human.md"), at(human, "order_id"), "missing on this path:")
            .step(&path("start.md"), at(start, "text"), "option \"Talk to a person\" → human")
            .label(&path("orders/start.md"), Span::at(0), "sets `order_id`, on other paths")
            .help("{{ order_id | default(\"–\") }}, or ask for it before `human`");
    let text = plain(&[graph(&[("human.md", human), ("start.md", start), ("orders/start.md", "")], vec![found])]);
    let expected = r#"error[type-mismatch]: `order_id` is not set on every path to `human`
  graphs/human.md:4:30
 4 | A person takes over order {{ order_id }}.
   |                              ^^^^^^^^ missing on this path:
  1  graphs/start.md:3:5         option "Talk to a person" → human
  ·  graphs/orders/start.md:1:1  sets `order_id`, on other paths
help: {{ order_id | default("–") }}, or ask for it before `human`

"#;
    assert_eq!(text, expected);
}

#[test]
fn a_finding_takes_few_lines_however_many_places_it_names() {
    let mut found = Diagnostic::new(Code::DuplicateNode, &path("a.md"), Span::at(0), "twice").help("rename it");
    for at in 0..40 {
        found = found.label(&path("b.md"), Span::at(at), "here too");
    }
    let text = plain(&[graph(&[("a.md", "x"), ("b.md", "y")], vec![found])]);
    assert_eq!(text.trim_end().lines().count(), 11, "{text}");
    assert!(text.contains("  ·  and 35 more\n"), "{text}");
}

/// A way of so many steps, and two places beside it.
fn long_way(steps: usize) -> (String, Vec<Diagnostic>) {
    let text = "---\nto: bye\n---\nA person takes over order {{ order_id }} of a customer who has waited for long.\n".to_owned();
    let message = "`order_id` is not set on every path to `human`, whatever the customer says";
    let mut found = Diagnostic::new(Code::MaybeUndefined, &path("human.md"), at(&text, "order_id"), message);
    for step in 1..=steps {
        found = found.step(&path("orders/find/start.md"), Span::at(step), format!("option \"Talk to person {step}\" → orders/step{step}"));
    }
    found = found.label(&path("orders/find/start.md"), Span::at(9), "sets `order_id`, on other paths");
    let help = "guard it, `{{ order_id | default(\"…\") }}`, or set it before\nsecond";
    (text, vec![found.help(help)])
}

#[test]
fn a_long_way_is_cut_in_its_middle() {
    let (text, found) = long_way(20);
    let text = plain(&[graph(&[("human.md", &text), ("orders/find/start.md", &"x".repeat(50))], found)]);
    let lines: Vec<&str> = text.lines().skip(3).take(6).collect();
    assert_eq!(
        lines,
        [
            "   |                              ^^^^^^^^ on this path:",
            "  1  graphs/orders/find/start.md:1:2   option \"Talk to person 1\" → orders/step1",
            "  2  graphs/orders/find/start.md:1:3   option \"Talk to person 2\" → orders/step2",
            "  ·  … 17 more hops",
            " 20  graphs/orders/find/start.md:1:21  option \"Talk to person 20\" → orders/step20",
            "  ·  graphs/orders/find/start.md:1:10  sets `order_id`, on other paths",
        ]
    );
    for steps in 0..12 {
        let (text, found) = long_way(steps);
        let text = plain(&[graph(&[("human.md", &text), ("orders/find/start.md", &"x".repeat(50))], found)]);
        assert!(text.trim_end().lines().count() <= 11, "{text}");
        assert_eq!(text.contains("more hops"), steps > 4, "{text}");
    }
}

#[test]
fn on_a_terminal_every_line_fits() {
    let (text, found) = long_way(3);
    let graphs = [graph(&[("human.md", &text), ("orders/find/start.md", &"x".repeat(50))], found)];
    for columns in 40..120 {
        let text = anstream::adapter::strip_str(&human(&graphs, Width { columns, folds: true })).to_string();
        for line in text.lines() {
            assert!(display_width(line) <= columns, "{columns} columns:\n{text}");
        }
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let message = words(&graphs[0].diagnostics[0].message).join(" ");
        assert!(words(&text).join(" ").contains(&message), "nothing is lost:\n{text}");
    }
}

#[test]
fn of_very_many_findings_the_first_are_shown() {
    let found =
        |graph: usize| (0..3).map(move |at| Diagnostic::new(Code::UnknownKey, &path("a.md"), Span::at(at), format!("odd {graph}-{at}")));
    let graphs = [graph(&[("a.md", "abc")], found(1).collect()), graph(&[("a.md", "abc")], found(2).collect())];
    let shown = |limit| anstream::adapter::strip_str(&human_up_to(&graphs, Width { columns: 100, folds: false }, limit)).to_string();
    assert!(shown(6) == shown(usize::MAX) && !shown(6).contains('…'));
    let four = shown(4);
    assert!(four.contains("odd 2-0") && !four.contains("odd 2-1"), "{four}");
    assert!(four.ends_with("\n… and 2 more; `--limit 0` shows all, and so does `--format json`\n\n"), "{four}");
}

#[test]
fn spans_that_do_not_fit_their_file_are_shown_at_its_end() {
    let wild = [Span::new(900, 950), Span::new(0, 9_999_999), Span::new(1, 2), Span { start: u32::MAX, end: 0 }];
    let diagnostics = wild.into_iter().flat_map(|span| {
        let known = Diagnostic::new(Code::YamlSyntax, &path("a.md"), span, "odd").label(&path("a.md"), span, "here");
        let absent =
            Diagnostic::new(Code::YamlSyntax, &path("gone.md"), span, "odd").label(&path("a.md"), span, "there").fix("mend", span, "x");
        [known, absent]
    });
    let graphs = [graph(&[("a.md", "é\n日本")], diagnostics.collect())];
    assert!(plain(&graphs).contains("graphs/a.md:2:3"));
    assert!(json(&graphs).contains("\"end_line\": 2"));
}

#[test]
fn nothing_that_an_author_wrote_reaches_the_terminal_as_a_command() {
    let found = Diagnostic::new(Code::UnknownKey, &path("\u{1b}[2J.md"), Span::at(0), "\u{1b}]0;x\u{7}")
        .label(&path("\u{1b}[2J.md"), Span::at(0), "\u{1b}[1m")
        .label(&path("\u{1b}[2J.md"), Span::at(1), "\r\n\u{9b}")
        .help("\u{1b}[3m\nsecond \u{1b}");
    let text = plain(&[graph(&[("\u{1b}[2J.md", "\u{1b}[31m")], vec![found])]);
    assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{text:?}");
}

#[test]
fn findings_about_a_whole_graph_name_its_folder() {
    let text = plain(&[graph(&[], vec![Diagnostic::global(Code::MissingStart, "there is no `start`").help("add one")])]);
    assert_eq!(text, "error[missing-start]: there is no `start`\n  graphs/\nhelp: add one\n\n");
}

#[test]
fn json_has_the_shape_of_the_design_and_paths_below_the_collection() {
    let text = "é: {x\n";
    let found = Diagnostic::new(Code::YamlSyntax, &path("b.md"), Span::new(4, 6), "odd")
        .label(&path("a.md"), Span::at(0), "see here")
        .help("close it")
        .fix("add `}`", Span::at(6), "}");
    let tour = Checked { below: "tour/".into(), ..graph(&[("b.md", text), ("a.md", "")], vec![found]) };
    let shop = Checked { below: "shop/".into(), ..graph(&[], vec![Diagnostic::global(Code::MissingStart, "no `start`")]) };
    let text = json(&[tour, shop]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({
        "diagnostics": [
            { "code": "missing-start", "severity": "error", "message": "no `start`", "path": null, "span": null,
              "line": null, "column": null, "end_line": null, "end_column": null, "labels": [], "help": null, "fix": null },
            { "code": "yaml-syntax", "severity": "error", "message": "odd", "path": "tour/b.md", "span": { "start": 4, "end": 6 },
              "line": 1, "column": 4, "end_line": 1, "end_column": 6,
              "labels": [{ "message": "see here", "path": "tour/a.md", "span": { "start": 0, "end": 0 }, "line": 1, "column": 1 }],
              "help": "close it",
              "fix": { "title": "add `}`", "edits": [{ "path": "tour/b.md", "span": { "start": 6, "end": 6 }, "text": "}" }] } },
        ],
        "summary": { "nodes": 4, "unchecked": 0, "errors": 2, "warnings": 0 },
    });
    assert_eq!(value, expected);
}

#[test]
fn the_summary_counts() {
    let summary = Summary { nodes: 12, unchecked: 0, errors: 3, warnings: 1, infos: 0 };
    assert_eq!(summary.line(), "3 errors, 1 warning in 12 nodes");
    assert_eq!(Summary { nodes: 1, ..Summary::default() }.line(), "1 node, no problems");
}
