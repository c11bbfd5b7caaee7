//! No template takes more time, memory or stack than its bounds say.

use super::*;

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
        // A constant expression is refused when it is compiled.
        let refused = parse(text, Dialect::Jinja).1.first().map(|found| found.message.clone());
        let error = refused.unwrap_or_else(|| render(text).unwrap_err());
        assert!(error.contains(message), "{}: {error}", &text[..text.len().min(60)]);
    }
    let mut report = Report::new(&"a.md".into());
    let lists = "{{ [d, d, d, d, d, d, d, d, d, d, d] | map('default') | list }}";
    let shape = Shape::parse(lists, &SourceMap::Slice(0), Dialect::Jinja, false, &mut report);
    let mut large = scope();
    large.context.insert("d".into(), Value::text("x".repeat(100_000)));
    assert!(shape.evaluate(&large, LIMITS, &mut Vec::new()).unwrap_err().message.contains(longer));
    assert!(parse(lists, Dialect::Jinja).0.render(&large, LIMITS).unwrap_err().message.contains(longer));
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

/// Every filter and test with inputs and arguments that nobody means.
#[test]
fn odd_arguments_never_panic() {
    let values = [
        "none",
        "true",
        "-1",
        "0",
        "3",
        "99",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "1.5",
        "1e308",
        "-0.0",
        "''",
        "'é'",
        "'a b'",
        "'12'",
        "[]",
        "[1, 'a', none]",
        "[[1, 2], [3]]",
        "{}",
        "{'a': 1}",
        "items",
        "user",
        "x",
    ];
    let named = ["attribute", "default", "base", "precision", "method", "reverse", "by", "case_sensitive", "indent", "start", "fill_with"];
    let limits = RenderLimits { output: 100_000, fuel: 10_000 };
    let scope = scope();
    let mut failures = Vec::new();
    let mut run = |text: String| {
        let (template, _) = parse(&text, Dialect::Jinja);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(template.render(&scope, limits))));
        if caught.is_err() {
            failures.push(text);
        }
    };
    for value in values {
        for filter in builtins::FILTERS {
            run(format!("{{{{ {value} | {} }}}}!", filter.name));
            for arg in values {
                run(format!("{{{{ {value} | {}({arg}) }}}}!", filter.name));
                run(format!("{{{{ {value} | {}('a', {arg}) }}}}!", filter.name));
                run(format!("{{{{ {value} | {}(3, {arg}) }}}}!", filter.name));
            }
            for name in named {
                run(format!("{{{{ {value} | {}({name}=99) }}}}!", filter.name));
                run(format!("{{{{ {value} | {}({name}=-2147483648) }}}}!", filter.name));
                run(format!("{{{{ {value} | {}({name}='id') }}}}!", filter.name));
            }
        }
        for test in builtins::TESTS {
            run(format!("{{{{ {value} is {} }}}}!", test.name));
            for arg in values {
                run(format!("{{{{ {value} is {}({arg}) }}}}!", test.name));
            }
        }
        for arg in values {
            for operator in ["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "and", "or"] {
                run(format!("{{{{ {value} {operator} {arg} }}}}!"));
            }
            for other in values {
                run(format!("{{{{ {value}[{arg}:{other}] }}}}!"));
                run(format!("{{{{ 'abc'[{value}:{arg}:{other}] }}}}{{{{ [1, 2, 3][{value}:{arg}:{other}] }}}}"));
                run(format!("{{{{ range({value}, {arg}, {other}) }}}}!"));
            }
            run(format!("{{{{ {value}[{arg}] }}}}!"));
        }
        run(format!("{{{{ -{value} }}}}{{{{ not {value} }}}}{{% for a in {value} %}}{{{{ a }}}}{{% endfor %}}"));
    }
    assert!(failures.is_empty(), "{} panics: {:#?}", failures.len(), &failures[..failures.len().min(80)]);
}
