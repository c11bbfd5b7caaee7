//! The arguments of a call of a graph against the declarations of the called node (language 5.4, 7.1).

use super::{Check, given_twice, renamed, written::Written};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Place, nearest},
    path::{Segment, walk},
    schema::{Flaw, Hole, Schema, below},
    scope::RESERVED,
    span::Span,
    value::Key,
};
use trellis_syntax::{
    document::Document,
    node::{CallSyntax, NodeSyntax},
};

/// The demands of a node on the context with which a call begins it.
pub(crate) struct Demands<'d> {
    /// The file of the called node.
    pub(crate) path: &'d FilePath,
    pub(crate) node: &'d NodeSyntax,
    /// Its `context_schema`, compiled.
    pub(crate) types: Vec<(Key, Span, Schema)>,
    /// Types that `context:` declares for the keys of its graph, and the places of the declarations.
    pub(crate) declared: Vec<(Key, &'d FilePath, Span, Schema)>,
    /// `inputs` of its graph, where it is the entry.
    pub(crate) inputs: Option<Schema>,
    /// The key that its graph's `before_each` saves to.
    pub(crate) saved: Option<Key>,
}

impl Demands<'_> {
    /// Returns whether the node declares a key.
    fn ask_for(&self, key: &str) -> bool {
        let required = self.node.required_context.iter().any(|path| **path.value.root() == *key);
        required || self.types.iter().any(|(known, ..)| **known == *key)
    }

    /// Returns whether a key is set while the node is entered.
    fn brings(&self, key: &str) -> bool {
        let by_default = self.node.default_context.iter().any(|assign| **assign.key.value.root() == *key);
        by_default || self.saved.as_deref() == Some(key)
    }
}

/// Checks the call of a graph; `callee` is the span that names the node, `name` the name for messages.
pub(crate) fn of_child(
    document: &Document,
    call: &CallSyntax,
    callee: Span,
    name: &str,
    demands: &Demands<'_>,
    found: &mut Vec<Diagnostic>,
) {
    given_twice(document, call, found);
    if document.has_errors_in(call.span) {
        return;
    }
    let written = Written::of(document, call);
    for key in written.names().filter(|key| RESERVED.contains(&&*key.value)) {
        let message = format!("`{}` is a reserved name, which no context is begun with", key.value);
        found.push(
            Diagnostic::new(Code::BadToolArgs, &document.path, key.span, message).help("give it another name here and in the called node"),
        );
    }
    let check = Check { document, written: &written, name: format!("`{name}`"), callee, base: "", schema: demands.inputs.as_ref() };
    let mut known = Vec::new();
    if let Some(inputs) = &demands.inputs {
        let flaws = inputs.flaws(&written.value, &written.holes);
        let keys = flaws.iter().filter_map(|flaw| match flaw {
            Flaw::Missing(at, key) if at.is_empty() => Some(key.clone()),
            Flaw::MayBeMissing(at) | Flaw::Unfit(at, _) => Some(at.split('/').nth(1)?.to_owned()),
            _ => None,
        });
        known = keys.collect();
        check.report(&flaws, found);
    }
    let mut absent = Vec::new();
    check.required(demands, &mut known, &mut absent, found);
    for (key, span, schema) in &demands.types {
        if !known.iter().any(|known| **known == **key) {
            check.typed(DeclaredKey { key, span: *span, schema }, demands, &mut absent, found);
        }
    }
    let is_own = |key: &Key| demands.types.iter().any(|(own, ..)| own == key);
    for (key, path, span, schema) in demands.declared.iter().filter(|(key, ..)| !is_own(key)) {
        if !known.iter().any(|known| **known == **key) {
            check.fits(key, schema, &Place::new(path, *span), found);
        }
    }
    if !absent.is_empty() {
        let keys: Vec<&str> = absent.iter().map(|(key, ..)| key.as_str()).collect();
        let missing = check.missing("", &keys);
        found.push(absent.iter().fold(missing, |missing, (_, span, label)| missing.label(demands.path, *span, *label)));
    }
}

/// Keys that are not given at all: with where they are declared, and how.
type Absent = Vec<(String, Span, &'static str)>;

/// The absence of a path: certain, or possible, by `optional` at a pointer.
enum Lack {
    Certain,
    Possible(String),
}

/// Place of a key's declaration, with the text of its label.
#[derive(Clone, Copy)]
struct Declaration {
    span: Span,
    label: &'static str,
}

/// A key with its type, and where that is declared.
#[derive(Clone, Copy)]
struct DeclaredKey<'k> {
    key: &'k Key,
    span: Span,
    schema: &'k Schema,
}

impl Check<'_> {
    /// Checks the required paths.
    fn required(&self, demands: &Demands<'_>, known: &mut Vec<String>, absent: &mut Absent, found: &mut Vec<Diagnostic>) {
        for path in &demands.node.required_context {
            let root = path.value.root();
            if demands.brings(root) || known.iter().any(|key| **key == **root) {
                continue;
            }
            if let Some(lack) = self.lacks(path.value.segments()) {
                known.push(root.to_string());
                self.lacking(path.value.segments(), lack, demands, Declaration { span: path.span, label: "required here" }, absent, found);
            }
        }
    }

    /// Returns whether and how a path may be absent.
    fn lacks(&self, path: &[Segment]) -> Option<Lack> {
        let mut pointer = String::new();
        for (at, segment) in path.iter().enumerate() {
            pointer = below(&pointer, &step(segment));
            if let Some(hole) = self.written.holes.iter().find(|hole| hole.pointer == pointer) {
                // The value of a hole is unknown here, but a text has no entries.
                let nothing = hole.text && at + 1 < path.len();
                return if hole.optional { Some(Lack::Possible(pointer)) } else { nothing.then_some(Lack::Certain) };
            }
            if walk(&self.written.value, &path[..=at]).is_none() {
                return Some(Lack::Certain);
            }
        }
        None
    }

    /// Reports an absent path, unless something else supplies it.
    fn lacking(
        &self,
        path: &[Segment],
        lack: Lack,
        demands: &Demands<'_>,
        declaration: Declaration,
        absent: &mut Absent,
        found: &mut Vec<Diagnostic>,
    ) {
        let Declaration { span, label } = declaration;
        let (root, given) = (path.first().map(step).unwrap_or_default(), self.given(""));
        let whole = path.iter().map(step).collect::<Vec<_>>().join(".");
        let message = format!("{} needs `{whole}`, which is not given", self.name);
        // An argument under a declared name is no misspelling of another.
        let free = given.iter().map(String::as_str).filter(|name| !demands.ask_for(name));
        let diagnostic = match (lack, nearest(&root, free)) {
            (Lack::Possible(pointer), _) => self.may_be_missing(&pointer),
            (Lack::Certain, _) if given.contains(&root) => self.finding(self.key("", &root), message),
            (Lack::Certain, Some(near)) => renamed(self.finding(self.key("", near), message), &root, true),
            (Lack::Certain, None) => return absent.push((whole, span, label)),
        };
        found.push(diagnostic.label(demands.path, span, label));
    }

    /// Checks a key with a type: it must be given, and a literal must fit.
    fn typed(
        &self,
        DeclaredKey { key, span, schema }: DeclaredKey<'_>,
        demands: &Demands<'_>,
        absent: &mut Absent,
        found: &mut Vec<Diagnostic>,
    ) {
        let path = [Segment::Key(key.clone())];
        let lack = self.lacks(&path).filter(|_| !demands.brings(key));
        if let Some(lack) = lack {
            self.lacking(&path, lack, demands, Declaration { span, label: "declared here" }, absent, found);
            return;
        }
        self.fits(key, schema, &Place::new(demands.path, span), found);
    }

    /// Checks that a value that is written for a key fits its type.
    fn fits(&self, key: &Key, schema: &Schema, declared: &Place, found: &mut Vec<Diagnostic>) {
        let path = [Segment::Key(key.clone())];
        let base = below("", key);
        let Some(value) = walk(&self.written.value, &path) else { return };
        let holes = self.written.holes.iter().filter_map(|hole| {
            let rest = hole.pointer.strip_prefix(&base).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            Some(Hole { pointer: rest.to_owned(), ..hole.clone() })
        });
        let flaws = schema.flaws(value, &holes.collect::<Vec<_>>());
        let at = found.len();
        Check { name: self.name.clone(), base: &base, schema: Some(schema), ..*self }.report(&flaws, found);
        found[at..].iter_mut().for_each(|flaw| *flaw = flaw.clone().label(&declared.path, declared.span, "declared here"));
    }
}

fn step(segment: &Segment) -> String {
    match segment {
        Segment::Key(key) => key.to_string(),
        Segment::Index(index) => index.to_string(),
    }
}
