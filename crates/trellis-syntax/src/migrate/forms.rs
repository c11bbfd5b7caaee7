//! Keys of Go Trellis that are named or written otherwise here: found by the tables of keys that the decoder reads by.

use std::{ops::Range, ptr};

use super::{
    super::{
        decode::{CALL, Form, Inside, NODE, ON_INVALID, OPTION, PROJECT, SPEECH, TRANSITION},
        document::{Content, Document},
        format::{
            form_of,
            layout::{self, Block, BlockData, BlockEntry},
            yaml_of,
        },
        frontmatter::is_markdown,
        frontmatter::{self, Split},
    },
    Change, Commands, GraphNames, Migrated, applied, commands,
    entries::{self, inner, is_blank, scalar},
    transitions, without_extension,
};
use trellis_base::{diagnostic::Report, span::Span};

/// Keys whose values name nodes.
const TARGET_KEYS: [&str; 9] =
    ["to", "jump_to", "on_error", "on_denied", "on_timeout", "on_interrupt", "on_max_visits", "on_rolled_back", "on_signal_default"];

/// Rewrites the keys of one file. Programs that calls name are added to `commands`. Pure.
pub fn forms(document: &Document, names: &GraphNames, commands: &mut Commands) -> Migrated {
    let nothing = Migrated::default();
    let text = &*document.text;
    if matches!(document.content, Content::Broken) || document.is_hidden() && !matches!(document.content, Content::Library(_)) {
        return nothing;
    }
    let mut report = Report::new(&document.path);
    let Some((yaml, root)) = yaml_of(&document.path, text, &mut report) else { return nothing };
    let Some(form) = form_of(&document.path, &root).filter(|_| report.diagnostics.is_empty()) else { return nothing };
    let Some(piece) = layout::read(text, yaml) else { return nothing };
    let own = document.path.rsplit_once('.').map_or(&*document.path, |(stem, _)| stem).to_owned();
    let has_body = is_markdown(&document.path)
        && matches!(frontmatter::split(text), Split::Matter { body, .. } if !text[body.clone()].trim().is_empty());
    let mut walker = Walker { text, names, commands, own, has_body, out: Migrated::default() };
    walker.piece(&piece, Some(Inside::One(form)));
    let mut out = walker.out;
    out.changes.sort_by_key(|change| (change.at.start, change.at.end));
    out.left.sort_by_key(|left| (left.at.start, left.at.end));
    keep_readable(&document.path, text, &mut out);
    out
}

/// Drops changes after which the file could not be read, one by one where not all of them can be made.
fn keep_readable(path: &str, text: &str, out: &mut Migrated) {
    let reads = |changes: &[&Change]| {
        let Some(after) = applied(text, changes.iter().copied()) else { return false };
        let mut report = Report::new(&path.into());
        yaml_of(path, &after, &mut report);
        report.diagnostics.is_empty()
    };
    if out.changes.is_empty() || reads(&out.changes.iter().collect::<Vec<_>>()) {
        return;
    }
    let all = std::mem::take(&mut out.changes);
    let mut applied: Vec<&Change> = Vec::new();
    for change in &all {
        applied.push(change);
        if !reads(&applied) {
            applied.pop();
            out.left.push(super::LeftToDecide {
                at: change.at,
                why: "this stands in a way that cannot be edited safely".into(),
                help: change.what.clone(),
            });
        }
    }
    out.changes = applied.into_iter().cloned().collect();
}

struct Walker<'t, 'n> {
    text: &'t str,
    names: &'n GraphNames,
    commands: &'n mut Commands,
    /// The id of the node that is read.
    own: String,
    /// True if the file is Markdown with a body.
    has_body: bool,
    out: Migrated,
}

impl Walker<'_, '_> {
    fn piece(&mut self, piece: &Block<'_>, inside: Option<Inside>) {
        match (&piece.data, inside) {
            // A repetition by an alias may be under another form.
            _ if piece.anchored => {}
            (BlockData::Map { entries, .. }, Some(Inside::One(form))) => self.mapping(piece, entries, form),
            (BlockData::Map { entries, .. }, inside) => {
                let named = inside.and_then(Inside::of_named);
                for entry in entries {
                    if matches!(named, Some(Inside::One(form)) if ptr::eq(form, &NODE)) {
                        self.own = entry.name.clone().into_owned();
                    }
                    self.piece(&entry.value, named);
                }
            }
            (BlockData::List(items), inside) => {
                let of_item = inside.and_then(Inside::of_item);
                items.iter().for_each(|item| self.piece(item, of_item));
            }
            _ => {}
        }
    }

    fn mapping(&mut self, map: &Block<'_>, entries: &[BlockEntry<'_>], form: &'static Form) {
        let keys = || entries.iter().map(|entry| &*entry.name);
        let is = |other: &'static Form| ptr::eq(form, other);
        if is(&NODE) {
            if let Some(id) = entries.iter().find(|entry| entry.name == "id").and_then(|entry| scalar(&entry.value)) {
                id.clone_into(&mut self.own);
            }
            self.node(entries);
        }
        let mut gone: Vec<(usize, String)> = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let name = form.meant(&entry.name, keys());
            if let Some(why) = self.why_gone(form, name, entry) {
                gone.push((at, why));
                continue;
            }
            if is(&CALL) && self.command(entries, entry) {
                gone.push((at, "the program of a call stands under `bindings` in `trellis.yaml`".into()));
                continue;
            }
            if is(&NODE) && self.has_body && NODE.canonical(&entry.name) == Some("content") && !is_blank(&entry.value) {
                self.beside_body(entry);
                continue;
            }
            if name != entry.name && form.canonical(&entry.name).is_none() {
                let what = format!("`{}` is `{name}`", entry.name);
                self.change(entry.key.clone(), what, vec![(span(&entry.key), name.to_owned())]);
            }
            self.target(form, name, &entry.value);
            self.piece(&entry.value, form.of_value(name));
        }
        let indexes: Vec<usize> = gone.iter().map(|(at, _)| *at).collect();
        for ((at, what), edits) in gone.into_iter().zip(entries::without(self.text, map, &indexes)) {
            match edits {
                Some(edits) => self.change(entries[at].start..entries[at].end(), what, edits),
                None => self.out.left(
                    span(&(entries[at].start..entries[at].end())),
                    format!("remove this: {what}"),
                    "a comment stands in it, or it shares its lines",
                ),
            }
        }
    }

    /// Returns the reason why an entry has no meaning here, if so.
    fn why_gone(&self, form: &'static Form, name: &str, entry: &BlockEntry<'_>) -> Option<String> {
        let is = |other: &'static Form| ptr::eq(form, other);
        let value = &entry.value;
        match name {
            "condition" if (is(&TRANSITION) || is(&SPEECH)) && is_blank(value) => Some("an empty `condition` is none".into()),
            "from" | "from_node_id" if is(&TRANSITION) || is(&NODE) || is(&OPTION) => {
                let from = scalar(value)?;
                let is_own = from.trim().is_empty() || bare(from.trim()) == bare(&self.own);
                is_own.then(|| format!("a transition leaves the node that holds it: no `{name}`"))
            }
            "type" if is(&NODE) && scalar(value) == Some("sink") => {
                Some("a node without transitions ends the session: no `type: sink`".into())
            }
            "content" if is(&NODE) && self.has_body && is_blank(value) => Some("the body is what the node says".into()),
            "id" if is(&CALL) => Some("calls get their ids by themselves".into()),
            _ => None,
        }
    }

    /// Migrates the keys that depend on the node as a whole.
    fn node(&mut self, entries: &[BlockEntry<'_>]) {
        let find = |name: &str| entries.iter().find(|entry| NODE.canonical(&entry.name) == Some(name));
        let kind = find("type").and_then(|entry| scalar(&entry.value));
        let is_asked = matches!(kind, Some("question" | "prompt"));
        let listens = is_asked || ["input_type", "options", "wait"].iter().any(|name| find(name).is_some());
        if listens && let Some(transitions) = find("transitions") {
            let has_to = entries.iter().any(|entry| ["to", "jump_to", "next", "to_node_id"].contains(&&*entry.name));
            self.out.changes.extend(transitions::conditions(self.text, &transitions.value, has_to));
        }
        let confirm = find("input_type").filter(|entry| scalar(&entry.value) == Some("confirm"));
        if let Some(entry) = confirm.filter(|_| self.names.is_go && find("input_default").is_none()) {
            let at = span(&(entry.start..entry.end()));
            self.out.left(at, "Go Trellis takes an empty answer for yes, and here it is asked again", "`input_default: yes` says the same");
        }
    }

    /// Targets and ids that end with the extension of a file.
    fn target(&mut self, form: &'static Form, name: &str, value: &Block<'_>) {
        let is = |other: &'static Form| ptr::eq(form, other);
        let leads = [&NODE, &TRANSITION, &OPTION, &ON_INVALID, &PROJECT].into_iter().any(is) && TARGET_KEYS.contains(&name);
        if is(&NODE) && name == "id" {
            let free = scalar(value).and_then(without_extension).is_some_and(|stem| !self.names.is_id(stem) || stem == bare(&self.own));
            if free && !scalar(value).is_some_and(|id| self.names.is_id(id)) {
                self.strip(value, "ids have no extension");
            }
        } else if leads || is(&CALL) && name == "graph" || is(&NODE) && name == "on_signal" {
            self.strip_target(value);
        }
    }

    fn strip_target(&mut self, value: &Block<'_>) {
        if let BlockData::Map { entries, .. } = &value.data {
            return entries.iter().for_each(|entry| self.strip_target(&entry.value));
        }
        let is_lost = |name: &str| !self.names.has(name) && without_extension(name).is_some_and(|stem| self.names.has(stem));
        if scalar(value).is_some_and(is_lost) {
            self.strip(value, "targets are ids, which have no extension");
        }
    }

    /// Takes the extension off.
    fn strip(&mut self, value: &Block<'_>, what: &str) {
        let Some((name, stem)) = scalar(value).and_then(|name| Some((name, without_extension(name)?))) else { return };
        let inner = inner(self.text, &value.range);
        if self.text[inner.clone()] == *name {
            self.change(
                inner.clone(),
                format!("`{name}` is `{stem}`: {what}"),
                vec![(span(&(inner.start + stem.len()..inner.end)), String::new())],
            );
        }
    }

    /// Handles a `content` beside a body, which Go Trellis does not read.
    fn beside_body(&mut self, entry: &BlockEntry<'_>) {
        let at = entry.start..entry.end();
        match entries::commented(self.text, entry) {
            Some(edits) => self.change(at, "Go Trellis says the body and does not read this: it is a comment now".into(), edits),
            None => self.out.left(span(&at), "the node has a body too, which is what Go Trellis says", "keep one of them"),
        }
    }

    /// Binds the program of a call in `entry`, which may be metadata; returns whether it was bound and nothing else is left of the entry.
    fn command(&mut self, call: &[BlockEntry<'_>], entry: &BlockEntry<'_>) -> bool {
        let program = match &entry.value.data {
            _ if entry.name == commands::EXEC_KEY => entry,
            BlockData::Map { entries, .. } if entry.name == "metadata" => {
                match entries.iter().position(|entry| entry.name == commands::EXEC_KEY) {
                    Some(at) => {
                        let bound = self.bind(call, &entries[at]);
                        if bound && entries.len() > 1 {
                            let edits = entries::without(self.text, &entry.value, &[at]).pop().flatten();
                            let what = "the program of a call stands under `bindings` in `trellis.yaml`".to_owned();
                            edits.into_iter().for_each(|edits| self.change(entries[at].start..entries[at].end(), what.clone(), edits));
                            return false;
                        }
                        return bound;
                    }
                    None => return false,
                }
            }
            _ => return false,
        };
        self.bind(call, program)
    }

    /// Binds a program to the tool that a call names.
    fn bind(&mut self, call: &[BlockEntry<'_>], program: &BlockEntry<'_>) -> bool {
        let at = span(&(program.start..program.end()));
        let tool = call.iter().find(|entry| matches!(&*entry.name, "name" | "tool")).and_then(|entry| scalar(&entry.value)).map(str::trim);
        let Some(tool) = tool.filter(|tool| !tool.is_empty()) else {
            self.out.left(at, "`x-exec` belongs to no named tool", "give the call a `name`, and bind it in `trellis.yaml`");
            return false;
        };
        let binding = match commands::binding(&program.value) {
            Ok(binding) => binding,
            Err(why) => {
                self.out.left(at, why, format!("bind it in `trellis.yaml`: `bindings: {{ {tool}: {{ process: [command, …] }} }}`"));
                return false;
            }
        };
        let is_free = match self.commands.bound.get(tool) {
            Some(known) => *known == binding,
            None => self.commands.unknown.contains(tool),
        };
        if !is_free {
            self.out.left(
                at,
                format!("`x-exec` is not read: `{tool}` is declared elsewhere"),
                "remove it, or give this tool a name of its own",
            );
            return false;
        }
        self.commands.bound.insert(tool.to_owned(), binding);
        true
    }

    fn change(&mut self, at: Range<usize>, what: String, edits: Vec<entries::Edit>) {
        self.out.changes.push(Change { at: span(&at), what, edits });
    }
}

/// A name without its folder's marks and without an extension.
fn bare(name: &str) -> &str {
    without_extension(name).unwrap_or(name)
}

fn span(range: &Range<usize>) -> Span {
    Span::new(range.start, range.end)
}
