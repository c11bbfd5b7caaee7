//! From a tree to the content of a file: every key of every form is decoded by hand, so that all mistakes of a file are found at once.
//!
//! One file per verb: [`say`], [`listen`], [`act`], [`remember`], [`decide`]; [`node`] knows which key belongs to which.
//!
//! **Invariant:** one mistake is one diagnostic: a reported part is left out, and its absence is not reported too.

mod act;
mod bindings;
mod config;
mod confirm;
mod decide;
mod form;
mod kinds;
mod listen;
mod node;
mod project;
mod remember;
mod say;
mod scalars;
mod schema_keys;
mod tools;
mod values;
pub(super) mod words;

use std::borrow::Cow;

pub(super) use self::{
    act::{APPROVE, BRANCH, CALL, CALLEES, RETRY},
    bindings::{BINDING, GO_FILE, GO_TOOL, has_bindings},
    decide::TRANSITION,
    form::{Form, Inside},
    listen::{ON_INVALID, OPTION},
    node::NODE,
    project::{LIMITS, PREDICATE, PROJECT},
    say::{MESSAGE, SPEECH},
    tools::{LIBRARY, TOOL, is_library},
};
use super::{
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Near, Report, near},
    span::Span,
    template::Dialect,
};

/// Findings in one file after which no nearest names are looked for any more: junk has thousands of unknown keys.
const MAX_FINDINGS_WITH_SUGGESTION: usize = 200;

/// Decodes the parts of one file.
pub(super) struct Decoder<'t, 'r> {
    /// The file.
    pub(super) text: &'t str,
    /// The dialect of its templates.
    pub(super) dialect: Dialect,
    /// The findings.
    pub(super) report: &'r mut Report,
}

impl<'t> Decoder<'t, '_> {
    /// Adds a finding.
    fn find(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report.add(code, span, message);
    }

    /// Adds a finding with its remedy.
    fn find_with(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.report.add(code, span, message).help = Some(help.into());
    }

    /// A finding that is still to be pushed.
    fn finding(&self, code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, &self.report.path, span, message)
    }

    /// `wrong-type`: `key` takes `what`.
    fn wrong_type(&mut self, key: &str, what: &str, node: &YamlNode<'t>) {
        if !matches!(node.data, YamlData::Reported) {
            let message = format!("`{}` takes {what}, not {}", shown(key), node.kind());
            self.find(Code::WrongType, self.head(node), message);
        }
    }

    /// `wrong-type` with its remedy.
    fn wrong_type_with(&mut self, key: &str, what: &str, node: &YamlNode<'t>, help: impl Into<String>) {
        if !matches!(node.data, YamlData::Reported) {
            let message = format!("`{}` takes {what}, not {}", shown(key), node.kind());
            self.find_with(Code::WrongType, self.head(node), message, help);
        }
    }

    /// Returns the first line of a value, which a finding about its kind shows.
    fn head(&self, node: &YamlNode<'t>) -> Span {
        let written = &self.text[node.span.range()];
        let line = written.find('\n').map_or(written.len(), |end| end);
        Span::new(node.span.start as usize, node.span.start as usize + written[..line].trim_end().len())
    }

    /// The entries of a mapping, or a `wrong-type`.
    fn mapping<'n>(&mut self, key: &str, what: &str, node: &'n YamlNode<'t>) -> Option<&'n [YamlEntry<'t>]> {
        match &node.data {
            YamlData::Map(entries) => Some(entries),
            _ => {
                self.wrong_type(key, what, node);
                None
            }
        }
    }

    /// Returns the items of a list, or reports `wrong-type`; the fix puts a single value into brackets.
    fn list<'n>(&mut self, key: &str, what: &str, node: &'n YamlNode<'t>) -> Option<&'n [YamlNode<'t>]> {
        match &node.data {
            YamlData::List(items) => return Some(items),
            YamlData::Reported => {}
            YamlData::Scalar(text, style) => {
                let found = self.finding(Code::WrongType, self.head(node), format!("`{}` takes {what}, not {}", shown(key), node.kind()));
                let bracketed =
                    *style == super::scalar::Style::Plain && !text.is_empty() && !text.contains(['\n', ',', '[', ']', '{', '}']);
                let found = match bracketed {
                    true => found.help("write it as a list").fix("make it a list", node.span, format!("[{text}]")),
                    false => found.help("write it as a list"),
                };
                self.report.push(found);
                // A value with only one possible meaning is read on.
                if bracketed && node.plain() == super::scalar::Plain::Text {
                    return Some(std::slice::from_ref(node));
                }
            }
            YamlData::Map(_) => {
                let help = match key {
                    "options" => "write each as `- { text: …, to: … }`",
                    "tools" => "write each as `- { name: …, parameters: … }`",
                    "required_context" => "list the keys: `[name]`; what they hold stands in `context_schema`",
                    _ => "begin each item with `- `",
                };
                self.wrong_type_with(key, what, node, help);
            }
        }
        None
    }

    /// The nearest candidate, unless the name is too long or too much was found already.
    fn near<'c>(&self, name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<Near<'c>> {
        (name.len() <= 64 && self.report.diagnostics.len() < MAX_FINDINGS_WITH_SUGGESTION).then(|| near(name, candidates)).flatten()
    }

    /// Runs `decode` without its findings: for the value of a key that was only guessed.
    fn silently<R>(&mut self, decode: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.report.diagnostics.len();
        let result = decode(self);
        self.report.diagnostics.truncate(before);
        result
    }

    /// A scalar as its author spelled it, if it is one.
    fn spelled<'n>(node: &'n YamlNode<'t>) -> Option<&'n Cow<'t, str>> {
        match &node.data {
            YamlData::Scalar(text, _) => Some(text),
            _ => None,
        }
    }
}
