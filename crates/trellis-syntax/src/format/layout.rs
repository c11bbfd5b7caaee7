//! The layout of a YAML text: the places that the tree leaves out because no meaning depends on them.
//!
//! In goes a text that the tree could be read from, out comes a `Piece` for each of its values, in the order of the text.
//!
//! **Invariant:** every range is a range of the text, and the range of an entry or item is within that of its container.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, options};

/// A value and its place.
pub(crate) struct Block<'t> {
    /// With quotes and brackets.
    pub(crate) range: Range<usize>,
    pub(crate) data: BlockData<'t>,
    /// True if it has an anchor: its repetitions may be under other keys.
    pub(crate) anchored: bool,
    /// True if an anchor or an alias is part of it: its place may matter to other values.
    pub(crate) pinned: bool,
}

/// The data of a value.
pub(crate) enum BlockData<'t> {
    /// With its text; that of an alias is empty.
    Scalar(Cow<'t, str>),
    /// `|` or `>`.
    Block,
    List(Vec<Block<'t>>),
    Map {
        /// In braces.
        flow: bool,
        entries: Vec<BlockEntry<'t>>,
    },
}

/// One `key: value`.
pub(crate) struct BlockEntry<'t> {
    pub(crate) name: Cow<'t, str>,
    /// The key without its quotes.
    pub(crate) key: Range<usize>,
    /// The begin of the key, with its quote.
    pub(crate) start: usize,
    pub(crate) value: Block<'t>,
}

impl BlockEntry<'_> {
    /// Returns the end of its value, or else of its key.
    pub(crate) fn end(&self) -> usize {
        self.value.range.end.max(self.key.end)
    }
}

impl Block<'_> {
    /// Returns whether its last part is a block scalar: blank lines behind it may be part of it.
    pub(crate) fn ends_in_block(&self) -> bool {
        match &self.data {
            BlockData::Scalar(_) => false,
            BlockData::Block => true,
            BlockData::List(items) => items.last().is_some_and(Block::ends_in_block),
            BlockData::Map { entries, .. } => entries.last().is_some_and(|entry| entry.value.ends_in_block()),
        }
    }
}

/// Reads the one document at `range`; `None` if there is none, or it is no YAML.
pub(crate) fn read(text: &str, range: Range<usize>) -> Option<Block<'_>> {
    let mut parser = Parser::new_from_str_with_options(&text[range.clone()], options! { emit_comments: false });
    let mut builder = LayoutBuilder { text, open: Vec::new(), root: None };
    while let Some(event) = parser.next_event() {
        let (event, span) = event.ok()?;
        let at = span.byte_range().unwrap_or_default();
        builder.take(event, range.start + at.start, range.start + at.end);
    }
    builder.root
}

struct LayoutBuilder<'t> {
    text: &'t str,
    open: Vec<OpenBlock<'t>>,
    root: Option<Block<'t>>,
}

/// A list or mapping whose end was not reached yet.
struct OpenBlock<'t> {
    start: usize,
    flow: bool,
    anchored: bool,
    pinned: bool,
    data: CollectedBlock<'t>,
}

enum CollectedBlock<'t> {
    List(Vec<Block<'t>>),
    Map(Vec<BlockEntry<'t>>, Option<(Cow<'t, str>, Block<'t>)>),
}

impl<'t> LayoutBuilder<'t> {
    fn take(&mut self, event: Event<'t>, start: usize, end: usize) {
        match event {
            Event::Scalar(name, style, anchor, _) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let end = if is_block { start + self.text[start..end].trim_end().len() } else { end };
                let data = if is_block { BlockData::Block } else { BlockData::Scalar(name.clone()) };
                self.put(Block { range: start..end, data, anchored: anchor != 0, pinned: anchor != 0 }, name);
            }
            Event::Alias(_) => self
                .put(Block { range: start..end, data: BlockData::Scalar(Cow::default()), anchored: false, pinned: true }, Cow::default()),
            Event::SequenceStart(style, anchor, _) => self.begin(start, style, anchor, CollectedBlock::List(Vec::new())),
            Event::MappingStart(style, anchor, _) => self.begin(start, style, anchor, CollectedBlock::Map(Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(end),
            _ => {}
        }
    }

    fn begin(&mut self, start: usize, style: StructureStyle, anchor: usize, data: CollectedBlock<'t>) {
        self.open.push(OpenBlock { start, flow: style == StructureStyle::Flow, anchored: anchor != 0, pinned: anchor != 0, data });
    }

    fn end(&mut self, end: usize) {
        let Some(OpenBlock { start, flow, anchored, mut pinned, data }) = self.open.pop() else { return };
        let (last, data) = match data {
            CollectedBlock::List(items) => {
                pinned |= items.iter().any(|item| item.pinned);
                (items.last().map(|item| item.range.end), BlockData::List(items))
            }
            CollectedBlock::Map(entries, _) => {
                pinned |= entries.iter().any(|entry| entry.value.pinned);
                (entries.last().map(BlockEntry::end), BlockData::Map { flow, entries })
            }
        };
        let end = if flow { end } else { last.unwrap_or(start) };
        self.put(Block { range: start..end.max(start), data, anchored, pinned }, Cow::default());
    }

    /// Adds a finished value to the enclosing one; `name` is its text if it is a key.
    fn put(&mut self, piece: Block<'t>, name: Cow<'t, str>) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(piece);
            return;
        };
        match &mut open.data {
            CollectedBlock::List(items) => items.push(piece),
            CollectedBlock::Map(entries, key) => match key.take() {
                None => {
                    open.pinned |= piece.pinned;
                    *key = Some((name, piece));
                }
                Some((name, key)) => {
                    // A value that is not there has no place of its own.
                    let at = key.range.end;
                    let piece = if piece.range.is_empty() { Block { range: at..at, ..piece } } else { piece };
                    let quotes = usize::from(self.text[key.range.clone()].starts_with(['"', '\'']));
                    let inner = key.range.start + quotes..key.range.end - quotes;
                    entries.push(BlockEntry { name, key: inner, start: key.range.start, value: piece });
                }
            },
        }
    }
}
