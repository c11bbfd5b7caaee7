//! Renames of tools: where they are defined, called, offered and compared, and where rules of a policy name them.

use super::{
    GraphChange, RenameRefusal, Symbol, SymbolIndex,
    rename::{edit, missing, not_exact, refused},
};
use trellis_base::{
    diagnostic::{FilePath, TextEdit},
    span::Span,
    value::Value,
};
use trellis_syntax::{
    document::{Content, Document},
    project::{HostConfig, PredicateAnswer},
};

/// The names that calls have which call no tool (language 5): conditions compare `sys.error.tool` with them, too.
const CALLS: [&str; 3] = ["graph", "parallel", "each"];

impl SymbolIndex {
    /// Renames a tool of the graphs: its binding and definitions, calls, offers, literals that `sys.error.tool` is compared with, and the rules
    /// of policies that name it.
    ///
    /// # Errors
    /// There is no such tool, the name is taken or none that a tool can have, or some place cannot be rewritten exactly.
    pub fn rename_tool(&self, old: &str, new: &str) -> Result<GraphChange, RenameRefusal> {
        let occurrences = self.occurrences(&Symbol::Tool(old.into()));
        if occurrences.is_empty() {
            let symbols = self.symbols();
            let tools = symbols.iter().filter_map(|symbol| if let Symbol::Tool(name) = symbol { Some(&**name) } else { None });
            return refused(missing("tool", old, tools));
        }
        if let Some(word) = CALLS.into_iter().find(|word| [old, new].contains(word)) {
            return refused(format!("`{word}` is the name of calls that call no tool: conditions could not tell them from the tool"));
        }
        let is_plain = new.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.'));
        if !is_plain || !new.starts_with(|char: char| char.is_alphabetic()) || is_word(new) {
            return refused(format!("`{new}` is no name of a tool: a letter, then letters, digits, `_`, `-` and `.`, and no word of YAML"));
        }
        if !self.occurrences(&Symbol::Tool(new.into())).is_empty() {
            return refused(format!("there is a tool `{new}` already"));
        }
        let mut change = GraphChange { tool: Some((old.into(), new.into())), ..GraphChange::default() };
        for occurrence in &occurrences {
            let text = self.document(&occurrence.path).and_then(|document| document.text.get(occurrence.span.range()));
            let at = text.filter(|_| occurrence.is_exact).and_then(|text| name_in(text, old));
            let Some(at) = at else { return refused(not_exact(occurrence)) };
            let start = occurrence.span.start as usize + at;
            change.edits.push(edit(&occurrence.path, Span::new(start, start + old.len()), new));
        }
        for document in &self.documents {
            rules(document, old, new, &mut change);
            schemas(document, old, new, &mut change)?;
        }
        change.edits.sort();
        change.edits.dedup();
        change.notes.push(format!("functions of hosts, recordings and scripted models may know `{old}`: rename it there too"));
        change.notes.push(format!("stored sessions that wait for a call of `{old}` ask whether it is kept or made again"));
        Ok(change)
    }
}

/// Returns the offset of a name in a scalar, if the scalar is the name, in quotes or not.
fn name_in(scalar: &str, name: &str) -> Option<usize> {
    let bare = scalar.trim().trim_matches(['"', '\'']);
    (bare == name).then(|| scalar.find(name)).flatten()
}

/// A word that YAML reads as something else than a text.
fn is_word(name: &str) -> bool {
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&name.to_ascii_lowercase().as_str())
}

/// Changes the rules of policies that name a tool, and notes those that meet it by a pattern.
fn rules(document: &Document, old: &str, new: &str, change: &mut GraphChange) {
    let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return };
    let bindings = project.bindings.iter().map(|binding| &binding.config);
    for config in std::iter::once(&project.host).chain(bindings) {
        for (path, span) in config.spans.iter().filter(|(path, _)| is_rule(path)) {
            let Some(Value::Text(pattern)) = value(config, path) else { continue };
            if *pattern == *old {
                change.edits.extend(rule(&document.path, &document.text, *span, old, new));
            } else if meets(&pattern, old) != meets(&pattern, new) {
                change.notes.push(format!("the rule `{pattern}` of the policy in `{}` meets one of both names only", document.path));
            }
        }
    }
}

/// Changes the schemas of predicates that name a tool, such as one of the calls that a model may ask for.
fn schemas(document: &Document, old: &str, new: &str, change: &mut GraphChange) -> Result<(), RenameRefusal> {
    let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return Ok(()) };
    for predicate in &project.predicates {
        let PredicateAnswer::Schema(schema) = &predicate.answer else { continue };
        let text = document.text.get(schema.span.range()).unwrap_or_default();
        let places = whole_words(text, old);
        if places.len() != count(&schema.value, old) {
            return refused(format!("a schema in `{}` names `{old}` in a way that cannot be rewritten exactly", document.path));
        }
        let start = schema.span.start as usize;
        change.edits.extend(places.iter().map(|at| edit(&document.path, Span::new(start + at, start + at + old.len()), new)));
    }
    Ok(())
}

/// The number of texts in a value that are the name.
fn count(value: &Value, name: &str) -> usize {
    match value {
        Value::Text(text) => usize::from(**text == *name),
        Value::List(items) => items.iter().map(|item| count(item, name)).sum(),
        Value::Map(map) => map.iter().map(|(_, value)| count(value, name)).sum(),
        _ => 0,
    }
}

/// Returns the offsets of a name in a text, as a whole word.
fn whole_words(text: &str, name: &str) -> Vec<usize> {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '/' | '*');
    let is_whole = |at: &usize| !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part);
    text.match_indices(name).map(|(at, _)| at).filter(is_whole).collect()
}

/// Returns whether a path of a configuration leads to the name of a tool in a rule: `policy.0.ask.1`, `policy.0.block.1.tool`, `policy.2.tool`.
fn is_rule(path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    match parts[..] {
        ["policy" | "chain", _, "tool"] => true,
        ["policy" | "chain", _, kind, _] | ["policy" | "chain", _, kind, _, "tool"] => matches!(kind, "ask" | "allow" | "block"),
        _ => false,
    }
}

fn value(config: &HostConfig, path: &str) -> Option<Value> {
    let mut parts = path.split('.');
    let first = config.get(parts.next()?)?;
    let found = parts.try_fold(first, |value, part| match value {
        Value::List(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    });
    found.cloned()
}

fn rule(path: &FilePath, text: &str, span: Span, old: &str, new: &str) -> Option<TextEdit> {
    let start = span.start as usize + name_in(text.get(span.range())?, old)?;
    Some(edit(path, Span::new(start, start + old.len()), new))
}

/// Returns whether a pattern, in which `*` stands for any characters, matches a name.
fn meets(pattern: &str, name: &str) -> bool {
    let Some((lead, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(lead) else { return false };
    let mut ends = (0..=name.len()).filter(|at| name.is_char_boundary(*at));
    ends.any(|at| meets(rest, &name[at..]))
}
