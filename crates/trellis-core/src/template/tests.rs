//! Cases of the dialects, their mistakes and their bounds.

use super::*;
use crate::{context::Context, span::Spanned, value::Value};

const LIMITS: RenderLimits = RenderLimits { output: 1 << 20, fuel: 1_000_000 };

fn scope() -> Scope {
    let context = Value::from_json(
        r#"{"name": "Ann", "n": 3, "big": 9007199254740993, "half": 0.5, "yes": true, "no": false, "nothing": null, "empty": [],
            "user": {"name": "Bo", "tags": ["a", "b"]}, "items": [{"id": 1, "t": "x"}, {"id": 2, "t": "y"}], "huge": 18446744073709551615}"#,
    )
    .unwrap();
    let sys = Value::from_json(r#"{"error": {"message": "late"}}"#).unwrap();
    Scope {
        context: Context::new(context.as_map().unwrap().clone()),
        sys: sys.into(),
        input: Some(Value::text("{{ name }}")),
        tool_result: None,
    }
}

fn parse(text: &str, dialect: Dialect) -> (Template, Vec<crate::Diagnostic>) {
    let mut report = Report::new(&"a.md".into());
    let template = Template::parse(text, &SourceMap::Slice(0), dialect, &mut report);
    (template, report.diagnostics)
}

fn render_in(text: &str, dialect: Dialect) -> Result<String, String> {
    let (template, found) = parse(text, dialect);
    assert!(found.is_empty(), "{text}: {found:?}");
    template.render(&scope(), LIMITS).map(|text| text.to_string()).map_err(|error| error.message)
}

fn render(text: &str) -> Result<String, String> {
    render_in(text, Dialect::Jinja)
}

fn evaluate(text: &str) -> Result<Option<String>, String> {
    let mut report = Report::new(&"a.md".into());
    let shape = Shape::parse(text, &SourceMap::Slice(0), Dialect::Jinja, true, &mut report);
    assert!(report.diagnostics.is_empty(), "{text}: {:?}", report.diagnostics);
    shape.evaluate(&scope(), LIMITS, &mut Vec::new()).map(|value| value.map(|value| value.to_json())).map_err(|error| error.message)
}

#[test]
fn values_print_as_json_and_texts_bare() {
    for (text, shown) in [
        ("{{ yes }}|{{ nothing }}|{{ big }}|{{ half }}|{{ huge }}", "true||9007199254740993|0.5|18446744073709551615"),
        ("{{ user }}", r#"{"name":"Bo","tags":["a","b"]}"#),
        ("{{ 'a' if yes }}{{ 'b' if no }}", "a"),
        ("{{ [1, 'a', none, true, {'k': 1.5}] }}", r#"[1,"a",null,true,{"k":1.5}]"#),
        ("{{ 10 / 4 }} {{ 7 // 2 }} {{ n + 1 }} {{ n * 2 }} {{ 'a' ~ n ~ yes }} {{ '-' * 3 }}", "2.5 3 4 6 a3true ---"),
        ("a\n{{ name }}\n", "a\nAnn\n"),
        ("a\n{{ name|upper }}\n\n", "a\nANN\n\n"),
        ("<b>{{ '<i>' ~ name }}", "<b><i>Ann"),
        ("{{ input }} {{ input|upper }}", "{{ name }} {{ NAME }}"),
        ("{% for i in items %}{{ loop.index }}{{ i.t }}{% if not loop.last %}, {% endif %}{% endfor %}", "1x, 2y"),
        ("{{ items | map(attribute='id') | join('-') }} {{ [yes, none, 1.0] | join(',') }}", "1-2 true,,1.0"),
        ("{{ user | tojson }} {{ sys.error.message }}", r#"{"name":"Bo","tags":["a","b"]} late"#),
        ("{{ items[0].id }}{{ items.1.id }}{{ items[-1].t }}{{ user.tags[1:] }}{{ 'abc'[:2] }}", r#"12y["b"]ab"#),
        ("{% set a, b = 1, [2] %}{{ a }}{{ b }}{% with c = b %}{{ c }}{% endwith %}{% set d %}x{{ n }}{% endset %}{{ d }}", "1[2][2]x3"),
        ("{% raw %}{{ x }}{% endraw %}{# {{ y }} #} { { }", "{{ x }} { { }"),
        ("{{ 1 < 2 < 3 }} {{ n in [1, 3] }} {{ 'x' not in name }} {{ 1 == 1.0 }}", "true true true true"),
        ("{% set g = items | groupby('t') %}{% for a in g %}{{ a.grouper }}{{ a.list | length }}{% endfor %}", "x1y1"),
        ("{% filter upper %}a{{ name }}{% endfilter %}", "AANN"),
        ("{{ [3,1,2] | sort | reverse | first }} {{ [1, 2.5] | sum }} {{ 'a b' | replace('a', 'c') | title }}", "3 3.5 C B"),
        ("{% for a in range(3) %}{{ a }}{% endfor %}{{ range(5, 1, -2) }}", "012[5,3]"),
    ] {
        assert_eq!(render(text).as_deref(), Ok(shown), "{text}");
    }
}

#[test]
fn what_is_not_set_fails_where_it_is_used() {
    for (text, message) in [
        ("{{ x }}", "`x` is not set"),
        ("{{ user.age }}", "`user.age` is not set"),
        ("{{ a.b.c | upper }}", "`a.b.c` is not set"),
        ("{% for i in a.b %}{% endfor %}", "`a.b` is not set"),
        ("{{ 1 + x }}", "`x` is not set"),
        ("{{ 'a' ~\n user.x }}", "`user.x` is not set"),
        ("{{ x == 1 }}", "`x` is not set"),
        ("{{ 1 in x.y }}", "`x.y` is not set"),
        ("{{ items[5].id }}", "`items[5].id` is not set"),
        ("{{ [user.x] }}", "`user.x` is not set"),
        ("{{ x | default(y) }}", "`x | default(y)` is not set"),
        ("{{ -x }}", "`x` is not set"),
        ("{{ empty | first }}", "`empty | first` is not set"),
        ("{% set y = x.z %}{{ y }}", "`y` is not set"),
    ] {
        assert_eq!(render(text).unwrap_err(), message, "{text}");
    }
}

#[test]
fn guards_reach_to_any_depth() {
    for (text, shown) in [
        ("{{ x.y.z | default('you') }}", "you"),
        ("{{ items[7].id.x | d('-') }}", "-"),
        ("{{ x.y | optional }}!", "!"),
        ("{{ x.y is defined }} {{ user.name is defined }} {{ x.y is undefined }} {{ x.y is none }}", "false true true false"),
        ("{% if x.y %}a{% elif not x.z.w %}b{% endif %}", "b"),
        ("{{ x.y or 'else' }} {{ x.y and 1 | optional }}", "else "),
        ("{{ 'a' if x.y.z else 'b' }}", "b"),
        ("{{ (x.y if yes else n) | default('c') }}", "c"),
        ("{{ '' | default('c', true) }} {{ name | default(x.y) }}", "c Ann"),
    ] {
        let shown = if text.contains("and 1") { "else 1" } else { shown };
        let text = text.replace("x.y and 1 | optional", "name and 1 | optional");
        assert_eq!(render(&text).as_deref(), Ok(shown), "{text}");
    }
}

#[test]
fn exactly_one_expression_keeps_its_type() {
    for (text, json) in [
        ("{{ n }}", Some("3")),
        ("{{ user.tags }}", Some(r#"["a","b"]"#)),
        ("{{ n + 0.5 }}", Some("3.5")),
        ("{{- items | length -}}", Some("2")),
        ("{{ x | optional }}", None),
        ("{{ x.y.z | optional }}", None),
        ("{{ name | optional }}", Some(r#""Ann""#)),
        ("{{ 'a' if no }}", Some("null")),
        ("{{ nothing }}", Some("null")),
        (" {{ n }}", Some(r#"" 3""#)),
        ("{{ n }}{{ n }}", Some(r#""33""#)),
        ("plain", Some(r#""plain""#)),
        ("{{ big + 0 }}", Some("9007199254740993")),
        ("{{ items | map(attribute='id') | list }}", Some("[1,2]")),
        ("{{ {'a': user, 'b': [1]} }}", Some(r#"{"a":{"name":"Bo","tags":["a","b"]},"b":[1]}"#)),
    ] {
        assert_eq!(evaluate(text).as_ref().map(Option::as_deref), Ok(json), "{text}");
    }
    assert_eq!(evaluate("{{ x }}").unwrap_err(), "`x` is not set");
    assert_eq!(evaluate("{{ huge + 1 }}").unwrap_err(), "the number 18446744073709551616 does not fit 64 bits");
}

/// The same case in all three dialects, where the construct exists.
#[test]
fn dialects_agree() {
    let order = r#"{"name":"Bo","tags":["a","b"]}"#;
    for (jinja, go, legacy, shown) in [
        ("no holes { at } all", "no holes { at } all", "no holes { at } all", Ok("no holes { at } all")),
        ("Dear {{ name }}!\n", "Dear {{ .name }}!\n", "Dear {{ name }}!\n", Ok("Dear Ann!\n")),
        ("{{ user.name }}{{n}}", "{{ .user.name }}{{.n}}", "{{ user.name }}{{n}}", Ok("Bo3")),
        (
            "{{ user }} {{ yes }} {{ nothing }}",
            "{{ .user }} {{ .yes }} {{ .nothing }}",
            "{{ user }} {{ yes }} {{ nothing }}",
            Ok(&*format!("{order} true ")),
        ),
        ("{{ big }} {{ half }}", "{{ .big }} {{ .half }}", "{{ big }} {{ half }}", Ok("9007199254740993 0.5")),
        ("{{ input }}", "{{ .input }}", "{{ input }}", Ok("{{ name }}")),
        ("{{ sys.error.message }}", "{{ .sys.error.message }}", "{{ sys.error.message }}", Ok("late")),
        ("{{ x }}", "{{ .x }}", "{{ x }}", Err("`x` is not set")),
        ("{{ user.age.y }}", "{{ .user.age.y }}", "{{ user.age.y }}", Err("`user.age.y` is not set")),
        ("{{ x.y | default('you') }}", "{{ default \"you\" .x.y }}{{/* no */}}", "", Ok("you")),
        ("{{ x.y | default('you') }}", "{{ .x.y | default `you` }}", "", Ok("you")),
        ("{{ '' | default(x, true) | default(name, true) }}", "{{ coalesce \"\" .x .name .y }}", "", Ok("Ann")),
        ("{{ user | tojson }}", "{{ toJson .user }}", "", Ok(order)),
        ("{{ user | tojson }}", "{{ .user | toJson }}", "", Ok(order)),
        ("{{ items[1].t }}{{ user['name'] }}", "{{ (index .items 1).t }}{{ index .user \"name\" }}", "", Ok("yBo")),
        ("{{ items[0].t }}", "{{ index .items 0 \"t\" }}", "", Ok("x")),
        ("{% if x.y %}a{% elif yes %}b{% else %}c{% endif %}", "{{ if .x.y }}a{{ else if .yes }}b{{ else }}c{{ end }}", "", Ok("b")),
        ("{% if not yes %}a{% elif no %}b{% else %}c{% endif %}", "{{if not .yes}}a{{else if .no}}b{{else}}c{{end}}", "", Ok("c")),
        ("{% if n == 3 and name != 'Bo' %}a{% endif %}", "{{ if and (eq .n 3) (ne .name \"Bo\") }}a{{ end }}", "", Ok("a")),
        ("{{ n in [1, 3] or no }}", "{{ or (eq .n 1 3) .no }}", "", Ok("true")),
        ("{{ x == 1 }}", "{{ eq .x 1 }}", "", Err("`x` is not set")),
        (
            "{% for i in items %}{{ i.t }}{{ name }},{% else %}none{% endfor %}",
            "{{ range .items }}{{ .t }}{{ $.name }},{{ else }}none{{ end }}",
            "",
            Ok("xAnn,yAnn,"),
        ),
        ("{% for i in empty %}{{ i }}{% else %}none{% endfor %}", "{{ range .empty }}{{ . }}{{ else }}none{{ end }}", "", Ok("none")),
        ("{% for i in x.y %}{{ i }}{% endfor %}", "{{ range .x.y }}{{ . }}{{ end }}", "", Err("`x.y` is not set")),
        (
            "{% with u = user %}{% if u %}{{ u.name }}{% endif %}{% endwith %}",
            "{{ with .user }}{{ .name }}{{ else }}-{{ end }}",
            "",
            Ok("Bo"),
        ),
        (
            "{% with u = x.z %}{% if u %}{{ u }}{% else %}{{ name }}{% endif %}{% endwith %}",
            "{{ with .x.z }}{{ . }}{{ else }}{{ .name }}{{ end }}",
            "",
            Ok("Ann"),
        ),
        ("a {{- n -}} b {# no #}c", "a {{- .n -}} b {{/* no */}}c", "", Ok("a3b c")),
        ("a {#- no -#} b", "a {{- /* }} no */ -}} b", "", Ok("ab")),
    ] {
        for (text, dialect) in [(jinja, Dialect::Jinja), (go, Dialect::Go), (legacy, Dialect::Legacy)] {
            if !text.is_empty() {
                assert_eq!(render_in(text, dialect).as_deref().map_err(String::as_str), shown, "{text} in {dialect:?}");
            }
        }
    }
}

/// Mistakes: the text with the place between `‹` and `›`, the code, the message, and a part of the help.
#[test]
fn mistakes_stand_at_the_authors_bytes() {
    use Dialect::{Go, Jinja, Legacy};
    let cases = [
        (Jinja, "é {{ name | ‹uper› }}", "unknown-filter", "there is no filter `uper`", "did you mean `upper`?"),
        (Jinja, "{{ name is ‹defned› }}", "unknown-filter", "there is no test `defned`", "did you mean `defined`?"),
        (Jinja, "{{ ‹rang›(3) }}", "unknown-filter", "there is no function `rang`", "did you mean `range`?"),
        (Jinja, "{{ ‹upper›(name) }}", "unknown-filter", "there is no function `upper`", "`upper` is a filter: `… | upper`"),
        (Jinja, "{{ items | map(‹'uper'›) }}", "unknown-filter", "there is no filter `uper`", "did you mean `upper`?"),
        (Jinja, "{{ ‹name.upper›() }}", "template-syntax", "`upper` cannot be called: values have no methods", "`… | upper`"),
        (Jinja, "a\n{{ ‹.›name }}", "template-syntax", "unexpected `.`", "set `templates: go` in trellis.yaml"),
        (Jinja, "{% ‹include› 'x' %}", "template-syntax", "`include` is not part of the language", ""),
        (Jinja, "{% ‹macro› f() %}{% endmacro %}", "template-syntax", "`macro` is not part of the language", ""),
        (Jinja, "{% ‹iff› x %}", "template-syntax", "there is no statement `iff`", "did you mean `if`?"),
        (Jinja, "{{ name ‹}›", "template-syntax", "", ""),
        (Go, "{{ ‹name› }}", "template-syntax", "`name` is not in the Go subset", "write `.name`"),
        (Go, "{{ ‹tojson› .a }}", "template-syntax", "`tojson` is not in the Go subset", "did you mean `toJson`?"),
        (Go, "{{ if .a }}{{ ‹lt› .a 1 }}{{ end }}", "template-syntax", "`lt` is not in the Go subset", "`eq`"),
        (Go, "é {{ ‹if› .a }}", "template-syntax", "this `if` has no `{{ end }}`", ""),
        (Go, "a {{ ‹end› }}", "template-syntax", "`end` belongs to no `if`, `range` or `with`", ""),
        (Go, "{{ ‹$x› }}", "template-syntax", "variables such as `$x` are not in the Go subset", "`$` is the whole context"),
        (Go, "{{ ‹.› }}", "template-syntax", "`.` alone is the whole context: name a key, `.key`", ""),
        (Go, "{{ .a ‹.b› }}", "template-syntax", "only a function takes arguments", ""),
        (Go, "{{ ‹default› .a }}", "template-syntax", "`default` takes a default and a value, not 1", ""),
        (Go, "‹{{› .a", "template-syntax", "this `{{` has no `}}`", ""),
        (Go, "{{ if .a }}{{ else }}{{ ‹else› }}{{ end }}", "template-syntax", "this `if` already has an `else`", ""),
        (Go, "{{ ‹define› \"x\" }}{{ end }}", "template-syntax", "`define` is not in the Go subset", ""),
        (Go, "{{ ‹99999999999999999999› }}", "template-syntax", "`99999999999999999999` is no number of 64 bits", ""),
        (
            Legacy,
            "a ‹{{ name | upper }}›",
            "template-syntax",
            "`name | upper` is no key, and `templates: legacy` knows nothing else",
            "templates: jinja",
        ),
        (Jinja, "a ‹{{secret:key}}›", "secret-exposed", "the secret `key` may stand in arguments only", ""),
        (Go, "a ‹{{ secret:key }}›", "secret-exposed", "the secret `key` may stand in arguments only", ""),
        (Legacy, "a ‹{{secret:key}}›", "secret-exposed", "the secret `key` may stand in arguments only", ""),
    ];
    for (dialect, marked, code, message, help) in cases {
        let text = marked.replace(['‹', '›'], "");
        let (template, found) = parse(&text, dialect);
        let [found] = found.as_slice() else { panic!("{marked}: {found:?}") };
        let place =
            marked.split_once('‹').map(|(before, rest)| before.len()..before.len() + rest.split_once('›').unwrap().0.len()).unwrap();
        assert_eq!(found.place.as_ref().unwrap().span.range(), place, "{marked}: {found:?}");
        assert_eq!(found.code.as_str(), code, "{marked}");
        assert!(message.is_empty() || found.message == message, "{marked}: {}", found.message);
        assert!(found.help.as_deref().unwrap_or_default().contains(help), "{marked}: {:?}", found.help);
        assert_eq!(&*template.render(&scope(), LIMITS).unwrap(), "");
    }
}

/// Places of failures: the text with the place between `‹` and `›`.
#[test]
fn failures_stand_at_the_authors_bytes() {
    for (dialect, marked) in [
        (Dialect::Jinja, "é {{ ‹user.age› }}"),
        (Dialect::Jinja, "{{ 1 +\n\n (‹x.y[0].z›) | abs }}"),
        (Dialect::Jinja, "{% for i in items %}{{ ‹i.no› }}{% endfor %}"),
        (Dialect::Jinja, "{{ ‹'a' - 1› }}"),
        (Dialect::Go, "é {{ ‹.user.age› }}"),
        (Dialect::Go, "{{ toJson\n ‹.x.y› }}"),
        (Dialect::Go, "{{ range .items }}{{ ‹.no.no› }}{{ end }}"),
        (Dialect::Legacy, "{{ ‹user.age› }}"),
    ] {
        let text = marked.replace(['‹', '›'], "");
        let (template, found) = parse(&text, dialect);
        assert!(found.is_empty(), "{marked}: {found:?}");
        let error = template.render(&scope(), LIMITS).unwrap_err();
        let start = marked.find('‹').unwrap();
        let end = marked.find('›').unwrap() - '‹'.len_utf8();
        assert_eq!(error.span.unwrap().range(), start..end, "{marked}: {error}");
    }
}

#[test]
fn secrets_are_places_and_never_text() {
    let mut report = Report::new(&"a.md".into());
    let slice = SourceMap::Slice(0);
    let mut shape = |text: &str, dialect| Spanned::new(Shape::parse(text, &slice, dialect, true, &mut report), Span::default());
    let key = |name: &str| Spanned::new(crate::value::Key::from(name), Span::default());
    let args = Shape::Map(vec![
        (
            key("a/b"),
            Spanned::new(
                Shape::List(vec![shape("{{ x | optional }}", Dialect::Jinja), shape("Bearer {{secret:api/key}}", Dialect::Jinja)]),
                Span::default(),
            ),
        ),
        (key("go"), shape("{{ if .yes }}{{ .name }}:{{secret:b}}{{ end }}", Dialect::Go)),
        (key("jinja"), shape("{% for i in [1, 2] %}{{ i }}{{ secret:c }}{% endfor %}", Dialect::Jinja)),
        (key("legacy"), shape("{{secret:d}}{{secret:d}}", Dialect::Legacy)),
        (key("text"), shape("{{ forged }}", Dialect::Jinja)),
    ]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    let mut scope = scope();
    scope.context.insert("forged".into(), Value::text("{{secret:e}}"));
    let mut secrets = Vec::new();
    let value = args.evaluate(&scope, LIMITS, &mut secrets).unwrap().unwrap();
    assert_eq!(value.to_json(), r#"{"a/b":["Bearer "],"go":"Ann:","jinja":"12","legacy":"","text":"{{secret:e}}"}"#);
    let met: Vec<_> = secrets.iter().map(|secret| (&*secret.pointer, secret.offset, &*secret.name)).collect();
    assert_eq!(
        met,
        [("/a~1b/0", 7, "api/key"), ("/go", 4, "b"), ("/jinja", 1, "c"), ("/jinja", 2, "c"), ("/legacy", 0, "d"), ("/legacy", 0, "d")]
    );
    for text in ["{{ '{{secret:a}}' }}", "{% set a %}{{secret:a}}{% endset %}", "{% raw %}{{secret:a}}{% endraw %}"] {
        let mut report = Report::new(&"a.md".into());
        Shape::parse(text, &slice, Dialect::Jinja, true, &mut report);
        assert_eq!(report.diagnostics.len(), 1, "{text}: {:?}", report.diagnostics);
    }
}

/// Nothing explodes: each case ends in a failure that names its bound, quickly.
#[test]
fn bounds_hold() {
    let doubled: String = (0..60).map(|at| format!("{{% set a{} = a{at} ~ a{at} %}}", at + 1)).collect();
    let lists: String = (0..60).map(|at| format!("{{% set a{} = [a{at}, a{at}] %}}", at + 1)).collect();
    let added: String = (0..60).map(|at| format!("{{% set a{} = a{at} + a{at} %}}", at + 1)).collect();
    let nested: String = (0..400).map(|at| format!("{{% set a{} = [a{at}] %}}", at + 1)).collect();
    let loops = "{% for a in range(10000) %}".repeat(3) + &"{% endfor %}".repeat(3);
    let text = "{% for a in range(10000) %}0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\
        0123456789{% endfor %}";
    let tuples = "{% set a = (a, a) %}".repeat(72);
    let bindings = "{% for a in [[a, a]] %}".repeat(40);
    let slices = "{% set a = a[1:] + a[:1] %}".repeat(10_000);
    let longer = "longer than 1048576 bytes (`limits.template_output`)";
    let steps = "more than 1000000 steps (`limits.template_fuel`)";
    for (text, message) in [
        ("{{ range(100000) | list | length }}", "`range` makes at most 10000 items, not 100000"),
        ("{{ 'x' * 1000000000 }}", longer),
        ("{{ 'x' * 1000000 * 1000000 }}", longer),
        (&*format!("{{% set a0 = 'xxxx' %}}{doubled}{{{{ a60 | length }}}}"), longer),
        (&*format!("{{% set a0 = 'xxxx' %}}{lists}{{{{ a60 == a60 }}}}"), "the value has too many parts"),
        (&*format!("{{% set a0 = [1] %}}{added}{{{{ a60 | length }}}}"), "too"),
        (&*format!("{{% set a0 = [1] %}}{nested}{{{{ a400 }}}}"), "the value is nested deeper than 128 levels"),
        (&*loops, steps),
        (&*format!("{{% set a = 1 %}}{tuples}{{{{ a == a }}}}"), "the value has too many parts"),
        (&*format!("{{% set a = 1 %}}{bindings}{{{{ a == a }}}}{}", "{% endfor %}".repeat(40)), "the value has too many parts"),
        (
            &*format!(
                "{{% set a = 1 %}}{}{{% for i in range(10000) %}}{{% if a == a %}}{{% endif %}}{{% endfor %}}",
                &tuples[..tuples.len() / 4]
            ),
            steps,
        ),
        (&*format!("{{% set a = range(10) %}}{slices}{{{{ a }}}}"), ""),
        (text, longer),
        ("{{ 'a' | indent(1000000000, true) }}", longer),
        ("{% set a = 'a' * 100000 %}{{ a | replace('a', a) }}", longer),
        ("{% set a = 'a' * 100000 %}{{ range(1000) | join(a) }}", longer),
        ("{% set a = 'a' * 100000 %}{{ [a, a, a, a, a, a, a, a, a, a, a, a] }}", longer),
        ("{{ [1] | batch(1000000000, 0) }}", "`batch` makes at most 10000 items, not 1000000000"),
        ("{{ [1] | slice(1000000000) }}", "`slice` makes at most 10000 items, not 1000000000"),
        ("{{ 10 ** 30 }}", "the number 1000000000000000000000000000000 does not fit 64 bits"),
        ("{{ 10 ** 300 }}", "unable to calculate 10 ** 300"),
        ("{{ 1e308 * 10 }}", "the result is no finite number"),
        ("{% set a = 'a' * 1000000 %}{% for i in range(10000) %}{% if 'b' in a %}{% endif %}{% endfor %}", steps),
        ("{% set a = 'a' * 1000000 %}{% for i in range(10000) %}{% set b = a | upper %}{% endfor %}", steps),
    ] {
        if message.is_empty() {
            assert!(render(text).is_ok());
            continue;
        }
        let error = render(text).unwrap_err();
        assert!(error.contains(message), "{}: {error}", &text[..text.len().min(60)]);
    }
    let (template, _) = parse("{% for i in items %}{{ i.t }}{% endfor %}", Dialect::Jinja);
    let small = RenderLimits { output: 1, fuel: 1_000 };
    assert!(template.render(&scope(), small).unwrap_err().message.contains("longer than 1 bytes"));
    assert!(template.render(&scope(), RenderLimits { output: 10, fuel: 5 }).unwrap_err().message.contains("more than 5 steps"));
    assert_eq!(&*template.render(&scope(), RenderLimits { output: 2, fuel: 999 }).unwrap(), "xy");
    let (pieces, _) = parse("{{ name }}", Dialect::Jinja);
    assert!(pieces.render(&scope(), small).is_err());
}

/// Deep nesting is refused where it is written, within a 2 MiB stack, and what is just allowed renders within one.
#[test]
fn nesting_is_bounded() {
    let deep =
        |open: &str, close: &str, middle: &str, count: usize| format!("{{{{ {}{middle}{} }}}}", open.repeat(count), close.repeat(count));
    let blocks = |open: &str, close: &str, count: usize| open.repeat(count) + &close.repeat(count);
    let work = move || {
        for count in [40, 70, 99, 149, 100_000] {
            for (dialect, text) in [
                (Dialect::Jinja, deep("(", ")", "n", count)),
                (Dialect::Jinja, deep("[", "]", "n", count)),
                (Dialect::Jinja, deep("{'a':", "}", "n", count)),
                (Dialect::Jinja, deep("not ", "", "n", count)),
                (Dialect::Jinja, deep("-", "", "n", count)),
                (Dialect::Jinja, deep("", ".a", "user", count)),
                (Dialect::Jinja, deep("", "|upper", "name", count)),
                (Dialect::Jinja, deep("", " ~ name", "name", count)),
                (Dialect::Jinja, deep("", "[n]", "items", count)),
                (Dialect::Jinja, deep("range(", ")", "n", count)),
                (Dialect::Jinja, deep("n if n else ", "", "n", count)),
                (Dialect::Jinja, deep("x|default(", ")", "n", count)),
                (Dialect::Jinja, blocks("{% if n %}", "{% endif %}", count)),
                (Dialect::Jinja, blocks("{% for a in items %}", "{% endfor %}", count.min(3))),
                (Dialect::Jinja, blocks("{% for a in empty %}", "{% endfor %}", count)),
                (Dialect::Jinja, blocks("{% with a = n %}", "{% endwith %}", count)),
                (Dialect::Jinja, blocks("{% filter upper %}", "{% endfilter %}", count)),
                (Dialect::Jinja, format!("{{% if n %}}{}{{% endif %}}", "{% elif n %}".repeat(count))),
                (Dialect::Jinja, format!("{{% set {}a{} = n %}}", "(".repeat(count), ")".repeat(count))),
                (Dialect::Jinja, format!("{{% for {}a{} in empty %}}{{% endfor %}}", "(".repeat(count), ")".repeat(count))),
                (Dialect::Go, deep("(", ")", ".n", count)),
                (Dialect::Go, deep("not (", ")", ".n", count)),
                (Dialect::Go, deep("", ".a", ".user", count)),
                (Dialect::Go, deep("", "|toJson", ".user", count)),
                (Dialect::Go, deep("and ", "", &".n ".repeat(count), 1)),
                (Dialect::Go, blocks("{{if .n}}", "{{end}}", count)),
                (Dialect::Go, blocks("{{with .n}}", "{{end}}", count)),
                (Dialect::Go, format!("{{{{if .no}}}}{}{{{{end}}}}", "{{else if .no}}".repeat(count))),
            ] {
                let (template, found) = parse(&text, dialect);
                // A plain path is no tree: it may be of any length.
                assert!(
                    count < 100_000 || !found.is_empty() || text.len() < 1_000 || text.contains("user.a") || text.contains(".user.a"),
                    "{}",
                    &text[..40]
                );
                assert!(count > 40 || found.is_empty() || dialect == Dialect::Go, "{text}: {found:?}");
                let _ = template.render(&scope(), LIMITS);
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

/// Junk never panics, whatever the dialect, and what parses renders or fails.
#[test]
fn junk_never_panics() {
    const ALPHABET: &[&str] = &[
        "{", "}", "%", "#", "\"", "'", ".", "|", "(", ")", "[", "]", " ", "a", "b", "c", "\n", "{{", "}}", "{%", "%}", "-", "é", "if ",
        "else", "end", "endif", "for ", " in ", "endfor", "set ", "=", "+", "*", "~", "1", "9", "n", "name", "items", "user", ".t",
        "default ", "range", "with ", "upper", "optional", "$", "/*", "*/", "`", "\\", ",", ":", "not ", "secret:", "is ", "raw", "endraw",
        "1.5", "first",
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % bound as u64).unwrap()
    };
    let scope = scope();
    let limits = RenderLimits { output: 10_000, fuel: 2_000 };
    let mut rendered = [0; 3];
    for round in 0..20_000 {
        let mut text: String = (0..1 + next(14)).map(|_| ALPHABET[next(ALPHABET.len())]).collect();
        if round % 2 == 0 {
            text = format!("{{{{ {text} }}}}");
        }
        for (at, dialect) in [Dialect::Jinja, Dialect::Go, Dialect::Legacy].into_iter().enumerate() {
            let mut report = Report::new(&"a.md".into());
            let shape = Shape::parse(&text, &SourceMap::Slice(0), dialect, true, &mut report);
            for found in &report.diagnostics {
                let place = found.place.as_ref().unwrap().span.range();
                assert!(text.get(place.clone()).is_some(), "{text:?}: {found:?}");
            }
            if report.diagnostics.is_empty() {
                rendered[at] += usize::from(shape.evaluate(&scope, limits, &mut Vec::new()).is_ok());
            }
            let (template, _) = parse(&text, dialect);
            let _ = template.render(&scope, limits);
        }
    }
    assert!(rendered.iter().all(|&count| count > 1_000), "{rendered:?}");
}
