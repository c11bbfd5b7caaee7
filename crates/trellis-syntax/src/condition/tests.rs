//! The grammar, and the findings in everything outside of it.

use super::*;

/// Returns the meaning of a condition, or `code place: message` of its one diagnostic.
fn read(text: &str) -> String {
    let mut report = Report::new(&"a.md".into());
    match Condition::parse(text, &SourceMap::Slice(0), '"', &mut report) {
        Some(condition) => {
            assert_eq!(report.diagnostics, [], "{text}");
            format!("{}{} {:?}", if condition.negated { "not " } else { "" }, condition.subject, condition.test)
        }
        None => {
            let [found] = &report.diagnostics[..] else { panic!("{text}: {:?}", report.diagnostics) };
            assert!(found.help.is_some() || found.message.contains("never closed"), "{text}");
            let place = found.place.as_ref().map(|place| &text[place.span.range()]).unwrap_or_default();
            format!("{} {place}: {}", found.code, found.message)
        }
    }
}

#[test]
fn the_grammar() {
    for (text, meaning) in [
        ("user.ok", "user.ok Truth"),
        (" not user.ok ", "not user.ok Truth"),
        ("is_adult", "is_adult Truth"),
        ("nothing", "nothing Truth"),
        ("items.0.id == 5", "items.0.id Is(Int(5))"),
        ("a==-1", "a Is(Int(-1))"),
        ("a != 1.50", "not a Is(Float(1.5))"),
        ("a == 18446744073709551615", "a Is(UInt(18446744073709551615))"),
        ("a == true", "a Is(Bool(true))"),
        ("a == null", "a Is(Null)"),
        ("input == 'yes'", "input Is(Text(\"yes\"))"),
        (r#"a == "it's \"so\" \\ \n \u{e9}""#, r#"a Is(Text("it's \"so\" \\ \n é"))"#),
        ("a == 'x and y (z) < 1'", "a Is(Text(\"x and y (z) < 1\"))"),
        ("a in ['x', 2, null]", "a In([Text(\"x\"), Int(2), Null])"),
        ("a in [1,]", "a In([Int(1)])"),
        ("a is set", "a Set"),
        ("a.b is not set", "not a.b Set"),
        ("a is empty", "a Empty"),
        ("a is not empty", "not a Empty"),
        ("in == 1", "in Is(Int(1))"),
        ("größe == 1", "größe Is(Int(1))"),
    ] {
        assert_eq!(read(text), meaning, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_said_at_its_place() {
    for (text, finding) in [
        ("", "condition-syntax : the condition is empty"),
        ("a and b", "condition-too-complex and: a condition knows no `and`"),
        ("a == 1 or b", "condition-too-complex or: a condition knows no `or`"),
        ("a && b", "condition-too-complex &&: a condition knows no `&&`"),
        ("a > 18", "condition-too-complex >: a condition does not order values with `>`"),
        ("a + 1 == 2", "condition-too-complex +: a condition knows no `+`"),
        ("a - 1 == 2", "condition-too-complex -: a condition knows no `-`"),
        ("len(a) == 2", "condition-too-complex (: a condition calls no function and has no parentheses"),
        ("a | length", "condition-too-complex |: a condition knows no `|`"),
        ("not a == 1", "condition-too-complex not: `not` cannot stand before `==`"),
        ("a not in [1]", "condition-too-complex not: a condition knows no `not` after the path"),
        ("!a", "condition-syntax !: `!` is no word of conditions"),
        ("a = 1", "condition-syntax =: `=` does not compare"),
        ("a === 1", "condition-syntax ===: `===` does not compare"),
        ("{{ a }}", "condition-syntax {{: a condition is no template"),
        ("a == b", "condition-syntax b: `b` is no value: texts have quotes, and paths cannot be compared with each other"),
        ("a == True", "condition-syntax True: `True` is no value"),
        ("a == 'x", "condition-syntax 'x: the quote ' is never closed"),
        ("a == 12ab", "condition-syntax 12ab: `12ab` is no value: texts have quotes, and paths cannot be compared with each other"),
        ("a == 18446744073709551616", "condition-syntax 18446744073709551616: the number 18446744073709551616 does not fit 64 bits"),
        (r#"a == "\q""#, "condition-syntax \\q: an escape in this text is unknown"),
        ("a ==", "condition-syntax ==: a value is missing after `==`"),
        ("a == 1 2", "condition-syntax 2: `2` is not understood after `a == 1`"),
        ("a in 'x'", "condition-syntax 'x': the values after `in` belong in brackets"),
        ("a in []", "condition-syntax ]: the list after `in` is empty, so nothing is in it"),
        ("a in [1", "condition-syntax 1: the list after `in` is never closed"),
        ("a in [1 2]", "condition-syntax 2: a comma is missing before `2`"),
        ("a is null", "condition-syntax null: `is` is followed by `set` or `empty`, not by `null`"),
        ("a is", "condition-syntax is: `set` or `empty` is missing after `is`"),
        ("a si set", "condition-syntax si: `si` is not understood after `a`"),
        (".a == 1", "condition-syntax .a: `.a` is no path: a name is missing beside a dot"),
        ("a..b", "condition-syntax a..b: `a..b` is no path: a name is missing beside a dot"),
        ("a.-b", "condition-syntax -b: `-b` is no name"),
        ("a[0] == 1", "condition-syntax [: a condition reads a list with a dot"),
        ("'yes' == a", "condition-syntax 'yes': a condition begins with a path, not with a value"),
        ("0.a == 1", "condition-syntax 0.a: a condition begins with a path, not with a value"),
        ("true", "condition-syntax true: `true` is no path"),
        ("not", "condition-syntax not: a path is missing after `not`"),
        ("== 1", "condition-syntax ==: a condition begins with a path"),
    ] {
        assert_eq!(read(text), finding, "{text}");
    }
}
