//! The commands of a graph: the nodes in `commands/` whose frontmatter names them (orchestrator 2.1).

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde::Deserialize;
use trellis_core::Document;

use crate::texts::Language;

/// The people who may use a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// Everybody who is heard.
    #[default]
    Anyone,
    /// Those who may approve calls.
    Approver,
}

/// A command of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCommand {
    /// Its name.
    pub name: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its arguments, for people.
    pub args: String,
    /// Its description, by language.
    pub help: BTreeMap<String, String>,
    /// The people who may use it.
    pub who: Who,
}

/// The commands of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandTable(Vec<KnownCommand>);

/// The commands of a graph as it is now, also after an edit. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LiveCommands(Arc<RwLock<CommandTable>>);

impl LiveCommands {
    /// The commands now.
    pub fn now(&self) -> CommandTable {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the commands of an edited graph.
    pub fn learn(&self, commands: CommandTable) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = commands;
    }
}

#[derive(Deserialize)]
struct Frontmatter {
    #[serde(rename = "x-aliases", default)]
    aliases: Vec<String>,
    #[serde(rename = "x-args", default)]
    args: String,
    #[serde(rename = "x-help")]
    help: BTreeMap<String, String>,
    #[serde(rename = "x-who", default)]
    who: Who,
}

impl CommandTable {
    /// The commands among the files of a graph, by name.
    pub fn of(documents: &[Arc<Document>]) -> Self {
        let mut commands: Vec<KnownCommand> = documents.iter().filter_map(|document| of_file(document)).collect();
        commands.sort_by(|one, other| one.name.cmp(&other.name));
        Self(commands)
    }

    /// The command of a name or an alias.
    pub fn find(&self, name: &str) -> Option<&KnownCommand> {
        self.0.iter().find(|command| command.name == name || command.aliases.iter().any(|alias| alias == name))
    }

    /// The names of a command: its own, and its aliases.
    pub fn names(&self, name: &str) -> Vec<String> {
        self.find(name).map(|command| std::iter::once(&command.name).chain(&command.aliases).cloned().collect()).unwrap_or_default()
    }

    /// All of them, for people: a line each.
    pub fn list(&self, language: Language) -> String {
        let lines: Vec<String> = self.0.iter().map(|command| command.line(language)).collect();
        format!("{}\n{}", language.text("help_head"), lines.join("\n"))
    }
}

impl KnownCommand {
    /// The command in one line, for people.
    pub fn line(&self, language: Language) -> String {
        let names: Vec<String> = self.aliases.iter().map(|alias| format!("`/{alias}`")).collect();
        let aliases = if names.is_empty() { String::new() } else { language.fill("help_aliases", &[("aliases", &names.join(", "))]) };
        let args = if self.args.is_empty() { String::new() } else { format!("`{}`", self.args) };
        let help = self.help.get(language.as_str()).or_else(|| self.help.values().next()).map_or("", String::as_str);
        let line = language.fill("help_line", &[("name", &self.name), ("args", &args), ("help", help), ("aliases", &aliases)]);
        line.replace("  ", " ")
    }
}

fn of_file(document: &Document) -> Option<KnownCommand> {
    let name = document.path.strip_prefix("commands/")?.strip_suffix(".md")?;
    let yaml = document.text.strip_prefix("---\n")?.split("\n---").next()?;
    let Frontmatter { aliases, args, help, who } = serde_yaml::from_str(yaml).ok()?;
    Some(KnownCommand { name: name.to_owned(), aliases, args, help, who })
}
