//! `trellis schema [KIND]`: what editors need to know of the keys of a file.

use clap::ValueEnum;
use trellis_core::syntax::vocabulary::{self, FileKind};

use crate::{Exit, terminal};

/// Prints the JSON Schema of a kind of file, for editors
///
/// With it a YAML language server completes keys, shows what they mean and marks what cannot be right. It is of draft 7.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis schema > node.schema.json
  trellis schema project > project.schema.json

In a file, as its first line, with the path from this file to the schema:
  # yaml-language-server: $schema=../node.schema.json

In VS Code, for all files, in settings.json:
  \"yaml.schemas\": { \"./project.schema.json\": \"**/trellis.yaml\" }")]
pub(crate) struct Schema {
    /// What the file is
    #[arg(value_enum, default_value_t = SchemaFile::Node)]
    kind: SchemaFile,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaFile {
    /// A node: frontmatter, or a YAML or JSON file
    Node,
    /// A graph in one file, with `nodes`
    Graph,
    /// `trellis.yaml`
    Project,
    /// A file of `tools` and nothing else
    Library,
    /// `tools.yaml`, in the form of Go Trellis
    Tools,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let kind = match self.kind {
            SchemaFile::Node => FileKind::Node,
            SchemaFile::Graph => FileKind::Graph,
            SchemaFile::Project => FileKind::Project,
            SchemaFile::Library => FileKind::Library,
            SchemaFile::Tools => FileKind::Tools,
        };
        terminal::print(&format!("{:#}\n", vocabulary::schema(kind)))?;
        Ok(Exit::Fine)
    }
}
