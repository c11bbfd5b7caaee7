//! Renames of the values of options.

use super::{changed, document, index};
use crate::{Occurrence, OccurrenceKind, Symbol};
use trellis_base::value::Value;

#[test]
fn an_option_is_renamed_with_what_compares_it() {
    let files = [
        (
            "start.md",
            "---\noptions: [Tea, { value: Coffee, text: Black }]\ninput_default: Tea\nmessages: { pt: { content: Qual?, options: { Tea: Chá } } }\nsave_to: drink\ntransitions:\n  - { condition: input == \"Tea\", to: tea }\n  - to: tea\n---\nWhich?\n",
        ),
        (
            "tea.md",
            "---\ntransitions:\n  - { condition: 'drink in [\"Tea\", \"Coffee\"]', to: end }\n  - { condition: other == \"Tea\", to: end }\n  - to: end\n---\n{% if drink == 'Tea' %}Hot{% endif %} Tea {{ drink }}\n",
        ),
        ("end.md", "---\n---\nTea\n"),
    ];
    let index = index(&files);
    let change = index.rename_option(&"start".into(), "Tea", "Green tea").expect("it can be");
    let after = changed(&files, &change);
    let text = |path: &str| after.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_default();
    let start = text("start.md");
    for now in ["options: [Green tea, ", "input_default: Green tea", "{ Green tea: Chá }", "input == \"Green tea\""] {
        assert!(start.contains(now), "{now}: {start}");
    }
    let tea = text("tea.md");
    assert!(
        tea.contains("'drink in [\"Green tea\", \"Coffee\"]'") && tea.contains("other == \"Tea\"") && tea.contains("== 'Green tea' %}Hot"),
        "{tea}"
    );
    assert_eq!(text("end.md"), "---\n---\nTea\n", "what a body prints stays");
    let places = |kind| {
        let all = index.occurrences(&Symbol::Option("start".into(), "Tea".into()));
        let all = all.into_iter().filter(move |one| one.kind == kind);
        let text = |one: &Occurrence| files.iter().find(|(path, _)| *path == &*one.path).map_or("", |(_, text)| &text[one.span.range()]);
        all.map(|one| format!("{} {}", one.path, text(&one))).collect::<Vec<_>>()
    };
    assert_eq!(places(OccurrenceKind::Defines), ["start.md Tea"]);
    // The default, the words of another locale, and each literal that is rewritten: no `Tea` of another key or of a body.
    assert_eq!(places(OccurrenceKind::Refers), ["start.md Tea", "start.md Tea", "start.md Tea", "tea.md Tea", "tea.md Tea"]);
    for (new, why) in [("Coffee", "already"), ("", "on one line"), ("{{ x }}", "on one line")] {
        assert!(index.rename_option(&"start".into(), "Tea", new).expect_err(new).0.contains(why), "{new}");
    }
    assert!(index.rename_option(&"start".into(), "Water", "x").expect_err("none").0.contains("no option"));
    let twice = [files[0], ("tea.md", "---\noptions: [Tea]\nsave_to: drink\nto: end\n---\n"), files[2]];
    assert!(super::index(&twice).rename_option(&"start".into(), "Tea", "x").expect_err("two").0.contains("too"));
    let draft = [files[0], ("_draft.md", "---\noptions: [Tea]\nsave_to: drink\nto: end\n---\n"), files[2]];
    let draft = super::index(&draft);
    assert!(draft.rename_option(&"start".into(), "Tea", "x").is_ok(), "a hidden file holds no nodes");
    assert_eq!(draft.option_values(0, &"drink".into()), [Value::from("Tea"), Value::from("Coffee")]);
    let typed = [files[0], ("trellis.yaml", "context: { drink: { enum: [Tea, Coffee] } }\n"), files[1], files[2]];
    assert!(super::index(&typed).rename_option(&"start".into(), "Tea", "x").expect_err("typed").0.contains("schema"));
}

#[test]
fn an_option_in_quotes_gets_those_that_its_new_value_needs() {
    let values = ["b & c", "x: y", "it's", "say \"it\"", "a\\b", "plain"];
    for (old, new) in values.iter().flat_map(|old| values.map(|new| (*old, new))).filter(|(old, new)| old != new) {
        for written in [format!("\"{old}\""), format!("'{old}'"), old.to_owned()] {
            let text = format!("---\noptions: [{{ value: {written}, text: A }}, B]\nsave_to: x\n---\n?\n");
            let files = [("start.md", &*text)];
            let now =
                |text: &str| document("start.md", text).node(0).map(|node| node.options().map(|one| one.value.value.clone()).collect());
            if now(&text) != Some(vec![Value::from(old), Value::from("B")]) {
                continue;
            }
            let Ok(change) = index(&files).rename_option(&"start".into(), old, new) else { continue };
            let after = changed(&files, &change);
            assert_eq!(now(&after[0].1), Some(vec![Value::from(new), Value::from("B")]), "{written} → {new}: {}", after[0].1);
        }
    }
    let files = [("start.md", "---\noptions: [{ text: \"a.b\" }, 'c d']\n---\n")];
    let text = |old, new| changed(&files, &index(&files).rename_option(&"start".into(), old, new).expect("it can be"))[0].1.clone();
    assert_eq!(text("a.b", "b & c"), "---\noptions: [{ text: \"b & c\" }, 'c d']\n---\n");
    assert_eq!(text("c d", "e, f"), "---\noptions: [{ text: \"a.b\" }, 'e, f']\n---\n");
    assert_eq!(text("c d", "it's"), "---\noptions: [{ text: \"a.b\" }, \"it's\"]\n---\n");
}
