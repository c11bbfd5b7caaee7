//! Folders that builtins read: files there are texts or skills, and nodes too unless a name on the way begins with `_` (language 1.2, 9.8).

use crate::graphs::GraphSyntax;
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    span::Span,
};
use trellis_engine::program::Program;
use trellis_syntax::project::BindingSyntax;

/// A folder in which a builtin reads files that are nodes as well.
pub(crate) struct ReadFolder {
    /// The name of the binding.
    reader: String,
    /// Its path in the program, with a slash at the end.
    path: String,
    /// The folder as its author wrote it, and where.
    written: String,
    file: FilePath,
    span: Span,
    /// The ending of the names that are read; `None` for all.
    ending: Option<String>,
    /// True if files in folders below are not read.
    is_flat: bool,
}

impl ReadFolder {
    /// Returns the folder that a binding names; `None` if it names none, or one that holds no nodes or is the whole graph.
    fn of(root: &str, file: &FilePath, binding: &BindingSyntax) -> Option<Self> {
        let builtin = binding.config.get("builtin")?.as_str()?;
        let is_flat = builtin.starts_with("skills.");
        if !is_flat && !builtin.starts_with("documents.") {
            return None;
        }
        let written = binding.config.get("folder")?.as_str()?;
        let files = binding.config.get("files").and_then(|files| files.as_str());
        let ending = files.and_then(|files| files.rsplit_once('.')).map(|(_, ending)| ending);
        Some(Self {
            reader: binding.tool.name.as_ref()?.value.to_string(),
            path: inside(root, written)?,
            written: written.to_owned(),
            file: file.clone(),
            span: binding.config.span("folder")?,
            ending: ending.filter(|ending| ending.chars().all(char::is_alphanumeric)).map(str::to_owned),
            is_flat,
        })
    }

    /// Returns whether a file is read.
    fn holds(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(&*self.path) else { return false };
        let is_named = self.ending.as_ref().is_none_or(|ending| rest.rsplit_once('.').is_some_and(|(_, own)| own == ending));
        is_named && !(self.is_flat && rest.contains('/'))
    }

    fn hint(&self) -> String {
        format!("`{}` reads the folder `{}`: let its name begin with `_`, and its files are no nodes", self.reader, self.written)
    }
}

/// The path of a folder that a project file at `root` names; `None` outside of the program, for the graph itself, and where no nodes are.
fn inside(root: &str, folder: &str) -> Option<String> {
    if folder.starts_with('/') {
        return None;
    }
    let mut names: Vec<&str> = root.split('/').filter(|name| !name.is_empty()).collect();
    for name in folder.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    let path = names.join("/");
    let is_hidden = names.iter().any(|name| name.starts_with(['_', '.']));
    (path != root && !path.is_empty() && !is_hidden).then(|| format!("{path}/"))
}

/// The folders that bindings of these graphs name.
pub(crate) fn read_folders(graphs: &[GraphSyntax<'_>]) -> Vec<ReadFolder> {
    let bindings = graphs.iter().flat_map(|graph| {
        let projects = graph.projects.iter();
        projects.flat_map(move |(_, path, project)| project.bindings.iter().map(move |binding| (&graph.root, *path, binding)))
    });
    bindings.filter_map(|(root, path, binding)| ReadFolder::of(root, path, binding)).collect()
}

/// Adds to findings in such folders how their files are kept from being nodes.
pub(crate) fn hint_at_folders(folders: &[ReadFolder], found: &mut [Diagnostic]) {
    if folders.is_empty() {
        return;
    }
    for finding in found {
        let Some(place) = &finding.place else { continue };
        let Some(folder) = folders.iter().find(|folder| folder.holds(&place.path)) else { continue };
        // That its keys are unknown and nothing leads to it follows from that; a change that can be made stays.
        let follows = matches!(finding.code, Code::UnreachableNode | Code::UnknownKey | Code::MisplacedKey) && finding.fix.is_none();
        let own = finding.help.take().filter(|_| !follows);
        finding.help = Some(own.map_or_else(|| folder.hint(), |own| format!("{own}; {}", folder.hint())));
    }
}

/// Returns findings about folders that a builtin reads and that hold nodes of the program (language 9.8).
pub fn read_nodes(program: &Program) -> Vec<Diagnostic> {
    let bindings = program.graphs().iter().flat_map(|graph| graph.bindings.values().map(move |binding| (&graph.root, binding)));
    let folders = bindings.filter_map(|(root, binding)| ReadFolder::of(root, &binding.config.path, binding));
    let found = folders.filter_map(|folder| {
        let mut nodes = program.nodes().iter().filter(|node| folder.holds(program.path_of(node)));
        let (first, others) = (program.path_of(nodes.next()?), nodes.count());
        let others = match others {
            0 => String::new(),
            1 => ", and so is one more".to_owned(),
            others => format!(", and so are {others} more"),
        };
        let message = format!("`{}` reads `{first}`, which is a node as well{others}", folder.reader);
        Some(Diagnostic::new(Code::UnboundTool, &folder.file, folder.span, message).help(folder.hint()))
    });
    found.collect()
}
