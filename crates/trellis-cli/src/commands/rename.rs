//! `trellis rename`: renames something everywhere, if nothing else changes in the graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use trellis_core::{
    NodeId,
    diagnostic::{FilePath, did_you_mean},
    query::{GraphChange, Symbol, SymbolIndex},
    value::Key,
};
use trellis_project::{
    Project, refactored,
    sheet::{cases_that_show, renamed_sheets},
};

use crate::{
    Exit,
    atomic_write::{create, replace},
    diff::difference,
    open::{self, DEFAULT_PATH, Place},
    report::{counted, printable},
    terminal,
};

/// Gives a node, a folder, a key or another name of a graph a new one, everywhere
///
/// The graph must stay the same but for the name: it is compiled before and after, and the first difference is named. All files are
/// written, or none. Sheets in `_tests` change along.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis rename node orders/find search    the file moves, targets and links change
  trellis rename folder orders purchases    a module or a graph of its own, with all that is in it
  trellis rename key name person            wherever it is written, read and given
  trellis rename tool book reserve          its binding, its calls, rules of the policy
  trellis rename option Tea Coffee --node ask    its value, and the conditions that compare it
  trellis rename key name person --graph identity --dry-run")]
pub(crate) struct Rename {
    /// The thing that gets another name
    #[arg(value_enum)]
    what: Renamed,
    /// Its name: the id of a node, the path of a folder, a key, the name of a tool, a predicate or a signal, or the value of an option
    old: String,
    /// Its new name; of a node or a folder the last part, since it stays where it is
    new: String,
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// The folder of a graph inside this one, whose key or predicate it is
    #[arg(long, value_name = "MODULE")]
    graph: Option<String>,
    /// The node whose option it is, if several have one of this value
    #[arg(long, value_name = "ID")]
    node: Option<String>,
    /// Show the changes, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// The kinds of names that can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Renamed {
    /// A node
    Node,
    /// A folder: a module, or a graph of its own
    Folder,
    /// A context key, of one graph
    Key,
    /// A tool; what carries it out stays the same
    Tool,
    /// A predicate, of one graph
    Predicate,
    /// A signal
    Signal,
    /// The value of an option of a node
    Option,
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
        let mut change = self.change(&index)?;
        let after = refactored(project.documents(), &change)?;
        let root = project.root().context("the graph has no folder")?;
        let text = |path: &std::path::Path| fs::read_to_string(path).ok();
        let shown = cases_that_show(root, project.documents(), &change, text);
        if shown > 0 {
            change.notes.push(format!("{} may fail now: what a node says is not changed", counted(shown, "case")));
        }
        let mut files = Files::of(&project, &change, after);
        let sheets = renamed_sheets(root, project.documents(), &change, text);
        change.notes.extend(sheets.notes.iter().map(|note| printable(note).into_owned()));
        for sheet in sheets.files {
            let after = sheet.changed();
            files.edited.retain(|(path, ..)| *path != sheet.path);
            files.edited.push((sheet.path, sheet.text, after));
        }
        if self.dry_run {
            let notes: String = change.notes.iter().map(|note| format!("note: {note}\n")).collect();
            terminal::print(&(files.shown(&place) + &notes))?;
            return Ok(Exit::Fine);
        }
        files.write(root)?;
        let mut said = format!("{} changed\n", counted(files.count(&change), "file"));
        change.notes.iter().for_each(|note| said.push_str(&format!("note: {note}\n")));
        terminal::print(&said)?;
        Ok(Exit::Fine)
    }

    fn change(&self, index: &SymbolIndex) -> anyhow::Result<GraphChange> {
        let (old, new) = (self.old.as_str(), self.new.as_str());
        Ok(match self.what {
            Renamed::Node => index.rename_node(&NodeId::from(old), new),
            Renamed::Folder => index.rename_folder(old, new),
            Renamed::Tool => index.rename_tool(old, new),
            Renamed::Signal => index.rename_signal(old, new),
            Renamed::Key => index.rename_key(self.graph_number(index)?, &Key::from(old), new),
            Renamed::Predicate => index.rename_predicate(self.graph_number(index)?, old, new),
            Renamed::Option => index.rename_option(&self.option_node(index)?, old, new),
        }?)
    }

    /// The graph that `--graph` names.
    fn graph_number(&self, index: &SymbolIndex) -> anyhow::Result<u32> {
        let Some(folder) = &self.graph else { return Ok(0) };
        let file = FilePath::from(format!("{}/trellis.yaml", folder.trim_end_matches('/')));
        match index.graph_of(&file) {
            0 => bail!("`{folder}` is no graph of its own\nwithout `--graph` the name is one of the outermost graph"),
            graph => Ok(graph),
        }
    }

    /// The node whose option it is: the named one, or the only one.
    fn option_node(&self, index: &SymbolIndex) -> anyhow::Result<NodeId> {
        if let Some(node) = &self.node {
            return Ok(NodeId::from(node.as_str()));
        }
        let mut nodes = index.nodes_with_option(&self.old);
        match nodes.len() {
            0 => {
                let all: Vec<_> = index.nodes().iter().flat_map(|node| index.of_file(&node.path)).collect();
                let values = all.iter().filter_map(|one| if let Symbol::Option(_, value) = &one.symbol { Some(&**value) } else { None });
                let near = did_you_mean(&self.old, values).map_or_else(String::new, |question| format!(", {}", printable(&question)));
                bail!("no node has an option `{}`{near}", printable(&self.old))
            }
            1 => Ok(nodes.remove(0)),
            _ => {
                let nodes: Vec<String> = nodes.iter().map(|node| format!("`{node}`")).collect();
                bail!("several nodes have an option `{}`: {}\nname one: `--node ID`", printable(&self.old), nodes.join(", "))
            }
        }
    }
}

/// The files of a change.
struct Files {
    /// Path, text before, text after.
    edited: Vec<(FilePath, String, String)>,
    /// Path before, text before, path after, text after.
    moved: Vec<(FilePath, String, FilePath, String)>,
    /// A folder that moves as a whole, after its files are edited: its path before and after.
    folder: Option<(String, String)>,
}

impl Files {
    fn of(project: &Project, change: &GraphChange, mut after: BTreeMap<FilePath, String>) -> Self {
        let (mut edited, mut moved) = (Vec::new(), Vec::new());
        for document in project.documents() {
            let (path, before) = (FilePath::clone(&document.path), document.text.to_string());
            match change.files.iter().find(|file| file.from == path) {
                Some(file) if change.folder.is_some() => {
                    let now = after.remove(&file.to).unwrap_or_default();
                    if now != before {
                        edited.push((path, before, now));
                    }
                }
                Some(file) => moved.push((path, before, FilePath::clone(&file.to), after.remove(&file.to).unwrap_or_default())),
                None => {
                    let now = after.remove(&path).unwrap_or_default();
                    if now != before {
                        edited.push((path, before, now));
                    }
                }
            }
        }
        Self { edited, moved, folder: change.folder.clone() }
    }

    /// Returns the changes, line by line.
    fn shown(&self, place: &Place) -> String {
        let edited = self.edited.iter().map(|(path, before, after)| difference(&place.shown(path), before, after));
        let moved = self.moved.iter().map(|(from, before, to, after)| {
            format!("{} → {}\n{}", printable(&place.shown(from)), printable(&place.shown(to)), difference(&place.shown(to), before, after))
        });
        let folder = self.folder.iter().map(|(from, to)| format!("{} → {}\n", printable(&place.shown(from)), printable(&place.shown(to))));
        edited.chain(moved).chain(folder).collect()
    }

    /// The number of files that are not as they were.
    fn count(&self, change: &GraphChange) -> usize {
        let moved: BTreeSet<&FilePath> = change.files.iter().map(|file| &file.from).collect();
        self.edited.iter().filter(|(path, ..)| !moved.contains(path)).count() + moved.len()
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
        if let Some((from, to)) = &self.folder {
            let (old, new) = (root.join(from), root.join(to));
            let is_other = new.exists() && !from.eq_ignore_ascii_case(to);
            if is_other {
                bail!("nothing is changed: there is `{to}` already");
            }
            move_folder(&old, &new).with_context(|| format!("nothing is changed: `{from}`"))?;
            undo.push(Box::new(move || drop(move_folder(&new, &old))));
        }
        for (from, before, to, after) in &self.moved {
            let (old, new) = (root.join(&**from), root.join(&**to));
            create(&new, after.as_bytes()).with_context(|| format!("nothing is changed: `{to}`"))?;
            let made = new.clone();
            undo.push(Box::new(move || drop(fs::remove_file(&made))));
            // A version that somebody saved meanwhile is kept.
            if fs::read(&old).ok().as_deref() != Some(before.as_bytes()) {
                bail!("nothing is changed: `{from}` was changed meanwhile");
            }
            fs::remove_file(&old).with_context(|| format!("nothing is changed: `{from}`"))?;
            undo.push(Box::new(move || drop(create(&old, before.as_bytes()))));
        }
        Ok(())
    }
}

/// Moves a folder. Where only the case of its name changes, in two steps: some disks take both names for one.
fn move_folder(old: &std::path::Path, new: &std::path::Path) -> std::io::Result<()> {
    let is_case = old != new && old.to_string_lossy().eq_ignore_ascii_case(&new.to_string_lossy());
    if !is_case {
        return fs::rename(old, new);
    }
    let between = old.with_file_name(format!(".{}.moving", new.file_name().unwrap_or_default().to_string_lossy()));
    fs::rename(old, &between)?;
    fs::rename(&between, new).inspect_err(|_| drop(fs::rename(&between, old)))
}
