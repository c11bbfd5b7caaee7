//! The page under construction: a column of blocks, each with the margins of its enclosing quotes and lists.
//!
//! **Invariant:** margins take at most two thirds of the width, however deep the nesting is.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::Alignment;

use super::{
    isolated,
    table::Table,
    wrap::{Piece, wrapped},
};
use crate::{columns::width, report::printable, terminal::Look};

/// The narrowest page: a window below it wraps the lines itself.
const NARROWEST: usize = 20;

pub(super) struct Page {
    out: String,
    width: usize,
    look: Look,
    /// The words of the open block.
    words: Vec<Piece>,
    /// Styles that are on, the innermost last.
    styles: Vec<Style>,
    /// The beginning of each line, by container: quotes and lists.
    margins: Vec<Margin>,
    /// True if the open block is code: its lines stay as they are.
    code: bool,
    /// True if a blank line comes before the next block.
    gap: bool,
    table: Option<Table>,
}

struct Margin {
    /// The text before the first line of an item; taken by it.
    first: Option<String>,
    /// The text before the other lines.
    rest: String,
    /// The number of the next item of an ordered list.
    number: Option<u64>,
    kind: Kind,
    /// True if a line of it was written.
    begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Quote,
    List,
    Indent,
}

impl Page {
    pub(super) fn new(width: usize, look: Look) -> Self {
        let width = width.max(NARROWEST);
        Self {
            out: String::new(),
            width,
            look,
            words: Vec::new(),
            styles: Vec::new(),
            margins: Vec::new(),
            code: false,
            gap: false,
            table: None,
        }
    }

    pub(super) fn finished(mut self) -> String {
        self.end_block();
        self.out
    }

    pub(super) fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    pub(super) fn push(&mut self, style: Style) {
        self.styles.push(style);
    }

    pub(super) fn pop(&mut self) {
        self.styles.pop();
    }

    pub(super) fn text(&mut self, text: &str) {
        self.piece(text, self.style());
    }

    pub(super) fn piece(&mut self, text: &str, style: Style) {
        let lines = text.split('\n').map(|line| printable(&line.replace('\t', "    ")).into_owned());
        self.words.push(Piece { text: lines.collect::<Vec<_>>().join("\n"), style });
    }

    pub(super) fn begin_block(&mut self) {
        let is_item = self.margins.last().is_some_and(|margin| margin.first.is_some());
        self.end_block();
        // Behind its bullet a block has the gap that the list asked for.
        self.gap = if is_item { self.gap } else { !self.out.is_empty() };
    }

    pub(super) fn begin_quote(&mut self) {
        self.begin_block();
        self.margins.push(Margin::new(Kind::Quote, self.look.pick("│ ", "| ")));
    }

    /// Writes a block of code below the name of its file.
    pub(super) fn begin_code(&mut self, file: Option<&str>) {
        self.begin_block();
        if let Some(file) = file {
            self.piece(file, Style::new().dimmed());
            self.end_block();
        }
        self.code = true;
        self.margins.push(Margin::new(Kind::Indent, "    "));
        self.push(AnsiColor::Cyan.on_default());
    }

    pub(super) fn end_code(&mut self) {
        self.end_container();
        self.code = false;
        self.pop();
    }

    pub(super) fn begin_note(&mut self, label: &str) {
        self.begin_block();
        let label = printable(label);
        self.margins.push(Margin { first: Some(format!("[{label}] ")), ..Margin::new(Kind::Indent, "  ") });
    }

    pub(super) fn begin_list(&mut self, number: Option<u64>) {
        let is_inner = self.margins.iter().any(|margin| margin.kind == Kind::List);
        self.end_block();
        self.gap = !is_inner && !self.out.is_empty();
        self.margins.push(Margin { number, ..Margin::new(Kind::List, "") });
    }

    pub(super) fn begin_item(&mut self) {
        self.end_block();
        let bullet = self.look.pick("• ", "- ");
        let Some(list) = self.margins.last_mut() else { return };
        let bullet = match &mut list.number {
            Some(number) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            None => bullet.to_owned(),
        };
        self.gap &= !list.begun;
        self.bullet(&bullet);
    }

    /// Sets the text before the open item.
    pub(super) fn bullet(&mut self, bullet: &str) {
        let Some(list) = self.margins.last_mut() else { return };
        list.rest = " ".repeat(width(bullet));
        list.first = Some(bullet.to_owned());
    }

    pub(super) fn end_list(&mut self) {
        self.end_container();
        self.gap = true;
    }

    pub(super) fn end_container(&mut self) {
        self.end_block();
        self.margins.pop();
    }

    pub(super) fn begin_table(&mut self, alignments: Vec<Alignment>) {
        self.begin_block();
        self.table = Some(Table { alignments, rows: Vec::new() });
    }

    pub(super) fn begin_row(&mut self, style: Style) {
        self.words.clear();
        self.push(style);
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    pub(super) fn end_cell(&mut self) {
        let words = std::mem::take(&mut self.words);
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
            row.push(words);
        }
    }

    pub(super) fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let lines = table.lines(self.room(), self.look);
        self.lay(lines);
    }

    /// Lays out the open block, if there is one.
    pub(super) fn end_block(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        let lines = if self.code {
            code_lines(&words)
        } else {
            let lines = wrapped(&words, self.room()).into_iter().map(|line| line.text);
            if self.margins.is_empty() { lines.collect() } else { lines.map(|line| isolated(&line).into_owned()).collect() }
        };
        self.lay(lines);
    }

    fn lay(&mut self, lines: Vec<String>) {
        if std::mem::take(&mut self.gap) {
            // A blank line keeps the bars of the quotes that go on through it.
            let open = self.margins.iter().rposition(|margin| margin.kind == Kind::Quote && margin.begun);
            let margins = self.margins.iter().take(open.map_or(0, |at| at + 1)).map(|margin| margin.rest.as_str());
            self.out.push_str(margins.collect::<String>().trim_end());
            self.out.push('\n');
        }
        for line in lines {
            let margin = self.margin();
            self.out.push_str(if line.is_empty() { margin.trim_end() } else { &margin });
            self.out.push_str(&line);
            self.out.push('\n');
        }
    }

    /// Columns that the margins leave.
    pub(super) fn room(&self) -> usize {
        let mut taken = 0;
        for margin in &self.margins {
            let columns = margin.first.as_deref().map_or(0, width).max(width(&margin.rest));
            if taken + columns <= self.widest_margin() {
                taken += columns;
            }
        }
        self.width - taken
    }

    fn margin(&mut self) -> String {
        let most = self.widest_margin();
        let (mut text, mut taken) = (String::new(), 0);
        for margin in &mut self.margins {
            margin.begun = true;
            let columns = margin.first.as_deref().map_or(0, width).max(width(&margin.rest));
            let part = margin.first.take().unwrap_or_else(|| margin.rest.clone());
            if taken + columns <= most {
                taken += columns;
                text.push_str(&part);
            }
        }
        text
    }

    fn widest_margin(&self) -> usize {
        self.width * 2 / 3
    }
}

impl Margin {
    fn new(kind: Kind, rest: &str) -> Self {
        Self { first: None, rest: rest.to_owned(), number: None, kind, begun: false }
    }
}

/// Styles each line of a code block separately, so that margins stay plain.
fn code_lines(words: &[Piece]) -> Vec<String> {
    let style = words.first().map(|piece| piece.style).unwrap_or_default();
    let text = words.iter().map(|piece| piece.text.as_str()).collect::<String>();
    let styled = |line: &str| if line.trim().is_empty() { String::new() } else { format!("{style}{line}{style:#}") };
    text.trim_end_matches('\n').split('\n').map(styled).collect()
}
