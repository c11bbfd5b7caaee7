//! The document of one file, and the source that it was parsed from.
//!
//! **Invariant:** a file with the same bytes and dialect retains its document.

use std::sync::Arc;

use trellis_core::{
    Dialect, Document, Source,
    diagnostic::FilePath,
    syntax::document::{Bytes, Content},
};

use crate::{GraphLoader, LoadError};

/// A document and the source that it was parsed from.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) document: Arc<Document>,
    dialect: Dialect,
    origin: Origin,
}

/// The source that a document was parsed from.
#[derive(Clone, Debug)]
enum Origin {
    /// The bytes of its text.
    Text,
    /// Bytes that are no text.
    Other(Arc<[u8]>),
    /// A file of this size, which was too large.
    TooLarge(u64),
    /// No source: the file could not be read.
    Nothing,
}

impl Parsed {
    fn new(source: Source, dialect: Dialect, is_graph: bool) -> Self {
        let mut document = Document::parse(&source, dialect);
        // A file of `nodes:` names its dialect itself.
        if let Some(named) = document.dialect()
            && named.value != dialect
        {
            document = Document::parse(&source, named.value);
        }
        if is_graph {
            document = document.as_graph();
        }
        let origin = match source.bytes {
            Bytes::TooLarge { size, .. } => Origin::TooLarge(size),
            Bytes::Read(bytes) if *bytes == *document.text.as_bytes() => Origin::Text,
            Bytes::Read(bytes) => Origin::Other(bytes),
        };
        Self { document: Arc::new(document), dialect, origin }
    }

    /// Returns a document that was parsed before, of a text in this dialect.
    pub(crate) fn known(document: Arc<Document>, dialect: Dialect) -> Self {
        let origin = if document.text.is_empty() && matches!(document.content, Content::Broken) { Origin::Nothing } else { Origin::Text };
        Self { document, dialect, origin }
    }

    /// Returns the document for a file that could not be read: it still claims its id, so that targets to it are not reported too.
    pub(crate) fn unread(path: &FilePath, known: Option<&Self>) -> Self {
        match known {
            Some(known) if matches!(known.origin, Origin::Nothing) => known.clone(),
            _ => {
                let document = Document::broken(FilePath::clone(path), "");
                Self { document: Arc::new(document), dialect: Dialect::default(), origin: Origin::Nothing }
            }
        }
    }

    /// Reads the file again.
    pub(crate) fn again(&self, loader: &dyn GraphLoader, path: &FilePath) -> Result<Self, LoadError> {
        parse(loader, path, self.dialect, Some(self))
    }

    /// Returns whether parsing `source` again would give the same document.
    fn is_of(&self, source: &Source, dialect: Dialect) -> bool {
        self.dialect == dialect
            && match (&self.origin, &source.bytes) {
                (Origin::Text, Bytes::Read(bytes)) => *self.document.text.as_bytes() == **bytes,
                (Origin::Other(old), Bytes::Read(new)) => old == new,
                (Origin::TooLarge(old), Bytes::TooLarge { size, .. }) => old == size,
                _ => false,
            }
    }
}

impl Parsed {
    /// Parses a source, unless `known` was parsed from the same one.
    pub(crate) fn of(source: Source, dialect: Dialect, is_graph: bool, known: Option<&Self>) -> Self {
        match known {
            Some(known) if known.is_of(&source, dialect) => known.clone(),
            _ => Self::new(source, dialect, is_graph),
        }
    }

    /// Returns whether its document holds all that it was parsed from.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.origin, Origin::Text)
    }
}

/// Reads and parses one file, unless `known` was parsed from the same source.
pub(crate) fn parse(loader: &dyn GraphLoader, path: &FilePath, dialect: Dialect, known: Option<&Parsed>) -> Result<Parsed, LoadError> {
    // The path of the listing is stored anyway; one copy is enough.
    let source = Source { path: FilePath::clone(path), ..loader.read_file(path)? };
    Ok(Parsed::of(source, dialect, loader.is_file(), known))
}
