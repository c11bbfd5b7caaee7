//! The outcomes of calculations, over kinds of values.

use std::sync::Arc;

use super::*;
use crate::{
    diagnostic::Report,
    span::SourceMap,
    template::{Dialect, Template},
};

/// The calculations of a template, as they are looked at.
fn calculations(text: &str) -> Vec<Arc<Calculation>> {
    let mut report = Report::new(&"x.md".into());
    let template = Template::parse(text, &SourceMap::Slice(0), Dialect::Jinja, &mut report);
    assert!(report.diagnostics.is_empty(), "{text}: {:?}", report.diagnostics);
    let mut found = Vec::new();
    template.each_use(&mut |used| found.extend(used.calculation.cloned()));
    found
}

fn outcome(text: &str, sorts: &[KindSet]) -> CalculationOutcome {
    let found = calculations(text);
    found.last().unwrap_or_else(|| panic!("{text} is not looked at as a whole")).outcome(sorts)
}

use CalculationOutcome::{Depends, Fails, Works};

const NUMBER: KindSet = KindSet::NUMBER;
const TEXT: KindSet = KindSet::TEXT;

#[test]
fn sorts_that_do_not_go_together_fail() {
    assert_eq!(outcome("{{ x + y }}", &[TEXT, NUMBER]), Fails);
    assert_eq!(outcome("{{ x + y }}", &[KindSet::NULL, NUMBER]), Fails);
    assert_eq!(outcome("{{ x * y }}", &[TEXT, TEXT]), Fails);
    assert_eq!(outcome("{{ x / y }}", &[NUMBER, TEXT]), Fails);
    assert_eq!(outcome("{{ x | replace(y, 'z') }}", &[NUMBER, KindSet::LIST]), Depends);
    assert_eq!(outcome("{{ -(x + y) }}", &[TEXT, TEXT]), Fails);
    assert_eq!(outcome("{{ range(x) }}", &[TEXT]), Fails);
    assert_eq!(outcome("{{ x + y + z }}", &[NUMBER, NUMBER, TEXT]), Fails);
}

#[test]
fn what_depends_on_sorts_alone_works() {
    assert_eq!(outcome("{{ x + y }}", &[NUMBER, NUMBER]), Works);
    assert_eq!(outcome("{{ x + y }}", &[TEXT, TEXT]), Works);
    assert_eq!(outcome("{{ x + y }}", &[KindSet::LIST, KindSet::LIST]), Works);
    assert_eq!(outcome("{{ x * y - z }}", &[NUMBER, NUMBER, NUMBER]), Works);
}

#[test]
fn what_depends_on_values_does() {
    assert_eq!(outcome("{{ x * y }}", &[TEXT, NUMBER]), Depends, "a text is repeated by no negative number");
    assert_eq!(outcome("{{ x / y }}", &[NUMBER, NUMBER]), Depends, "nothing is divided by zero");
    assert_eq!(outcome("{{ 10 // (x - 7) }}", &[NUMBER]), Depends, "no sample is 7");
    assert_eq!(outcome("{{ x | round(y) }}", &[NUMBER, NUMBER]), Depends);
}

#[test]
fn what_each_part_decides_is_no_whole() {
    for text in ["{{ x - y }}", "{{ x + 1 }}", "{{ x ~ y }}", "{{ x < y }}", "{{ x | upper }}", "{{ x | length + 1 }}"] {
        assert!(calculations(text).is_empty(), "{text}");
    }
}

#[test]
fn what_is_not_followed_is_no_part() {
    assert!(calculations("{% for x in xs %}{{ x + y }}{% endfor %}").is_empty());
    assert!(calculations("{{ xs[0] + y }}").is_empty());
    assert!(calculations("{{ a + b + c + d }}").iter().all(|of| of.paths.len() <= PATHS));
}
