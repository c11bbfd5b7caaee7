//! The inputs of a node: `input_type`, `options`, `wait` and their like.

use super::{Decoder, Form};
use crate::{
    duration,
    node::{InputType, NodeSyntax, OnInvalidSyntax, OptionSyntax, OptionWrites, Wait},
    scalar::Plain,
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Report},
    span::Spanned,
    template::{Template, forbid_secrets},
    value::Value,
};

pub(super) const TYPES: [(&str, InputType); 7] = [
    ("text", InputType::Text),
    ("confirm", InputType::Confirm),
    ("choice", InputType::Choice),
    ("int", InputType::Int),
    ("float", InputType::Float),
    ("json", InputType::Json),
    ("secret", InputType::Secret),
];

pub(crate) static OPTION: Form = Form {
    elsewhere: &[
        ("next", Some("to"), "write `to`"),
        ("to_node_id", Some("to"), "write `to`"),
        ("target", Some("to"), "write `to`"),
        ("label", Some("text"), "write `text`"),
        ("condition", None, "an option is taken when it is chosen; conditions belong in `transitions`"),
        ("from", None, "a transition is written at the node it leaves: remove `from`"),
        ("from_node_id", None, "a transition is written at the node it leaves: remove `from_node_id`"),
    ],
    ..Form::new("an option", &["value", "text", "save_to", "set", "append", "to", "jump_to"])
};

pub(crate) static ON_INVALID: Form = Form::new("`on_invalid`", &["text", "messages", "max", "to", "jump_to"]);

impl<'t> Decoder<'t, '_> {
    /// Decodes one of the keys that make a node listen, or shape its input.
    pub(super) fn listen(&mut self, node: &mut NodeSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        let value = &entry.value;
        match key {
            "input_type" => node.input_type = self.one_of(key, &TYPES, value),
            "options" => node.options = self.options(entry),
            "input_default" => node.input_default = Some(Box::new(self.spanned_value(value))),
            "input_schema" => node.input_schema = self.schema(key, value).map(Box::new),
            "on_invalid" => node.on_invalid = self.on_invalid(value).map(Box::new),
            "wait" => node.wait = self.wait(value).map(Box::new),
            _ => node.timeout = self.duration(key, false, value).map(Box::new),
        }
    }

    fn wait(&mut self, value: &YamlNode<'t>) -> Option<Spanned<Wait>> {
        match value.plain() {
            Plain::Bool(true) => Some(Spanned::new(Wait::Input, value.span)),
            Plain::Bool(false) => None,
            _ if Self::spelled(value).is_none() => {
                self.wrong_type_with("wait", "`true` or a duration", value, duration::FORM);
                None
            }
            _ => self.duration("wait", true, value).map(|length| length.map(Wait::Sleep)),
        }
    }

    fn on_invalid(&mut self, value: &YamlNode<'t>) -> Option<Spanned<OnInvalidSyntax>> {
        let mut on_invalid = OnInvalidSyntax { text: None, messages: Vec::new(), max: None, to: None };
        let YamlData::Map(entries) = &value.data else {
            self.wrong_type_with("on_invalid", "a mapping", value, "write `on_invalid: { text: …, max: 3, to: … }`");
            return None;
        };
        let seen = self.each(entries, &ON_INVALID, |decoder, key, entry| match key {
            "text" => on_invalid.text = decoder.template(key, &entry.value),
            "messages" => on_invalid.messages = decoder.local_texts(key, &entry.value),
            "max" => on_invalid.max = decoder.count(key, &entry.value),
            _ => decoder.put_target(&mut on_invalid.to, key, entry),
        });
        // Without the number that was refused, `to` would seem to mean nothing.
        on_invalid.to = on_invalid.to.filter(|_| on_invalid.max.is_some() || seen.lacks(&["max"]));
        Some(Spanned::new(on_invalid, value.span))
    }

    fn options(&mut self, entry: &YamlEntry<'t>) -> Option<Spanned<Box<[OptionSyntax]>>> {
        let key = &*entry.key;
        let items = self.list(key, "a list of texts or options", &entry.value)?;
        if items.is_empty() {
            self.find_with(Code::MissingValue, entry.span, format!("`{key}` is empty"), "list what can be chosen, or remove the key");
            return None;
        }
        let mut options = Vec::with_capacity(items.len());
        options.extend(items.iter().filter_map(|item| self.option(key, item)));
        if key == "input_options"
            && let Some(target) = options.iter().find_map(|option| option.target.as_ref())
        {
            let found = self.finding(Code::WrongType, target.key.span, "`input_options` takes options without targets");
            self.report.push(found.help("write `options`").fix("rename to `options`", entry.span, "options"));
        }
        Some(Spanned::new(options.into(), entry.value.span))
    }

    fn option(&mut self, key: &str, item: &YamlNode<'t>) -> Option<OptionSyntax> {
        let YamlData::Map(entries) = &item.data else {
            let (value, text) = self.bare_option(key, item)?;
            return Some(OptionSyntax { span: item.span, value, text, writes: None, target: None });
        };
        if let [entry] = entries.as_slice()
            && self.is_labelled(entry)
        {
            let label = shown(&entry.key);
            let message = format!("`{label}` is no key of an option");
            let to = Self::spelled(&entry.value).filter(|to| !to.is_empty()).map_or("…", |to| shown(to));
            self.find_with(Code::UnknownKey, entry.span, message, format!("write the option as `{{ text: {label}, to: {to} }}`"));
            return None;
        }
        let (mut value, mut text, mut target) = (None, None, None);
        let mut writes = OptionWrites::default();
        let seen = self.each(entries, &OPTION, |decoder, key, entry| match key {
            "value" => value = decoder.identity(&entry.value),
            "text" => text = Some(&entry.value),
            "save_to" => writes.save_to = decoder.saved(key, &entry.value),
            "set" => writes.set = decoder.assignments(key, &entry.value),
            "append" => writes.append = decoder.assignments(key, &entry.value),
            _ => decoder.put_target(&mut target, key, entry),
        });
        if seen.lacks(&["text"]) {
            self.find_with(Code::MissingValue, self.head(item), "the option has no `text`", "`text` is what is shown");
        }
        let (value, text) = match (value, text) {
            // A value that was refused is not missing.
            (None, text) if seen.has("value") => {
                let shown = self.option_text("text", text?)?;
                (shown.clone().map(|shown| Value::text(shown.text())), shown)
            }
            (None, text) => self.bare_option("text", text?)?,
            (Some(value), text) => {
                let shown = text.and_then(|text| self.option_text("text", text));
                let shown = shown.unwrap_or_else(|| value.clone().map(|value| Template::literal(value.to_string())));
                (value, shown)
            }
        };
        let has_some = writes.save_to.is_some() || !writes.set.is_empty() || !writes.append.is_empty();
        Some(OptionSyntax { span: item.span, value, text, writes: has_some.then(|| Box::new(writes)), target })
    }

    /// Returns whether the only entry of an option is its text with the place that it leads to, `Yes: welcome`, and no slip of a key.
    fn is_labelled(&self, entry: &YamlEntry<'t>) -> bool {
        let is_word = entry.key.chars().all(|char| char.is_ascii_lowercase() || char == '_');
        let is_text = !is_word || matches!(&*entry.key, "yes" | "no") || self.near(&entry.key, OPTION.keys.iter().copied()).is_none();
        is_text && !OPTION.knows(&entry.key) && !entry.bare && entry.key != "<<"
    }

    /// Reads the text of an option, a template (language 6.4).
    fn option_text(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<Template>> {
        let text = self.name(key, node)?;
        if text.value.contains('{') { self.template(key, node) } else { Some(text.map(Template::literal)) }
    }

    /// Reads a text that is also the value of its option: literal, so a hole or a secret in it is a mistake (language 3.6, 6.4).
    fn bare_option(&mut self, key: &str, node: &YamlNode<'t>) -> Option<(Spanned<Value>, Spanned<Template>)> {
        let text = self.name(key, node)?;
        let before = self.report.diagnostics.len();
        forbid_secrets(&text.value, &node.map(self.text), self.dialect, self.report);
        let mut unread = Report::new(&self.report.path);
        let has_holes = !Template::parse(&text.value, &node.map(self.text), self.dialect, &mut unread).is_literal();
        if has_holes && self.report.diagnostics.len() == before {
            let help = "give it a `value`: `{ value: …, text: … }`; that is what is saved and compared, whatever the text shows";
            self.find_with(Code::MissingValue, node.span, "an option whose text is a template has no `value`", help);
        }
        let shown = text.clone().map(Template::literal);
        Some((text.map(Value::Text), shown))
    }

    /// Decodes the value of an option.
    fn identity(&mut self, value: &YamlNode<'t>) -> Option<Spanned<Value>> {
        match value.data {
            YamlData::Scalar(..) if value.plain() == Plain::Text => self.name("value", value).map(|text| text.map(Value::Text)),
            YamlData::Scalar(..) => Some(self.spanned_value(value)),
            _ => {
                self.wrong_type("value", "a text, number or boolean", value);
                None
            }
        }
    }
}
