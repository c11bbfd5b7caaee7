//! Texts of the Go dialect and what they become in Jinja: over every context both render the same, or both fail.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use trellis_core::{
    Context, Dialect, Value,
    diagnostic::Report,
    scope::Scope,
    span::SourceMap,
    template::{RenderLimits, Template, go_to_jinja},
};

use super::{rng::Rng, share::Share};

const LIMITS: RenderLimits = RenderLimits { output: 1 << 16, fuel: 100_000 };

/// Keys of contexts and of what is in them: some are words of Jinja's loops, or names that a conversion gives.
const KEYS: [&str; 8] = ["a", "b", "item", "item2", "value", "loop", "tags", "é"];

const WORDS: [&str; 13] = ["x", " ", "\n", "{ ", "}", "}}", "{%", "{#", "%}", "#}", "- ", "{% raw %}", "\"é\\"];

const CONSTANTS: [&str; 20] = [
    "\"\"",
    "\"x\"",
    "`a`",
    "\"{{ \\\"\"",
    "\"{%\"",
    "\"}}\"",
    "`\\n'`",
    "\"\\x07\\t\"",
    "\"/*\"",
    "\"#}\"",
    "0",
    "1",
    "-1",
    "2.5",
    "-0.5",
    "1e20",
    "18446744073709551615",
    "true",
    "false",
    "nil",
];

/// The author of a text; the names are those that an action may use beside keys.
struct Author {
    rng: Rng,
    names: Vec<&'static str>,
}

impl Author {
    fn operand(&mut self, depth: usize) -> String {
        match self.rng.below(12) {
            0 | 1 => (*self.rng.pick(&CONSTANTS)).to_owned(),
            2..=4 if !self.names.is_empty() => (*self.rng.pick(&self.names)).to_owned(),
            5 | 6 if depth > 0 => format!("({})", self.pipeline(depth - 1)),
            _ => {
                let root = if self.rng.chance(30) { "$" } else { "" };
                let keys: String = (0..1 + self.rng.below(2)).map(|_| format!(".{}", self.rng.pick(&KEYS))).collect();
                format!("{root}{keys}")
            }
        }
    }

    fn operands(&mut self, depth: usize) -> String {
        (0..1 + self.rng.below(3)).map(|_| self.operand(depth)).collect::<Vec<_>>().join(" ")
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let value = self.operand(depth);
        match self.rng.below(16) {
            0 => format!("default {} {value}", self.operand(depth)),
            1 => format!("{value} | default {}", self.operand(depth)),
            2 => format!("index {value} {}", self.operand(depth)),
            3 => format!("toJson {value}"),
            4 => format!("{value} | toJson | default \"x\""),
            5 => format!("not {value}"),
            6 => format!("and {}", self.operands(depth)),
            7 => format!("or {}", self.operands(depth)),
            8 => format!("coalesce {}", self.operands(depth)),
            9 => format!("eq {value} {}", self.operands(depth)),
            10 => format!("ne {value} {}", self.operand(depth)),
            _ => value,
        }
    }

    fn spaces(&mut self) -> &'static str {
        self.rng.pick::<&str>(&["", "", " ", "\n", "  \n\t"])
    }

    /// An action between white space, with or without markers that take it away.
    fn action(&mut self, inside: &str) -> String {
        let mut trim = || if self.rng.chance(20) { "-" } else { "" };
        let (left, right) = (trim(), trim());
        format!("{}{{{{{left} {inside} {right}}}}}{}", self.spaces(), self.spaces())
    }

    fn text(&mut self, depth: usize) -> String {
        let parts = self.rng.below(4);
        (0..parts).map(|_| self.part(depth)).collect()
    }

    fn part(&mut self, depth: usize) -> String {
        match self.rng.below(if depth > 0 { 16 } else { 8 }) {
            0..=2 => (*self.rng.pick(&WORDS)).to_owned(),
            3 => {
                let comment = *self.rng.pick(&["/* c */", "/*-*/", "/**/", "/* #} {{ .a }} */"]);
                self.action(comment)
            }
            4..=7 => {
                let value = self.pipeline(2);
                self.action(&value)
            }
            8..=10 => {
                let mut text = self.opened("if", &[], depth);
                if self.rng.chance(40) {
                    text += &self.opened("else if", &[], depth);
                }
                text + &self.ended(depth)
            }
            _ => {
                let (words, names): (_, &[_]) = *self.rng.pick(&[
                    ("range", &["."] as &[_]),
                    ("with", &[".", ".b"]),
                    ("range $x :=", &[".", "$x", "$x.b"]),
                    ("range $i, $x :=", &["$i", "$x", "."]),
                    ("range $item, $a :=", &["$item", "$a.a"]),
                ]);
                self.opened(words, names, depth) + &self.ended(depth)
            }
        }
    }

    fn opened(&mut self, words: &str, names: &[&'static str], depth: usize) -> String {
        let value = self.pipeline(1);
        let tag = self.action(&format!("{words} {value}"));
        let outside = self.names.len();
        self.names.extend(names);
        let body = self.text(depth - 1);
        self.names.truncate(outside);
        tag + &body
    }

    fn ended(&mut self, depth: usize) -> String {
        let otherwise = if self.rng.chance(60) { self.action("else") + &self.text(depth - 1) } else { String::new() };
        otherwise + &self.action("end")
    }
}

fn value(rng: &mut Rng, depth: usize) -> Json {
    match rng.below(if depth > 0 { 14 } else { 8 }) {
        0 => Json::Null,
        1 => rng.chance(50).into(),
        2..=4 => rng.pick(&[json!(0), json!(1), json!(-3), json!(2.5), json!(u64::MAX)]).clone(),
        5..=7 => (*rng.pick(&["", "x", "a", "{{ .a }}", "{% x"])).into(),
        8..=10 => (0..rng.below(3)).map(|_| value(rng, depth - 1)).collect(),
        _ => entries(rng, depth - 1, 40),
    }
}

fn entries(rng: &mut Rng, depth: usize, percent: usize) -> Json {
    let mut entries = serde_json::Map::new();
    for key in KEYS {
        if rng.chance(percent) {
            entries.insert(key.to_owned(), value(rng, depth));
        }
    }
    entries.into()
}

/// The template, unless it is refused.
fn parsed(text: &str, dialect: Dialect) -> Option<Template> {
    let mut report = Report::new(&"a.md".into());
    let template = Template::parse(text, &SourceMap::Slice(0), dialect, &mut report);
    report.diagnostics.is_empty().then_some(template)
}

fn rendered(template: &Template, context: &Json) -> Option<String> {
    let context = Value::from_json(&context.to_string()).ok().and_then(|value| value.as_map().cloned()).unwrap_or_default();
    let scope = Scope { context: Context::new(context), ..Scope::default() };
    template.render(&scope, LIMITS).ok().map(|text| text.to_string())
}

/// Returns the reads of a template for the checker, without places.
fn reads(template: &Template) -> Vec<String> {
    template.reads().iter().map(|read| format!("{} {} {:?}", read.path, read.deep, read.when)).collect()
}

/// Both forms of a text, if it can be converted; a reason why not belongs to the text.
fn both(text: &str) -> Option<(Template, Template)> {
    let go = parsed(text, Dialect::Go);
    match go_to_jinja(text) {
        Ok(converted) => {
            let jinja = parsed(&converted, Dialect::Jinja).unwrap_or_else(|| panic!("{text}\n{converted}"));
            Some((go.unwrap_or_else(|| panic!("{text}\n{converted}")), jinja))
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                assert!(text.get(problem.place.clone()).is_some(), "{text}: {problem:?}");
                let of_jinja = ["`loop` is not a key", "this always fails", "cannot be given this"];
                assert!(go.is_none() || of_jinja.iter().any(|reason| problem.reason.contains(reason)), "{text}: {problem:?}");
            }
            None
        }
    }
}

#[test]
fn a_converted_text_renders_the_same() {
    let (mut converted, mut shown) = (0, 0);
    let share = Share::of_today();
    for seed in share.of(4_000) {
        let mut author = Author { rng: Rng::new(seed), names: Vec::new() };
        let text = author.text(3);
        let Some((go, jinja)) = both(&text) else { continue };
        converted += 1;
        assert_eq!(reads(&go), reads(&jinja), "{text}\n{}", jinja.text());
        for _ in 0..4 {
            let context = entries(&mut author.rng, 3, 85);
            let rendered_go = rendered(&go, &context);
            shown += usize::from(rendered_go.is_some() && !go.is_literal());
            assert_eq!(rendered_go, rendered(&jinja, &context), "{text}\n{}\n{context}", jinja.text());
        }
    }
    println!("{converted} texts were converted, and rendered {shown} times");
    assert!(converted > share.least(3_000) && shown > share.least(2_000), "{converted} texts were converted, and rendered {shown} times");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn junk_is_converted_or_refused(text in "(\\{\\{|\\}\\}|[-.$a-z\"`|() \n{}%#/*é0-9\u{1}]){0,40}") {
        both(&text);
    }

    #[test]
    fn any_text_is_converted_or_refused(text in any::<String>()) {
        both(&text);
    }
}
