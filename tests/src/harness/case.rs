//! From headings and blocks to cases: which files make its graph, and what must come out.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use trellis_core::syntax::document::{Bytes, Source};
use trellis_project::{Directory, GraphLoader};

use super::markdown::{Block, Item, items};

/// One Markdown file of cases.
#[derive(Debug)]
pub struct Sheet {
    /// Where it stands.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// One case: a graph and what must come out of it.
#[derive(Debug)]
pub struct Case {
    /// The headings that lead to it, joined by ` › `.
    pub title: String,
    /// The line of its own heading, from 1.
    pub line: usize,
    /// The files of its graph, inherited ones first.
    pub files: Vec<Source>,
    /// What must come out, in order.
    pub expected: Vec<Expected>,
    /// Where a missing block goes: after its last block.
    pub end: usize,
}

/// A block that says what must come out.
#[derive(Debug)]
pub struct Expected {
    /// Of what.
    pub kind: Kind,
    /// The words behind the kind: nodes of an `edges` block.
    pub words: Vec<String>,
    /// The line of its fence, from 1.
    pub line: usize,
    /// Its bytes in the sheet.
    pub range: Range<usize>,
    /// Its text.
    pub text: String,
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the compiler found.
    Diagnostics,
    /// Only where, and of which code.
    Finds,
    /// What is not known of what is read.
    Unchecked,
    /// What author and program say.
    Transcript,
    /// The session's records of the transcript before it.
    Journal,
    /// The edge list.
    Edges,
    /// The drawing.
    Graph,
    /// A session of the program at a terminal; played where the program is at hand.
    Terminal,
}

impl Kind {
    /// The kind that an info string's first word names.
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "diagnostics" => Self::Diagnostics,
            "finds" => Self::Finds,
            "unchecked" => Self::Unchecked,
            "transcript" => Self::Transcript,
            "journal" => Self::Journal,
            "edges" => Self::Edges,
            "graph" => Self::Graph,
            "terminal" => Self::Terminal,
            _ => return None,
        })
    }
}

impl Sheet {
    /// Reads the cases of a Markdown file.
    ///
    /// # Errors
    /// The file cannot be read, or a block's info string makes no sense.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let cases = cases(&text).map_err(|(line, error)| format!("{}:{line}: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), text, cases })
    }
}

impl Case {
    /// The blocks of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Expected> {
        self.expected.iter().filter(move |expected| expected.kind == kind)
    }

    /// Whether the compiler must find nothing.
    pub fn clean(&self) -> bool {
        self.expected.iter().all(|expected| !matches!(expected.kind, Kind::Diagnostics | Kind::Finds) || expected.text.is_empty())
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
    end: usize,
}

/// A file block.
enum File {
    /// The whole file.
    Whole(Source),
    /// What changes in a file that stands before it.
    Diff(String, String),
    /// A file that stands before it is not there.
    Gone(String),
}

/// Where this stands, each case keeps the files of the cases before it.
const STEPS: &str = "<!-- each step keeps the files of the steps before it -->";

/// The cases of a Markdown text; an error comes with its line.
fn cases(text: &str) -> Result<Vec<Case>, (usize, String)> {
    let sections = sections(text)?;
    let are_steps = text.contains(STEPS);
    let mut kept = Vec::new();
    let mut cases = Vec::new();
    for at in 0..sections.len() {
        let section = &sections[at];
        let is_case = !section.expected.is_empty() || (!section.files.is_empty() && !section.has_children);
        if !is_case {
            continue;
        }
        let mut chain: Vec<&Section> = std::iter::successors(Some(section), |section| section.parent.map(|at| &sections[at])).collect();
        chain.reverse();
        let mut files = if are_steps { std::mem::take(&mut kept) } else { Vec::new() };
        let written = if are_steps { &chain[chain.len() - 1..] } else { &chain[..] };
        for (line, file) in written.iter().flat_map(|section| &section.files) {
            put(&mut files, file).map_err(|error| (*line, error))?;
        }
        kept.clone_from(&files);
        let title = chain.iter().map(|section| &*section.title).filter(|title| !title.is_empty()).collect::<Vec<_>>().join(" › ");
        let expected = section.expected.iter().map(Expected::again).collect();
        cases.push(Case { title, line: section.line, files, expected, end: section.end });
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

/// The text after changes: lines that stay begin with a space, those that go with `-`, those that come with `+`.
fn patched(text: &str, changes: &str) -> Result<String, String> {
    let lines = |marks: [char; 2]| {
        let lines = changes.lines().filter(|line| line.is_empty() || line.starts_with(marks));
        lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect::<String>()
    };
    let (before, after) = (lines([' ', '-']), lines([' ', '+']));
    match text.matches(&before).count() {
        1 => Ok(text.replacen(&before, &after, 1)),
        count => Err(format!("what changes stands {count} times in the file, not once")),
    }
}

/// The sections of a Markdown text; what stands before the first heading is one of level 0.
fn sections(text: &str) -> Result<Vec<Section>, (usize, String)> {
    let mut sections = vec![Section::default()];
    for item in items(text) {
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
                let files = folder(&path).map_err(|error| (line, error))?;
                sections[last].files.extend(files.into_iter().map(|file| (line, File::Whole(file))));
            }
        }
    }
    Ok(sections)
}

/// Puts a block where it belongs; blocks that are neither files nor expectations are prose.
fn take_block(section: &mut Section, text: &str, block: Block) -> Result<(), (usize, String)> {
    let Some(first) = block.info.first() else { return Ok(()) };
    let content = &text[block.range.clone()];
    if let Some(kind) = Kind::named(first) {
        section.end = block.end;
        section.expected.push(Expected {
            kind,
            words: block.info[1..].to_vec(),
            line: block.line,
            text: content.to_owned(),
            range: block.range,
        });
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
    }
    Ok(())
}

/// The files of a graph of the repository, through the loader that people use.
fn folder(path: &str) -> Result<Vec<Source>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let loader = Directory::new(root).map_err(|error| error.to_string())?;
    let paths = loader.list_files().map_err(|error| error.to_string())?;
    paths.iter().map(|path| loader.read_file(path).map_err(|error| error.to_string())).collect()
}

/// The bytes of a file block, after the words of its info string.
fn file_bytes(content: &str, words: &[String]) -> Result<Bytes, String> {
    let mut bytes = content.as_bytes().to_vec();
    for word in words {
        match &**word {
            "crlf" => bytes = content.replace('\n', "\r\n").into_bytes(),
            "bom" => bytes.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop),
            "bare" => bytes.truncate(content.trim_end_matches('\n').len()),
            "base64" => bytes = base64(content)?,
            "too-large" => return Ok(Bytes::TooLarge { size: 1_048_577, limit: 1_048_576 }),
            other => return Err(format!("`{other}` is no word of a file block: crlf, bom, bare, base64, too-large")),
        }
    }
    Ok(Bytes::Read(bytes.into()))
}

/// Decodes base64, line breaks left out.
fn base64(text: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let six = ALPHABET.iter().position(|known| *known == byte).ok_or_else(|| format!("`{}` is not base64", byte as char))?;
        bits = bits << 6 | u32::try_from(six).unwrap_or_default();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.extend(((bits >> held) as u8).to_le_bytes());
        }
    }
    Ok(bytes)
}

impl Expected {
    fn again(&self) -> Self {
        Self { kind: self.kind, words: self.words.clone(), line: self.line, range: self.range.clone(), text: self.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn files_come_from_a_graph_of_the_repository_and_can_go() {
        let cases = cases("# T\n<!-- the files of graphs/hello -->\n## One\n```gone start.md\n```\n```markdown a.md\n```\n").unwrap();
        assert_eq!(cases[0].files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["choose.md", "served.md", "a.md"]);
        let (line, error) = super::cases("# T\n```gone start.md\n```\n").unwrap_err();
        assert_eq!((line, &*error), (2, "there is no `start.md` that could go"));
    }

    #[test]
    fn odd_bytes_come_from_base64() {
        assert_eq!(base64("/wBh\n").unwrap(), [0xFF, 0x00, 0x61]);
        assert_eq!(base64("YQ==").unwrap(), b"a");
        assert!(base64("*").is_err());
    }
}
