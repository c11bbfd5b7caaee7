//! The names in one file, as they are written: their meanings depend on the other files.

use std::sync::Arc;

use super::{
    OccurrenceKind, half_typed,
    named::{Name, Named},
};
use trellis_base::{
    path::KeyPath,
    span::{Span, Spanned},
    template::{Reference, Shape, Template},
    value::Value,
};
use trellis_syntax::{
    condition::{Condition, Test},
    document::{Content, Document},
    node::{
        ApproveSyntax, AssignSyntax, CallSyntax, CalleeSyntax, DefaultsSyntax, NodeSyntax, SpeechSyntax, TargetSyntax, ToolRef, ToolSyntax,
    },
    project::{PredicateAnswer, ProjectSyntax},
};

/// Returns the names in a file, in no order. A file that begins with `_` or lies in such a folder holds no nodes, though it may look like one: of
/// those only libraries name anything.
pub(super) fn collect(document: &Document) -> Vec<Named> {
    if document.is_hidden() && !matches!(document.content, Content::Library(_)) {
        return Vec::new();
    }
    let mut collected = Collected { all: Vec::new(), ordinal: 0, text: &document.text };
    match &document.content {
        Content::Node(node) => collected.node(node),
        Content::Nodes(nodes, project) => {
            for (ordinal, node) in (0..).zip(nodes) {
                collected.ordinal = ordinal;
                collected.node(node);
            }
            collected.ordinal = u32::MAX;
            collected.project(project);
        }
        Content::Project(project) => {
            collected.ordinal = u32::MAX;
            collected.project(project);
        }
        Content::Library(tools) => {
            collected.ordinal = u32::MAX;
            collected.tools(tools);
        }
        Content::Broken => half_typed::names(document, &mut collected.all),
    }
    collected.all
}

/// The texts that a condition compares its subject with.
pub(super) fn literals(test: &Test) -> impl Iterator<Item = &str> {
    let values = match test {
        Test::Is(value) => std::slice::from_ref(value),
        Test::In(values) => values,
        Test::Truth | Test::Set | Test::Empty => &[],
    };
    values.iter().filter_map(Value::as_str)
}

/// The place of a literal inside the quotes of a condition; `None` if it is not written there as it is.
pub(super) fn place_of(text: &str, condition: Span, literal: &str) -> Option<Span> {
    let written = text.get(condition.range())?;
    let at = ['"', '\''].iter().find_map(|quote| written.find(&format!("{quote}{literal}{quote}")))?;
    let start = condition.start as usize + at + 1;
    Some(Span::new(start, start + literal.len()))
}

struct Collected<'d> {
    all: Vec<Named>,
    ordinal: u32,
    text: &'d str,
}

impl Collected<'_> {
    fn add(&mut self, name: Name, span: Span, kind: OccurrenceKind) {
        self.all.push(Named { name, span, kind, is_exact: true, ordinal: self.ordinal });
    }

    fn path(&mut self, path: &Spanned<KeyPath>, kind: OccurrenceKind) {
        self.add(Name::Key(path.value.root().clone()), path.span, kind);
    }

    fn references(&mut self, references: Vec<Reference>) {
        for reference in references {
            let root = reference.path.root();
            if !trellis_base::scope::RESERVED.contains(&&**root) {
                let (name, kind) = (Name::Key(root.clone()), OccurrenceKind::Reads);
                self.all.push(Named { name, span: reference.span, kind, is_exact: reference.is_exact, ordinal: self.ordinal });
            }
        }
    }

    fn template(&mut self, template: &Template) {
        self.references(template.references());
    }

    fn shape(&mut self, shape: &Shape) {
        self.references(shape.references());
    }

    fn target(&mut self, target: &TargetSyntax, is_call: bool) {
        let name = Name::Target { name: target.name.value.clone(), is_jump: target.is_jump(), is_call };
        self.add(name, target.name.span, OccurrenceKind::Refers);
    }

    fn condition(&mut self, condition: &Spanned<Condition>) {
        let Condition { subject, subject_span, test, .. } = &condition.value;
        let root = subject.root();
        if trellis_base::scope::RESERVED.contains(&&**root) {
            match &*subject.to_string() {
                "sys.error.tool" => self.compared(condition, test, Name::Tool),
                "sys.node" | "sys.error.node" => self.compared(condition, test, Name::Id),
                _ => {}
            }
            return;
        }
        let name = if *test == Test::Truth && subject.is_key() { Name::Bare(root.clone()) } else { Name::Key(root.clone()) };
        let is_exact = condition.value.decoded.is_none() || *subject_span != condition.span;
        self.all.push(Named { name, span: *subject_span, kind: OccurrenceKind::Reads, is_exact, ordinal: self.ordinal });
    }

    /// The names that a part of `sys` is compared with.
    fn compared(&mut self, condition: &Spanned<Condition>, test: &Test, name: impl Fn(Arc<str>) -> Name) {
        for literal in literals(test) {
            let found = place_of(self.text, condition.span, literal);
            let (name, kind, is_exact) = (name(literal.into()), OccurrenceKind::Refers, found.is_some());
            self.all.push(Named { name, span: found.unwrap_or(condition.span), kind, is_exact, ordinal: self.ordinal });
        }
    }

    /// The values of options, wherever the node itself names them.
    fn options(&mut self, node: &NodeSyntax) {
        let mut add = |value: &str, span: Span, kind| self.add(Name::Option(value.into()), span, kind);
        for option in node.options() {
            if let Some(text) = option.value.value.as_str() {
                add(text, option.value.span, OccurrenceKind::Defines);
            }
        }
        let localised = node.messages.iter().flat_map(|message| &message.options);
        localised.for_each(|(value, _)| add(&value.value, value.span, OccurrenceKind::Refers));
        let default = node.input_default.iter().filter(|_| node.options.is_some());
        default.for_each(|value| value.value.as_str().into_iter().for_each(|text| add(text, value.span, OccurrenceKind::Refers)));
    }

    fn assigned(&mut self, assigned: &[AssignSyntax]) {
        for assign in assigned {
            self.path(&assign.key, OccurrenceKind::Writes);
            self.shape(&assign.value.value);
        }
    }

    fn node(&mut self, node: &NodeSyntax) {
        if let Some(id) = &node.id {
            self.add(Name::Node, id.span, OccurrenceKind::Defines);
        }
        let localised = node.messages.iter().filter_map(|message| message.content.as_ref());
        for speech in node.content.iter().chain(localised) {
            match &speech.value {
                SpeechSyntax::Text(text) => self.template(text),
                SpeechSyntax::Parts(parts) => parts.iter().for_each(|part| {
                    self.template(&part.text.value);
                    part.condition.iter().for_each(|condition| self.condition(condition));
                }),
            }
        }
        node.messages.iter().flat_map(|message| &message.options).for_each(|(_, text)| self.template(&text.value));
        self.options(node);
        for option in node.options() {
            self.template(&option.text.value);
            option.target.iter().for_each(|target| self.target(target, false));
            if let Some(writes) = &option.writes {
                writes.save_to.iter().for_each(|path| self.path(path, OccurrenceKind::Writes));
                self.assigned(&writes.set);
                self.assigned(&writes.append);
            }
        }
        if let Some(invalid) = &node.on_invalid {
            invalid.value.text.iter().for_each(|text| self.template(&text.value));
            invalid.value.messages.iter().for_each(|(_, text)| self.template(&text.value));
            invalid.value.to.iter().for_each(|target| self.target(target, false));
        }
        node.metadata.iter().chain(&node.output).for_each(|shape| self.shape(&shape.value));
        node.reason.iter().for_each(|text| self.template(&text.value));
        node.call.iter().chain(&node.undo).for_each(|call| self.call(call));
        self.tools(&node.tools);
        node.save_to.iter().for_each(|path| self.path(path, OccurrenceKind::Writes));
        [&node.set, &node.append, &node.default_context].into_iter().for_each(|assigned| self.assigned(assigned));
        node.required_context.iter().for_each(|path| self.path(path, OccurrenceKind::Reads));
        node.context_schema.iter().for_each(|(key, _)| self.add(Name::Key(key.value.clone()), key.span, OccurrenceKind::Refers));
        node.asserts.iter().for_each(|condition| self.condition(condition));
        for transition in &node.transitions {
            transition.condition.iter().for_each(|condition| self.condition(condition));
            transition.target.iter().for_each(|target| self.target(target, false));
        }
        node.unread.iter().for_each(|target| self.target(target, false));
        let ends = [node.to.as_ref(), node.on_error.as_deref(), node.on_denied.as_deref(), node.on_max_visits.as_deref()];
        ends.into_iter().flatten().for_each(|target| self.target(target, false));
        for (name, target) in &node.on_signal {
            self.add(Name::Signal(name.value.as_str().into()), name.span, OccurrenceKind::Refers);
            self.target(target, false);
        }
        node.defaults.iter().for_each(|defaults| self.defaults(defaults));
    }

    fn call(&mut self, call: &CallSyntax) {
        match &call.callee {
            CalleeSyntax::Tool(name) => self.add(Name::Tool(name.value.clone()), name.span, OccurrenceKind::Refers),
            CalleeSyntax::Graph(target) => {
                self.target(target, true);
                if let Some(Spanned { value: Shape::Map(entries), .. }) = &call.args {
                    for (key, _) in entries {
                        let (target, is_jump) = (target.name.value.clone(), target.is_jump());
                        self.add(Name::Argument { key: key.value.clone(), target, is_jump }, key.span, OccurrenceKind::Writes);
                    }
                }
            }
            CalleeSyntax::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.call(branch)),
            CalleeSyntax::Each(path, _) => self.path(path, OccurrenceKind::Reads),
        }
        call.args.iter().chain(&call.metadata).for_each(|shape| self.shape(&shape.value));
        call.save_to.iter().for_each(|path| self.path(path, OccurrenceKind::Writes));
        if let Some(Spanned { value: ApproveSyntax { ask, messages, .. }, .. }) = &call.approve {
            ask.iter().for_each(|text| self.template(&text.value));
            messages.iter().for_each(|(_, text)| self.template(&text.value));
        }
        call.undo.iter().for_each(|undo| self.call(undo));
    }

    fn tools(&mut self, tools: &[ToolRef]) {
        for tool in tools {
            match tool {
                ToolRef::Inline(tool) => self.tool(tool),
                ToolRef::Name(name) => self.add(Name::Tool(name.value.clone()), name.span, OccurrenceKind::Refers),
                ToolRef::Library(_) => {}
            }
        }
    }

    fn tool(&mut self, tool: &ToolSyntax) {
        if let Some(name) = &tool.name {
            self.add(Name::Tool(name.value.clone()), name.span, OccurrenceKind::Defines);
        }
    }

    fn defaults(&mut self, defaults: &DefaultsSyntax) {
        defaults.on_error.iter().chain(&defaults.on_rolled_back).for_each(|target| self.target(target, false));
        for (name, target) in &defaults.on_signal_default {
            if let Some(name) = name {
                self.add(Name::Signal(name.value.as_str().into()), name.span, OccurrenceKind::Refers);
            }
            self.target(target, false);
        }
        defaults.before_each.iter().for_each(|call| self.call(call));
    }

    fn project(&mut self, project: &ProjectSyntax) {
        self.defaults(&project.defaults);
        for (key, _) in &project.context {
            self.add(Name::Key(key.value.clone()), key.span, OccurrenceKind::Defines);
        }
        project.redact.iter().for_each(|path| self.path(path, OccurrenceKind::Refers));
        if let Some(locale) = &project.locale {
            self.add(Name::Key(locale.value.clone()), locale.span, OccurrenceKind::Reads);
        }
        for predicate in &project.predicates {
            self.add(Name::Predicate(predicate.name.value.clone()), predicate.name.span, OccurrenceKind::Defines);
            let needs = match &predicate.answer {
                PredicateAnswer::Host { needs } => Some(needs),
                PredicateAnswer::Binding { tool, needs } => {
                    self.add(Name::Tool(tool.value.clone()), tool.span, OccurrenceKind::Refers);
                    needs.as_ref()
                }
                PredicateAnswer::Schema(_) => None,
            };
            needs.into_iter().flatten().for_each(|path| self.path(path, OccurrenceKind::Reads));
        }
        project.bindings.iter().for_each(|binding| self.tool(&binding.tool));
    }
}
