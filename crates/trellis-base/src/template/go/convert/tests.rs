//! Texts of the Go dialect beside what they become, and what cannot become anything.

use super::*;

fn converted(text: &str) -> String {
    go_to_jinja(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn refused(text: &str) -> Vec<(&str, String)> {
    let Err(problems) = go_to_jinja(text) else { panic!("{text} was converted") };
    problems.into_iter().map(|problem| (&text[problem.place], problem.reason)).collect()
}

#[test]
fn each_form_has_its_counterpart() {
    for (go, jinja) in [
        ("plain { text } }}", "plain { text } }}"),
        ("Dear {{ .name }}!\n", "Dear {{ name }}!\n"),
        ("{{.user.name}}{{ $.n }}", "{{ user.name }}{{ n }}"),
        (r#"{{ default "you" .x.y }}"#, r#"{{ x.y | default("you", true) }}"#),
        ("{{ .x.y | default `you` }}", "{{ x.y | default('you', true) }}"),
        (r#"{{ coalesce "" .x .name }}"#, r#"{{ "" | default(x | default(name, true), true) }}"#),
        ("{{ toJson .user }} {{ .user | toJson }}", "{{ user | tojson }} {{ user | tojson }}"),
        (r#"{{ (index .items 1).t }}{{ index .user "name" }}"#, r#"{{ items[1].t }}{{ user["name"] }}"#),
        ("{{ if .x }}a{{ else if .y }}b{{ else }}c{{ end }}", "{% if x %}a{% elif y %}b{% else %}c{% endif %}"),
        (r#"{{ if and (eq .n 3) (ne .name "Bo") }}a{{ end }}"#, r#"{% if n == 3 and name != "Bo" %}a{% endif %}"#),
        ("{{ if not (or .a (and .b .c)) }}a{{ end }}", "{% if not (a or b and c) %}a{% endif %}"),
        ("{{ if and (or .a .b) (not .c) }}a{{ end }}", "{% if (a or b) and not c %}a{% endif %}"),
        ("{{ if eq .n 1 -3 2.5 nil true }}a{{ end }}", "{% if n in [1, -3, 2.5, none, true] %}a{% endif %}"),
        ("{{ eq (eq .a .b) .c }}", "{{ (a == b) == c }}"),
        ("{{ range .tags }}<{{ . }}>{{ else }}none{{ end }}", "{% for item in tags | values %}<{{ item }}>{% else %}none{% endfor %}"),
        (
            "{{ range $i, $tag := .tags }}{{ $i }}={{ $tag }}{{ . }}{{ end }}",
            "{% for i, tag in tags | pairs %}{{ i }}={{ tag }}{{ tag }}{% endfor %}",
        ),
        (
            "{{ with .user.address }}{{ .city }}, {{ $.name }}{{ else }}nowhere{{ end }}",
            "{% if user.address %}{{ user.address.city }}, {{ name }}{% else %}nowhere{% endif %}",
        ),
        (
            "{{ with default .b .a }}{{ .c }}{{ else }}-{{ end }}",
            "{% with value = a | default(b, true) %}{% if value %}{{ value.c }}{% else %}-{% endif %}{% endwith %}",
        ),
        ("a {{- if .a -}} b {{- end -}} c", "a {%- if a -%} b {%- endif -%} c"),
        (
            "a {{- with toJson .a -}} {{ . }} {{- end -}} c",
            "a {%- with value = a | tojson %}{% if value -%} {{ value }} {%- endif %}{% endwith -%} c",
        ),
        ("a {{- /* so: #} */ -}} b{{/*c*/}}{{/* d */}}", "a {#- so: # } -#} b{# c #}{# d #}"),
        ("{% if a %}{{ .b }}{# no #}", r#"{{ "{%" }} if a %}{{ b }}{{ "{#" }} no #}"#),
        (r#"{{ "a\"b\\c'\n\x07{{" }}"#, r#"{{ "a\"b\\c'\n\u0007\u007b{" }}"#),
        (r#"{{ default "}}" .a }}"#, r#"{{ a | default("}}", true) }}"#),
        ("{{secret:api/key}} {{ .a }}", "{{secret:api/key}} {{ a }}"),
        (
            "{{ -9223372036854775808 }} {{ 18446744073709551615 }} {{ 1e300 }}",
            "{{ -9223372036854775808 }} {{ 18446744073709551615 }} {{ 1e300 }}",
        ),
    ] {
        assert_eq!(converted(go), jinja, "{go}");
    }
}

#[test]
fn new_names_hide_nothing() {
    for (go, jinja) in [
        ("{{ range .items }}{{ .item }}{{ $.item }}{{ end }}", "{% for item2 in items | values %}{{ item2.item }}{{ item }}{% endfor %}"),
        (
            "{{ range .a }}{{ range .b }}{{ . }}{{ $.item2 }}{{ end }}{{ . }}{{ end }}{{ range .c }}{{ . }}{{ end }}",
            "{% for item in a | values %}{% for item3 in item.b | values %}{{ item3 }}{{ item2 }}{% endfor %}{{ item }}{% endfor %}\
             {% for item in c | values %}{{ item }}{% endfor %}",
        ),
        (
            "{{ range $user, $loop := .users }}{{ $.user }}{{ $loop.name }}{{ $user }}{{ end }}",
            "{% for user2, loop2 in users | pairs %}{{ user }}{{ loop2.name }}{{ user2 }}{% endfor %}",
        ),
        ("{{ range $x, $x := .a }}{{ $x }}{{ end }}", "{% for x, x2 in a | pairs %}{{ x2 }}{% endfor %}"),
        (
            "{{ range .a }}{{ with .b }}{{ . }}{{ range . }}{{ . }}{{ end }}{{ end }}{{ end }}",
            "{% for item in a | values %}{% if item.b %}{{ item.b }}{% for item2 in item.b | values %}{{ item2 }}{% endfor %}{% endif %}{% endfor %}",
        ),
    ] {
        assert_eq!(converted(go), jinja, "{go}");
    }
}

#[test]
fn what_has_no_counterpart_has_a_reason() {
    for (go, place, reason) in [
        ("a {{ .true }}", ".true", "Jinja cannot read the key `true`: it takes it for something else"),
        ("{{ range .a }}{{ $.loop }}{{ end }}", "$.loop", "inside of a loop, `loop` is not a key in Jinja"),
        ("{{ printf .a }}", "printf", "`printf` is not in the Go subset"),
        ("{{ name }}", "name", "`name` is not in the Go subset"),
        ("{{ $x := 1 }}", "$x", "`$x` is not declared"),
        ("{{ if .a }}", "if", "this `if` has no `{{ end }}`"),
        ("{{ . }}", ".", "`.` alone is the whole context: name a key, `.key`"),
        ("{{/* {{secret:a}} */}}", "{{secret:a}}", "a secret stands alone: `{{secret:name}}`"),
        ("x {{ toJson (index 1 2) }}", "{{ toJson (index 1 2) }}", "this always fails: undefined value"),
    ] {
        assert_eq!(refused(go), [(place, reason.to_owned())], "{go}");
    }
    assert_eq!(refused("{{ .if }}{{ .a }}{{ .none }}").len(), 2);
}

#[test]
fn a_key_named_loop_is_read_outside_of_loops() {
    assert_eq!(converted("{{ .loop }}{{ range .a }}{{ .loop }}{{ else }}{{ .loop }}{{ end }}"), {
        "{{ loop }}{% for item in a | values %}{{ item.loop }}{% else %}{{ loop }}{% endfor %}"
    });
    assert_eq!(converted("{{ with .a }}{{ . }}{{ $.loop }}{{ end }}"), "{% if a %}{{ a }}{{ loop }}{% endif %}");
}

#[test]
fn a_second_conversion_never_makes_a_third_text() {
    for text in ["", "no holes", "{ a } }} %}", "{\"a\": {\"b\": 1}}"] {
        assert_eq!(converted(&converted(text)), text);
    }
    for text in ["{{ .a }}", "{{ range .a }}{{ . }}{{ end }}", "{{ if .a }}{{ .b }}{{ end }}"] {
        assert!(go_to_jinja(&converted(text)).is_err(), "{text}");
    }
}
