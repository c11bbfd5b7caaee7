//! `trellis new node ID`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use gray_matter::{Matter, ParsedEntity, Pod, engine::Engine};
use serde_yaml::{Mapping, Value};
use trellis_core::{
    Document, NodeId,
    syntax::{document::Content, format},
};
use trellis_project::Project;

use super::{folder, templates::NODES, yaml_text};
use crate::{
    Exit,
    open::{self, DEFAULT_PATH},
    report::printable,
    terminal,
};

/// Creates a node
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis new node help                         a node with a text
  trellis new node name --type question --to hello
  trellis new node orders/find --type tool --graph graphs/shop
  trellis new node --list                       list the types

Exit codes: 0 created; 2 the node exists, or its file cannot be written.")]
pub(super) struct Node {
    /// The id of the node: its path in the graph, without extension
    #[arg(required_unless_present = "list")]
    id: Option<String>,
    /// The type of the node
    #[arg(long = "type", value_name = "TYPE", default_value = NODES[0].0, value_parser = types())]
    kind: String,
    /// The target of the node
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    #[arg(long, value_name = "PATH", help = DEFAULT_PATH)]
    graph: Option<PathBuf>,
    /// List the types
    #[arg(long)]
    list: bool,
}

fn types() -> Vec<&'static str> {
    NODES.iter().map(|(name, ..)| *name).collect()
}

impl Node {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        if self.list {
            terminal::print(&NODES.iter().map(|(name, about, _)| format!("{name:8} {about}\n")).collect::<String>())?;
            return Ok(Exit::Fine);
        }
        let typed = self.id.unwrap_or_default();
        let id = checked(&typed)?;
        let to = self.to.as_deref().map(str::trim);
        if to.is_some_and(|to| to.is_empty() || to.contains(char::is_control)) {
            bail!("`--to` takes the name of a node");
        }
        let place = open::only(self.graph.as_deref(), "new node NAME --graph")?;
        let root = place.path.clone();
        if root.is_file() {
            bail!("`{}` is a graph in one file\nadd the node under `nodes:` there", root.display());
        }
        let project = Project::open(&root)?;
        if let Some(document) = project.documents().iter().find(|document| holds(document, &id)) {
            bail!("there is a node `{id}` already: `{}`", place.shown(&document.path));
        }
        let Some((_, _, template)) = NODES.iter().find(|(name, ..)| *name == self.kind) else { bail!("there is no type `{}`", self.kind) };
        let file = format!("{id}.md");
        if to.is_some() && !Template::of(template)?.leads_on() {
            bail!("a node of type `{}` leads nowhere\nleave `--to` out, or choose another type", self.kind);
        }
        folder::add(&root, &file, &text(template, &id, to)?).with_context(|| format!("`{}` cannot be written", place.shown(&file)))?;
        terminal::print(&format!("made {}\n{}", printable(&place.shown(&file)), reached(&id)))?;
        Ok(Exit::Fine)
    }
}

/// The id that was typed, if a node may have it.
fn checked(typed: &str) -> anyhow::Result<NodeId> {
    let id = typed.strip_suffix(".md").unwrap_or(typed).trim_start_matches("./");
    let refuse = |why: &str| bail!("`{}` cannot be the id of a node: {why}", printable(typed));
    let last = id.rsplit('/').next().unwrap_or_default();
    if id.split('/').any(str::is_empty) {
        return refuse("it is names joined by `/`");
    }
    if id.contains(|char: char| char.is_control() || char == '\\') {
        return refuse("it holds a character that names of nodes do not have");
    }
    if id.split('/').any(|part| part.starts_with(['.', '_'])) {
        return refuse("files and folders that begin with `.` or `_` are no nodes");
    }
    if id.split('/').any(|part| part.trim() != part) {
        return refuse("a name neither begins nor ends with a blank");
    }
    if NodeId::RESERVED.contains(&last) {
        return refuse(&format!("`{last}` is a target of its own\n`trellis explain reserved-name` says more"));
    }
    Ok(NodeId::new(id))
}

/// Returns whether a document is, or holds, the node `id`.
fn holds(document: &Document, id: &NodeId) -> bool {
    let stem = document.path.rsplit_once('.').map_or(&*document.path, |(stem, _)| stem);
    match &document.content {
        Content::Node(node) => node.id.as_ref().map_or(stem, |id| id.value.as_str()) == id.as_str(),
        Content::Nodes(nodes, _) => nodes.iter().any(|node| node.id.as_ref().is_some_and(|other| other.value == *id)),
        Content::Broken => stem == id.as_str(),
        Content::Library(_) | Content::Project(_) => false,
    }
}

/// The text of a new node: the frontmatter of its template filled in, and the template's body.
fn text(template: &str, id: &NodeId, to: Option<&str>) -> anyhow::Result<String> {
    let mut key: String =
        id.name().chars().map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '_' }).collect();
    if !key.starts_with(|first: char| first.is_ascii_alphabetic()) || matches!(&*key, "input" | "tool_result" | "sys") {
        key.insert_str(0, "the_");
    }
    let Template { mut keys, body } = Template::of(template)?;
    if to.is_none() {
        keys.remove("to");
    }
    let words = [("KEY", key.as_str()), ("NODE", id.as_str()), ("TO", to.unwrap_or_default())];
    keys.values_mut().for_each(|value| fill(value, &words));
    let matter = if keys.is_empty() { String::new() } else { serde_yaml::to_string(&keys)? };
    let text = format!("---\n{matter}---\n{body}\n");
    debug_assert!(matches!(format::format(&trellis_core::Source::text("new.md", &text)), format::Formatted::Same), "{text}");
    Ok(text)
}

/// A template of a node.
struct Template {
    keys: Mapping,
    body: String,
}

impl Template {
    fn of(template: &str) -> anyhow::Result<Self> {
        let split: ParsedEntity = Matter::<Untouched>::new().parse(template)?;
        Ok(Self { keys: serde_yaml::from_str(&split.matter)?, body: split.content })
    }

    fn leads_on(&self) -> bool {
        self.keys.contains_key("to")
    }
}

/// Leaves the frontmatter to serde_yaml, which keeps the order of its keys.
struct Untouched;

impl Engine for Untouched {
    fn parse(_: &str) -> gray_matter::Result<Pod> {
        Ok(Pod::Null)
    }
}

/// Replaces placeholders at any depth.
fn fill(value: &mut Value, words: &[(&str, &str)]) {
    match value {
        Value::String(text) => {
            if let Some((_, word)) = words.iter().find(|(name, _)| name == text) {
                (*word).clone_into(text);
            }
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| fill(item, words)),
        Value::Mapping(entries) => entries.values_mut().for_each(|value| fill(value, words)),
        _ => {}
    }
}

/// Describes how other nodes lead to it.
fn reached(id: &NodeId) -> String {
    match (id.is_start(), id.folder()) {
        (true, "") => "a session begins there\n".to_owned(),
        (true, folder) => format!("lead to it with `to: {}`\n", yaml_text(folder)),
        (false, "") => format!("lead to it with `to: {}`\n", yaml_text(id.as_str())),
        (false, folder) => {
            format!("lead to it with `to: {}`, from inside `{folder}` with `to: {}`\n", yaml_text(id.as_str()), yaml_text(id.name()))
        }
    }
}
