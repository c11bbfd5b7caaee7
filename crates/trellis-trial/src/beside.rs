//! The interface to the files and calculations beside a sheet.

use std::sync::Arc;

use trellis_core::{Mapping, NodeId, Program, ToolOutcome};

/// The surroundings of a sheet: files that a transcript names, and calculations of the graph.
pub(crate) trait Beside: Sync {
    /// A file beside the sheet, inside the graph.
    fn read_beside(&self, path: &str) -> Result<String, String>;
    /// Returns the outcome of a call from a node whose binding calculates; `None` for other calls.
    fn compute(&self, program: &Program, node: &NodeId, tool: &Arc<str>, args: &Mapping) -> Option<ToolOutcome>;
}
