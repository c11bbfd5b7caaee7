//! `trellis rename`: gives a node, a key or a tool another name, everywhere, if the graph stays the same but for it.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use trellis_core::{
    NodeId,
    diagnostic::FilePath,
    query::{GraphChange, SymbolIndex},
    value::Key,
};
use trellis_project::{Project, refactored, sheet::renamed_sheets};

use crate::{
    Exit,
    atomic_write::{create, replace},
    diff::difference,
    open::{self, DEFAULT_PATH, Place},
    report::printable,
    terminal,
};

/// Gives a node, a key or a tool another name, everywhere
///
/// The graph must stay the same but for the name: it is compiled before and after, and the first difference is named. All files are
/// written, or none. Sheets in `_tests` change along.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis rename node orders/find search    the file moves, targets and links change
  trellis rename key name person            wherever it is written, read and given
  trellis rename tool book reserve          its binding, its calls, rules of the policy
  trellis rename key name person --graph identity --dry-run")]
pub(crate) struct Rename {
    /// The thing that gets another name
    #[arg(value_enum)]
    what: Renamed,
    /// Its name: the id of a node, a key, or the name of a tool
    old: String,
    /// Its new name; of a node the last part, since its folder stays
    new: String,
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// The folder of a graph inside this one, whose key it is
    #[arg(long, value_name = "MODULE")]
    graph: Option<String>,
    /// Show the changes, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// The kinds of names that can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Renamed {
    /// A node
    Node,
    /// A context key, of one graph
    Key,
    /// A tool; what carries it out stays the same
    Tool,
}

impl Rename {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let place = open::only(self.path.as_deref(), "rename")?;
        let project = Project::open(&place.path)?;
        if let Some(problem) = project.problems().first() {
            bail!("{}\nwhat cannot be read may name it too", printable(&problem.to_string()));
        }
        let mut index = SymbolIndex::default();
        index.update(project.documents());
        let change = self.change(&index)?;
        let after = refactored(project.documents(), &change)?;
        let root = project.root().context("the graph has no folder")?;
        let mut files = Files::of(&project, &change, after);
        for sheet in renamed_sheets(root, project.documents(), &change, |path| fs::read_to_string(path).ok()) {
            let after = sheet.changed();
            files.edited.push((sheet.path, sheet.text, after));
        }
        if self.dry_run {
            terminal::print(&files.shown(&place))?;
            return Ok(Exit::Fine);
        }
        files.write(root)?;
        let mut said = format!("{} files changed\n", files.edited.len() + files.moved.len());
        change.notes.iter().for_each(|note| said.push_str(&format!("note: {note}\n")));
        terminal::print(&said)?;
        Ok(Exit::Fine)
    }

    fn change(&self, index: &SymbolIndex) -> anyhow::Result<GraphChange> {
        match self.what {
            Renamed::Node => return Ok(index.rename_node(&NodeId::from(self.old.as_str()), &self.new)?),
            Renamed::Tool => return Ok(index.rename_tool(&self.old, &self.new)?),
            Renamed::Key => {}
        }
        let graph = match &self.graph {
            None => 0,
            Some(folder) => {
                let file = FilePath::from(format!("{}/trellis.yaml", folder.trim_end_matches('/')));
                let graph = index.graph_of(&file);
                if graph == 0 {
                    bail!("`{folder}` is no graph of its own\nwithout `--graph` the key is one of the outermost graph");
                }
                graph
            }
        };
        Ok(index.rename_key(graph, &Key::from(self.old.as_str()), &self.new)?)
    }
}

/// The files of a change.
struct Files {
    /// Path, text before, text after.
    edited: Vec<(FilePath, String, String)>,
    /// Path before, text before, path after, text after.
    moved: Vec<(FilePath, String, FilePath, String)>,
}

impl Files {
    fn of(project: &Project, change: &GraphChange, mut after: BTreeMap<FilePath, String>) -> Self {
        let (mut edited, mut moved) = (Vec::new(), Vec::new());
        for document in project.documents() {
            let (path, before) = (FilePath::clone(&document.path), document.text.to_string());
            match change.files.iter().find(|file| file.from == path) {
                Some(file) => moved.push((path, before, FilePath::clone(&file.to), after.remove(&file.to).unwrap_or_default())),
                None => {
                    let now = after.remove(&path).unwrap_or_default();
                    if now != before {
                        edited.push((path, before, now));
                    }
                }
            }
        }
        Self { edited, moved }
    }

    /// Returns the changes, line by line.
    fn shown(&self, place: &Place) -> String {
        let edited = self.edited.iter().map(|(path, before, after)| difference(&place.shown(path), before, after));
        let moved = self.moved.iter().map(|(from, before, to, after)| {
            format!("{} → {}\n{}", printable(&place.shown(from)), printable(&place.shown(to)), difference(&place.shown(to), before, after))
        });
        edited.chain(moved).collect()
    }

    /// Writes all files. Where one cannot be written, those before it get their old texts back.
    fn write(&self, root: &std::path::Path) -> anyhow::Result<()> {
        let mut undo: Vec<Box<dyn Fn() + '_>> = Vec::new();
        let written = self.write_each(root, &mut undo);
        if written.is_err() {
            undo.iter().rev().for_each(|undo| undo());
        }
        written
    }

    fn write_each<'f>(&'f self, root: &std::path::Path, undo: &mut Vec<Box<dyn Fn() + 'f>>) -> anyhow::Result<()> {
        for (path, before, after) in &self.edited {
            let file = root.join(&**path);
            replace(&file, before.as_bytes(), after.as_bytes()).with_context(|| format!("nothing is changed: `{path}`"))?;
            undo.push(Box::new(move || drop(replace(&file, after.as_bytes(), before.as_bytes()))));
        }
        for (from, before, to, after) in &self.moved {
            let (old, new) = (root.join(&**from), root.join(&**to));
            create(&new, after.as_bytes()).with_context(|| format!("nothing is changed: `{to}`"))?;
            let made = new.clone();
            undo.push(Box::new(move || drop(fs::remove_file(&made))));
            // What somebody saved meanwhile is not thrown away.
            if fs::read(&old).ok().as_deref() != Some(before.as_bytes()) {
                bail!("nothing is changed: `{from}` was changed meanwhile");
            }
            fs::remove_file(&old).with_context(|| format!("nothing is changed: `{from}`"))?;
            undo.push(Box::new(move || drop(create(&old, before.as_bytes()))));
        }
        Ok(())
    }
}
