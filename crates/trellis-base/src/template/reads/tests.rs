//! The reads that are found in templates.

use crate::{
    diagnostic::Report,
    span::SourceMap,
    template::{Dialect, Shape, Template},
};

fn template(text: &str) -> Template {
    Template::parse(text, &SourceMap::Slice(0), Dialect::Jinja, &mut Report::new(&"x.md".into()))
}

/// Uses as `path@text`, with `?` where they depend on something and `…` where they go on below.
fn reads(text: &str) -> String {
    let uses = template(text).reads().into_iter().map(|read| {
        let mark = if read.when.is_empty() { "" } else { "?" };
        format!("{}{}{mark}", read.path, if read.deep { "…" } else { "" })
    });
    uses.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_use_on_every_way_is_certain() {
    assert_eq!(reads("{{ a }} {{ b.c }}"), "a b.c");
    assert_eq!(reads("{{ a | upper }} {{ b + c.d }} {{ e['x'] }}"), "a b c.d e.x");
    assert_eq!(reads("{% for x in xs %}{{ x }}{{ y }}{{ loop.index }}{% endfor %}"), "xs xs…? y?");
    assert_eq!(reads("{% if a == 1 %}{{ b }}{% else %}{{ c }}{% endif %}"), "a b? c?");
    assert_eq!(reads("{% set n = a | length %}{{ n }}{{ b }}"), "a b");
    assert_eq!(reads("{{ 'x' if a > 1 else b }}"), "a b?");
}

#[test]
fn a_guarded_use_is_none() {
    assert_eq!(reads("{{ a | default('x') }} {{ b | optional }} {{ c is defined }}"), "");
    assert_eq!(reads("{{ a.b.c | default(d) }}"), "d?");
    assert_eq!(reads("{% if d %}{{ d }}{% endif %}"), "d?", "the test says that it is there");
    assert_eq!(reads("{{ a or b }} {{ c and d }}"), "b? c d?");
    assert_eq!(reads("plain"), "");
}

#[test]
fn what_goes_on_into_the_unknown_is_said() {
    assert_eq!(reads("{{ items[0].name }} {{ a[b] }} {{ c }}"), "items… a… b c");
}

#[test]
fn uses_have_their_bytes() {
    let text = "Hello {{ user.name | upper }}, {{ order['id'] }}.";
    let template = template(text);
    let texts: Vec<_> = template.reads().iter().map(|read| &text[read.span.range()]).collect::<Vec<_>>();
    assert_eq!(texts, ["user.name", "order['id']"]);
}

#[test]
fn shapes_read_what_their_parts_read() {
    let shape = |text: &str| {
        let shape = Shape::parse(text, &SourceMap::Slice(0), Dialect::Jinja, false, &mut Report::new(&"x.md".into()));
        shape.reads().iter().map(|read| format!("{}{}", read.path, if read.when.is_empty() { "" } else { "?" })).collect::<Vec<_>>()
    };
    assert_eq!(shape("{{ a.b }}"), ["a.b"]);
    assert_eq!(shape("{{ a | length }}"), ["a"]);
    assert_eq!(shape("{{ a | optional }}"), [""; 0]);
    assert_eq!(shape("{{ a if b else c }}"), ["a?", "c?"]);
    assert_eq!(shape("to {{ a }}"), ["a"]);
}
