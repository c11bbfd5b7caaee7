//! The arguments of a call as they are written: the known parts of their value, the holes, and the span of each part.

use crate::outline::outline;
use trellis_base::{
    path::Segment,
    schema::{Hole, below},
    span::{Span, Spanned},
    template::Shape,
    value::{Key, Mapping, Value},
};
use trellis_syntax::{document::Document, node::CallSyntax};

/// The arguments of one call.
pub(super) struct Written<'s> {
    document: &'s Document,
    call: &'s CallSyntax,
    /// The arguments with something in place of each hole.
    pub(super) value: Value,
    pub(super) holes: Vec<Hole>,
}

impl<'s> Written<'s> {
    pub(super) fn of(document: &'s Document, call: &'s CallSyntax) -> Self {
        let mut holes = Vec::new();
        let mut value = call.args.as_ref().map(|args| outline(&args.value, &mut String::new(), &mut holes)).unwrap_or_default();
        if !matches!(value, Value::Map(_)) {
            value = Value::Map(Mapping::new());
        }
        if let (Some(argument), Value::Map(args)) = (&call.body, &mut value) {
            args.insert(argument.value.clone(), Value::text(""));
            let pointer = below("", &argument.value);
            holes.retain(|hole| hole.pointer != pointer);
            holes.push(Hole { pointer, text: true, optional: false });
        }
        Self { document, call, value, holes }
    }

    /// The names of the arguments, each with its place, in file order.
    pub(super) fn names(&self) -> impl Iterator<Item = &'s Spanned<Key>> {
        let entries: &[_] = match &self.call.args {
            Some(Spanned { value: Shape::Map(entries), .. }) => entries,
            _ => &[],
        };
        entries.iter().map(|(key, _)| key).chain(&self.call.body)
    }

    /// Returns the span of the key of a mapping, or of the item of a list; of the key `args` for the arguments as a whole, and of the callee if
    /// there are none.
    pub(super) fn key(&self, pointer: &str, callee: Span) -> Span {
        match (pointer, &self.call.args) {
            ("", None) => callee,
            ("", Some(args)) => self.args_key(args.span),
            _ => match (self.body(pointer), self.find(pointer)) {
                (Some(body), _) => body,
                (None, Some((key, value))) => key.unwrap_or_else(|| self.head(value.span)),
                (None, None) => callee,
            },
        }
    }

    /// Returns the span of a value; of one with several lines, the first.
    pub(super) fn value(&self, pointer: &str, callee: Span) -> Span {
        match self.find(pointer) {
            Some((_, value)) if !pointer.is_empty() => self.head(value.span),
            _ => self.key(pointer, callee),
        }
    }

    /// Returns the shape at a pointer.
    pub(super) fn shape(&self, pointer: &str) -> Option<&'s Shape> {
        self.find(pointer).map(|(_, shape)| &shape.value)
    }

    /// Returns the span with the quotes around it, if the text is in quotes.
    pub(super) fn quoted(&self, span: Span) -> Option<Span> {
        let around = Span::new(span.start.checked_sub(1)? as usize, span.end as usize + 1);
        let text = self.text(around);
        let is_quoted = ['"', '\''].iter().any(|quote| text.len() > 1 && text.starts_with(*quote) && text.ends_with(*quote));
        is_quoted.then_some(around)
    }

    /// The text at a place.
    pub(super) fn text(&self, span: Span) -> &'s str {
        self.document.text.get(span.range()).unwrap_or_default()
    }

    /// The steps of a pointer.
    pub(super) fn steps(&self, pointer: &str) -> Vec<Segment> {
        let mut here = Some(&self.value);
        let mut steps = Vec::new();
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let index = step.parse::<usize>().ok();
            (here, steps) = match (here, index) {
                (Some(Value::List(items)), Some(index)) => {
                    steps.push(Segment::Index(index));
                    (items.get(index), steps)
                }
                (here, _) => {
                    steps.push(Segment::Key(step.as_str().into()));
                    (here.and_then(Value::as_map).and_then(|entries| entries.get(&step)), steps)
                }
            };
        }
        steps
    }

    fn find(&self, pointer: &str) -> Option<(Option<Span>, &'s Spanned<Shape>)> {
        let mut found = (None, self.call.args.as_ref().filter(|_| self.body(pointer).is_none())?);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            found = match &found.1.value {
                Shape::Map(entries) => {
                    let (key, value) = entries.iter().rev().find(|(key, _)| *key.value == *step)?;
                    (Some(key.span), value)
                }
                Shape::List(items) => (None, items.get(step.parse::<usize>().ok()?)?),
                _ => return None,
            };
        }
        Some(found)
    }

    /// Returns the span at which `body` names the argument at a pointer.
    fn body(&self, pointer: &str) -> Option<Span> {
        self.call.body.as_ref().filter(|body| below("", &body.value) == pointer).map(|body| body.span)
    }

    /// The key before the arguments.
    fn args_key(&self, args: Span) -> Span {
        let before = self.text(Span::new(self.call.span.start as usize, args.start as usize)).trim_end();
        let key = before.strip_suffix(':').unwrap_or_default().trim_end_matches(['"', '\'', ' ']);
        let name = key.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        match key.len() - name.len() {
            0 => self.head(args),
            length => {
                let end = self.call.span.start as usize + key.len();
                Span::new(end - length, end)
            }
        }
    }

    fn head(&self, span: Span) -> Span {
        let first = self.text(span).lines().next().unwrap_or_default().trim_end();
        Span::new(span.start as usize, span.start as usize + first.len())
    }
}
