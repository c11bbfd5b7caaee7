//! From documents to a program: names are resolved, nodes lowered to points, ways and writes, and checked.
//!
//! **Invariant:** every error is collected, in file order; any error means no program; one mistake is one diagnostic.

use std::sync::Arc;

use crate::{diagnostic::Diagnostic, program::Program, syntax::document::Document};

/// What compiling comes to.
#[derive(Debug)]
pub struct Compiled {
    /// The program, unless there was an error.
    pub program: Option<Arc<Program>>,
    /// Everything that was found, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// How many nodes there are.
    pub nodes: usize,
}

/// Compiles a graph. Documents come in any order; `root_name` names the graph for people.
pub fn compile(documents: &[Arc<Document>]) -> Compiled {
    let _ = documents;
    todo!()
}
