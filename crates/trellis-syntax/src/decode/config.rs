//! Values that a host reads: stored as written, with their places and their holes (language 9.1, 9.2, 3.6).

use std::sync::Arc;

use super::Decoder;
use crate::{
    project::HostConfig,
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::Code,
    span::Spanned,
    template::{self, Dialect, Shape, Template},
    value::Key,
};

/// The methods of `http`; each takes a URL.
pub(crate) const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

/// The keys of `http`, beside the methods, that are filled in.
const FILLED: [&str; 5] = ["query", "headers", "json", "form", "text"];

/// The keys of servers and providers that may hold secrets.
const SECRETIVE: [&str; 3] = ["headers", "key", "env"];

impl<'t> Decoder<'t, '_> {
    /// Stores a key of a binding that is not the contract's.
    pub(super) fn host_key(&mut self, config: &mut HostConfig, key: &'static str, entry: &YamlEntry<'t>) {
        self.keep(config, key, entry);
        let node = &entry.value;
        let shape = match key {
            "http" => self.in_jinja(|decoder| decoder.request(node)),
            "args" => self.in_jinja(|decoder| decoder.shape(false, node)),
            "env" => self.with_secrets(key, node),
            _ => return self.plain_texts(key, node),
        };
        config.shapes.insert(key.to_owned(), shape);
    }

    /// Keeps `servers`, `models`, `policy` or `budget`.
    pub(super) fn setting(&mut self, config: &mut HostConfig, key: &'static str, entry: &YamlEntry<'t>) {
        let node = &entry.value;
        let is_list = key == "policy";
        match &node.data {
            YamlData::List(_) if is_list => {}
            YamlData::Map(_) if !is_list => {}
            _ if is_list => return self.wrong_type(key, "a list of providers, the first of which decides", node),
            _ => return self.wrong_type(key, "a mapping", node),
        }
        self.keep(config, key, entry);
        let YamlData::Map(entries) = &node.data else { return self.plain_texts(key, node) };
        match key {
            "servers" => entries.iter().for_each(|server| self.reached(config, &format!("{key}.{}", server.key), server)),
            "models" => {
                for part in entries {
                    match &part.value.data {
                        YamlData::Map(providers) if part.key == "providers" => {
                            let path = |provider: &YamlEntry<'t>| format!("{key}.providers.{}", provider.key);
                            providers.iter().for_each(|provider| self.reached(config, &path(provider), provider));
                        }
                        _ => self.plain_texts(&part.key, &part.value),
                    }
                }
            }
            _ => self.plain_texts(key, node),
        }
    }

    /// Stores every key of a file that only a host reads.
    pub(crate) fn settings(&mut self, entries: &[YamlEntry<'t>]) -> HostConfig {
        let mut config = HostConfig { path: Arc::clone(&self.report.path), ..HostConfig::default() };
        entries.iter().for_each(|entry| self.keep(&mut config, &entry.key, entry));
        config
    }

    /// Notes the secrets of one server or provider.
    fn reached(&mut self, config: &mut HostConfig, path: &str, entry: &YamlEntry<'t>) {
        let YamlData::Map(keys) = &entry.value.data else { return self.plain_texts(&entry.key, &entry.value) };
        for key in keys {
            if SECRETIVE.contains(&&*key.key) {
                let shape = self.with_secrets(&key.key, &key.value);
                config.shapes.insert(format!("{path}.{}", key.key), shape);
            } else {
                self.plain_texts(&key.key, &key.value);
            }
        }
    }

    fn keep(&mut self, config: &mut HostConfig, key: &str, entry: &YamlEntry<'t>) {
        let value = self.value(&entry.value);
        config.values.insert(Key::from(key), value);
        Self::places(key.to_owned(), &entry.value, &mut config.spans);
    }

    /// Decodes with the dialect of bindings, independent of `templates`.
    fn in_jinja<T>(&mut self, decode: impl FnOnce(&mut Self) -> T) -> T {
        let dialect = std::mem::replace(&mut self.dialect, Dialect::Jinja);
        let decoded = decode(self);
        self.dialect = dialect;
        decoded
    }

    /// The value of `http`: URLs in pieces, everything else that is sent as shapes, settings as they are.
    fn request(&mut self, node: &YamlNode<'t>) -> Spanned<Shape> {
        let YamlData::Map(entries) = &node.data else {
            self.plain_texts("http", node);
            return Spanned::new(Shape::Literal(self.silently(|decoder| decoder.value(node))), node.span);
        };
        let mut shapes = Vec::with_capacity(entries.len());
        for entry in entries {
            let (key, value) = (&*entry.key, &entry.value);
            let shape = match &value.data {
                YamlData::Scalar(text, _) if METHODS.contains(&key) && text.contains('{') => {
                    let url = Template::parse_in_pieces(text, &value.map(self.text), self.report);
                    Spanned::new(Shape::Text(url), value.span)
                }
                _ if FILLED.contains(&key) => self.shape(true, value),
                _ => {
                    self.plain_texts(key, value);
                    Spanned::new(Shape::Literal(self.silently(|decoder| decoder.value(value))), value.span)
                }
            };
            shapes.push((Spanned::new(Key::from(key), entry.span), shape));
        }
        Spanned::new(Shape::Map(shapes), node.span)
    }

    /// Texts that may name secrets, and have no other holes.
    fn with_secrets(&mut self, key: &str, node: &YamlNode<'t>) -> Spanned<Shape> {
        let shape = match &node.data {
            YamlData::Scalar(text, _) if template::has_hole(text) => {
                let message = format!("`{}` takes `{{{{secret:name}}}}` and no other holes", shown(key));
                self.find_with(Code::WrongType, self.head(node), message, "templates stand in `http` and in `args` of a binding");
                Shape::Literal(text.as_ref().into())
            }
            YamlData::Scalar(text, _) if text.contains("{{") => {
                Shape::parse(text, &node.map(self.text), Dialect::Legacy, true, self.report)
            }
            YamlData::List(items) => Shape::List(items.iter().map(|item| self.with_secrets(key, item)).collect()),
            YamlData::Map(entries) => {
                let entry = |entry: &YamlEntry<'t>| {
                    let value = self.with_secrets(&entry.key, &entry.value);
                    (Spanned::new(Key::from(&*entry.key), entry.span), value)
                };
                Shape::Map(entries.iter().map(entry).collect())
            }
            _ => Shape::Literal(self.silently(|decoder| decoder.value(node))),
        };
        Spanned::new(shape, node.span)
    }

    /// Reports every hole in texts that are taken as they are.
    fn plain_texts(&mut self, key: &str, node: &YamlNode<'t>) {
        match &node.data {
            YamlData::Scalar(text, _) if template::has_hole(text) => {
                let message = format!("`{}` is taken as it is: nothing is filled in here", shown(key));
                let help = "templates stand in `http`, and in `args` beside `mcp`, `model` and `builtin`";
                self.find_with(Code::WrongType, self.head(node), message, help);
            }
            YamlData::Scalar(text, _) if text.contains("{{") => {
                let message = format!("`{}` may not name a secret", shown(key));
                let help = "secrets stand in `http`, in `env`, and in `headers` and `key` of servers and providers";
                self.find_with(Code::SecretExposed, self.head(node), message, help);
            }
            YamlData::List(items) => items.iter().for_each(|item| self.plain_texts(key, item)),
            YamlData::Map(entries) => entries.iter().for_each(|entry| self.plain_texts(&entry.key, &entry.value)),
            YamlData::Scalar(..) | YamlData::Reported => {}
        }
    }
}
