//! Trees of small documents: values, places, findings, bounds.

use super::*;

/// The tree as `kind<written>`, and what was found.
fn tree(text: &str) -> (String, Vec<String>) {
    let mut report = Report::new(&"a.yaml".into());
    let node = read(text, 0..text.len(), &mut report);
    let found = report.diagnostics.iter().map(|found| {
        let written = found.place.as_ref().map(|place| &text[place.span.range()]).unwrap_or_default();
        format!("{} {written}", found.code)
    });
    (node.map(|node| node.map_or_else(String::new, |node| show(&node, text))).unwrap_or("broken".into()), found.collect())
}

fn show(node: &YamlNode<'_>, text: &str) -> String {
    match &node.data {
        YamlData::Scalar(decoded, _) => {
            assert!(text.get(node.span.range()).is_some());
            format!("{decoded:?}<{}>", &text[node.span.range()])
        }
        YamlData::List(items) => format!("[{}]", items.iter().map(|item| show(item, text)).collect::<Vec<_>>().join(" ")),
        YamlData::Map(entries) => {
            let entries = entries.iter().map(|entry| format!("{}<{}>={}", entry.key, &text[entry.span.range()], show(&entry.value, text)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
        }
        YamlData::Reported => "reported".into(),
    }
}

#[test]
fn every_scalar_knows_its_bytes() {
    for (text, expected) in [
        ("é: ü # c\n", "{é<é>=\"ü\"<ü>}"),
        ("\"a\": 'it''s'\n", "{a<a>=\"it's\"<it''s>}"),
        ("a: \"x\\ny\"\n", "{a<a>=\"x\\ny\"<x\\ny>}"),
        ("a: ''\nb:\nc: ~\n", "{a<a>=\"\"<> b<b>=\"\"<> c<c>=\"~\"<~>}"),
        ("a: |\n  one\n   two\n\nb: >-\n  x\n  y\n", "{a<a>=\"one\\n two\\n\"<one\n   two> b<b>=\"x y\"<x\n  y>}"),
        ("a: |\r\n  one\r\n  two\r\n", "{a<a>=\"one\\ntwo\\n\"<one\r\n  two>}"),
        ("[a, {b: c}, - ]\n", "broken"),
        ("- a\n- - b\n  - c\n", "[\"a\"<a> [\"b\"<b> \"c\"<c>]]"),
        (
            "{\"a\": \"caf\\u00e9 \\ud83d\\ude00 \\/\", \"b\": [1, true]}",
            "{a<a>=\"café 😀 /\"<caf\\u00e9 \\ud83d\\ude00 \\/> b<b>=[\"1\"<1> \"true\"<true>]}",
        ),
    ] {
        assert_eq!(tree(text).0, expected, "{text}");
    }
}

#[test]
fn containers_end_with_their_last_item() {
    for (text, expected) in [
        ("a:\n  b: 1\n\n# c\nd: 2\n", "b: 1"),
        ("a: { b: 1 } # c\n", "{ b: 1 }"),
        ("a:\n- b\n- c\n\nd: e\n", "- b\n- c"),
        ("a:\n- -1\n- b\n", "- -1\n- b"),
        ("a:\n  b:\n\nc: d\n", "b"),
    ] {
        let mut report = Report::new(&"a.yaml".into());
        let YamlData::Map(entries) = read(text, 0..text.len(), &mut report).unwrap().unwrap().data else { panic!() };
        assert_eq!(&text[entries[0].value.span.range()], expected, "{text}");
    }
}

#[test]
fn decoded_bytes_lead_back_to_the_file() {
    let text = "a: |\n\n    héllo {{ x }}\n\n      two {{ y }}\nb: plain {{ z }}\nc: \"q {{ z }}\"\nd: 'it''s {{ z }}'\ne: |+2\n    three {{ w }}\n\n\
        f: >\n  folded {{ f }}\n  and {{ g }}\n\n    more {{ h }}\n\n  last {{ i }}\n\
        g: \"a\\n\\u00e9\\x41 {{ j }}\\\n  b {{ k }}\n\n  c\\\" {{ l }}\"\nh: plain\n  over {{ m }}\n\ni: 'x\n\n  it''s {{ n }}'\n";
    let mut report = Report::new(&"a.yaml".into());
    let YamlData::Map(entries) = read(text, 0..text.len(), &mut report).unwrap().unwrap().data else { panic!() };
    let places: Vec<_> = entries
        .iter()
        .flat_map(|entry| {
            let YamlData::Scalar(decoded, _) = &entry.value.data else { panic!() };
            let map = entry.value.map(text);
            let holes = decoded.match_indices("{{").map(|(at, _)| text[map.span(at..at + 7).range()].to_owned());
            holes.collect::<Vec<_>>()
        })
        .collect();
    let names = ["x", "y", "z", "z", "z", "w", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
    assert_eq!(places, names.map(|name| format!("{{{{ {name} }}}}")));
}

#[test]
fn repeated_keys_are_reported_in_narrow_and_wide_mappings() {
    assert_eq!(tree("a: 1\nb: 2\na: 3\n"), ("{a<a>=\"1\"<1> b<b>=\"2\"<2>}".into(), vec!["duplicate-key a".into()]));
    let wide: String = (0..500).map(|key| format!("k{key}: 1\n")).chain(["k3: 2\n".into(), "k499: 2\n".into(), "k3: 1\n".into()]).collect();
    assert_eq!(tree(&wide).1, ["duplicate-key k3", "duplicate-key k499", "duplicate-key k3"]);
}

#[test]
fn keys_must_be_text() {
    assert_eq!(
        tree("1: a\ntrue: b\n~: c\n\"2\": d\n? [x]\n: y\n: z\n").1,
        ["wrong-type 1", "wrong-type true", "wrong-type ~", "wrong-type [x]", "wrong-type "]
    );
}

#[test]
fn keys_are_single_lines() {
    assert_eq!(tree("\"a\\nb\": 1\n\"c\": 2\n"), ("{c<c>=\"2\"<2>}".into(), vec!["wrong-type a\\nb".into()]));
}

#[test]
fn what_graphs_do_not_use_of_yaml_is_said() {
    assert_eq!(tree("a: !!str 1\nb: !x\n").1, ["yaml-syntax !!str", "yaml-syntax !x"]);
    assert_eq!(tree("a: *b\n").1, ["yaml-syntax *b"]);
    assert_eq!(tree("a: &x { b: [1] }\nc: *x\n"), ("{a<a>={b<b>=[\"1\"<1>]} c<c>={b<b>=[\"1\"<1>]}}".into(), vec![]));
    assert_eq!(
        tree("a: {{ x }}\nb: [{{ y | default(1, 2) }}]\n"),
        ("{a<a>=reported b<b>=[reported]}".into(), vec!["wrong-type {{ x }}".into(), "wrong-type {{ y | default(1, 2) }}".into()])
    );
    assert_eq!(
        tree("{ a: b, c, d, e: f, g }\n"),
        ("{a<a>=reported e<e>=reported}".into(), vec!["wrong-type b, c, d".into(), "wrong-type f, g".into()])
    );
}

#[test]
fn depth_and_aliases_are_bounded() {
    let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(tree(&deep(MAX_YAML_DEPTH)).1, [""; 0]);
    assert_eq!(tree(&deep(MAX_YAML_DEPTH + 1)).0, "broken");
    assert_eq!(tree(&deep(100_000)).0, "broken");
    assert_eq!(tree(&"- ".repeat(100_000)).0, "broken");
    let bomb: String = (0..30).map(|level| format!("a{}: &a{} [{}]\n", level + 1, level + 1, format!("*a{level}, ").repeat(9))).collect();
    let (shown, found) = tree(&format!("a0: &a0 [x]\n{bomb}"));
    assert_eq!((shown.as_str(), found.len()), ("broken", 1));
    let nested: String = (0..200).map(|level| format!("a{}: &a{} [*a{level}]\n", level + 1, level + 1)).collect();
    assert_eq!(tree(&format!("a0: &a0 [x]\n{nested}")).0, "broken");
}
