//! Listening: input types, options, and when they are closed (language 2, 6.4, 6.5).

use super::{Here, Lowering};
use crate::{
    diagnostic::{Code, Diagnostic, near},
    program::{Choice, Listen, OnInvalid},
    syntax::{
        node::{InputType, NodeSyntax, OptionSyntax, Wait},
        removal::removal,
    },
    value::Value,
};

/// Options that are compared with each other.
const FEW: usize = 12;

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
        let mut listen = Listen {
            kind,
            options: options.iter().map(|option| Choice { value: option.value.value.clone(), text: option.text.value.clone() }).collect(),
            closed: kind == Some(InputType::Choice) && !open,
            default: None,
            schema,
            on_invalid: node.on_invalid.as_ref().map(|invalid| OnInvalid {
                text: invalid.value.text.as_ref().map(|text| text.value.clone()),
                counts: invalid.value.max.is_some(),
            }),
            sleep: node.wait.as_ref().and_then(|wait| if let Wait::Sleep(duration) = wait.value { Some(duration) } else { None }),
            timeout: node.timeout.as_ref().map(|timeout| timeout.value),
        };
        for option in options.iter().filter(|_| listen.schema.is_some()) {
            if let Err(why) = crate::engine::accept(&listen, &option.value.value) {
                let message = format!("the option `{}` is not a valid input: {why}", option.value.value);
                self.report(here, Code::TypeMismatch, option.value.span, message).help =
                    Some("let `input_schema` take it, or drop one of them".into());
            }
        }
        if let Some(default) = &node.input_default {
            match crate::engine::accept_default(&listen, &default.value) {
                Ok(value) => listen.default = Some(value),
                Err(why) => {
                    self.report(here, Code::TypeMismatch, default.span, format!("the default is not a valid input: {why}"));
                }
            }
        }
        listen
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
        if options.len() <= FEW
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
