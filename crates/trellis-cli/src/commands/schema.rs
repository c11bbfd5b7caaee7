//! `trellis schema [KIND]`: JSON Schemas of files, for editors, and of the program's output, for other programs.

use clap::ValueEnum;
use trellis_core::syntax::vocabulary::{self, FileKind};

use crate::{Exit, terminal};

/// Prints the JSON Schema of a kind of file, for editors
///
/// With the schema, a YAML language server completes keys, shows their meaning and marks mistakes. The schema is of draft 7. That of
/// `test`, for programs that read results, is of draft 2020-12.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis schema > node.schema.json
  trellis schema project > project.schema.json
  trellis schema openapi > openapi.json
  trellis schema test > test.schema.json

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
    /// `orchestrator.yaml`, the settings of a workspace of `trellis up`
    Orchestrator,
    /// A line that `trellis test --format json` prints
    Test,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let schema = match self.kind {
            SchemaFile::Node => vocabulary::schema(FileKind::Node),
            SchemaFile::Graph => vocabulary::schema(FileKind::Graph),
            SchemaFile::Project => vocabulary::schema(FileKind::Project),
            SchemaFile::Library => vocabulary::schema(FileKind::Library),
            SchemaFile::Tools => vocabulary::schema(FileKind::Tools),
            SchemaFile::Openapi => trellis_server::openapi(),
            SchemaFile::Orchestrator => trellis_orchestrator::config::schema(),
            SchemaFile::Test => trellis_trial::wire::schema(),
        };
        terminal::print(&format!("{schema:#}\n"))?;
        Ok(Exit::Fine)
    }
}
