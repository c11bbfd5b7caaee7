//! Diagnostics about arguments that do not fit; one value that fits several calls badly has one diagnostic.

use super::*;
use crate::dataflow::domain::{Misfit, external};
use trellis_base::value::Key;
use trellis_syntax::{
    document::Content,
    node::{CallSyntax, CalleeSyntax},
};

/// Argument that does not fit.
struct ArgumentMismatch {
    key: Key,
    of: TypeId,
    /// Schema of the arguments, and the subschema that the argument violates.
    schema: Value,
    part: Value,
    /// Document and span of the argument.
    place: (u32, Span),
    /// Path that it copies, if it is one.
    path: Option<KeyPath>,
}

impl Reporter<'_, '_> {
    /// Returns the first argument that does not fit; `None` if none can be named.
    fn broken_argument(&self, analysis: &Analysis<'_, '_>, alarm: &Alarm, call: &Call) -> Option<ArgumentMismatch> {
        let schema = external::taken(self.program, call)?;
        let properties = schema.get("properties").and_then(Value::as_map)?;
        let given = analysis.types.get(alarm.seen).fields.iter().flat_map(|fields| &fields.named);
        let schema = Value::from(schema.clone());
        let mut broken = given.filter_map(|(key, of)| Some((key.clone(), *of, properties.get(key)?)));
        let (key, of, part) = broken.find(|(_, of, part)| analysis.types.breaks_part(*of, &schema, part))?;
        let entry = match &call.args {
            Some(Shape::Map(entries)) => entries.iter().find(|(name, _)| name.value == key).map(|(_, shape)| shape),
            _ => None,
        };
        let path = entry.and_then(|shape| match &shape.value {
            Shape::Expression(expression) => expression.path().map(|(path, _)| path.clone()),
            _ => None,
        });
        let (document, around) = self.place_of(alarm, call, Some(&key));
        let place = (document, entry.map_or(around, |shape| shape.span));
        Some(ArgumentMismatch { part: part.clone(), key, of, schema, place, path })
    }

    /// Returns the document and span of the argument `key`, or of the callee.
    fn place_of(&self, alarm: &Alarm, call: &Call, key: Option<&str>) -> (u32, Span) {
        let node = self.node(alarm);
        let is_gate = self.program.point(alarm.point).part == Part::Gate;
        let document = if is_gate { self.program.gate_document(self.program.graph_of(node)) } else { node.document };
        let mut open: Vec<&CallSyntax> = if is_gate {
            before_each(&self.program.documents[document as usize].content)
        } else {
            let syntax = syntax_of(self.program, node);
            syntax.into_iter().flat_map(|syntax| syntax.call.iter().chain(&syntax.undo)).map(|call| &**call).collect()
        };
        let name = self.called(call);
        let is_target = matches!(call.callee, Callee::Graph(_));
        while let Some(syntax) = open.pop() {
            open.extend(syntax.undo.as_deref());
            let callee = match &syntax.callee {
                CalleeSyntax::Tool(tool) if *tool.value == *name => tool.span,
                CalleeSyntax::Graph(target) if is_target => target.name.span,
                CalleeSyntax::Parallel(branches, _) => {
                    open.extend(branches.iter().rev().map(|(_, branch)| branch));
                    continue;
                }
                _ => continue,
            };
            let body = syntax.body.as_ref().filter(|body| key == Some(&*body.value)).map(|body| body.span);
            return (document, body.unwrap_or(callee));
        }
        (document, node.span)
    }

    /// Words an undecided alarm about arguments: document, span, message, help.
    pub(crate) fn open_argument(&self, analysis: &Analysis<'_, '_>, alarm: &Alarm, call: &Call) -> (u32, Span, String, String) {
        let name = self.called(call);
        let Some(ArgumentMismatch { key, of, schema, part, place: (document, span), .. }) = self.broken_argument(analysis, alarm, call)
        else {
            let (document, span) = self.place_of(alarm, call, None);
            let message = format!("whether `{name}` always gets the arguments that it takes was not decided");
            return (document, span, message, "give every argument that it requires on every path, to be sure".to_owned());
        };
        let Misfit { subject, is, wanted, is_inside, .. } = misfit(analysis, &key, of, &schema, &part);
        let message = format!("whether `{key}` is what `{name}` takes on every path was not decided");
        let (it, there) = if is_inside { (subject.as_str(), " there") } else { ("it", "") };
        if is == wanted {
            return (
                document,
                span,
                message,
                format!("{it} is {is}, and its parts may not be those that `{name}` takes: save what it takes, to be sure"),
            );
        }
        (document, span, message, format!("{it} may be {is}, and `{name}` takes {wanted}{there}: give {wanted} on every path, to be sure"))
    }

    /// Adds a label to an earlier diagnostic about the same value. Returns true if there is one.
    pub(crate) fn is_the_same(&mut self, analysis: &Analysis<'_, '_>, alarm: &Alarm, found: &mut [Diagnostic]) -> bool {
        let Violation::Args(op) = alarm.violation else { return false };
        let Instr::Args { call } = &self.ir.ops[op.index()] else { return false };
        let Some(ArgumentMismatch { key, of, place: (document, span), path: Some(path), .. }) = self.broken_argument(analysis, alarm, call)
        else {
            return false;
        };
        let Some(first) = self.arguments.get(&(path.clone(), of)).and_then(|first| found.get_mut(*first)) else {
            self.arguments.insert((path, of), found.len());
            return false;
        };
        let label = format!("nor does it fit `{key}` of `{}` here", self.called(call));
        *first = first.clone().label(self.file(document), span, label);
        true
    }

    /// Returns the name of the tool or graph that is called.
    pub(crate) fn called(&self, call: &Call) -> String {
        match &call.callee {
            Callee::Graph(child) => self.program.node(*child).id.to_string(),
            Callee::Tool(tool) => tool.name.to_string(),
            Callee::Parallel(..) | Callee::Each(..) => unreachable!("only a tool or a graph takes arguments"),
        }
    }

    pub(crate) fn argument(&self, analysis: &Analysis<'_, '_>, alarm: &Alarm, call: &Call) -> Diagnostic {
        let name = self.called(call);
        let Some(ArgumentMismatch { key, of, schema, part, place: (document, span), .. }) = self.broken_argument(analysis, alarm, call)
        else {
            let (document, span) = self.place_of(alarm, call, None);
            let message = format!("the arguments of `{name}` do not fit what it takes on some path");
            return Diagnostic::new(Code::BadToolArgs, self.file(document), span, message);
        };
        let Misfit { subject, is, wanted, is_inside, lacks } = misfit(analysis, &key, of, &schema, &part);
        let message = match (is_inside, lacks) {
            (true, true) => format!("{subject} is not set on some path, and `{name}` takes {wanted} there"),
            (true, false) => format!("{subject} is {is} on some path, and `{name}` takes {wanted} there"),
            (false, _) => format!("`{key}` is {is} on some path, and `{name}` takes {wanted}"),
        };
        Diagnostic::new(Code::BadToolArgs, self.file(document), span, message)
            .help(format!("give {wanted} on every path, or change what `{name}` takes"))
    }
}

/// Returns the innermost part of an argument that does not fit.
fn misfit(analysis: &Analysis<'_, '_>, key: &str, of: TypeId, schema: &Value, part: &Value) -> Misfit {
    let mut types = analysis.types.clone();
    let wanted = types.of_part(schema, part);
    types.misfit(&format!("`{key}`"), of, wanted, TypeTable::exceeds)
}

/// Returns the calls of `before_each` in a document.
fn before_each(content: &Content) -> Vec<&CallSyntax> {
    let defaults: Vec<_> = match content {
        Content::Project(project) => vec![&project.defaults],
        Content::Node(node) => node.defaults.as_deref().into_iter().collect(),
        Content::Nodes(nodes, project) => nodes.iter().filter_map(|node| node.defaults.as_deref()).chain([&project.defaults]).collect(),
        _ => Vec::new(),
    };
    defaults.into_iter().filter_map(|defaults| defaults.before_each.as_deref()).collect()
}
