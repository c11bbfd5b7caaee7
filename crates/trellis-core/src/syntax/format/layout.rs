//! Where the parts of a YAML text stand: what the tree leaves out because no meaning depends on it.
//!
//! In goes a text that the tree could be read from, out comes a `Piece` for each of its values, in the order of the text.
//!
//! **Invariant:** every range is a range of the text, and the range of an entry or item lies inside that of what holds it.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, options};

/// A value and where it stands.
pub(in crate::syntax) struct Piece<'t> {
    /// With quotes and brackets.
    pub(in crate::syntax) range: Range<usize>,
    pub(in crate::syntax) data: Data<'t>,
    /// Whether it has an anchor: what repeats it may stand under other keys.
    pub(in crate::syntax) anchored: bool,
    /// Whether an anchor or an alias is part of it: its place may matter to other values.
    pub(in crate::syntax) pinned: bool,
}

/// What a value is.
pub(in crate::syntax) enum Data<'t> {
    /// With its text; that of an alias is empty.
    Scalar(Cow<'t, str>),
    /// `|` or `>`.
    Block,
    List(Vec<Piece<'t>>),
    Map {
        /// In braces.
        flow: bool,
        entries: Vec<Entry<'t>>,
    },
}

/// One `key: value`.
pub(in crate::syntax) struct Entry<'t> {
    pub(in crate::syntax) name: Cow<'t, str>,
    /// The key without its quotes.
    pub(in crate::syntax) key: Range<usize>,
    /// Where the key begins, with its quote.
    pub(in crate::syntax) start: usize,
    pub(in crate::syntax) value: Piece<'t>,
}

impl Entry<'_> {
    /// Where the last of its value, or else its key, ends.
    pub(in crate::syntax) fn end(&self) -> usize {
        self.value.range.end.max(self.key.end)
    }
}

impl Piece<'_> {
    /// Whether the last thing in it is a block scalar: blank lines behind it may be part of it.
    pub(in crate::syntax) fn ends_in_block(&self) -> bool {
        match &self.data {
            Data::Scalar(_) => false,
            Data::Block => true,
            Data::List(items) => items.last().is_some_and(Piece::ends_in_block),
            Data::Map { entries, .. } => entries.last().is_some_and(|entry| entry.value.ends_in_block()),
        }
    }
}

/// Reads the one document at `range`; nothing where there is none, or it is no YAML.
pub(in crate::syntax) fn read(text: &str, range: Range<usize>) -> Option<Piece<'_>> {
    let mut parser = Parser::new_from_str_with_options(&text[range.clone()], options! { emit_comments: false });
    let mut builder = Builder { text, open: Vec::new(), root: None };
    while let Some(event) = parser.next_event() {
        let (event, span) = event.ok()?;
        let at = span.byte_range().unwrap_or_default();
        builder.take(event, range.start + at.start, range.start + at.end);
    }
    builder.root
}

struct Builder<'t> {
    text: &'t str,
    open: Vec<Open<'t>>,
    root: Option<Piece<'t>>,
}

/// A list or mapping whose end was not reached yet.
struct Open<'t> {
    start: usize,
    flow: bool,
    anchored: bool,
    pinned: bool,
    data: Collected<'t>,
}

enum Collected<'t> {
    List(Vec<Piece<'t>>),
    Map(Vec<Entry<'t>>, Option<(Cow<'t, str>, Piece<'t>)>),
}

impl<'t> Builder<'t> {
    fn take(&mut self, event: Event<'t>, start: usize, end: usize) {
        match event {
            Event::Scalar(name, style, anchor, _) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let end = if is_block { start + self.text[start..end].trim_end().len() } else { end };
                let data = if is_block { Data::Block } else { Data::Scalar(name.clone()) };
                self.put(Piece { range: start..end, data, anchored: anchor != 0, pinned: anchor != 0 }, name);
            }
            Event::Alias(_) => {
                self.put(Piece { range: start..end, data: Data::Scalar(Cow::default()), anchored: false, pinned: true }, Cow::default())
            }
            Event::SequenceStart(style, anchor, _) => self.begin(start, style, anchor, Collected::List(Vec::new())),
            Event::MappingStart(style, anchor, _) => self.begin(start, style, anchor, Collected::Map(Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(end),
            _ => {}
        }
    }

    fn begin(&mut self, start: usize, style: StructureStyle, anchor: usize, data: Collected<'t>) {
        self.open.push(Open { start, flow: style == StructureStyle::Flow, anchored: anchor != 0, pinned: anchor != 0, data });
    }

    fn end(&mut self, end: usize) {
        let Some(Open { start, flow, anchored, mut pinned, data }) = self.open.pop() else { return };
        let (last, data) = match data {
            Collected::List(items) => {
                pinned |= items.iter().any(|item| item.pinned);
                (items.last().map(|item| item.range.end), Data::List(items))
            }
            Collected::Map(entries, _) => {
                pinned |= entries.iter().any(|entry| entry.value.pinned);
                (entries.last().map(Entry::end), Data::Map { flow, entries })
            }
        };
        let end = if flow { end } else { last.unwrap_or(start) };
        self.put(Piece { range: start..end.max(start), data, anchored, pinned }, Cow::default());
    }

    /// Adds a finished value to what encloses it; `name` is its text, should it be a key.
    fn put(&mut self, piece: Piece<'t>, name: Cow<'t, str>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(piece);
            return;
        };
        match &mut open.data {
            Collected::List(items) => items.push(piece),
            Collected::Map(entries, key) => match key.take() {
                None => {
                    open.pinned |= piece.pinned;
                    *key = Some((name, piece));
                }
                Some((name, key)) => {
                    // A value that is not there has no place of its own.
                    let at = key.range.end;
                    let piece = if piece.range.is_empty() { Piece { range: at..at, ..piece } } else { piece };
                    let quotes = usize::from(self.text[key.range.clone()].starts_with(['"', '\'']));
                    let inner = key.range.start + quotes..key.range.end - quotes;
                    entries.push(Entry { name, key: inner, start: key.range.start, value: piece });
                }
            },
        }
    }
}
