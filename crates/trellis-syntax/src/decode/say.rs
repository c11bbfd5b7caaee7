//! The texts of a node: `content` and `messages`.

use super::{Decoder, Form, Inside};
use crate::{
    node::{LocalText, MessageSyntax, NodeSyntax, SpeechPartSyntax, SpeechSyntax},
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{diagnostic::Code, span::Spanned, value::Key};

pub(crate) static MESSAGE: Form = Form {
    aliases: &[("text", "content"), ("message", "content")],
    inside: &[("content", Inside::Each(&SPEECH))],
    items: Some(&SPEECH),
    ..Form::new("a message", &["content", "options"])
};

pub(crate) static SPEECH: Form = Form {
    elsewhere: &[
        ("content", Some("text"), "write `text`"),
        ("message", Some("text"), "write `text`"),
        ("when", Some("condition"), "write `condition`"),
        ("if", Some("condition"), "write `condition`"),
    ],
    ..Form::new("a part of what is said", &["text", "condition"])
};

impl<'t> Decoder<'t, '_> {
    /// Decodes `content` or `messages`.
    pub(super) fn say(&mut self, node: &mut NodeSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        match key {
            "content" => {
                let blank = Self::spelled(&entry.value).is_some_and(|text| text.trim().is_empty());
                node.content = if blank { None } else { self.speech(&entry.key, &entry.value) };
            }
            _ => {
                let locales = self.mapping(key, "a mapping from locales to messages", &entry.value).unwrap_or_default();
                node.messages = locales.iter().map(|locale| self.message(locale)).collect();
            }
        }
    }

    /// A text, or a list of parts.
    fn speech(&mut self, key: &str, value: &YamlNode<'t>) -> Option<Spanned<SpeechSyntax>> {
        let YamlData::List(items) = &value.data else {
            return self.template(key, value).map(|text| text.map(SpeechSyntax::Text));
        };
        if items.is_empty() {
            self.find_with(Code::MissingValue, value.span, format!("`{}` is empty", shown(key)), "list what is said, or remove the key");
            return None;
        }
        let parts = items.iter().filter_map(|item| self.speech_part(key, item)).collect();
        Some(Spanned::new(SpeechSyntax::Parts(parts), value.span))
    }

    fn speech_part(&mut self, key: &str, item: &YamlNode<'t>) -> Option<SpeechPartSyntax> {
        let YamlData::Map(entries) = &item.data else {
            self.wrong_type_with(
                key,
                "parts with a `text`",
                item,
                "write `- text: …`, with a `condition` beside it where it is said only then",
            );
            return None;
        };
        let (mut text, mut condition) = (None, None);
        let seen = self.each(entries, &SPEECH, |decoder, key, entry| match key {
            "text" => text = decoder.template(key, &entry.value),
            _ => condition = decoder.condition_of(entry, entries),
        });
        if seen.lacks(&["text"]) {
            self.find_with(Code::MissingValue, self.head(item), "the part has no `text`", "`text` is what is said");
        }
        // A part whose condition is broken must not be taken for an unconditional one.
        let broken = seen.has("condition") && condition.is_none();
        Some(SpeechPartSyntax { span: item.span, text: text.filter(|_| !broken)?, condition })
    }

    /// `messages` of a single text: locale → text.
    pub(super) fn local_texts(&mut self, key: &str, value: &YamlNode<'t>) -> Vec<LocalText> {
        let locales = self.mapping(key, "a mapping from locales to texts", value).unwrap_or_default();
        let text = |locale: &YamlEntry<'t>| {
            let text = self.template(&locale.key, &locale.value)?;
            Some((Spanned::new(locale.key.as_ref().into(), locale.span), text))
        };
        locales.iter().filter_map(text).collect()
    }

    fn message(&mut self, entry: &YamlEntry<'t>) -> MessageSyntax {
        let locale = Spanned::new(entry.key.as_ref().into(), entry.span);
        let mut message = MessageSyntax { locale, content: None, options: Vec::new() };
        let YamlData::Map(entries) = &entry.value.data else {
            message.content = self.speech(&entry.key, &entry.value);
            return message;
        };
        self.each(entries, &MESSAGE, |decoder, key, entry| match key {
            "content" => message.content = decoder.speech(key, &entry.value),
            _ => {
                let options = decoder.mapping(key, "a mapping from values to texts", &entry.value).unwrap_or_default();
                for option in options {
                    if let Some(text) = decoder.template(&option.key, &option.value) {
                        message.options.push((Spanned::new(Key::from(&*option.key), option.span), text));
                    }
                }
            }
        });
        message
    }
}
