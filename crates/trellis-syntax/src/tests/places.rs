//! Every decoded value of every key knows its bytes.

use std::fmt::Write as _;

use super::{
    super::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, DefaultsSyntax, NodeSyntax, TargetSyntax, ToolRef, ToolSyntax},
        project::ProjectSyntax,
    },
    parse,
};
use trellis_base::{
    span::{Span, Spanned},
    template::Shape,
};

/// Lines of `name: bytes` for every value of a document that has a place.
struct Places<'t> {
    text: &'t str,
    out: String,
}

impl Places<'_> {
    fn at(&mut self, name: &str, span: Span) {
        let _ = writeln!(self.out, "{name}: {}", self.text[span.range()].replace('\n', "⏎"));
    }

    fn maybe<T>(&mut self, name: &str, value: Option<&Spanned<T>>) {
        if let Some(value) = value {
            self.at(name, value.span);
        }
    }

    fn target(&mut self, target: Option<&TargetSyntax>) {
        if let Some(target) = target {
            self.at(&format!("{}{} key", target.key.value, if target.is_jump() { "!" } else { "" }), target.key.span);
            self.at(target.key.value, target.name.span);
        }
    }

    fn shape(&mut self, name: &str, shape: Option<&Spanned<Shape>>) {
        let Some(shape) = shape else { return };
        self.at(name, shape.span);
        match &shape.value {
            Shape::Map(entries) => {
                for (key, value) in entries {
                    self.at(&format!("{name} key"), key.span);
                    self.shape(&format!("{name}.{}", key.value), Some(value));
                }
            }
            Shape::List(items) => items.iter().for_each(|item| self.shape(&format!("{name}[]"), Some(item))),
            _ => {}
        }
    }

    fn call(&mut self, name: &str, call: Option<&CallSyntax>) {
        let Some(call) = call else { return };
        self.at(&format!("{name} key"), call.key);
        self.at(name, call.span);
        match &call.callee {
            CalleeSyntax::Tool(tool) => self.at("name", tool.span),
            CalleeSyntax::Graph(target) => self.target(Some(target)),
            CalleeSyntax::Each(path, composite) => self.at(&format!("each {composite:?}"), path.span),
            CalleeSyntax::Parallel(branches, composite) => {
                for (branch, call) in branches {
                    self.at(&format!("branch {composite:?}"), branch.span);
                    self.call(&branch.value, Some(call));
                }
            }
        }
        self.shape("args", call.args.as_ref());
        self.maybe("body", call.body.as_ref());
        self.maybe("timeout", call.timeout.as_ref());
        self.maybe("retry", call.retry.as_ref());
        self.maybe("approve", call.approve.as_ref());
        self.maybe("ask", call.approve.as_ref().and_then(|approve| approve.value.ask.as_ref()));
        call.approve.iter().flat_map(|approve| &approve.value.messages).for_each(|(locale, text)| self.local(locale.span, text.span));
        self.maybe("expires", call.approve.as_ref().and_then(|approve| approve.value.expires.as_ref()));
        self.maybe("effect", call.effect.as_ref());
        self.maybe("returns", call.returns.as_ref());
        self.maybe("save_to", call.save_to.as_ref());
        self.shape("metadata", call.metadata.as_ref());
    }

    fn local(&mut self, locale: Span, text: Span) {
        self.at("locale", locale);
        self.at("message", text);
    }

    fn tool(&mut self, tool: &ToolSyntax) {
        self.at("tool", tool.span);
        self.maybe("name", tool.name.as_ref());
        self.maybe("parameters", tool.parameters.as_ref());
        self.maybe("returns", tool.returns.as_ref());
        self.maybe("effect", tool.effect.as_ref());
        self.maybe("timeout", tool.timeout.as_ref());
        self.maybe("retry", tool.retry.as_ref());
    }

    fn node(&mut self, node: &NodeSyntax) {
        self.at("node", node.span);
        self.maybe("id", node.id.as_deref());
        node.was.iter().for_each(|was| self.at("was", was.span));
        self.maybe("type", node.kind.as_ref());
        self.maybe("content", node.content.as_ref());
        for message in &node.messages {
            self.at("locale", message.locale.span);
            self.maybe("message", message.content.as_ref());
            for (value, text) in &message.options {
                self.at("option value", value.span);
                self.at("option text", text.span);
            }
        }
        for part in node.speech_parts() {
            self.at("part", part.span);
            self.at("text", part.text.span);
            self.maybe("condition", part.condition.as_ref());
        }
        self.maybe("input_type", node.input_type.as_ref());
        self.maybe("options", node.options.as_ref());
        for option in node.options.iter().flat_map(|options| &options.value) {
            self.at("option", option.span);
            self.at("value", option.value.span);
            self.at("text", option.text.span);
            if let Some(writes) = &option.writes {
                self.maybe("save_to", writes.save_to.as_ref());
                writes.set.iter().chain(&writes.append).for_each(|assign| self.at("assign", assign.key.span));
            }
            self.target(option.target.as_ref());
        }
        self.maybe("input_default", node.input_default.as_deref());
        self.maybe("input_schema", node.input_schema.as_deref());
        if let Some(on_invalid) = &node.on_invalid {
            self.at("on_invalid", on_invalid.span);
            self.maybe("text", on_invalid.value.text.as_ref());
            on_invalid.value.messages.iter().for_each(|(locale, text)| self.local(locale.span, text.span));
            self.maybe("max", on_invalid.value.max.as_ref());
            self.target(on_invalid.value.to.as_ref());
        }
        self.maybe("wait", node.wait.as_deref());
        self.maybe("timeout", node.timeout.as_deref());
        self.shape("metadata", node.metadata.as_deref());
        self.call("do", node.call.as_deref());
        self.call("undo", node.undo.as_deref());
        self.maybe("retry", node.retry.as_deref());
        for tool in &node.tools {
            match tool {
                ToolRef::Inline(tool) => self.tool(tool),
                ToolRef::Name(name) => self.at("tool name", name.span),
                ToolRef::Library(path) => self.at("library", path.span),
            }
        }
        self.maybe("save_to", node.save_to.as_ref());
        for (name, assignments) in [("set", &node.set), ("append", &node.append), ("default_context", &node.default_context)] {
            for assignment in assignments {
                self.at(&format!("{name} key"), assignment.key.span);
                self.shape(name, Some(&assignment.value));
            }
        }
        node.required_context.iter().for_each(|path| self.at("required_context", path.span));
        for (key, schema) in &node.context_schema {
            self.at("context_schema key", key.span);
            self.at("context_schema", schema.span);
        }
        node.asserts.iter().for_each(|condition| self.at("assert", condition.span));
        self.target(node.to.as_ref());
        for transition in &node.transitions {
            self.at("transition", transition.span);
            self.maybe("condition", transition.condition.as_ref());
            self.target(transition.target.as_ref());
            self.maybe("text", transition.text.as_deref());
        }
        self.target(node.on_error.as_deref());
        self.target(node.on_denied.as_deref());
        for (signal, target) in &node.on_signal {
            self.at("signal", signal.span);
            self.target(Some(target));
        }
        self.maybe("max_visits", node.max_visits.as_ref());
        self.target(node.on_max_visits.as_deref());
        self.shape("output", node.output.as_deref());
        self.maybe("end", node.end.as_ref());
        self.maybe("reason", node.reason.as_ref());
        if let Some(defaults) = &node.defaults {
            self.defaults(defaults);
        }
        node.links.iter().for_each(|link| self.at("link", link.span));
        node.keys.iter().for_each(|(key, span)| self.at(&format!("key {key}"), *span));
    }

    fn defaults(&mut self, defaults: &DefaultsSyntax) {
        self.target(defaults.on_error.as_ref());
        self.maybe("retry", defaults.retry.as_ref());
        for (signal, target) in &defaults.on_signal_default {
            self.maybe("signal", signal.as_ref());
            self.target(Some(target));
        }
        self.call("before_each", defaults.before_each.as_deref());
        self.target(defaults.on_rolled_back.as_ref());
    }

    fn project(&mut self, project: &ProjectSyntax) {
        self.maybe("name", project.name.as_ref());
        self.maybe("templates", project.templates.as_ref());
        self.maybe("inputs", project.inputs.as_ref());
        for (key, schema) in &project.context {
            self.at("context key", key.span);
            self.at("context", schema.span);
        }
        for predicate in &project.predicates {
            self.at("predicate", predicate.name.span);
        }
        for binding in &project.bindings {
            self.tool(&binding.tool);
            for (path, span) in &binding.config.spans {
                self.at(path, *span);
            }
        }
        project.redact.iter().for_each(|path| self.at("redact", path.span));
        self.maybe("locale", project.locale.as_ref());
        for (code, severity) in &project.severity {
            self.at(&format!("severity {severity:?}"), code.span);
        }
        self.defaults(&project.defaults);
    }
}

#[test]
fn every_value_of_every_key_knows_its_bytes() {
    for (path, text, expected) in
        [("all.md", include_str!("all.md"), include_str!("all.txt")), ("calls.yaml", include_str!("calls.yaml"), include_str!("calls.txt"))]
    {
        let document = parse(path, text);
        assert_eq!(document.diagnostics, []);
        let mut places = Places { text, out: String::new() };
        match &document.content {
            Content::Node(node) => places.node(node),
            Content::Nodes(nodes, project) => {
                places.project(project);
                nodes.iter().for_each(|node| places.node(node));
            }
            other => panic!("{other:?}"),
        }
        if places.out != expected {
            panic!("{path}:\n{}", places.out);
        }
    }
}
