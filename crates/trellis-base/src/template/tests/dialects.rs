//! The common behaviour of the dialects.

use super::*;

/// The same case in all three dialects, where the construct exists.
#[test]
fn dialects_agree() {
    let order = r#"{"name":"Bo","tags":["a","b"]}"#;
    for (jinja, go, legacy, shown) in [
        ("no holes { at } all", "no holes { at } all", "no holes { at } all", Ok("no holes { at } all")),
        ("Dear {{ name }}!\n", "Dear {{ .name }}!\n", "Dear {{ name }}!\n", Ok("Dear Ann!\n")),
        ("{{ user.name }}{{n}}", "{{ .user.name }}{{.n}}", "", Ok("Bo3")),
        (
            "{{ user }} {{ yes }} {{ nothing }}",
            "{{ .user }} {{ .yes }} {{ .nothing }}",
            "{{ user }} {{ yes }} {{ nothing }}",
            Ok(&*format!("{order} true ")),
        ),
        ("{{ big }} {{ half }}", "{{ .big }} {{ .half }}", "{{ big }} {{ half }}", Ok("9007199254740993 0.5")),
        ("{{ input }}", "{{ .input }}", "{{ input }}", Ok("{{ name }}")),
        ("{{ sys.error.message }}", "{{ .sys.error.message }}", "", Ok("late")),
        ("{{ x }}", "{{ .x }}", "{{ x }}", Err("`x` is not set")),
        ("{{ user.age.y }}", "{{ .user.age.y }}", "", Err("`user.age.y` is not set")),
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
        (
            "{% for i in items %}{{ loop.index0 }}{{ i.t }} {% endfor %}{% for k, v in user | items %}{{ k }}={{ v }};{% endfor %}",
            "{{ range $i, $x := .items }}{{ $i }}{{ $x.t }} {{ end }}{{ range $k, $v := .user }}{{ $k }}={{ . }};{{ end }}",
            "",
            Ok(r#"0x 1y name=Bo;tags=["a","b"];"#),
        ),
        (
            "{% for a in items %}{% for b in user.tags %}{{ a.t }}{{ b }}{% endfor %}{% endfor %}",
            "{{ range $a := .items }}{{ range $.user.tags }}{{ $a.t }}{{ . }}{{ end }}{{ end }}",
            "",
            Ok("xaxbyayb"),
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

/// Language 3.5: `$` is the whole context, also where a loop has names of its own.
#[test]
fn a_key_named_loop_is_read_inside_of_range() {
    let mut scope = scope();
    scope.context.insert("loop".into(), Value::from_json(r#"{"index": "the key"}"#).unwrap());
    for (text, shown) in [
        ("{{ range .items }}{{ $.loop.index }} {{ .t }};{{ end }}", "the key x;the key y;"),
        ("{{ range .items }}{{ range $.user.tags }}{{ index $.loop \"index\" }},{{ end }}{{ end }}", "the key,the key,the key,the key,"),
        ("{{ range .items }}{{ if $.loop }}{{ toJson $.loop }}{{ end }}{{ end }}", r#"{"index":"the key"}{"index":"the key"}"#),
        ("{{ with .user }}{{ $.loop.index }}{{ end }}{{ .loop.index }}", "the keythe key"),
        ("{{ range $loop := .items }}{{ $loop.t }}{{ $.loop.index }}{{ end }}", "xthe keyythe key"),
    ] {
        let (template, found) = parse(text, Dialect::Go);
        assert!(found.is_empty(), "{text}: {found:?}");
        assert_eq!(template.render(&scope, LIMITS).as_deref(), Ok(shown), "{text}");
        let read: Vec<_> = template.reads().into_iter().map(|read| read.path.to_string()).collect();
        assert!(read.iter().any(|path| path.starts_with("loop")), "{text}: {read:?}");
    }
    assert_eq!(render_in("{{ range .items }}{{ $.loop }}{{ end }}", Dialect::Go), Err("`$.loop` is not set".to_owned()));
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
    for text in ["{{ '{{secret:a}}' }}", "{% set a %}{{secret:a}}{% endset %}"] {
        let mut report = Report::new(&"a.md".into());
        Shape::parse(text, &slice, Dialect::Jinja, true, &mut report);
        assert_eq!(report.diagnostics.len(), 1, "{text}: {:?}", report.diagnostics);
    }
}
