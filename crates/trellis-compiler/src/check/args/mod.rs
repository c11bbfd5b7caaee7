//! `bad-tool-args`: the literal arguments of a call against the declarations of the tool (language 8.8).
//!
//! A template that is one expression has no known value here: the data analysis knows its type.

mod child;
mod written;

use std::collections::BTreeSet;

pub(crate) use child::{Demands, of_child};

use self::written::Written;
use trellis_base::{
    diagnostic::{Code, Diagnostic, Severity, nearest},
    path::{Segment, is_name, walk},
    schema::{Flaw, Schema, below, takes},
    span::Span,
    template::Shape,
    value::{Mapping, Value},
};
use trellis_engine::program::Tool;
use trellis_syntax::{document::Document, node::CallSyntax};

/// Words by which a schema names keys elsewhere than in its `properties`.
const NAMED_ELSEWHERE: [&str; 7] = ["$ref", "allOf", "anyOf", "dependentSchemas", "if", "oneOf", "patternProperties"];

/// Names that a help lists.
const LISTED: usize = 8;

/// Checks the call of a tool; `callee` is where the tool is named.
pub(crate) fn of_tool(document: &Document, call: &CallSyntax, callee: Span, tool: &Tool, found: &mut Vec<Diagnostic>) {
    given_twice(document, call, found);
    let Some(schema) = &tool.parameters else { return };
    // An unreadable part was reported, and might have been anything.
    if document.has_errors_in(call.span) {
        return;
    }
    let written = Written::of(document, call);
    let flaws = schema.flaws(&written.value, &written.holes);
    let name = format!("`{}`", tool.name);
    let check = Check { document, written: &written, name, callee, base: "", schema: Some(schema) };
    check.report(&flaws, found);
    check.misspelt(&flaws, found);
}

/// An argument that both `args` and `body` give.
fn given_twice(document: &Document, call: &CallSyntax, found: &mut Vec<Diagnostic>) {
    if let (Some(body), Some(Shape::Map(entries))) = (&call.body, call.args.as_ref().map(|args| &args.value))
        && let Some((key, _)) = entries.iter().find(|(key, _)| key.value == body.value)
    {
        let message = format!("the argument `{}` is given twice: here, and by `body`", body.value);
        let diagnostic = Diagnostic::new(Code::BadToolArgs, &document.path, key.span, message);
        found.push(diagnostic.label(&document.path, body.span, "takes this node's body").help("keep one of them"));
    }
}

/// One call and the schema of its arguments, or of one of them.
struct Check<'a> {
    document: &'a Document,
    written: &'a Written<'a>,
    /// The callee, as messages name it.
    name: String,
    callee: Span,
    /// The pointer to the value that the schema describes; the pointers of flaws begin there.
    base: &'a str,
    schema: Option<&'a Schema>,
}

/// The place of an undeclared key, and its new name. Of several keys that seem to mean the same one, only the first can be renamed.
type Rename = (String, String);

/// An undeclared key, and the missing one that it seems to mean.
struct Misnamed {
    at: String,
    key: String,
    meant: String,
}

impl Check<'_> {
    /// One finding for each flaw; a key that is not declared takes the place of the missing one that it seems to mean.
    fn report(&self, flaws: &[Flaw], found: &mut Vec<Diagnostic>) {
        let misnamed = self.misnamed(flaws);
        let mut renames: BTreeSet<Rename> = misnamed.iter().map(|wrong| (wrong.at.clone(), wrong.meant.clone())).collect();
        let missing = flaws.iter().filter_map(|flaw| if let Flaw::Missing(at, key) = flaw { Some((at, key)) } else { None });
        let mut missing: Vec<_> =
            missing.filter(|(at, key)| !misnamed.iter().any(|wrong| wrong.at == **at && wrong.meant == **key)).collect();
        missing.sort();
        for of_one in missing.chunk_by(|(a, _), (b, _)| a == b) {
            let keys: Vec<&str> = of_one.iter().map(|(_, key)| key.as_str()).collect();
            found.push(self.missing(of_one[0].0, &keys));
        }
        for flaw in flaws {
            found.extend(match flaw {
                Flaw::Missing(..) => None,
                Flaw::Unknown(at, key) if misnamed.iter().any(|wrong| wrong.at == *at && wrong.key == *key) => None,
                Flaw::Unknown(at, key) => Some(self.unknown(at, key, &mut renames)),
                Flaw::MayBeMissing(at) => Some(self.may_be_missing(at)),
                Flaw::Unfit(at, message) => Some(self.unfit(at, message)),
            });
        }
        found.extend(misnamed.iter().map(|Misnamed { at, key, meant }| {
            let message =
                format!("{} needs `{meant}`, and `{key}` is none of its {}", self.owner(at), format_args!("{}s", self.key_of(at)));
            renamed(self.finding(self.key(at, key), message), meant, true)
        }));
    }

    fn finding(&self, span: Span, message: String) -> Diagnostic {
        Diagnostic::new(Code::BadToolArgs, &self.document.path, span, message)
    }

    /// The pointer into all arguments.
    fn full(&self, at: &str) -> String {
        format!("{}{at}", self.base)
    }

    /// Returns the span of a key of the mapping at a pointer.
    fn key(&self, at: &str, key: &str) -> Span {
        self.written.key(&below(&self.full(at), key), self.callee)
    }

    fn value(&self, at: &str) -> Span {
        self.written.value(&self.full(at), self.callee)
    }

    /// Returns the owner of the keys at a pointer: the callee, or one of its arguments.
    fn owner(&self, at: &str) -> String {
        match &*self.full(at) {
            "" => self.name.clone(),
            at => format!("{} of {}", shown(at), self.name),
        }
    }

    /// Returns the steps from the value that the schema describes.
    fn steps(&self, at: &str) -> Vec<Segment> {
        let steps = self.written.steps(&self.full(at));
        steps[self.base.matches('/').count()..].to_vec()
    }

    /// Returns the part of the schema that applies at a pointer.
    fn part(&self, at: &str) -> Option<Schema> {
        self.schema?.part(&self.steps(at))
    }

    fn key_of(&self, at: &str) -> &'static str {
        if self.full(at).is_empty() { "argument" } else { "key" }
    }

    fn misnamed(&self, flaws: &[Flaw]) -> Vec<Misnamed> {
        let mut misnamed: Vec<Misnamed> = Vec::new();
        for flaw in flaws {
            let Flaw::Missing(at, meant) = flaw else { continue };
            let declared = self.declared(at);
            let is_free = |key: &&str| {
                !declared.iter().any(|name| name == key) && !misnamed.iter().any(|wrong| wrong.at == *at && wrong.key == **key)
            };
            let given = self.given(at);
            if let Some(key) = nearest(meant, given.iter().map(String::as_str).filter(is_free)) {
                let wrong = Misnamed { at: at.clone(), key: key.to_owned(), meant: meant.clone() };
                misnamed.push(wrong);
            }
        }
        misnamed
    }

    /// The keys that are written at a pointer.
    fn given(&self, at: &str) -> Vec<String> {
        let given = walk(&self.written.value, &self.written.steps(&self.full(at))).and_then(Value::as_map);
        given.into_iter().flat_map(|entries| entries.keys().map(ToString::to_string)).collect()
    }

    /// The keys that the schema names for the mapping at a pointer.
    fn declared(&self, at: &str) -> Vec<String> {
        let part = self.part(at);
        let properties = part.as_ref().and_then(|part| part.source().as_map()?.get("properties")?.as_map());
        properties.into_iter().flat_map(|entries| entries.keys().map(ToString::to_string)).collect()
    }

    fn missing(&self, at: &str, keys: &[&str]) -> Diagnostic {
        let listed = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>();
        let (listed, verb) = match listed.as_slice() {
            [one] => (one.clone(), "is"),
            [most @ .., last] => (format!("{} and {last}", most.join(", ")), "are"),
            [] => (String::new(), "is"),
        };
        let message = format!("{} needs {listed}, which {verb} not given", self.owner(at));
        let help = format!("add `{}`", keys.iter().map(|key| format!("{key}: …")).collect::<Vec<_>>().join("`, `"));
        self.finding(self.written.key(&self.full(at), self.callee), message).help(help)
    }

    fn unknown(&self, at: &str, key: &str, renames: &mut BTreeSet<Rename>) -> Diagnostic {
        let (declared, given) = (self.declared(at), self.given(at));
        let diagnostic = self.finding(self.key(at, key), format!("{} takes no {} `{key}`", self.owner(at), self.key_of(at)));
        let free = declared.iter().map(String::as_str).filter(|name| !given.iter().any(|given| given == name));
        match nearest(key, free) {
            Some(near) => {
                let is_first = renames.insert((at.to_owned(), near.to_owned()));
                renamed(diagnostic, near, is_first)
            }
            None if declared.is_empty() => diagnostic.help("remove it"),
            None => {
                let more = if declared.len() > LISTED { " …" } else { "" };
                let names: Vec<_> = declared.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
                diagnostic.help(format!("it takes {}{more}", names.join(", ")))
            }
        }
    }

    fn may_be_missing(&self, at: &str) -> Diagnostic {
        let message = format!("{} needs {}, and `optional` may leave it out", self.name, shown(&self.full(at)));
        self.finding(self.value(at), message).help("leave `optional` away: where nothing is set, that is found")
    }

    fn unfit(&self, at: &str, message: &str) -> Diagnostic {
        let message = match (self.full(at).is_empty(), message.starts_with('`')) {
            (true, _) => format!("what {} gets does not fit: {message}", self.name),
            (false, true) => format!("{}: {message}", self.name),
            (false, false) => format!("{} {message}", self.owner(at)),
        };
        let span = self.value(at);
        let diagnostic = self.finding(span, message);
        let written = self.written.text(span);
        match self.written.shape(&self.full(at)) {
            Some(Shape::Text(_)) => diagnostic.help("only a `{{ … }}` with nothing around it keeps its type; this becomes text"),
            Some(Shape::Literal(Value::Text(text))) => {
                let closed = self.schema.and_then(|schema| schema.closed(&self.steps(at))).map(|(values, _)| values).unwrap_or_default();
                if let Some(near) = nearest(text, closed.iter().filter_map(Value::as_str)) {
                    let diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                    return if is_name(near) && written == &**text {
                        diagnostic.fix(format!("write `{near}`"), span, near)
                    } else {
                        diagnostic
                    };
                }
                let fits = |value: &Value| self.part(at).is_some_and(|part| part.fits(value));
                let bare = Value::from_json(text).ok().filter(|value| !matches!(value, Value::List(_) | Value::Map(_)) && fits(value));
                let bare = bare.filter(|_| self.is_of_wrong_kind(at, &Value::Text(text.clone())));
                match self.written.quoted(span).filter(|_| bare.is_some() && written == &**text) {
                    Some(quoted) => diagnostic.help("write it without quotes").fix("write it without quotes", quoted, &**text),
                    None => diagnostic,
                }
            }
            Some(Shape::Literal(value @ (Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Bool(_))))
                if self.is_of_wrong_kind(at, value) && self.part(at).is_some_and(|part| part.fits(&Value::text(written))) =>
            {
                diagnostic.help("put it in quotes").fix("put it in quotes", span, format!("\"{written}\""))
            }
            _ => diagnostic,
        }
    }

    /// Returns whether no kind that fits is that of the value: then another value may be meant; otherwise quotes would only hide the mistake.
    fn is_of_wrong_kind(&self, at: &str, value: &Value) -> bool {
        let names: &[&str] = match value {
            Value::Int(_) | Value::UInt(_) => &["integer", "number"],
            Value::Float(_) => &["number"],
            Value::Bool(_) => &["boolean"],
            Value::Text(_) => &["string"],
            Value::Null | Value::List(_) | Value::Map(_) => &[],
        };
        let part = self.part(at);
        let is_closed = |words: &Mapping| words.contains("enum") || words.contains("const");
        let words = part.as_ref().and_then(|part| part.source().as_map());
        words.is_some_and(|words| takes(words, names).map_or_else(|| is_closed(words), |takes| !takes))
    }

    /// Arguments that a schema lets pass but does not name, one slip away from one that it does name and that is not given.
    fn misspelt(&self, flaws: &[Flaw], found: &mut Vec<Diagnostic>) {
        let part = self.part("");
        let has = |word: &str| part.as_ref().and_then(|part| part.source().as_map()).is_some_and(|words| words.contains(word));
        if NAMED_ELSEWHERE.into_iter().any(has) {
            return;
        }
        let (declared, given) = (self.declared(""), self.given(""));
        let mut renames: BTreeSet<&str> = BTreeSet::new();
        let is_reported = |key: &str| flaws.iter().any(|flaw| matches!(flaw, Flaw::Unknown(at, known) if at.is_empty() && known == key));
        for key in given.iter().filter(|key| !declared.contains(key) && !is_reported(key)) {
            let slip = if key.chars().count() < 6 { 1 } else { 2 };
            let free = declared.iter().filter(|name| !given.contains(name) && strsim::osa_distance(key, name) <= slip);
            let meant = free.min_by_key(|name| strsim::osa_distance(key, name));
            let is_missing =
                |name: &str| flaws.iter().any(|flaw| matches!(flaw, Flaw::Missing(at, known) if at.is_empty() && known == name));
            if let Some(meant) = meant.filter(|name| !is_missing(name)) {
                let diagnostic = self.finding(self.key("", key), format!("{} names no argument `{key}`", self.name));
                found.push(renamed(diagnostic, meant, renames.insert(meant)).severity(Severity::Warning));
            }
        }
    }
}

/// A key that seems to mean another, which is offered where none was renamed to that before.
fn renamed(diagnostic: Diagnostic, meant: &str, is_first: bool) -> Diagnostic {
    let span = diagnostic.place.as_ref().map_or(Span::at(0), |place| place.span);
    diagnostic.help(format!("did you mean `{meant}`?")).rename_if(is_first && is_name(meant), span, meant)
}

/// A pointer as a dotted path.
fn shown(pointer: &str) -> String {
    let steps: Vec<_> = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    format!("`{}`", steps.join("."))
}
