//! Building a tree from the events of the YAML parser.
//!
//! **Invariant:** the first syntax error ends it; everything before that is reported and used.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, options};
use rustc_hash::FxHashMap;

use super::{LastToken, MAX_YAML_DEPTH, Malformed, YamlData, YamlEntry, YamlNode};
use crate::{
    misspellings,
    removal::removal,
    scalar::{Plain, Style},
    text::shown,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Report},
    span::Span,
};

/// The maximum number of values in anchors and in unfolded aliases together.
const UNFOLDED: usize = 10_000;

/// Up to this width a mapping looks for repeated keys by comparing them all.
const NARROW: usize = 16;

/// Builds the tree of the document at `range`.
///
/// # Errors
/// Fails on malformed YAML or an exceeded bound; the last finding gives the reason.
pub(super) fn build<'t>(text: &'t str, range: Range<usize>, report: &mut Report) -> Result<Option<YamlNode<'t>>, Malformed> {
    let options = options! { emit_comments: false, emit_unresolved_aliases: true };
    let mut parser = Parser::new_from_str_with_options(&text[range.clone()], options);
    let mut builder = TreeBuilder {
        text,
        base: range.start,
        report,
        open: Vec::new(),
        root: None,
        anchors: FxHashMap::default(),
        unfolded: 0,
        last: LastToken::default(),
    };
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.take(event, span)?,
            Err(error) => {
                let at = range.start + error.marker().byte_offset().unwrap_or(0);
                let at = text.floor_char_boundary(at.min(range.end));
                let mut flows = builder.open.iter().filter(|open| open.flow).map(|open| open.start);
                let outer = flows.next();
                let open = flows.next_back().or(outer);
                misspellings::explain(
                    &misspellings::ParserStop { text, range, at, outer, open, last: builder.last, kind: error.kind() },
                    builder.report,
                );
                return Err(Malformed);
            }
        }
    }
    Ok(builder.root)
}

/// A list or mapping whose end was not reached yet.
struct OpenCollection<'t> {
    start: usize,
    flow: bool,
    anchor: usize,
    data: PartialCollection<'t>,
}

enum PartialCollection<'t> {
    List(Vec<YamlNode<'t>>),
    Map { entries: Vec<YamlEntry<'t>>, key: Option<ReadKey<'t>>, index: Index<'t> },
}

enum ReadKey<'t> {
    Text(Cow<'t, str>, Span),
    /// Not text; `true` when it was reported already.
    Other(Span, bool),
}

/// The places of the keys of a wide mapping.
#[derive(Default)]
struct Index<'t> {
    places: FxHashMap<Cow<'t, str>, usize>,
    /// The number of entries in it.
    known: usize,
}

struct TreeBuilder<'t, 'r> {
    text: &'t str,
    base: usize,
    report: &'r mut Report,
    open: Vec<OpenCollection<'t>>,
    root: Option<YamlNode<'t>>,
    anchors: FxHashMap<usize, YamlNode<'t>>,
    unfolded: usize,
    last: LastToken,
}

impl<'t> TreeBuilder<'t, '_> {
    fn take(&mut self, event: Event<'t>, at: granit_parser::Span) -> Result<(), Malformed> {
        let range = at.byte_range().unwrap_or_default();
        let (start, end) = (self.base + range.start, self.base + range.end);
        let plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..)) && end > start;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let mut node = self.scalar(text, style, start, end);
                self.tagged(tag.is_some(), &at, &node);
                // `!paid` is a tag and nothing behind it.
                if tag.is_some() && node.is_null() {
                    node.data = YamlData::Reported;
                }
                self.anchor(anchor, &node)?;
                self.put(node);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tagged(tag.is_some(), &at, &YamlNode { data: YamlData::Reported, span: Span::new(start, end) });
                self.begin(start, style, anchor, PartialCollection::List(Vec::new()))?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tagged(tag.is_some(), &at, &YamlNode { data: YamlData::Reported, span: Span::new(start, end) });
                let map = PartialCollection::Map { entries: Vec::new(), key: None, index: Index::default() };
                self.begin(start, style, anchor, map)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(end)?,
            Event::Alias(id) => self.alias(id, Span::new(start, end))?,
            Event::UnresolvedAlias(name) => {
                let written = Span::new(start, end);
                let found = self.report.add(Code::YamlSyntax, written, format!("`*{name}` refers to an anchor that is not there"));
                found.help = Some("text that begins with `*` needs quotes".into());
                self.put(YamlNode { data: YamlData::Reported, span: written });
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                self.report.add(Code::YamlSyntax, Span::new(start, end.max(start)), "a second YAML document begins here").help =
                    Some("one file holds one node; several nodes go under `nodes:`".into());
                return Err(Malformed);
            }
            _ => return Ok(()),
        }
        self.last = LastToken { end, plain: plain.then(|| Span::new(start, end)) };
        Ok(())
    }

    fn scalar(&self, text: Cow<'t, str>, style: ScalarStyle, start: usize, end: usize) -> YamlNode<'t> {
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
        YamlNode { data: YamlData::Scalar(text, style), span }
    }

    fn tagged(&mut self, tagged: bool, at: &granit_parser::Span, node: &YamlNode<'t>) {
        if !tagged {
            return;
        }
        let range = at.tag_span().and_then(|span| span.byte_range());
        let span = range.map_or(node.span, |range| Span::new(self.base + range.start, self.base + range.end));
        let tag = &self.text[span.range()];
        let found = self.report.add(Code::YamlSyntax, span, format!("`{tag}` is a YAML tag, which graphs do not use"));
        found.help = Some(match &node.data {
            YamlData::Scalar(text, Style::Plain) if text.is_empty() && tag.len() > 1 => {
                format!("text that begins with `!` needs quotes; a condition is turned round with `not {}`", &tag[1..])
            }
            _ => "remove it; quotes make a value text".into(),
        });
    }

    fn begin(&mut self, start: usize, style: StructureStyle, anchor: usize, data: PartialCollection<'t>) -> Result<(), Malformed> {
        if self.open.len() == MAX_YAML_DEPTH {
            self.report.add(Code::YamlSyntax, Span::at(start), format!("lists and mappings nest deeper than {MAX_YAML_DEPTH} levels"));
            return Err(Malformed);
        }
        self.open.push(OpenCollection { start, flow: style == StructureStyle::Flow, anchor, data });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), Malformed> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let node = match open.data {
            PartialCollection::List(items) => {
                let end = if open.flow { end } else { items.last().map_or(open.start, |item| item.span.end as usize) };
                let start = if open.flow { open.start } else { first_dash(self.text, open.start) };
                YamlNode { span: Span::new(start, end), data: YamlData::List(items) }
            }
            PartialCollection::Map { mut entries, .. } => {
                let end = if open.flow {
                    end
                } else {
                    entries.last().map_or(open.start, |entry| (entry.value.span.end.max(entry.span.end)) as usize)
                };
                let span = Span::new(open.start, end);
                if open.flow && self.text[span.range()].starts_with("{{") {
                    misspellings::unquoted_template(self.text, span, self.report);
                    YamlNode { span, data: YamlData::Reported }
                } else {
                    if open.flow && !self.text[..open.start].ends_with('{') {
                        misspellings::spaceless_keys(self.text, &mut entries, self.report);
                        misspellings::split_by_comma(self.text, &mut entries, self.report);
                    }
                    YamlNode { span, data: YamlData::Map(entries) }
                }
            }
        };
        self.anchor(open.anchor, &node)?;
        self.put(node);
        Ok(())
    }

    /// Adds a finished value to the enclosing one.
    fn put(&mut self, node: YamlNode<'t>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let in_template = open.flow && self.text[open.start..].starts_with("{{");
        let (entries, key, index) = match &mut open.data {
            PartialCollection::List(items) => {
                items.push(node);
                return;
            }
            PartialCollection::Map { entries, key, index } => (entries, key, index),
        };
        match key.take() {
            None => *key = Some(read_key(node)),
            Some(ReadKey::Other(span, reported)) => {
                if !reported && !in_template {
                    not_text(self.text, span, self.report);
                }
            }
            Some(ReadKey::Text(key, span)) if key.contains(char::is_control) => {
                self.report.add(Code::WrongType, span, format!("the key `{}` holds a line break or control character", shown(&key)));
            }
            Some(ReadKey::Text(key, span)) => {
                let bare = open.flow && node.span.start == node.span.end && is_bare(self.text, span);
                match position(entries, index, &key) {
                    Some(first) if !bare => repeated(self.text, &entries[first], &key, span.to(node.span), span, self.report),
                    _ => entries.push(YamlEntry { key, span, value: node, bare }),
                }
            }
        }
    }

    fn anchor(&mut self, anchor: usize, node: &YamlNode<'t>) -> Result<(), Malformed> {
        if anchor == 0 {
            return Ok(());
        }
        self.unfold(node)?;
        self.anchors.insert(anchor, node.clone());
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Malformed> {
        let Some(node) = self.anchors.get(&id).cloned() else {
            self.report.add(Code::YamlSyntax, span, "this alias stands inside what it refers to");
            return Err(Malformed);
        };
        self.unfold(&node)?;
        if self.open.len() + node.size().1 > MAX_YAML_DEPTH {
            self.report.add(Code::YamlSyntax, span, format!("lists and mappings nest deeper than {MAX_YAML_DEPTH} levels"));
            return Err(Malformed);
        }
        self.put(node);
        Ok(())
    }

    /// Counts a value that an anchor holds, or an alias repeats.
    fn unfold(&mut self, node: &YamlNode<'t>) -> Result<(), Malformed> {
        self.unfolded += node.size().0;
        if self.unfolded > UNFOLDED {
            self.report.add(Code::YamlSyntax, node.span, format!("anchors and aliases unfold to more than {UNFOLDED} values"));
            return Err(Malformed);
        }
        Ok(())
    }
}

fn read_key(node: YamlNode<'_>) -> ReadKey<'_> {
    match node.data {
        YamlData::Scalar(text, style) if style != Style::Plain || Plain::of(&text) == Plain::Text => ReadKey::Text(text, node.span),
        data => ReadKey::Other(node.span, matches!(data, YamlData::Reported)),
    }
}

/// Reports a key such as `1:` or `[a]:`.
fn not_text(text: &str, span: Span, report: &mut Report) {
    let written = &text[span.range()];
    if written.is_empty() {
        report.add(Code::WrongType, span, "a key is missing before this `:`");
        return;
    }
    let mut found = Diagnostic::new(Code::WrongType, &report.path, span, format!("a key must be text, `{}` is not", shown(written)));
    if !written.contains(['\n', '{', '[', '"']) {
        found = found.help("put it in quotes").fix("quote the key", span, format!("\"{written}\""));
    }
    report.push(found);
}

/// Returns the begin of a block list: the parser reports one that is not indented as beginning after its first dash.
fn first_dash(text: &str, start: usize) -> usize {
    let is_dash = |rest: &str| rest.starts_with(char::is_whitespace) || rest.is_empty();
    if text[start..].strip_prefix('-').is_some_and(is_dash) {
        return start;
    }
    let before = text[..start].trim_end_matches(' ');
    if before.ends_with('-') { before.len() - 1 } else { start }
}

/// Returns whether no `:` follows a key.
fn is_bare(text: &str, key: Span) -> bool {
    let rest = text[key.end as usize..].trim_start_matches(['"', '\'']);
    !rest.trim_start().starts_with(':')
}

fn repeated(text: &str, first: &YamlEntry<'_>, key: &str, whole: Span, span: Span, report: &mut Report) {
    let found = Diagnostic::new(Code::DuplicateKey, &report.path, span, format!("`{}` stands here twice", shown(key)));
    let mut found = found.label(&report.path, first.span, "first here").help("keep one of them");
    let is_same = text[whole.range()] == text[first.span.to(first.value.span).range()];
    if let Some(second) = is_same.then(|| removal(text, whole)).flatten() {
        found = found.fix("remove the second, which says the same", second, "");
    }
    report.push(found);
}

/// Returns the place of `name` among `entries`; wide mappings have an index.
fn position<'t>(entries: &[YamlEntry<'t>], index: &mut Index<'t>, name: &str) -> Option<usize> {
    if entries.len() < NARROW {
        return entries.iter().position(|entry| entry.key == name);
    }
    for (at, entry) in entries.iter().enumerate().skip(index.known) {
        index.places.entry(entry.key.clone()).or_insert(at);
    }
    index.known = entries.len();
    index.places.get(name).copied()
}
