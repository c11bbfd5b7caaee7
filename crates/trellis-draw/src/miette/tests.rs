//! Findings made by hand, as a handler asks for them.

use miette::Diagnostic as _;

use super::*;
use trellis_base::diagnostic::Code;

fn sources(files: &[(&str, &str)]) -> Sources {
    let documents: Vec<Arc<Document>> = files.iter().map(|(path, text)| Document::broken(*path, *text).into()).collect();
    Sources::new(&documents)
}

fn at(text: &str, part: &str) -> Span {
    let start = text.find(part).unwrap();
    Span::new(start, start + part.len())
}

/// Name, line and column of a place, and what is shown of it.
fn shown(finding: &dyn miette::Diagnostic, label: usize, around: usize) -> (String, String) {
    let label = finding.labels().unwrap().nth(label).unwrap();
    let source = finding.source_code().unwrap();
    let at = source.read_span(label.inner(), 0, 0).unwrap();
    let place = format!("{}:{}:{}", at.name().unwrap(), at.line() + 1, at.column() + 1);
    let contents = source.read_span(label.inner(), around, around).unwrap();
    let from = contents.span().offset();
    let text = std::str::from_utf8(contents.data()).unwrap();
    assert!(text.get(label.offset() - from..).is_some(), "the place begins in what is shown");
    (place, text.to_owned())
}

#[test]
fn a_handler_gets_all_that_a_finding_says() {
    let human = "---\nto: bye\n---\nA person takes {{ order_id }}\nwith care.\n";
    let start = "---\noptions:\n  - text: Talk\n";
    let path = FilePath::from("human.md");
    let found = Diagnostic::new(Code::MaybeUndefined, &path, at(human, "order_id"), "`order_id` is not set on every path")
        .label(&path, at(human, "order_id"), "missing here")
        .label(&path, at(human, "bye"), "leads on")
        .step(&"start.md".into(), at(start, "Talk"), "option \"Talk\" → human")
        .help("ask for it");
    let finding = sources(&[("human.md", human), ("start.md", start)]).below("graphs/").pages("https://example.org/").finding(&found);
    assert_eq!(finding.to_string(), "`order_id` is not set on every path");
    assert_eq!(finding.code().unwrap().to_string(), "maybe-undefined");
    assert_eq!(finding.severity(), Some(miette::Severity::Error));
    assert_eq!(finding.help().unwrap().to_string(), "ask for it");
    assert_eq!(finding.url().unwrap().to_string(), "https://example.org/maybe-undefined");
    let labels: Vec<_> = finding.labels().unwrap().map(|label| (label.primary(), label.label().unwrap().to_owned())).collect();
    assert_eq!(labels, [(true, "missing here".to_owned()), (false, "leads on".to_owned())]);
    let (place, text) = shown(&finding, 0, 1);
    assert_eq!((&*place, &*text), ("graphs/human.md:4:19", "---\nA person takes {{ order_id }}\nwith care.\n"));
    let hops: Vec<_> = finding.related().unwrap().collect();
    assert_eq!(hops[0].code().unwrap().to_string(), "step 1");
    assert_eq!(shown(hops[0], 0, 0), ("graphs/start.md:3:11".to_owned(), "  - text: Talk\n".to_owned()));
    assert_eq!(hops.len(), 1);
}

#[test]
fn a_finding_about_a_graph_has_no_place_and_a_bare_one_no_text() {
    let finding = sources(&[]).finding(&Diagnostic::global(Code::MissingStart, "there is no `start`"));
    assert!(finding.labels().is_none() && finding.source_code().is_none() && finding.url().is_none() && finding.related().is_none());
    let bare = Diagnostic::new(Code::UnknownKey, &"a.md".into(), Span::new(1, 3), "odd").fix("take it out", Span::new(1, 3), "");
    let help = miette::Diagnostic::help(&bare).unwrap().to_string();
    assert_eq!((bare.to_string(), help), ("odd".to_owned(), "take it out".to_owned()));
    let report = miette::Report::new(bare).with_source_code(miette::NamedSource::new("a.md", "abcd"));
    assert_eq!(shown(report.as_ref(), 0, 0).0, "a.md:1:2");
}

#[test]
fn nothing_that_an_author_wrote_reaches_a_terminal_as_a_command() {
    let text = "a\u{1b}[2Jb\u{202e}\u{9b}c\r\nlone\rback\t";
    let path = FilePath::from("\u{1b}.md");
    let found = Diagnostic::new(Code::UnknownKey, &path, at(text, "c"), "\u{1b}]0;x\u{7}").help("first\nsecond \u{1b}");
    let finding = sources(&[("\u{1b}.md", text)]).finding(&found);
    let (place, shown) = shown(&finding, 0, 2);
    assert_eq!((&*place, &*shown), ("\u{fffd}.md:1:9", "a?[2Jb\u{fffd}\u{bf}c\r\nlone?back\t"));
    assert_eq!(shown.len(), text.len());
    assert_eq!((finding.to_string(), finding.help().unwrap().to_string()), (" ]0;x ".into(), "first\nsecond \u{fffd}".into()));
}

#[test]
fn long_lines_and_long_places_are_shown_around_where_they_begin() {
    let long = format!("short\n{}HERE{}\nlast\n", "é".repeat(MAX_LINE_LENGTH * 3), "b".repeat(MAX_LINE_LENGTH * 3));
    let place = at(&long, "HERE");
    let found = Diagnostic::new(Code::UnknownKey, &"a.md".into(), place, "odd");
    let (at_, text) = shown(&sources(&[("a.md", &long)]).finding(&found), 0, 1);
    assert_eq!(at_, format!("a.md:2:{}", MAX_LINE_LENGTH * 3 + 1));
    assert!(text.len() <= MAX_LINE_LENGTH * 2 && text.contains("HERE") && !text.contains('\n'), "{text}");
    let beside = Diagnostic::new(Code::UnknownKey, &"a.md".into(), at(&long, "last"), "odd");
    assert_eq!(shown(&sources(&[("a.md", &long)]).finding(&beside), 0, 3).1, "last\n", "a long line around it is left out");

    let many = "line\n".repeat(500);
    let found = Diagnostic::new(Code::UnknownKey, &"a.md".into(), Span::new(10, many.len()), "odd");
    assert_eq!(shown(&sources(&[("a.md", &many)]).finding(&found), 0, 0).1.lines().count(), MAX_EXCERPT_LINES);
}

#[test]
fn every_place_of_every_text_can_be_shown() {
    for text in ["", "a", "\n", "é\n日本", "\u{feff}a\r\nb\r\n\r\n", "\r\r\n"] {
        let sources = sources(&[("a.md", text)]);
        for start in 0..12 {
            for end in start..14 {
                for path in ["a.md", "gone.md"] {
                    let found = Diagnostic::new(Code::YamlSyntax, &path.into(), Span::new(start, end), "odd");
                    (0..3).for_each(|around| drop(shown(&sources.finding(&found), 0, around)));
                }
            }
        }
        let beyond = Span { start: u32::MAX, end: 0 };
        shown(&sources.finding(&Diagnostic::new(Code::YamlSyntax, &"a.md".into(), beyond, "odd")), 0, 1);
    }
}
