//! Listening: input types, options, and when they are closed (language 2, 6.4, 6.5).

use std::sync::Arc;

use super::{Here, Lowering};
use trellis_base::{
    diagnostic::{Code, Diagnostic, near},
    schema::{Schema, takes},
    template::Template,
    value::Value,
};
use trellis_engine::program::{Choice, Listen, OnInvalid};
use trellis_syntax::{
    node::{InputType, LocalText, NodeSyntax, OptionSyntax, Wait},
    removal::removal,
};

/// The texts of locales, sorted by their names.
pub(super) fn local_texts(messages: &[LocalText]) -> Box<[(Arc<str>, Template)]> {
    let mut texts: Box<[_]> = messages.iter().map(|(locale, text)| (locale.value.clone(), text.value.clone())).collect();
    texts.sort_by(|(a, _), (b, _)| a.cmp(b));
    texts
}

/// Options that are compared with each other.
const MAX_OPTIONS_COMPARED: usize = 12;

impl Lowering<'_> {
    /// Lowers how a node listens.
    pub(super) fn listen(&mut self, here: Here<'_>, node: &NodeSyntax) -> Listen {
        let options: &[_] = node.options.as_ref().map_or(&[], |options| &options.value);
        let declared = node.input_type.as_ref().map(|kind| kind.value);
        let kind = if options.is_empty() { declared } else { Some(InputType::Choice) };
        self.check_options(here, node);
        let open = !options.is_empty()
            && options.iter().all(|option| option.target.is_some())
            && (node.to.is_some() || !node.transitions.is_empty());
        let schema =
            node.input_schema.as_ref().and_then(|schema| self.schemas.checked(Code::WrongType, here.path, schema, &mut self.found));
        let schema = self.declared_input(here, node, kind, schema);
        let mut listen = Listen {
            kind,
            options: options
                .iter()
                .map(|option| Choice {
                    value: option.value.value.clone(),
                    text: option.text.value.clone(),
                    writes: option.writes.is_some(),
                })
                .collect(),
            closed: kind == Some(InputType::Choice) && !open,
            default: None,
            schema,
            on_invalid: node.on_invalid.as_ref().map(|invalid| OnInvalid {
                text: invalid.value.text.as_ref().map(|text| text.value.clone()),
                messages: local_texts(&invalid.value.messages),
                counts: invalid.value.max.is_some(),
            }),
            sleep: node.wait.as_ref().and_then(|wait| if let Wait::Sleep(duration) = wait.value { Some(duration) } else { None }),
            timeout: node.timeout.as_ref().map(|timeout| timeout.value),
        };
        if kind == Some(InputType::Secret) {
            self.check_on_invalid(here, node);
        }
        for option in options.iter().filter(|_| listen.schema.is_some()) {
            if let Err(why) = trellis_engine::engine::accept(&listen, &option.value.value) {
                let message = format!("the option `{}` is not a valid input: {why}", option.value.value);
                self.report(here, Code::TypeMismatch, option.value.span, message).help =
                    Some("let `input_schema` take it, or drop one of them".into());
            }
        }
        if let Some(default) = &node.input_default {
            match trellis_engine::engine::accept_default(&listen, &default.value) {
                Ok(value) => listen.default = Some(value),
                Err(why) => {
                    self.report(here, Code::TypeMismatch, default.span, format!("the default is not a valid input: {why}"));
                }
            }
        }
        listen
    }

    /// A secret that was refused must not be shown (language 6.5).
    fn check_on_invalid(&mut self, here: Here<'_>, node: &NodeSyntax) {
        let texts =
            node.on_invalid.iter().flat_map(|invalid| invalid.value.text.iter().chain(invalid.value.messages.iter().map(|(_, text)| text)));
        for text in texts {
            text.value.each_use(&mut |used| {
                if **used.path.root() == *"input" {
                    self.report(here, Code::SecretExposed, used.span(), "`input` is a secret here, and would be shown").help =
                        Some("say what is asked for without it".into());
                }
            });
        }
    }

    /// Returns the schema of an input: its own schema, and the type that `context:` declares for the key that it is saved to (language 2.1).
    /// Options are literals, which are checked against it where they are written.
    fn declared_input(&self, here: Here<'_>, node: &NodeSyntax, kind: Option<InputType>, own: Option<Schema>) -> Option<Schema> {
        let Some(to) = node.save_to.as_ref().map(|to| &to.value).filter(|_| kind != Some(InputType::Choice)) else { return own };
        let types = &self.graphs[here.graph as usize].types;
        let Some(declared) = types.iter().find(|declared| declared.key.value == *to.root()) else { return own };
        let part = if to.rest().is_empty() { Some(declared.schema.clone()) } else { declared.schema.part(to.rest()) };
        match (own, part.filter(|part| says_more(part, kind))) {
            (Some(own), Some(part)) => {
                let both = Value::map([("allOf", Value::list([own.source().clone(), part.source().clone()]))]);
                Schema::new(&both).ok().or(Some(own))
            }
            (own, part) => own.or(part),
        }
    }

    fn check_options(&mut self, here: Here<'_>, node: &NodeSyntax) {
        let Some(options) = &node.options else {
            if let Some(kind) = node.input_type.as_ref().filter(|kind| kind.value == InputType::Choice) {
                self.report(here, Code::MissingValue, kind.span, "a choice needs `options`").help =
                    Some("add `options: [first, second]`".into());
            }
            return;
        };
        if let Some(kind) = node.input_type.as_ref().filter(|kind| kind.value != InputType::Choice) {
            self.report(here, Code::TypeContradiction, kind.span, "a node with `options` takes a choice, not another type").help =
                Some("drop `input_type`, or drop `options`".into());
        }
        self.check_twice(here, &options.value);
        for message in &node.messages {
            for (value, _) in &message.options {
                if !options.value.iter().any(|option| option.value.value.to_string() == *value.value) {
                    let values = options.value.iter().map(|option| option.value.value.to_string()).collect::<Vec<_>>();
                    let near = near(&value.value, values.iter().map(String::as_str));
                    let message = format!("there is no option with the value `{}`", value.value);
                    let found = Diagnostic::new(Code::UnknownKey, here.path, value.span, message);
                    self.push(found.meant(value.span, near, || format!("the options are {}", values.join(", "))));
                }
            }
        }
    }

    fn check_twice(&mut self, here: Here<'_>, options: &[OptionSyntax]) {
        let texts = |at: usize| if let Value::Text(text) = &options[at].value.value { Some(text) } else { None };
        // A few texts are compared as they are: most nodes cost no table.
        if options.len() <= MAX_OPTIONS_COMPARED
            && (0..options.len()).all(|at| texts(at).is_some_and(|text| (0..at).all(|other| texts(other) != Some(text))))
        {
            return;
        }
        let mut seen: rustc_hash::FxHashMap<String, usize> = rustc_hash::FxHashMap::default();
        for (at, option) in options.iter().enumerate() {
            match seen.entry(option.value.value.to_json()) {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(at);
                }
                std::collections::hash_map::Entry::Occupied(entry) => {
                    let first = options[*entry.get()].value.span;
                    let message = format!("the option `{}` stands twice", option.value.value);
                    let place = Diagnostic::new(Code::DuplicateOption, here.path, option.value.span, message)
                        .label(here.path, first, "the first one is here")
                        .help("take one of them out, or give it another `value`");
                    let text = &self.documents[here.document as usize].text;
                    let written = |option: &OptionSyntax| &text[option.span.range()];
                    let is_same = written(option) == written(&options[*entry.get()]);
                    let second = is_same.then(|| removal(text, option.span)).flatten();
                    self.push(
                        second.into_iter().fold(place, |place, second| place.fix("remove the second, which is the same", second, "")),
                    );
                }
            }
        }
    }
}

/// Returns whether a schema restricts an input beyond its type, and accepts some of that type.
fn says_more(schema: &Schema, kind: Option<InputType>) -> bool {
    let Some(map) = schema.source().as_map() else { return false };
    let (names, sample): (&[&str], fn(&Value) -> bool) = match kind {
        None | Some(InputType::Json) => return !map.is_empty(),
        Some(InputType::Int) => (&["integer", "number"], |value| matches!(value, Value::Int(_) | Value::UInt(_))),
        Some(InputType::Float) => (&["number"], |value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_))),
        Some(InputType::Text | InputType::Secret) => (&["string"], |value| value.as_str().is_some()),
        Some(InputType::Confirm | InputType::Choice) => return false,
    };
    let listed = map.get("enum").and_then(Value::as_list).into_iter().flatten().chain(map.get("const"));
    let is_open = !map.contains("enum") && !map.contains("const");
    let is_bare = map.keys().all(|key| ["type", "title", "description"].contains(&&**key));
    takes(map, names) != Some(false) && !is_bare && (is_open || listed.into_iter().any(sample))
}
