//! YAML (and JSON, which is YAML) as a tree that remembers where everything stands.
//!
//! In go the bytes of one YAML document, out comes a [`Node`]; what YAML itself forbids, and what graphs do not use of it, is reported on the way.
//!
//! **Invariant:** every span is a range of the whole file on character boundaries, the tree is at most [`DEPTH`] deep, and aliases unfold to at
//! most [`UNFOLDED`] values, so that whoever reads it may recurse.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, options};
use rustc_hash::FxHashMap;

use super::{
    scalar::{Plain, Style, source_map},
    slips,
};
use crate::{
    diagnostic::{Code, Diagnostic, Report},
    span::{SourceMap, Span},
};

/// How deep mappings and lists may nest.
pub(super) const DEPTH: usize = 64;

/// How many values anchors may hold and aliases unfold to, in all.
const UNFOLDED: usize = 10_000;

/// Up to this width a mapping looks for repeated keys by comparing them all.
const NARROW: usize = 16;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node<'t> {
    pub(super) data: Data<'t>,
    /// A scalar without its quotes; a list or mapping up to its last item or bracket.
    pub(super) span: Span,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Data<'t> {
    Scalar(Cow<'t, str>, Style),
    List(Vec<Node<'t>>),
    Map(Vec<Entry<'t>>),
    /// Something that was reported already: nobody has to say anything about it again.
    Reported,
}

/// One `key: value`.
#[derive(Clone, Debug)]
pub(super) struct Entry<'t> {
    pub(super) key: Cow<'t, str>,
    /// The key without its quotes.
    pub(super) span: Span,
    pub(super) value: Node<'t>,
    /// A key of `{ … }` that stands without `:`, as the part of a text behind a comma does.
    pub(super) bare: bool,
}

/// The document is broken; its one diagnostic was reported.
#[derive(Debug)]
pub(super) struct Broken;

impl<'t> Node<'t> {
    /// What an unquoted scalar resolves to; everything else is text.
    pub(super) fn plain(&self) -> Plain {
        match &self.data {
            Data::Scalar(text, Style::Plain) => Plain::of(text),
            _ => Plain::Text,
        }
    }

    /// Whether nothing is written here, or `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.data, Data::Scalar(_, Style::Plain)) && self.plain() == Plain::Null
    }

    /// What it is called in messages, with its article.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Scalar(..) => self.plain().kind(),
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
            Data::Reported => "nothing",
        }
    }

    /// Where the bytes of a scalar stand in the file.
    pub(super) fn map(&self, text: &str) -> SourceMap {
        match &self.data {
            Data::Scalar(decoded, style) => source_map(text, decoded, self.span, *style),
            _ => SourceMap::Whole(self.span),
        }
    }

    /// How many values it holds, and how deep they nest.
    fn size(&self) -> (usize, usize) {
        let children = |sizes: &mut dyn Iterator<Item = (usize, usize)>| {
            let (size, depth) = sizes.fold((0, 0), |(size, depth), child| (size + child.0, depth.max(child.1)));
            (size + 1, depth + 1)
        };
        match &self.data {
            Data::List(items) => children(&mut items.iter().map(Node::size)),
            Data::Map(entries) => children(&mut entries.iter().map(|entry| entry.value.size())),
            Data::Scalar(..) | Data::Reported => (1, 0),
        }
    }
}

/// Reads the one YAML document that stands at `range` of `text`; nothing for one without content.
///
/// # Errors
/// It is no YAML. One diagnostic says why.
pub(super) fn read<'t>(text: &'t str, range: Range<usize>, report: &mut Report) -> Result<Option<Node<'t>>, Broken> {
    let before = report.diagnostics.len();
    let result = build(text, range, report);
    if result.is_err() {
        // What was found in front of the break is found again once it is mended.
        let cause = report.diagnostics.pop();
        report.diagnostics.truncate(before);
        report.diagnostics.extend(cause);
    }
    result
}

fn build<'t>(text: &'t str, range: Range<usize>, report: &mut Report) -> Result<Option<Node<'t>>, Broken> {
    let options = options! { emit_comments: false, emit_unresolved_aliases: true };
    let mut parser = Parser::new_from_str_with_options(&text[range.clone()], options);
    let mut builder = Builder {
        text,
        base: range.start,
        report,
        open: Vec::new(),
        root: None,
        anchors: FxHashMap::default(),
        unfolded: 0,
        last: Last::default(),
    };
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.take(event, span)?,
            Err(error) => {
                let at = range.start + error.marker().byte_offset().unwrap_or(0);
                let at = text.floor_char_boundary(at.min(range.end));
                let open = builder.open.iter().rev().find(|open| open.flow).map(|open| open.start);
                slips::explain(&slips::Broken { text, range, at, open, last: builder.last, kind: error.kind() }, builder.report);
                return Err(Broken);
            }
        }
    }
    Ok(builder.root)
}

/// What was read last, for explaining what went wrong behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    /// Where it ended.
    pub(super) end: usize,
    /// The last unquoted scalar, if that was it.
    pub(super) plain: Option<Span>,
}

/// A list or mapping whose end was not reached yet.
struct Open<'t> {
    start: usize,
    flow: bool,
    anchor: usize,
    data: Collected<'t>,
}

enum Collected<'t> {
    List(Vec<Node<'t>>),
    Map { entries: Vec<Entry<'t>>, key: Option<ReadKey<'t>>, index: Index<'t> },
}

enum ReadKey<'t> {
    Text(Cow<'t, str>, Span),
    /// Not text; `true` when it was reported already.
    Other(Span, bool),
}

/// Where the keys of a wide mapping stand.
#[derive(Default)]
struct Index<'t> {
    places: FxHashMap<Cow<'t, str>, usize>,
    /// How many entries are in it.
    known: usize,
}

struct Builder<'t, 'r> {
    text: &'t str,
    base: usize,
    report: &'r mut Report,
    open: Vec<Open<'t>>,
    root: Option<Node<'t>>,
    anchors: FxHashMap<usize, Node<'t>>,
    unfolded: usize,
    last: Last,
}

impl<'t> Builder<'t, '_> {
    fn take(&mut self, event: Event<'t>, at: granit_parser::Span) -> Result<(), Broken> {
        let range = at.byte_range().unwrap_or_default();
        let (start, end) = (self.base + range.start, self.base + range.end);
        let plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..)) && end > start;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(text, style, start, end);
                self.tagged(tag.is_some(), &at, &node);
                self.anchor(anchor, &node)?;
                self.put(node);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tagged(tag.is_some(), &at, &Node { data: Data::Reported, span: Span::new(start, end) });
                self.begin(start, style, anchor, Collected::List(Vec::new()))?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tagged(tag.is_some(), &at, &Node { data: Data::Reported, span: Span::new(start, end) });
                let map = Collected::Map { entries: Vec::new(), key: None, index: Index::default() };
                self.begin(start, style, anchor, map)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(end)?,
            Event::Alias(id) => self.alias(id, Span::new(start, end))?,
            Event::UnresolvedAlias(name) => {
                let written = Span::new(start, end);
                let found = self.report.add(Code::YamlSyntax, written, format!("`*{name}` refers to an anchor that is not there"));
                found.help = Some("text that begins with `*` needs quotes".into());
                self.put(Node { data: Data::Reported, span: written });
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                self.report.add(Code::YamlSyntax, Span::new(start, end.max(start)), "a second YAML document begins here").help =
                    Some("one file holds one node; several nodes go under `nodes:`".into());
                return Err(Broken);
            }
            _ => return Ok(()),
        }
        self.last = Last { end, plain: plain.then(|| Span::new(start, end)) };
        Ok(())
    }

    fn scalar(&self, text: Cow<'t, str>, style: ScalarStyle, start: usize, end: usize) -> Node<'t> {
        let (style, span) = match style {
            ScalarStyle::SingleQuoted => (Style::Single, Span::new(start + 1, end - 1)),
            ScalarStyle::DoubleQuoted => (Style::Double, Span::new(start + 1, end - 1)),
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let style = if style == ScalarStyle::Literal { Style::Literal } else { Style::Folded };
                (style, Span::new(start, start + self.text[start..end].trim_end().len()))
            }
            _ => (Style::Plain, Span::new(start, end)),
        };
        // An absent value comes as `~` without a place.
        let text = if style == Style::Plain && start == end { Cow::Borrowed("") } else { text };
        Node { data: Data::Scalar(text, style), span }
    }

    fn tagged(&mut self, tagged: bool, at: &granit_parser::Span, node: &Node<'t>) {
        if !tagged {
            return;
        }
        let range = at.tag_span().and_then(|span| span.byte_range());
        let span = range.map_or(node.span, |range| Span::new(self.base + range.start, self.base + range.end));
        let tag = &self.text[span.range()];
        let found = self.report.add(Code::YamlSyntax, span, format!("`{tag}` is a YAML tag, which graphs do not use"));
        found.help = Some(match &node.data {
            Data::Scalar(text, Style::Plain) if text.is_empty() && tag.len() > 1 => {
                format!("text that begins with `!` needs quotes; a condition is turned round with `not {}`", &tag[1..])
            }
            _ => "remove it; quotes make a value text".into(),
        });
    }

    fn begin(&mut self, start: usize, style: StructureStyle, anchor: usize, data: Collected<'t>) -> Result<(), Broken> {
        if self.open.len() == DEPTH {
            self.report.add(Code::YamlSyntax, Span::at(start), format!("lists and mappings nest deeper than {DEPTH} levels"));
            return Err(Broken);
        }
        self.open.push(Open { start, flow: style == StructureStyle::Flow, anchor, data });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), Broken> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let node = match open.data {
            Collected::List(items) => {
                let end = if open.flow { end } else { items.last().map_or(open.start, |item| item.span.end as usize) };
                Node { span: Span::new(open.start, end), data: Data::List(items) }
            }
            Collected::Map { mut entries, .. } => {
                let end = if open.flow {
                    end
                } else {
                    entries.last().map_or(open.start, |entry| (entry.value.span.end.max(entry.span.end)) as usize)
                };
                let span = Span::new(open.start, end);
                if open.flow && self.text[span.range()].starts_with("{{") {
                    slips::unquoted_template(self.text, span, self.report);
                    Node { span, data: Data::Reported }
                } else {
                    if open.flow && !self.text[..open.start].ends_with('{') {
                        slips::split_by_comma(self.text, &mut entries, self.report);
                    }
                    Node { span, data: Data::Map(entries) }
                }
            }
        };
        self.anchor(open.anchor, &node)?;
        self.put(node);
        Ok(())
    }

    /// Adds a finished value to what encloses it.
    fn put(&mut self, node: Node<'t>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let in_template = open.flow && self.text[open.start..].starts_with("{{");
        let (entries, key, index) = match &mut open.data {
            Collected::List(items) => {
                items.push(node);
                return;
            }
            Collected::Map { entries, key, index } => (entries, key, index),
        };
        match key.take() {
            None => *key = Some(read_key(node)),
            Some(ReadKey::Other(span, reported)) => {
                if !reported && !in_template {
                    not_text(self.text, span, self.report);
                }
            }
            Some(ReadKey::Text(key, span)) => {
                let bare = open.flow && node.span.start == node.span.end && is_bare(self.text, span);
                match position(entries, index, &key) {
                    Some(first) if !bare => repeated(&key, span, entries[first].span, self.report),
                    _ => entries.push(Entry { key, span, value: node, bare }),
                }
            }
        }
    }

    fn anchor(&mut self, anchor: usize, node: &Node<'t>) -> Result<(), Broken> {
        if anchor == 0 {
            return Ok(());
        }
        self.unfold(node)?;
        self.anchors.insert(anchor, node.clone());
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Broken> {
        let Some(node) = self.anchors.get(&id).cloned() else {
            self.report.add(Code::YamlSyntax, span, "this alias stands inside what it refers to");
            return Err(Broken);
        };
        self.unfold(&node)?;
        if self.open.len() + node.size().1 > DEPTH {
            self.report.add(Code::YamlSyntax, span, format!("lists and mappings nest deeper than {DEPTH} levels"));
            return Err(Broken);
        }
        self.put(node);
        Ok(())
    }

    /// Counts a value that an anchor holds, or an alias repeats.
    fn unfold(&mut self, node: &Node<'t>) -> Result<(), Broken> {
        self.unfolded += node.size().0;
        if self.unfolded > UNFOLDED {
            self.report.add(Code::YamlSyntax, node.span, format!("anchors and aliases unfold to more than {UNFOLDED} values"));
            return Err(Broken);
        }
        Ok(())
    }
}

fn read_key(node: Node<'_>) -> ReadKey<'_> {
    match node.data {
        Data::Scalar(text, style) if style != Style::Plain || Plain::of(&text) == Plain::Text => ReadKey::Text(text, node.span),
        data => ReadKey::Other(node.span, matches!(data, Data::Reported)),
    }
}

/// Reports a key such as `1:` or `[a]:`.
fn not_text(text: &str, span: Span, report: &mut Report) {
    let written = &text[span.range()];
    if written.is_empty() {
        report.add(Code::WrongType, span, "a key is missing before this `:`");
        return;
    }
    let mut found = Diagnostic::new(Code::WrongType, &report.path, span, format!("a key must be text, `{written}` is not"));
    if !written.contains(['\n', '{', '[', '"']) {
        found = found.help("put it in quotes").fix("quote the key", span, format!("\"{written}\""));
    }
    report.push(found);
}

/// Whether no `:` follows a key.
fn is_bare(text: &str, key: Span) -> bool {
    let rest = text[key.end as usize..].trim_start_matches(['"', '\'']);
    !rest.trim_start().starts_with(':')
}

fn repeated(key: &str, span: Span, first: Span, report: &mut Report) {
    let found = Diagnostic::new(Code::DuplicateKey, &report.path, span, format!("`{key}` stands here twice"));
    report.push(found.label(&report.path, first, "first here").help("keep one of them"));
}

/// Where `name` already stands among `entries`; wide mappings keep an index.
fn position<'t>(entries: &[Entry<'t>], index: &mut Index<'t>, name: &Cow<'t, str>) -> Option<usize> {
    if entries.len() < NARROW {
        return entries.iter().position(|entry| entry.key == *name);
    }
    for (at, entry) in entries.iter().enumerate().skip(index.known) {
        index.places.entry(entry.key.clone()).or_insert(at);
    }
    index.known = entries.len();
    index.places.get(name).copied()
}

#[cfg(test)]
mod tests {
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

    fn show(node: &Node<'_>, text: &str) -> String {
        match &node.data {
            Data::Scalar(decoded, _) => {
                assert!(text.get(node.span.range()).is_some());
                format!("{decoded:?}<{}>", &text[node.span.range()])
            }
            Data::List(items) => format!("[{}]", items.iter().map(|item| show(item, text)).collect::<Vec<_>>().join(" ")),
            Data::Map(entries) => {
                let entries =
                    entries.iter().map(|entry| format!("{}<{}>={}", entry.key, &text[entry.span.range()], show(&entry.value, text)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
            }
            Data::Reported => "reported".into(),
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
            ("a:\n  b:\n\nc: d\n", "b"),
        ] {
            let mut report = Report::new(&"a.yaml".into());
            let Data::Map(entries) = read(text, 0..text.len(), &mut report).unwrap().unwrap().data else { panic!() };
            assert_eq!(text[entries[0].value.span.range()].trim_start_matches("- b\n- c - "), **expected, "{text}");
        }
    }

    #[test]
    fn decoded_bytes_lead_back_to_the_file() {
        let text = "a: |\n\n    héllo {{ x }}\n\n      two {{ y }}\nb: plain {{ z }}\nc: \"q {{ z }}\"\nd: 'it''s {{ z }}'\ne: |+2\n    three {{ w }}\n\n";
        let mut report = Report::new(&"a.yaml".into());
        let Data::Map(entries) = read(text, 0..text.len(), &mut report).unwrap().unwrap().data else { panic!() };
        let places: Vec<_> = entries
            .iter()
            .flat_map(|entry| {
                let Data::Scalar(decoded, _) = &entry.value.data else { panic!() };
                let map = entry.value.map(text);
                let holes = decoded.match_indices("{{").map(|(at, _)| text[map.span(at..at + 7).range()].to_owned());
                holes.collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(places, ["{{ x }}", "{{ y }}", "{{ z }}", "{{ z }}", "it''s {{ z }}", "{{ w }}"]);
    }

    #[test]
    fn repeated_keys_are_reported_in_narrow_and_wide_mappings() {
        assert_eq!(tree("a: 1\nb: 2\na: 3\n"), ("{a<a>=\"1\"<1> b<b>=\"2\"<2>}".into(), vec!["duplicate-key a".into()]));
        let wide: String =
            (0..500).map(|key| format!("k{key}: 1\n")).chain(["k3: 2\n".into(), "k499: 2\n".into(), "k3: 1\n".into()]).collect();
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
            ("{a<a>=\"b\"<b> e<e>=\"f\"<f>}".into(), vec!["wrong-type b, c, d".into(), "wrong-type f, g".into()])
        );
    }

    #[test]
    fn depth_and_aliases_are_bounded() {
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(tree(&deep(DEPTH)).1, [""; 0]);
        assert_eq!(tree(&deep(DEPTH + 1)).0, "broken");
        assert_eq!(tree(&deep(100_000)).0, "broken");
        assert_eq!(tree(&"- ".repeat(100_000)).0, "broken");
        let bomb: String =
            (0..30).map(|level| format!("a{}: &a{} [{}]\n", level + 1, level + 1, format!("*a{level}, ").repeat(9))).collect();
        let (shown, found) = tree(&format!("a0: &a0 [x]\n{bomb}"));
        assert_eq!((shown.as_str(), found.len()), ("broken", 1));
        let nested: String = (0..200).map(|level| format!("a{}: &a{} [*a{level}]\n", level + 1, level + 1)).collect();
        assert_eq!(tree(&format!("a0: &a0 [x]\n{nested}")).0, "broken");
    }
}
