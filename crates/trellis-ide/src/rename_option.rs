//! Renames of the values of options: where the node names them, and where conditions and templates compare what was chosen.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    GraphChange, NodeEntry, Occurrence, OccurrenceKind, OptionRename, RenameRefusal, Symbol, SymbolIndex,
    collect::{literals, place_of},
    rename::{edit, refused},
};
use trellis_base::{
    diagnostic::{FilePath, TextEdit, did_you_mean},
    id::NodeId,
    path::KeyPath,
    span::{Span, Spanned},
    template::Shape,
    value::Value,
};
use trellis_syntax::{
    condition::{Condition, Test},
    document::{Content, Document},
    node::{AssignSyntax, NodeSyntax},
};

impl SymbolIndex {
    /// Gives an option of a node another value: at the node, with its words in other locales and its default, and in every condition and
    /// template that compares the key that holds what was chosen.
    ///
    /// # Errors
    /// The node has no such option or has one of the new value, another place gives the same key the same value, or some place cannot be
    /// rewritten exactly.
    pub fn rename_option(&self, id: &NodeId, old: &str, new: &str) -> Result<GraphChange, RenameRefusal> {
        let Some((entry, node)) = self.node(id).and_then(|entry| Some((entry.clone(), self.document(&entry.path)?.node(entry.ordinal)?)))
        else {
            return refused(self.no_node(id));
        };
        let has = |value: &str| node.options().any(|option| option.value.value.as_str() == Some(value));
        if !has(old) {
            let near = did_you_mean(old, node.options().filter_map(|option| option.value.value.as_str()));
            let near = near.map_or_else(String::new, |question| format!(", {question}"));
            return refused(format!("`{id}` has no option `{old}` that is a text{near}"));
        }
        if has(new) {
            return refused(format!("`{id}` has an option `{new}` already"));
        }
        if new.trim().is_empty() || new.trim() != new || new.contains(char::is_control) || new.contains("{{") || new.contains("{%") {
            return refused("the value of an option is a text on one line, without blanks around it");
        }
        let key = saved_by(node, old);
        let mut renaming = Renaming { index: self, entry: &entry, key: key.as_ref(), old, new, change: GraphChange::default() };
        renaming.of_node(node)?;
        for document in self.read_documents() {
            renaming.of_document(document)?;
        }
        let mut change = renaming.change;
        let held_by = self.held_by(key.as_ref(), entry.graph);
        change.option = Some(OptionRename { node: id.clone(), old: old.into(), new: new.into(), held_by });
        if let Some(key) = &key {
            change.notes.push(format!("stored sessions that chose `{old}` still hold it in `{key}`"));
        }
        change.edits.sort();
        change.edits.dedup();
        Ok(change)
    }

    /// The literals in conditions and templates that a rename of an option would rewrite; what it would refuse is none.
    pub(super) fn compared_option(&self, id: &NodeId, value: &str) -> Vec<Occurrence> {
        let found = self.node(id).and_then(|entry| Some((entry.clone(), self.document(&entry.path)?.node(entry.ordinal)?)));
        let Some((entry, node)) = found else { return Vec::new() };
        let key = saved_by(node, value);
        let mut renaming = Renaming { index: self, entry: &entry, key: key.as_ref(), old: value, new: "", change: GraphChange::default() };
        for document in self.read_documents().filter(|document| self.graph_of(&document.path) == entry.graph) {
            let nodes = match &document.content {
                Content::Node(node) => std::slice::from_ref(&**node),
                Content::Nodes(nodes, _) => &nodes[..],
                Content::Project(_) | Content::Library(_) | Content::Broken => &[],
            };
            for (ordinal, node) in (0..).zip(nodes) {
                let is_own = renaming.is_own(document, ordinal);
                conditions(node).for_each(|condition| drop(renaming.condition(document, condition, is_own)));
            }
            drop(renaming.in_templates(document));
        }
        let occurrence = |edit: TextEdit| Occurrence {
            symbol: Symbol::Option(id.clone(), value.into()),
            path: edit.place.path,
            span: edit.place.span,
            whole: edit.place.span,
            kind: OccurrenceKind::Refers,
            is_exact: true,
        };
        renaming.change.edits.into_iter().map(occurrence).collect()
    }

    /// The nodes of a graph that have an option of this value; of all graphs without one.
    pub fn nodes_with_option(&self, value: &str) -> Vec<NodeId> {
        let has = |entry: &NodeEntry| {
            let node = self.document(&entry.path).and_then(|document| document.node(entry.ordinal));
            node.is_some_and(|node| node.options().any(|option| option.value.value.as_str() == Some(value)))
        };
        self.nodes().into_iter().filter(has).map(|entry| entry.id).collect()
    }

    /// The key, and the arguments that are nothing but it.
    fn held_by(&self, key: Option<&KeyPath>, graph: u32) -> Vec<Arc<str>> {
        let Some(key) = key else { return Vec::new() };
        let last = key.to_string().rsplit('.').next().map(Arc::from);
        let mut names: BTreeSet<Arc<str>> = last.into_iter().collect();
        for document in self.read_documents().filter(|document| self.graph_of(&document.path) == graph) {
            let text = &*document.text;
            let holes = text.match_indices("{{").filter_map(|(at, _)| {
                let inside = text[at + 2..].split("}}").next()?.trim().trim_start_matches('.');
                let before = text[..at].trim_end_matches(['"', '\'', ' ']).strip_suffix(':')?;
                let name = before.rsplit([' ', '\n', '{', ',']).next()?.trim_matches(['"', '\'']);
                (inside == key.to_string() && !name.is_empty()).then(|| Arc::from(name))
            });
            names.extend(holes);
        }
        names.into_iter().collect()
    }
}

/// The conditions of a node.
fn conditions(node: &NodeSyntax) -> impl Iterator<Item = &Spanned<Condition>> {
    let transitions = node.transitions.iter().filter_map(|transition| transition.condition.as_ref());
    let parts = node.speech_parts().filter_map(|part| part.condition.as_ref());
    transitions.chain(node.asserts.iter()).chain(parts)
}

/// The path that holds what was chosen.
fn saved_by(node: &NodeSyntax, value: &str) -> Option<KeyPath> {
    let chosen = node.options().find(|option| option.value.value.as_str() == Some(value));
    let own = chosen.and_then(|option| option.writes.as_ref()?.save_to.as_ref());
    own.or(node.save_to.as_ref()).map(|path| path.value.clone())
}

/// A rename on its way.
struct Renaming<'i> {
    index: &'i SymbolIndex,
    entry: &'i NodeEntry,
    key: Option<&'i KeyPath>,
    old: &'i str,
    new: &'i str,
    change: GraphChange,
}

impl Renaming<'_> {
    fn is_own(&self, document: &Document, ordinal: u32) -> bool {
        document.path == self.entry.path && ordinal == self.entry.ordinal
    }

    /// The value at the node: of the option, of its words in other locales, of the default.
    fn of_node(&mut self, node: &NodeSyntax) -> Result<(), RenameRefusal> {
        let options = node.options().filter(|option| option.value.value.as_str() == Some(self.old)).map(|option| option.value.span);
        let localised = node.messages.iter().flat_map(|message| &message.options);
        let localised = localised.filter(|(value, _)| *value.value == *self.old).map(|(value, _)| value.span);
        let default = node.input_default.iter().filter(|value| value.value.as_str() == Some(self.old)).map(|value| value.span);
        for span in options.chain(localised).chain(default).collect::<Vec<_>>() {
            let path = self.entry.path.clone();
            self.scalar(&path, span)?;
        }
        if let Some(schema) = &node.input_schema
            && names(&schema.value, self.old)
        {
            return refused(format!("`input_schema` of `{}` names `{}`: change it by hand first", self.entry.id, self.old));
        }
        Ok(())
    }

    /// Replaces a scalar, in the quotes that it has or needs. Its span may be that of the text between them.
    fn scalar(&mut self, path: &FilePath, span: Span) -> Result<(), RenameRefusal> {
        let text = self.index.document(path).map_or("", |document| &*document.text);
        let is_quote = |char: &char| matches!(char, '"' | '\'');
        let before = text.get(..span.start as usize).and_then(|text| text.chars().next_back()).filter(is_quote);
        let is_between = before.is_some() && text.get(span.end as usize..).and_then(|text| text.chars().next()) == before;
        let span = if is_between { Span::new(span.start as usize - 1, span.end as usize + 1) } else { span };
        let written = text.get(span.range()).unwrap_or_default();
        let bare = written.trim_matches(['"', '\'']);
        if bare != self.old {
            return refused(format!("`{}` stands in `{path}` as {written}, which cannot be rewritten exactly", self.old));
        }
        let quote = written.chars().next().filter(is_quote);
        let new = match quote {
            Some(quote) if !self.new.contains([quote, '\\']) => format!("{quote}{}{quote}", self.new),
            None if is_plain(self.new) => self.new.to_owned(),
            _ => Value::from(self.new).to_json(),
        };
        self.change.edits.push(edit(path, span, &new));
        Ok(())
    }

    fn of_document(&mut self, document: &Document) -> Result<(), RenameRefusal> {
        if self.index.graph_of(&document.path) != self.entry.graph {
            return Ok(());
        }
        match &document.content {
            Content::Node(node) => self.compared_by(document, 0, node)?,
            Content::Nodes(nodes, project) => {
                for (ordinal, node) in (0..).zip(nodes) {
                    self.compared_by(document, ordinal, node)?;
                }
                self.typed(document, project.context.iter().map(|(key, schema)| (&*key.value, &schema.value)))?;
            }
            Content::Project(project) => {
                self.typed(document, project.context.iter().map(|(key, schema)| (&*key.value, &schema.value)))?;
                let inputs = project.inputs.as_ref().and_then(|inputs| inputs.value.get("properties")?.as_map());
                self.typed(document, inputs.into_iter().flat_map(|all| all.iter().map(|(key, schema)| (&**key, schema))))?;
            }
            Content::Library(_) | Content::Broken => {}
        }
        self.in_templates(document)
    }

    /// Refuses a schema of the key that names the value.
    fn typed<'v>(&self, document: &Document, mut schemas: impl Iterator<Item = (&'v str, &'v Value)>) -> Result<(), RenameRefusal> {
        let is_typed = |(key, schema): (&str, &Value)| self.key.is_some_and(|path| **path.root() == *key) && names(schema, self.old);
        match schemas.any(is_typed) {
            true => refused(format!("a schema in `{}` names `{}`: change it by hand first", document.path, self.old)),
            false => Ok(()),
        }
    }

    /// Rewrites the conditions of a node that compare what was chosen, and refuses other sources of the same value.
    fn compared_by(&mut self, document: &Document, ordinal: u32, node: &NodeSyntax) -> Result<(), RenameRefusal> {
        let is_own = self.is_own(document, ordinal);
        for condition in conditions(node) {
            self.condition(document, condition, is_own)?;
        }
        self.typed(document, node.context_schema.iter().map(|(key, schema)| (&*key.value, &schema.value)))?;
        let Some(key) = self.key else { return Ok(()) };
        let again = node.options().any(|option| option.value.value.as_str() == Some(self.old));
        if !is_own && again && saved_by(node, self.old).as_ref() == Some(key) {
            return refused(format!("a node in `{}` has an option `{}` for `{key}` too: rename both by hand", document.path, self.old));
        }
        let writes = node.option_writes().flat_map(|writes| writes.set.iter().chain(&writes.append));
        let gives = |assign: &AssignSyntax| {
            assign.key.value == *key && matches!(&assign.value.value, Shape::Literal(value) if names(value, self.old))
        };
        match node.set.iter().chain(node.append.iter()).chain(node.default_context.iter()).chain(writes).any(gives) {
            true => refused(format!("`{}` gives `{key}` the value `{}` too: rename both by hand", document.path, self.old)),
            false => Ok(()),
        }
    }

    fn condition(&mut self, document: &Document, condition: &Spanned<Condition>, is_own: bool) -> Result<(), RenameRefusal> {
        let Condition { subject, test, .. } = &condition.value;
        let is_compared = matches!(test, Test::Is(_) | Test::In(_)) && literals(test).any(|literal| literal == self.old);
        let subject_text = subject.to_string();
        let is_answer = matches!(&*subject_text, "input" | "sys.ans");
        if !is_compared || (self.key != Some(subject) && !is_answer) {
            return Ok(());
        }
        if is_answer && !is_own {
            return match &*subject_text {
                // It may be the answer of another node.
                "sys.ans" => refused(format!("`{}` compares `sys.ans` with `{}`: compare a key instead", document.path, self.old)),
                _ => Ok(()),
            };
        }
        let Some(span) = place_of(&document.text, condition.span, self.old).filter(|_| !self.new.contains(['"', '\'', '\\'])) else {
            return refused(format!("a condition in `{}` compares with `{}`, and cannot be rewritten exactly", document.path, self.old));
        };
        self.change.edits.push(edit(&document.path, span, self.new));
        Ok(())
    }

    /// Rewrites the tags of templates that compare the key.
    fn in_templates(&mut self, document: &Document) -> Result<(), RenameRefusal> {
        let Some(key) = self.key.map(ToString::to_string) else { return Ok(()) };
        let text = &*document.text;
        let mut at = 0;
        while let Some(open) = text[at..].find("{{").into_iter().chain(text[at..].find("{%")).min().map(|open| at + open) {
            let closing = if text[open..].starts_with("{{") { "}}" } else { "%}" };
            let end = text[open..].find(closing).map_or(text.len(), |close| open + close);
            at = (end + 2).min(text.len());
            let tag = &text[open..end];
            let has_key = tag
                .match_indices(&*key)
                .any(|(found, _)| !is_part(tag[..found].chars().next_back()) && !is_part(tag[found + key.len()..].chars().next()));
            let has_value = tag
                .match_indices(self.old)
                .any(|(found, _)| !is_part(tag[..found].chars().next_back()) && !is_part(tag[found + self.old.len()..].chars().next()));
            if !has_key || !has_value || *key == *self.old {
                continue;
            }
            let quoted = ['"', '\''].into_iter().find_map(|quote| tag.find(&format!("{quote}{}{quote}", self.old)));
            let is_compared = ["==", "!=", " in ", "eq "].iter().any(|word| tag.contains(word));
            let Some(found) = quoted.filter(|_| is_compared && !self.new.contains(['"', '\'', '\\'])) else {
                return refused(format!("a template in `{}` names `{}` beside `{key}`: change it by hand first", document.path, self.old));
            };
            let start = open + found + 1;
            self.change.edits.push(edit(&document.path, Span::new(start, start + self.old.len()), self.new));
        }
        Ok(())
    }
}

fn is_part(char: Option<char>) -> bool {
    char.is_some_and(|char| char.is_alphanumeric() || char == '_')
}

/// Returns whether a value is or holds a text.
fn names(value: &Value, text: &str) -> bool {
    match value {
        Value::Text(own) => **own == *text,
        Value::List(items) => items.iter().any(|item| names(item, text)),
        Value::Map(map) => map.iter().any(|(_, value)| names(value, text)),
        _ => false,
    }
}

/// Returns true for a text that YAML reads as itself, also in a list in brackets.
fn is_plain(text: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_safe = text.chars().all(|char| char.is_alphanumeric() || matches!(char, ' ' | '_' | '-'));
    is_safe && text.starts_with(char::is_alphabetic) && !words.contains(&text.to_ascii_lowercase().as_str())
}
