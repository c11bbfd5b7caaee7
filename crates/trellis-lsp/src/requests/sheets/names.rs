//! Names in the blocks of a sheet: the nodes, tools, predicates and signals that its lines have.

use std::path::Path;

use trellis_core::{
    NodeId,
    diagnostic::FilePath,
    query::{Occurrence, OccurrenceKind, Symbol},
    span::Span,
};
use trellis_project::sheet::{BlockKind, Item, TESTS, called, items};

use crate::{graph::Graph, sheets::is_sheet, state::ServerState, text::Text, uri, wire::TextDocumentPositionParams};

/// The beginning of a line that names another case.
pub(super) const AFTER: &str = "$ after ";

/// A place in a sheet.
pub(crate) struct SheetPlace<'s> {
    pub(crate) graph: &'s mut Graph,
    pub(crate) text: Text,
    pub(crate) offset: usize,
    /// The folder of the graph that the sheet is about, below the root of the outermost one.
    pub(super) folder: String,
    /// The line up to the cursor, and the kind of its block.
    pub(super) line: String,
    pub(super) kind: BlockKind,
    /// The cases of the sheet, in a line that names one of them.
    pub(super) cases: Vec<TitledCase>,
}

/// Returns the place that a request is about, if it is in a block of a sheet that has names.
pub(crate) fn place<'s>(state: &'s mut ServerState, params: &TextDocumentPositionParams) -> Option<SheetPlace<'s>> {
    let file = uri::to_path(&params.text_document.uri).filter(|file| is_sheet(file))?;
    let text = match state.sheets.get(&file) {
        Some(sheet) => sheet.text.clone(),
        None => Text::new(std::fs::read_to_string(&file).ok()?),
    };
    let offset = text.offset(params.position, state.encoding());
    let tests = file.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TESTS))?;
    let beside = tests.parent()?.to_owned();
    let (at, _) = state.workspace.above(&beside.join("start.md"))?;
    let graph = &mut state.workspace.graphs[at];
    let folder = below(&graph.root, &beside)?;
    let kind = kind_at(text.as_str(), offset)?;
    let start = text.as_str()[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = text.as_str()[start..offset].to_owned();
    let cases = if line.starts_with(AFTER) { titled_cases(text.as_str(), offset) } else { Vec::new() };
    Some(SheetPlace { graph, text, offset, folder, line, kind, cases })
}

/// Returns the cases with a transcript, in order.
fn titled_cases(text: &str, offset: usize) -> Vec<TitledCase> {
    let mut above: Vec<(usize, String, usize)> = Vec::new();
    let mut cases: Vec<TitledCase> = Vec::new();
    let closed = format!("{text}\n```\n");
    for item in items(text).or_else(|_| items(&closed)).unwrap_or_default() {
        match item {
            Item::Heading { level, title, line } => {
                above.retain(|(of, ..)| *of < level);
                above.push((level, title, line));
            }
            Item::Block(block) if block.info.first().is_some_and(|word| BlockKind::named(word) == Some(BlockKind::Transcript)) => {
                let title = above.iter().map(|(_, title, _)| title.as_str()).collect::<Vec<_>>().join(" › ");
                let is_own = block.range.start <= offset && offset <= block.range.end;
                cases.push(TitledCase { title, line: above.last().map_or(1, |(.., line)| *line), is_own });
            }
            _ => {}
        }
    }
    cases
}

/// A case that `$ after` may name.
#[derive(Clone, Debug)]
pub(crate) struct TitledCase {
    /// Its headings, joined by ` › `.
    pub(crate) title: String,
    /// The line of its own heading, from 1.
    pub(crate) line: usize,
    /// True for the one that the cursor is in.
    pub(super) is_own: bool,
}

impl TitledCase {
    pub(super) fn last(&self) -> &str {
        self.title.rsplit(" › ").next().unwrap_or_default()
    }
}

fn below(root: &Path, folder: &Path) -> Option<String> {
    Some(folder.strip_prefix(root).ok()?.display().to_string().replace('\\', "/"))
}

/// Returns the kind of the block around an offset; of one that is not closed yet, too.
fn kind_at(text: &str, offset: usize) -> Option<BlockKind> {
    let found = match items(text) {
        Ok(items) => items,
        Err(line) => {
            let start = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
            items(&format!(
                "{text}\n{}",
                text.lines().nth(line - 1)?.chars().take_while(|char| matches!(char, '`' | '~')).collect::<String>()
            ))
            .ok()
            .filter(|_| start <= text.len())?
        }
    };
    found.into_iter().find_map(|item| match item {
        Item::Block(block) if block.range.start <= offset && offset <= block.range.end => block
            .info
            .first()
            .and_then(|word| BlockKind::named(word))
            .filter(|kind| matches!(kind, BlockKind::Transcript | BlockKind::Tools)),
        _ => None,
    })
}

impl SheetPlace<'_> {
    /// Returns the name under the cursor as an occurrence of it. Its path is no file of the graph.
    pub(crate) fn name(&mut self) -> Option<Occurrence> {
        let number = self.number();
        let (start, line) = self.whole_line();
        let at = match (self.kind, line.chars().next()?) {
            (BlockKind::Tools, _) => 0,
            (_, '$') if line.starts_with("$ at ") => 5,
            (_, '!') => called(line),
            (_, '@' | '^') => 2,
            _ => return None,
        };
        let word = line.get(at..)?.split(' ').next().filter(|word| !word.is_empty())?;
        let graph_call = word.strip_prefix("graph:").filter(|_| self.kind == BlockKind::Tools);
        let (at, word) = graph_call.map_or((at, word), |node| (at + "graph:".len(), node));
        let span = Span::new(start + at, start + at + word.len());
        if self.offset < span.start as usize || self.offset > span.end as usize {
            return None;
        }
        let symbol = match line.chars().next()? {
            '$' => Symbol::Node(NodeId::new(self.id(word))),
            '@' => Symbol::Predicate(number, word.into()),
            '^' => Symbol::Signal(word.into()),
            _ if graph_call.is_some() => Symbol::Node(NodeId::new(self.id(word))),
            _ => Symbol::Tool(word.into()),
        };
        let path = FilePath::from("");
        Some(Occurrence { symbol, path, span, whole: span, kind: OccurrenceKind::Refers, is_exact: true })
    }

    /// Returns the line of the cursor, and where it begins.
    fn whole_line(&self) -> (usize, &str) {
        let text = self.text.as_str();
        let start = self.offset - self.line.len();
        let end = text[self.offset..].find('\n').map_or(text.len(), |at| self.offset + at);
        (start, text[start..end].trim_end_matches('\r'))
    }

    /// Returns the case that `$ after` names under the cursor, as it is played: the first one of that title; and the place of the name.
    pub(crate) fn case(&self) -> Option<(TitledCase, Span)> {
        let (start, line) = self.whole_line();
        let title = line.strip_prefix(AFTER)?;
        let case = self.cases.iter().find(|case| case.last() == title || case.title == title)?;
        Some((case.clone(), Span::new(start + AFTER.len(), start + line.len())))
    }

    pub(super) fn number(&mut self) -> u32 {
        let file = self.id("start.md");
        self.graph.index().graph_of(&file.into())
    }

    /// The id of a node of the sheet's graph in the outermost one.
    fn id(&self, name: &str) -> String {
        if self.folder.is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) }
    }

    pub(super) fn tools(&mut self) -> Vec<String> {
        self.names(|symbol| if let Symbol::Tool(name) = symbol { Some(name.to_string()) } else { None })
    }

    pub(super) fn names(&mut self, of: impl Fn(&Symbol) -> Option<String>) -> Vec<String> {
        self.graph.index().symbols().iter().filter_map(of).collect()
    }
}
