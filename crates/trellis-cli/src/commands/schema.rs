//! `trellis schema [KIND]`: what editors need to know of the keys of a file.

use clap::ValueEnum;
use trellis_core::syntax::vocabulary::{self, FileKind};

use crate::{Exit, terminal};

/// Prints the JSON Schema of a kind of file, for editors
///
/// With the schema, a YAML language server completes keys, shows their meaning and marks mistakes. The schema is of draft 7.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis schema > node.schema.json
  trellis schema project > project.schema.json
  trellis schema openapi > openapi.json

For one file, as its first line, with the path from the file to the schema:
  # yaml-language-server: $schema=../node.schema.json

For all files in VS Code, in settings.json:
  \"yaml.schemas\": { \"./project.schema.json\": \"**/trellis.yaml\" }")]
pub(crate) struct Schema {
    /// The kind of the file
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
    /// `tools.yaml`, in the format of Go Trellis
    Tools,
    /// The OpenAPI document of `trellis serve`
    Openapi,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let kind = match self.kind {
            SchemaFile::Node => FileKind::Node,
            SchemaFile::Graph => FileKind::Graph,
            SchemaFile::Project => FileKind::Project,
            SchemaFile::Library => FileKind::Library,
            SchemaFile::Tools => FileKind::Tools,
            SchemaFile::Openapi => {
                terminal::print(&format!("{:#}\n", trellis_server::openapi()))?;
                return Ok(Exit::Fine);
            }
        };
        terminal::print(&format!("{:#}\n", vocabulary::schema(kind)))?;
        Ok(Exit::Fine)
    }
}
