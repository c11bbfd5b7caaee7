//! What a node says: `content` and `messages`.

use super::{Decoder, Form};
use crate::{
    span::Spanned,
    syntax::{
        node::{MessageSyntax, NodeSyntax},
        tree::{Data, Entry},
    },
    value::Key,
};

pub(in crate::syntax) static MESSAGE: Form =
    Form { aliases: &[("text", "content"), ("message", "content")], ..Form::new("a message", &["content", "options"]) };

impl<'t> Decoder<'t, '_> {
    /// Decodes `content` or `messages`.
    pub(super) fn say(&mut self, node: &mut NodeSyntax, key: &'static str, entry: &Entry<'t>) {
        match key {
            "content" => {
                let blank = Self::spelled(&entry.value).is_some_and(|text| text.trim().is_empty());
                node.content = if blank { None } else { self.template(&entry.key, &entry.value) };
            }
            _ => {
                let locales = self.mapping(key, "a mapping from locales to messages", &entry.value).unwrap_or_default();
                node.messages = locales.iter().map(|locale| self.message(locale)).collect();
            }
        }
    }

    fn message(&mut self, entry: &Entry<'t>) -> MessageSyntax {
        let locale = Spanned::new(entry.key.as_ref().into(), entry.span);
        let mut message = MessageSyntax { locale, content: None, options: Vec::new() };
        let Data::Map(entries) = &entry.value.data else {
            message.content = self.template(&entry.key, &entry.value);
            return message;
        };
        self.each(entries, &MESSAGE, |decoder, key, entry| match key {
            "content" => message.content = decoder.template(key, &entry.value),
            _ => {
                let options = decoder.mapping(key, "a mapping from values to texts", &entry.value).unwrap_or_default();
                for option in options {
                    if let Some(text) = decoder.text(&option.key, &option.value) {
                        message.options.push((Spanned::new(Key::from(&*option.key), option.span), text));
                    }
                }
            }
        });
        message
    }
}
