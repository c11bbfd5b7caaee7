//! Every text of a file that may be a template, with its place.

use crate::{
    document::{Content, Document},
    node::{AssignSyntax, CallSyntax, CalleeSyntax, DefaultsSyntax, LocalText, NodeSyntax, SpeechSyntax},
};
use trellis_base::{span::Span, template::Shape, value::Value};

/// A text and the place of its value; of a body, all of it.
pub(super) type TemplateHole<'d> = (&'d str, Span);

/// The texts with a brace in them, in no order. Texts that are literal by their key are none.
pub(super) fn holes(document: &Document) -> Vec<TemplateHole<'_>> {
    let mut out = Vec::new();
    match &document.content {
        Content::Node(node) => of_node(node, &mut out),
        Content::Nodes(nodes, project) => {
            nodes.iter().for_each(|node| of_node(node, &mut out));
            of_defaults(&project.defaults, &mut out);
        }
        Content::Project(project) => of_defaults(&project.defaults, &mut out),
        Content::Library(_) | Content::Broken => {}
    }
    out.retain(|(text, _)| text.contains('{'));
    out
}

fn of_defaults<'d>(defaults: &'d DefaultsSyntax, out: &mut Vec<TemplateHole<'d>>) {
    defaults.before_each.iter().for_each(|call| of_call(call, out));
}

fn of_node<'d>(node: &'d NodeSyntax, out: &mut Vec<TemplateHole<'d>>) {
    let messages = node.messages.iter().filter_map(|message| message.content.as_ref());
    for speech in node.content.iter().chain(messages) {
        match &speech.value {
            SpeechSyntax::Text(text) => out.push((text.text(), speech.span)),
            SpeechSyntax::Parts(parts) => out.extend(parts.iter().map(|part| (part.text.value.text(), part.text.span))),
        }
    }
    let local = node.messages.iter().flat_map(|message| &message.options);
    out.extend(local.map(|(_, text)| (text.value.text(), text.span)));
    for option in node.options().filter(|option| !option.text.value.is_literal()) {
        out.push((option.text.value.text(), option.text.span));
    }
    for writes in node.option_writes() {
        of_writes(&writes.set, out);
        of_writes(&writes.append, out);
    }
    if let Some(invalid) = &node.on_invalid {
        out.extend(invalid.value.text.iter().map(|text| (text.value.text(), text.span)));
        of_locales(&invalid.value.messages, out);
    }
    node.metadata.iter().chain(&node.output).for_each(|shape| of_shape(&shape.value, shape.span, out));
    node.call.iter().chain(&node.undo).for_each(|call| of_call(call, out));
    [&node.set, &node.append, &node.default_context].into_iter().for_each(|writes| of_writes(writes, out));
    out.extend(node.reason.iter().map(|text| (text.value.text(), text.span)));
    node.defaults.iter().for_each(|defaults| of_defaults(defaults, out));
}

fn of_writes<'d>(writes: &'d [AssignSyntax], out: &mut Vec<TemplateHole<'d>>) {
    writes.iter().for_each(|write| of_shape(&write.value.value, write.value.span, out));
}

fn of_locales<'d>(texts: &'d [LocalText], out: &mut Vec<TemplateHole<'d>>) {
    out.extend(texts.iter().map(|(_, text)| (text.value.text(), text.span)));
}

fn of_call<'d>(call: &'d CallSyntax, out: &mut Vec<TemplateHole<'d>>) {
    if let Some(undo) = &call.undo {
        of_call(undo, out);
    }
    call.args.iter().chain(&call.metadata).for_each(|shape| of_shape(&shape.value, shape.span, out));
    if let Some(approve) = &call.approve {
        out.extend(approve.value.ask.iter().map(|text| (text.value.text(), text.span)));
        of_locales(&approve.value.messages, out);
    }
    if let CalleeSyntax::Parallel(branches, _) = &call.callee {
        branches.iter().for_each(|(_, call)| of_call(call, out));
    }
}

fn of_shape<'d>(shape: &'d Shape, span: Span, out: &mut Vec<TemplateHole<'d>>) {
    match shape {
        Shape::Literal(Value::Text(text)) => out.push((text, span)),
        Shape::Literal(_) => {}
        Shape::Text(template) => out.push((template.text(), span)),
        Shape::Expression(expression) => out.push((expression.text(), span)),
        Shape::List(items) => items.iter().for_each(|item| of_shape(&item.value, item.span, out)),
        Shape::Map(entries) => entries.iter().for_each(|(_, item)| of_shape(&item.value, item.span, out)),
    }
}
