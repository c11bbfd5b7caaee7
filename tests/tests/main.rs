//! The one integration-test binary: suite, pages, graphs, properties, bounds, JSON Lines and house rules.

mod bounds;
mod circles;
mod corpus;
mod crash;
mod graphs;
mod names;
mod promises;
mod properties;
mod schemas;
mod specification;
mod suite;
mod tidy;
mod trial;
mod wire;
mod worst;

use std::path::{Path, PathBuf};

use trellis_core::Code;

/// Codes that the compiler never reports: a host does, or somebody has to ask for them. They are tested with the program.
const HOST_ONLY: [Code; 4] = [Code::MissingFile, Code::SqlSyntax, Code::UnboundTool, Code::UncheckedRead];

/// The repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the repository").to_owned()
}
