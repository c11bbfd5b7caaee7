//! Values as data, values with holes, and types (language 2.1, 3.3).

use std::{collections::BTreeMap, sync::Arc};

use super::Decoder;
use crate::{
    scalar::{Plain, Style},
    text::shown,
    tree::{YamlData, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Near},
    schema::DATA,
    span::{Span, Spanned},
    template::{Shape, Template},
    value::{Key, Mapping, Value},
};

/// The short names of types, and their JSON Schema types.
pub(super) const TYPES: [(&str, &str); 5] =
    [("string", "string"), ("int", "integer"), ("float", "number"), ("bool", "boolean"), ("any", "")];

/// Words of a schema that may name further properties.
const NAMING: [&str; 6] = ["patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if"];

impl<'t> Decoder<'t, '_> {
    /// Decodes any value; numbers that would be rounded are refused, and null takes their place.
    pub(super) fn value(&mut self, node: &YamlNode<'t>) -> Value {
        match &node.data {
            YamlData::Scalar(text, Style::Plain) => self.plain(text, node.span),
            YamlData::Scalar(text, _) => Value::text(&**text),
            YamlData::List(items) => items.iter().map(|item| self.value(item)).collect::<Vec<_>>().into(),
            YamlData::Map(entries) => {
                Value::Map(entries.iter().map(|entry| (Key::from(&*entry.key), self.value(&entry.value))).collect::<Mapping>())
            }
            YamlData::Reported => Value::Null,
        }
    }

    fn plain(&mut self, text: &str, span: Span) -> Value {
        match Plain::of(text) {
            Plain::Text => Value::text(text),
            Plain::TooLarge => {
                self.find_with(
                    Code::WrongType,
                    span,
                    format!("the number {} does not fit 64 bits", shown(text)),
                    "put it in quotes to keep it as text",
                );
                Value::Null
            }
            Plain::NotFinite => {
                self.find_with(
                    Code::WrongType,
                    span,
                    format!("`{text}` is no number that JSON has"),
                    "put it in quotes to keep it as text",
                );
                Value::Null
            }
            plain => plain.value().unwrap_or_default(),
        }
    }

    /// Any value and its place.
    pub(super) fn spanned_value(&mut self, node: &YamlNode<'t>) -> Spanned<Value> {
        Spanned::new(self.value(node), node.span)
    }

    /// A text with holes.
    pub(super) fn template(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<Template>> {
        let text = self.str(key, node)?;
        let template = match text.contains('{') {
            true => Template::parse(text, &node.map(self.text), self.dialect, self.report),
            false => Template::literal(text),
        };
        Some(Spanned::new(template, node.span))
    }

    /// A value with holes at any depth; with `secrets` it may name secrets (language 3.6).
    pub(super) fn shape(&mut self, secrets: bool, node: &YamlNode<'t>) -> Spanned<Shape> {
        let shape = match &node.data {
            YamlData::Scalar(text, _) if text.contains('{') => Shape::parse(text, &node.map(self.text), self.dialect, secrets, self.report),
            YamlData::List(items) => Shape::List(items.iter().map(|item| self.shape(secrets, item)).collect()),
            YamlData::Map(entries) => {
                let entries =
                    entries.iter().map(|entry| (Spanned::new(Key::from(&*entry.key), entry.span), self.shape(secrets, &entry.value)));
                Shape::Map(entries.collect())
            }
            _ => Shape::Literal(self.value(node)),
        };
        Spanned::new(shape, node.span)
    }

    /// A mapping with holes.
    pub(super) fn shape_map(&mut self, key: &str, secrets: bool, node: &YamlNode<'t>) -> Option<Spanned<Shape>> {
        self.mapping(key, "a mapping", node)?;
        Some(self.shape(secrets, node))
    }

    /// A type (language 2.1) as a JSON Schema: a short name, `[T]`, or a schema as written.
    pub(super) fn schema(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<Value>> {
        let schema = match &node.data {
            YamlData::Map(_) => {
                // What the schema of a predicate requires is read, which has findings of its own.
                if key != "schema" {
                    self.unnamed_properties(node);
                }
                self.value(node)
            }
            YamlData::Scalar(..) if matches!(node.plain(), Plain::Bool(_)) => self.value(node),
            YamlData::Scalar(text, _) if node.plain() == Plain::Text => self.short_type(key, text, node)?,
            YamlData::List(items) => match items.as_slice() {
                [item] => list_of(self.schema(key, item)?.value),
                _ => {
                    self.wrong_type_with(key, "a type", node, "a list type names the type of its items: `[string]`");
                    return None;
                }
            },
            _ => {
                self.wrong_type_with(
                    key,
                    "a type or a JSON Schema",
                    node,
                    "types are `string`, `int`, `float`, `bool`, `any`, `[T]`, or a JSON Schema",
                );
                return None;
            }
        };
        Some(Spanned::new(schema, node.span))
    }

    /// Reports required keys that a schema names under no property, one slip away from a property that is not required: `required: [nam]`.
    fn unnamed_properties(&mut self, node: &YamlNode<'t>) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            let entries = match &node.data {
                YamlData::Map(entries) => entries,
                YamlData::List(items) => {
                    open.extend(items);
                    continue;
                }
                _ => continue,
            };
            open.extend(entries.iter().filter(|entry| !DATA.contains(&&*entry.key)).map(|entry| &entry.value));
            let at = |word: &str| entries.iter().find(|entry| entry.key == word).map(|entry| &entry.value.data);
            let (Some(YamlData::Map(properties)), Some(YamlData::List(required))) = (at("properties"), at("required")) else { continue };
            if entries.iter().any(|entry| NAMING.contains(&&*entry.key)) {
                continue;
            }
            let is_required = |key: &str| required.iter().any(|name| matches!(&name.data, YamlData::Scalar(name, _) if name == key));
            let free: Vec<&str> = properties.iter().map(|entry| &*entry.key).filter(|key| !is_required(key)).collect();
            for name in required {
                let YamlData::Scalar(key, _) = &name.data else { continue };
                let near = self.near(key, free.iter().copied()).filter(|near| near.is_only);
                if near.is_some() && !properties.iter().any(|property| property.key == *key) {
                    let message = format!("`required` names `{}`, which is no property", shown(key));
                    let found = self.finding(Code::UnknownKey, name.span, message);
                    self.report.push(found.meant(name.span, near, String::new));
                }
            }
        }
    }

    fn short_type(&mut self, key: &str, text: &str, node: &YamlNode<'t>) -> Option<Value> {
        let inner = text.trim_start_matches('[');
        let lists = text.len() - inner.len();
        let name = inner.trim_end_matches(']');
        if inner.len() - name.len() == lists
            && lists <= 8
            && let Some((_, schema)) = TYPES.iter().find(|(short, _)| *short == name.trim())
        {
            return Some((0..lists).fold(named(schema), |items, _| list_of(items)));
        }
        let found = self.finding(Code::WrongType, self.head(node), format!("`{}` takes a type, and `{}` is none", shown(key), shown(text)));
        let known = TYPES.iter().find(|(_, long)| !name.is_empty() && *long == name).map(|(short, _)| *short);
        let near = self.near(name, TYPES.iter().map(|(short, _)| *short));
        let near = known.map(|name| Near { name, is_only: true }).or(near);
        let help = match (known, near) {
            (Some(known), _) => format!("write `{known}`"),
            (None, Some(near)) => near.question(),
            (None, None) => "types are `string`, `int`, `float`, `bool`, `any`, `[T]`, or a JSON Schema".into(),
        };
        // In a list of types, or after blanks, the name is only a part of the text.
        let near = near.filter(|_| *name == self.text[node.span.range()]);
        let found = found.help(help);
        self.report.push(near.into_iter().fold(found, |found, near| found.rename_if(near.is_only, node.span, near.name)));
        None
    }

    /// Collects the place of each value below `node`, by its path: `process.0`, `env.TOKEN`.
    pub(super) fn places(path: String, node: &YamlNode<'t>, places: &mut BTreeMap<String, Span>) {
        match &node.data {
            YamlData::List(items) => items.iter().enumerate().for_each(|(at, item)| Self::places(format!("{path}.{at}"), item, places)),
            YamlData::Map(entries) => entries.iter().for_each(|entry| Self::places(format!("{path}.{}", entry.key), &entry.value, places)),
            YamlData::Scalar(..) | YamlData::Reported => {}
        }
        places.insert(path, node.span);
    }
}

fn named(schema: &str) -> Value {
    match schema {
        "" => Value::Map(Mapping::new()),
        name => Value::map([("type", name)]),
    }
}

fn list_of(items: Value) -> Value {
    Value::map([(Arc::<str>::from("type"), Value::text("array")), ("items".into(), items)])
}
