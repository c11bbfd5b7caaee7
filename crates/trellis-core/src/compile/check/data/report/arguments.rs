//! Arguments that do not fit, in words; one value that fits nowhere is one finding.

use super::*;
use crate::value::Key;

/// An argument that does not fit.
struct Broken {
    key: Key,
    of: TypeId,
    /// What takes it, and the part of that which it does not fit.
    schema: Value,
    part: Value,
    /// Where it is given.
    span: Option<Span>,
    /// The path that it is.
    path: Option<KeyPath>,
}

impl Reporter<'_, '_> {
    /// The argument that does not fit; nothing where it cannot be told.
    fn broken_argument(&self, known: &Knowledge<'_, '_>, candidate: &Candidate, call: &Call) -> Option<Broken> {
        let schema = shapes::taken(self.program, call)?;
        let properties = schema.get("properties").and_then(Value::as_map)?;
        let given = known.types.get(candidate.seen).fields.iter().flat_map(|fields| &fields.named);
        let schema = Value::from(schema.clone());
        let mut broken = given.filter_map(|(key, of)| Some((key.clone(), *of, properties.get(key)?)));
        let (key, of, part) = broken.find(|(_, of, part)| known.types.breaks_part(*of, &schema, part))?;
        let entry = match &call.args {
            Some(Shape::Map(entries)) => entries.iter().find(|(name, _)| name.value == key).map(|(_, shape)| shape),
            _ => None,
        };
        let path = entry.and_then(|shape| match &shape.value {
            Shape::Expression(expression) => expression.path().map(|(path, _)| path.clone()),
            _ => None,
        });
        let (part, span) = (part.clone(), entry.map(|shape| shape.span));
        Some(Broken { key, of, schema, part, span, path })
    }

    /// Whether a value that does not fit was told already for another call: then this is one more place of it.
    pub(super) fn is_the_same(&mut self, known: &Knowledge<'_, '_>, candidate: &Candidate, found: &mut [Diagnostic]) -> bool {
        let Accident::Args(op) = candidate.accident else { return false };
        let Op::Args { call } = &self.script.ops[op as usize] else { return false };
        let Some(Broken { key, of, span, path: Some(path), .. }) = self.broken_argument(known, candidate, call) else { return false };
        let Some(first) = self.arguments.get(&(path.clone(), of)).and_then(|first| found.get_mut(*first)) else {
            self.arguments.insert((path, of), found.len());
            return false;
        };
        let node = self.node(candidate);
        let label = format!("nor does it fit `{key}` of `{}` here", self.called(call));
        *first = first.clone().label(self.file(node.document), span.unwrap_or(node.span), label);
        true
    }

    /// What is called.
    pub(super) fn called(&self, call: &Call) -> String {
        match &call.callee {
            Callee::Graph(child) => self.program.node(*child).id.to_string(),
            Callee::Tool(tool) => tool.name.to_string(),
            Callee::Parallel(..) | Callee::Each(..) => unreachable!("only a tool or a graph takes arguments"),
        }
    }

    pub(super) fn argument(&self, known: &Knowledge<'_, '_>, candidate: &Candidate, call: &Call) -> Diagnostic {
        let (node, name) = (self.node(candidate), self.called(call));
        let Some(Broken { key, of, schema, part, span, .. }) = self.broken_argument(known, candidate, call) else {
            let message = format!("the arguments of `{name}` do not fit what it takes on some way");
            return Diagnostic::new(Code::BadToolArgs, self.file(node.document), node.span, message);
        };
        let mut types = Types::new();
        let wanted = types.of_part(&schema, &part);
        let (is, wanted) = (known.types.described(of), types.described(wanted));
        let message = format!("`{key}` is {is} on some way, and `{name}` takes {wanted}");
        Diagnostic::new(Code::BadToolArgs, self.file(node.document), span.unwrap_or(node.span), message)
            .help(format!("give {wanted} on every way, or change what `{name}` takes"))
    }
}
