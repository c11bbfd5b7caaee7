//! One parsed file.

use std::sync::{Arc, LazyLock};

pub use super::{allow::Allow, text::Bytes};
use super::{
    frontmatter,
    node::{NodeSyntax, ToolRef},
    project::ProjectSyntax,
};
use trellis_base::{
    diagnostic::{Diagnostic, FilePath},
    id::NodeId,
    span::{Span, Spanned},
    template::Dialect,
};

/// One file as a loader hands it over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Its path below the graph's root, with `/`.
    pub path: FilePath,
    /// Its bytes, as they are.
    pub bytes: Bytes,
}

impl Source {
    /// A file that was read.
    pub fn new(path: impl Into<FilePath>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { path: path.into(), bytes: Bytes::Read(bytes.into()) }
    }

    /// A file of the given text.
    pub fn text(path: impl Into<FilePath>, text: &str) -> Self {
        Self::new(path, text.as_bytes())
    }
}

/// One parsed file: the author's content, and every mistake in it.
///
/// ```
/// use trellis_base::{Code, Dialect};
/// use trellis_syntax::{Document, Source};
///
/// let document = Document::parse(&Source::text("start.md", "---\ninptu_type: text\nto: end\n---\nYour name?\n"), Dialect::default());
/// assert_eq!(document.diagnostics[0].code, Code::UnknownKey);
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    /// Its path below the graph's root.
    pub path: FilePath,
    /// Its text; empty for a file that is no text, or too large.
    pub text: Arc<str>,
    /// Its content.
    pub content: Content,
    /// Its mistakes, in order of place.
    pub diagnostics: Vec<Diagnostic>,
    /// The codes that its comments allow, in order of place.
    pub allows: Box<[Allow]>,
    /// The id that its path gives.
    pub id: NodeId,
    /// The id that a file claims that is not understood, if a line of its text names one.
    pub named: Option<NodeId>,
    /// A hash of its path and text: a save costs one of these, not ten thousand.
    pub hash: u64,
    /// True if the graph is this file, by its name.
    pub is_graph: bool,
}

/// The content of a file (language 1.1, 1.2).
#[derive(Clone, Debug)]
pub enum Content {
    /// One node. A Markdown file without frontmatter is one too (`has_matter` is false): whether it is a page is decided when the graph is compiled.
    Node(Box<NodeSyntax>),
    /// `nodes:`, a graph in one file; each node has its `id`.
    Nodes(Vec<NodeSyntax>, Box<ProjectSyntax>),
    /// `tools:` and nothing else.
    Library(Vec<ToolRef>),
    /// `trellis.yaml` or `tools.yaml`.
    Project(Box<ProjectSyntax>),
    /// A file that could not be read at all; its diagnostics give the reasons. Unless it is a project file, it holds the place of one node with
    /// nothing but an id, so that targets to it are not reported too.
    Broken,
}

impl Document {
    pub(super) fn new(path: FilePath, text: Arc<str>, content: Content, diagnostics: Vec<Diagnostic>, allows: Box<[Allow]>) -> Self {
        let id = NodeId::new(path.rsplit_once('.').map_or(&*path, |(stem, _)| stem));
        let hash = mix(mix(SEED, path.as_bytes()), text.as_bytes());
        let named = if matches!(content, Content::Broken) { frontmatter::named(&path, &text) } else { None };
        Self { path, text, content, diagnostics, allows, id, named, hash, is_graph: false }
    }

    /// A file that is not understood; its text is for showing places in it.
    pub fn broken(path: impl Into<FilePath>, text: impl Into<Arc<str>>) -> Self {
        Self::new(path.into(), text.into(), Content::Broken, Vec::new(), Box::default())
    }

    /// Returns whether its name or one of its folders begins with `_` or `.`: then it holds no nodes, whatever it looks like (language 1.2).
    pub fn is_hidden(&self) -> bool {
        is_hidden(&self.path)
    }

    /// Returns the document of a file that was itself named as the graph: it is no page then (language 1.1).
    #[must_use]
    pub fn as_graph(self) -> Self {
        Self { is_graph: true, ..self }
    }

    /// Returns the same file at another path.
    #[must_use]
    pub fn at_path(&self, path: FilePath) -> Self {
        let moved = Self::new(path, Arc::clone(&self.text), self.content.clone(), self.diagnostics.clone(), self.allows.clone());
        Self { is_graph: self.is_graph, ..moved }
    }

    /// Returns whether a part of it could not be read.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns whether something in this part of it could not be read.
    pub fn has_errors_in(&self, part: Span) -> bool {
        let places = self.diagnostics.iter().filter(|found| found.is_error()).filter_map(|found| found.place.as_ref());
        places.map(|place| place.span).any(|span| part.start <= span.start && span.end <= part.end)
    }

    /// The node at a position of the file; a broken file holds an empty one.
    pub fn node(&self, ordinal: u32) -> Option<&NodeSyntax> {
        static UNREAD: LazyLock<NodeSyntax> = LazyLock::new(NodeSyntax::default);
        match &self.content {
            Content::Node(node) => Some(node),
            Content::Nodes(nodes, _) => nodes.get(ordinal as usize),
            Content::Broken => Some(&UNREAD),
            Content::Library(_) | Content::Project(_) => None,
        }
    }

    /// The dialect that a `trellis.yaml` names, if it names one.
    pub fn dialect(&self) -> Option<Spanned<Dialect>> {
        match &self.content {
            Content::Project(project) | Content::Nodes(_, project) => project.templates.clone(),
            _ => None,
        }
    }
}

/// The seed of a hash.
pub const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// Updates a hash, eight bytes at a time; the result is the same on every platform.
pub fn mix(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut step = |word: u64| hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| step(u64::from_le_bytes(*word)));
    step(rest.iter().fold(bytes.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
    hash
}

/// Returns whether a file or one of its folders begins with `_` or `.` (language 1.2).
pub fn is_hidden(path: &str) -> bool {
    let bytes = path.as_bytes();
    matches!(bytes.first(), Some(b'_' | b'.')) || bytes.windows(2).any(|pair| matches!(pair, [b'/', b'_' | b'.']))
}
