//! Every mistake and every failure stands at the author's bytes.

use super::*;

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
        (Jinja, "a\n{{ ‹.›name }}", "template-syntax", "this is a Go template", "set `templates: go` in trellis.yaml"),
        (Jinja, "{% ‹include› 'x' %}", "template-syntax", "`include` is not part of the language", ""),
        (Jinja, "{% ‹macro› f() %}{% endmacro %}", "template-syntax", "`macro` is not part of the language", ""),
        (Jinja, "{% ‹iff› x %}", "template-syntax", "there is no statement `iff`", "did you mean `if`?"),
        (Jinja, "{{ name ‹}›, {{ b }}", "template-syntax", "`}}` belongs here, not `}`", ""),
        (Jinja, "é {% if n %}{% ‹for› i in n %}{% set a = 1 %}", "template-syntax", "this `for` has no `{% endfor %}`", ""),
        (Jinja, "{% if n %}{% ‹endfor› %}", "template-syntax", "`endfor` stands where `endif` belongs", ""),
        (Jinja, "{% ‹else› %}", "template-syntax", "`else` belongs to no `if` or `for`", ""),
        (Jinja, "{{ n + ‹}}›", "template-syntax", "a value is missing here", ""),
        (Jinja, "{{ n | ‹}}›", "template-syntax", "the name of a filter is missing here", ""),
        (Jinja, "{{ ‹'›a }}", "template-syntax", "this text has no closing quote", ""),
        (Jinja, "{{ n ‹&›& n }}", "template-syntax", "`&` has no meaning here", "write `and`"),
        (Jinja, "{% if n ‹=› 1 %}{% endif %}", "template-syntax", "`%}` belongs here, not `=`", "compare with `==`"),
        (Jinja, "{{ ‹99999999999999999999999999999999999999999› }}", "template-syntax", "this number is too large", ""),
        (Jinja, "{{ 'é‹\\x›zz' }}", "template-syntax", "this escape is not known", ""),
        (Jinja, "a {{ n }} ‹{{› b", "template-syntax", "this `{{` has no `}}`", ""),
        (Jinja, "a ‹{#› b", "template-syntax", "this `{#` has no `#}`", ""),
        (Go, "{{ ‹name› }}", "template-syntax", "`name` is not in the Go subset", "write `.name`"),
        (Go, "{{ ‹tojson› .a }}", "template-syntax", "`tojson` is not in the Go subset", "did you mean `toJson`?"),
        (Go, "{{ if .a }}{{ ‹lt› .a 1 }}{{ end }}", "template-syntax", "`lt` is not in the Go subset", "`eq`"),
        (Go, "é {{ ‹if› .a }}", "template-syntax", "this `if` has no `{{ end }}`", ""),
        (Go, "a {{ ‹end› }}", "template-syntax", "`end` belongs to no `if`, `range` or `with`", ""),
        (Go, "{{ ‹$x› }}", "template-syntax", "`$x` is not declared", "`$` is the whole context"),
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
        (Dialect::Jinja, "{{ ‹name - 1› }}"),
        (Dialect::Go, "é {{ ‹.user.age› }}"),
        (Dialect::Go, "{{ toJson\n ‹.x.y› }}"),
        (Dialect::Go, "{{ range .items }}{{ ‹.no.no› }}{{ end }}"),
        (Dialect::Legacy, "{{ ‹age› }}"),
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

/// Several mistakes of one template are reported at once, and one mistake is one diagnostic.
#[test]
fn all_mistakes_are_reported_and_none_cascades() {
    let cases = [
        (
            Dialect::Jinja,
            "{{ a + }} {% if b %}{{ c | uper }}{% endif %} {{ d d }} {{ e }}",
            &["a value is missing here", "there is no filter `uper`", "`}}` belongs here, not `d`"][..],
        ),
        (Dialect::Jinja, "{% if a + %}{{ b | uper }}{% endif %}", &["a value is missing here"]),
        (
            Dialect::Go,
            "{{ a }} {{ if lt .b 1 }}{{ .c | d }}{{ end }} {{ .e",
            &["`a` is not in the Go subset", "`lt` is not in the Go subset", "`d` is not in the Go subset", "this `{{` has no `}}`"],
        ),
        (
            Dialect::Go,
            "{{ define `x` }}a{{ end }}{{ template `x` }}{{ .a }}",
            &["`define` is not in the Go subset", "`template` is not in the Go subset"],
        ),
        (
            Dialect::Legacy,
            "{{ a b }} {{ c }} {{ .d }} {{ e",
            &["`a b` is no key, and `templates: legacy` knows nothing else", "`.d` is no key, and `templates: legacy` knows nothing else"],
        ),
    ];
    for (dialect, text, messages) in cases {
        let (_, found) = parse(text, dialect);
        let found: Vec<_> = found.iter().map(|found| &*found.message).collect();
        assert_eq!(found, messages, "{text}");
    }
}
