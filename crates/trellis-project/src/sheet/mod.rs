//! Sheets of cases: from headings and blocks of Markdown to the files of each graph and its expected results.

mod bytes;
mod changes;
mod contexts;
mod files;
pub mod findings;
mod markdown;
mod order;
mod renamed_keys;
mod renamed_sheet;
mod renames;
mod slips;

use std::{ops::Range, path::PathBuf};

use trellis_core::{
    diagnostic::near,
    syntax::document::{Bytes, Source},
};

use self::{bytes::file_bytes, changes::patched};
pub use self::{
    files::{TESTS, files_below, read_inside, sheets_of, sheets_within},
    markdown::{Block, Item, items},
    renamed_sheet::RenamedSheet,
    renames::{RenamedSheets, SheetNames, called, cases_that_show, renamed_sheets},
    slips::{PlayedGraph, recorded},
};

/// One Markdown file of cases.
#[derive(Debug)]
pub struct Sheet {
    /// The path of its file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// The source of files that a sheet does not contain itself.
pub trait SheetFiles {
    /// The files that each case begins with: those of the graph beside the sheet.
    fn beside(&self) -> &[Source];
    /// The files of a folder that a sheet names.
    ///
    /// # Errors
    /// It cannot be read.
    fn folder(&self, path: &str) -> Result<Vec<Source>, String>;
}

/// A mistake in a sheet, because of which none of its cases is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetError {
    /// The line, from 1.
    pub line: usize,
    /// The description of the mistake.
    pub message: String,
}

/// One case: a graph and its expected results.
#[derive(Debug)]
pub struct Case {
    /// The headings that lead to it, joined by ` › `.
    pub title: String,
    /// The line of its own heading, from 1.
    pub line: usize,
    /// The files of its graph, inherited ones first; empty if it uses the graph beside the sheet unchanged.
    pub files: Vec<Source>,
    /// True if a block gives or changes a file.
    pub changes_graph: bool,
    /// The blocks of doubles by heading: its own first, then those of each heading above it.
    pub doubles: Vec<Vec<Expected>>,
    /// The expected results, in order.
    pub expected: Vec<Expected>,
    /// The offset at which a missing block is inserted: after its last block.
    pub end: usize,
}

/// A block with an expected result.
#[derive(Debug)]
pub struct Expected {
    /// The kind of its content.
    pub kind: BlockKind,
    /// The words behind the kind: nodes of an `edges` block.
    pub words: Vec<String>,
    /// The line of its fence, from 1.
    pub line: usize,
    /// Its bytes in the sheet.
    pub range: Range<usize>,
    /// Its text.
    pub text: String,
}

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The findings of the compiler.
    Diagnostics,
    /// The places and codes of findings alone.
    Finds,
    /// The unchecked reads.
    Unchecked,
    /// The lines of author and program.
    Transcript,
    /// The session's records of the transcript before it.
    Journal,
    /// The edge list.
    Edges,
    /// The drawing.
    Graph,
    /// A session of the program at a terminal; played where the program is at hand.
    Terminal,
    /// The doubles of tools: an input, not an expected result.
    Tools,
}

impl BlockKind {
    /// The kinds by the first word of an info string.
    const WORDS: [(&str, Self); 9] = [
        ("diagnostics", Self::Diagnostics),
        ("finds", Self::Finds),
        ("unchecked", Self::Unchecked),
        ("transcript", Self::Transcript),
        ("journal", Self::Journal),
        ("edges", Self::Edges),
        ("graph", Self::Graph),
        ("terminal", Self::Terminal),
        ("tools", Self::Tools),
    ];

    /// The kind that a word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    }

    /// The block word that a misspelt one means: a block with an unknown word would be ignored, and pass.
    fn meant(word: &str) -> Option<&'static str> {
        // A language that is named much like a kind.
        const FOREIGN: [&str; 1] = ["graphql"];
        let found = near(word, Self::WORDS.map(|(known, _)| known)).filter(|near| near.is_only)?;
        (!FOREIGN.contains(&word)).then_some(found.name)
    }
}

impl Sheet {
    /// Reads the cases of a Markdown text.
    ///
    /// # Errors
    /// A block makes no sense, with its line.
    pub fn parse(path: PathBuf, text: String, files: &dyn SheetFiles) -> Result<Self, SheetError> {
        let cases = cases(&text, files).map_err(|(line, message)| SheetError { line, message })?;
        Ok(Self { path, text, cases })
    }
}

impl Case {
    /// The blocks of one kind.
    pub fn of(&self, kind: BlockKind) -> impl Iterator<Item = &Expected> {
        self.expected.iter().filter(move |expected| expected.kind == kind)
    }

    /// Returns whether the compiler must report nothing.
    pub fn clean(&self) -> bool {
        self.expected.iter().all(|expected| !matches!(expected.kind, BlockKind::Diagnostics | BlockKind::Finds) || expected.text.is_empty())
    }
}

/// A heading with the blocks up to the next one.
#[derive(Default)]
struct Section {
    level: usize,
    title: String,
    line: usize,
    parent: Option<usize>,
    has_children: bool,
    files: Vec<(usize, File)>,
    expected: Vec<Expected>,
    doubles: Vec<Expected>,
    end: usize,
}

/// A file block.
enum File {
    /// The whole file.
    Whole(Source),
    /// A change of a file that an earlier block gives.
    Diff(String, String),
    /// The removal of a file that an earlier block gives.
    Gone(String),
}

/// The mark after which each case keeps the files of the cases before it.
const STEPS: &str = "<!-- each step keeps the files of the steps before it -->";

/// The cases of a Markdown text; an error comes with its line.
fn cases(text: &str, from: &dyn SheetFiles) -> Result<Vec<Case>, (usize, String)> {
    let sections = sections(text, from)?;
    let are_steps = text.contains(STEPS);
    let mut step_files = Vec::new();
    let mut cases = Vec::new();
    for at in 0..sections.len() {
        let section = &sections[at];
        let is_case = !section.expected.is_empty() || (!section.files.is_empty() && !section.has_children);
        if !is_case {
            continue;
        }
        let mut chain: Vec<&Section> = std::iter::successors(Some(section), |section| section.parent.map(|at| &sections[at])).collect();
        chain.reverse();
        let written = if are_steps { &chain[chain.len() - 1..] } else { &chain[..] };
        let changes_graph = written.iter().any(|section| !section.files.is_empty());
        let mut files = if are_steps { std::mem::take(&mut step_files) } else { Vec::new() };
        if changes_graph && files.is_empty() {
            files.extend_from_slice(from.beside());
        }
        for (line, file) in written.iter().flat_map(|section| &section.files) {
            put(&mut files, file).map_err(|error| (*line, error))?;
        }
        step_files.clone_from(&files);
        let title = chain.iter().map(|section| &*section.title).filter(|title| !title.is_empty()).collect::<Vec<_>>().join(" › ");
        let expected = section.expected.iter().map(Expected::again).collect();
        let doubles = chain.iter().rev().map(|section| section.doubles.iter().map(Expected::again).collect()).collect();
        cases.push(Case { title, line: section.line, files, changes_graph, doubles, expected, end: section.end });
    }
    Ok(cases)
}

/// Adds a file, or changes one.
fn put(files: &mut Vec<Source>, file: &File) -> Result<(), String> {
    let path = match file {
        File::Whole(source) => &*source.path,
        File::Diff(path, _) | File::Gone(path) => path,
    };
    if matches!(file, File::Gone(_)) {
        let before = files.len();
        files.retain(|known| &*known.path != path);
        return if files.len() < before { Ok(()) } else { Err(format!("there is no `{path}` that could go")) };
    }
    let known = files.iter_mut().find(|known| &*known.path == path);
    match (file, known) {
        (File::Whole(source), Some(known)) => known.clone_from(source),
        (File::Whole(source), None) => files.push(source.clone()),
        (File::Diff(_, changes), Some(Source { bytes: Bytes::Read(bytes), .. })) => {
            let text = patched(&String::from_utf8_lossy(bytes), changes)?;
            *bytes = text.into_bytes().into();
        }
        (File::Diff(..) | File::Gone(_), _) => return Err(format!("there is no `{path}` to change")),
    }
    Ok(())
}

/// The sections of a Markdown text; the text before the first heading is one of level 0.
fn sections(text: &str, from: &dyn SheetFiles) -> Result<Vec<Section>, (usize, String)> {
    let mut sections = vec![Section::default()];
    let items = items(text).map_err(|line| (line, "this block is never closed".to_owned()))?;
    for item in items {
        match item {
            Item::Heading { level, title, line } => {
                let parent = (0..sections.len()).rev().find(|&at| sections[at].level < level);
                if let Some(parent) = parent {
                    sections[parent].has_children = true;
                }
                sections.push(Section { level, title, line, parent, ..Section::default() });
            }
            Item::Block(block) => {
                let last = sections.len() - 1;
                take_block(&mut sections[last], text, block)?;
            }
            Item::Folder { path, line } => {
                let last = sections.len() - 1;
                let files = from.folder(&path).map_err(|error| (line, error))?;
                sections[last].files.extend(files.into_iter().map(|file| (line, File::Whole(file))));
            }
        }
    }
    Ok(sections)
}

/// Adds a block to its section; blocks that are neither files nor expectations are prose.
fn take_block(section: &mut Section, text: &str, block: Block) -> Result<(), (usize, String)> {
    let Some(first) = block.info.first() else { return Ok(()) };
    let content = &text[block.range.clone()];
    if let Some(kind) = BlockKind::named(first) {
        section.end = block.end;
        if let (BlockKind::Tools, Some(word)) = (kind, block.info.get(1)) {
            return Err((block.line, format!("nothing stands behind `tools`: write `{word}` as a line of the block")));
        }
        let blocks = if kind == BlockKind::Tools { &mut section.doubles } else { &mut section.expected };
        blocks.push(Expected { kind, words: block.info[1..].to_vec(), line: block.line, text: content.to_owned(), range: block.range });
    } else if let Some(path) = block.info.get(1).filter(|path| path.contains('.')) {
        section.end = block.end;
        let file = if first == "diff" {
            File::Diff(path.clone(), content.to_owned())
        } else if first == "gone" {
            File::Gone(path.clone())
        } else {
            let bytes = file_bytes(content, &block.info[2..]).map_err(|error| (block.line, error))?;
            File::Whole(Source { path: path.as_str().into(), bytes })
        };
        section.files.push((block.line, file));
    } else if let Some(meant) = BlockKind::meant(first) {
        return Err((block.line, format!("`{first}` is no kind of block, did you mean `{meant}`?")));
    }
    Ok(())
}

impl Expected {
    fn again(&self) -> Self {
        Self { kind: self.kind, words: self.words.clone(), line: self.line, range: self.range.clone(), text: self.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One graph beside the sheets, and a folder of the same files.
    struct Beside(Vec<Source>);

    impl SheetFiles for Beside {
        fn beside(&self) -> &[Source] {
            &self.0
        }

        fn folder(&self, _: &str) -> Result<Vec<Source>, String> {
            Ok(["choose.md", "served.md", "start.md"].map(|path| Source::text(path, "")).into())
        }
    }

    fn cases(sheet: &str) -> Result<Vec<Case>, (usize, String)> {
        super::cases(sheet, &Beside(Vec::new()))
    }

    fn text(file: &Source) -> Vec<u8> {
        match &file.bytes {
            Bytes::Read(bytes) => bytes.to_vec(),
            Bytes::TooLarge { .. } => panic!("too large"),
        }
    }

    #[test]
    fn files_before_the_first_sub_heading_are_shared_and_can_be_replaced() {
        let sheet = "# T\n```markdown start.md\na\n```\n```markdown b.md\nb\n```\n## One\n```transcript\n| a\n```\n## Two\n```markdown b.md crlf bom\nB\n```\n";
        let cases = cases(sheet).unwrap();
        assert_eq!(cases.iter().map(|case| &*case.title).collect::<Vec<_>>(), ["T › One", "T › Two"]);
        assert_eq!(cases[0].files.len(), 2);
        assert_eq!(text(&cases[0].files[1]), b"b\n");
        assert_eq!(text(&cases[1].files[1]), b"\xEF\xBB\xBFB\r\n");
        assert!(cases[0].clean());
    }

    #[test]
    fn steps_keep_files_and_change_lines_of_them() {
        let sheet = format!("{STEPS}\n## One\n```markdown start.md\na\nb\nc\n```\n## Two\n```diff start.md\n a\n-b\n+B\n```\n");
        let two = cases(&sheet).unwrap();
        assert_eq!(text(&two[1].files[0]), b"a\nB\nc\n");
        let wrong = cases(&sheet.replace("-b", "-x")).unwrap_err();
        assert_eq!(wrong, (9, "what changes stands 0 times in the file, not once".to_owned()));
    }

    #[test]
    fn the_words_of_a_file_block_hold_in_a_sheet_of_crlf() {
        let sheet = "# T\r\n```markdown a.md crlf\r\na\r\n```\r\n```markdown b.md bare\r\nb\r\n```\r\n";
        let found = cases(sheet).unwrap();
        assert_eq!((text(&found[0].files[0]), text(&found[0].files[1])), (b"a\r\n".to_vec(), b"b".to_vec()));
    }

    #[test]
    fn a_block_that_nobody_would_read_is_a_mistake_of_the_sheet() {
        assert_eq!(cases("# T\n```transcript\n> x\n").unwrap_err(), (2, "this block is never closed".to_owned()));
        let wrong = cases("# T\n```transcripts\n> x\n```\n").unwrap_err();
        assert_eq!(wrong, (2, "`transcripts` is no kind of block, did you mean `transcript`?".to_owned()));
        let wrong = cases("# T\n```tools run.jsonl\n```\n").unwrap_err();
        assert_eq!(wrong, (2, "nothing stands behind `tools`: write `run.jsonl` as a line of the block".to_owned()));
        assert!(cases("# T\n```graphql\n```\n```sh\n```\n```\n```\n").unwrap().is_empty());
    }

    #[test]
    fn files_come_from_a_graph_of_the_repository_and_can_go() {
        let found = cases("# T\n<!-- the files of graphs/hello -->\n## One\n```gone start.md\n```\n```markdown a.md\n```\n").unwrap();
        assert_eq!(found[0].files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["choose.md", "served.md", "a.md"]);
        let (line, error) = cases("# T\n```gone start.md\n```\n").unwrap_err();
        assert_eq!((line, &*error), (2, "there is no `start.md` that could go"));
    }

    #[test]
    fn a_case_that_changes_nothing_has_no_files_of_its_own_and_doubles_are_inherited() {
        let sheet = "# T\n```tools\na null\n```\n## One\n```tools\nb null\n```\n```transcript\n```\n## Two\n```gone b.md\n```\n```transcript\n```\n";
        let found = super::cases(sheet, &Beside(vec![Source::text("start.md", ""), Source::text("b.md", "")])).unwrap();
        assert_eq!((found[0].files.len(), found[0].changes_graph, found[1].files.len(), found[1].changes_graph), (0, false, 1, true));
        assert_eq!(found[0].doubles.iter().flatten().map(|block| &*block.text).collect::<Vec<_>>(), ["b null\n", "a null\n"]);
    }
}
