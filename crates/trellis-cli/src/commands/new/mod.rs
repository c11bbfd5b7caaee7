//! `trellis new PATH` and `trellis new node ID` copy templates, `trellis new tools` writes a library for a server, `trellis new --agents` a page
//! for coding agents.
//!
//! **Invariant:** no existing file is overwritten; either all files are written or none.

mod agents;
mod folder;
mod node;
mod templates;
mod tools;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, Subcommand};

use self::{
    node::Node,
    templates::{PROJECTS, Project},
    tools::Tools,
};
use crate::{Exit, report::printable, terminal};

/// Creates a graph from a template, or a node
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  trellis new hello                        create a folder `hello` with a graph that runs
  trellis new booking --template tool      one with scripts, an approval and a rollback
  trellis new orders --template api        one that calls a service over HTTP
  trellis new --list                       list the templates
  trellis new --agents                     add a page for coding agents, `AGENTS.md`, to the folder here
  trellis new hello --agents               create a graph with such a page
  trellis new node orders/refund --type tool --to again --graph graphs/support
  trellis new tools --server files         a library of the tools that a server has

Exit codes: 0 created; 2 the folder is not empty, the file exists, or it is not writable."
)]
pub(crate) struct New {
    #[command(subcommand)]
    what: Option<What>,
    /// The folder to create
    path: Option<PathBuf>,
    /// The template of the graph [default: blank]
    #[arg(long, value_name = "NAME", value_parser = PROJECTS.map(|project| project.name))]
    template: Option<String>,
    /// Add `AGENTS.md`, which tells coding agents how to work on the graph; without a template also to a folder that has files
    #[arg(long)]
    agents: bool,
    /// List the templates
    #[arg(long)]
    list: bool,
}

/// Other things to create.
#[derive(Debug, Subcommand)]
enum What {
    Node(Node),
    Tools(Tools),
}

impl New {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match (self.what, self.path) {
            (Some(What::Node(node)), _) => node.run(),
            (Some(What::Tools(tools)), _) => tools.run(),
            _ if self.list => {
                terminal::print(&PROJECTS.iter().map(|project| format!("{:8} {}\n", project.name, project.about)).collect::<String>())?;
                Ok(Exit::Fine)
            }
            (None, path) if self.agents => agents::make(path.as_deref(), self.template.as_deref()),
            (None, Some(path)) => make(&path, self.template.as_deref(), None),
            (None, None) => bail!("there is no folder to make\nname one: `trellis new hello`"),
        }
    }
}

/// Makes a graph from a template, the first one where none is named, with a file besides.
fn make(path: &Path, template: Option<&str>, besides: Option<NewFile>) -> anyhow::Result<Exit> {
    let template = template.unwrap_or(PROJECTS[0].name);
    let Some(project) = PROJECTS.iter().find(|project| project.name == template) else { bail!("there is no template `{template}`") };
    let mut files = files(project, &name_of(path)?);
    files.extend(besides);
    folder::make(path, &files)?;
    let names = files.iter().map(|file| file.path).collect::<Vec<_>>().join(", ");
    let shown = path.display().to_string();
    let run = match shown.as_str() {
        "." => "trellis run".to_owned(),
        shown if shown.contains([' ', '\'', '"']) => format!("trellis run '{}'", shown.replace('\'', "'\\''")),
        shown => format!("trellis run {shown}"),
    };
    terminal::print(&format!("made {}: {names}\nwalk it with `{}`\n", printable(&shown), printable(&run)))?;
    Ok(Exit::Fine)
}

/// The name of a project: that of its folder.
fn name_of(path: &Path) -> anyhow::Result<String> {
    let full = std::path::absolute(path)?;
    let name = full.components().next_back().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    match name.as_str() {
        "/" | "" | ".." => bail!("`{}` has no name that a project could have", path.display()),
        name if name.contains(char::is_control) => bail!("the name of `{}` holds control characters", path.display()),
        _ => Ok(name),
    }
}

/// A file to make.
struct NewFile {
    path: &'static str,
    text: String,
    is_program: bool,
}

fn files(project: &Project, name: &str) -> Vec<NewFile> {
    let text = |path: &str, text: &str| match path {
        path if path.ends_with(".yaml") => text.replace("PROJECT", &yaml_text(name)),
        _ => text.replace("PROJECT", name),
    };
    let file = |(path, content): &(&'static str, &str)| NewFile {
        path,
        text: if path.starts_with("bin/") { (*content).to_owned() } else { text(path, content) },
        is_program: path.starts_with("bin/"),
    };
    project.files.iter().map(file).collect()
}

/// A text as a value of YAML.
fn yaml_text(text: &str) -> String {
    serde_yaml::to_string(text).map_or_else(|_| serde_json::Value::from(text).to_string(), |written| written.trim_end().to_owned())
}
