//! The keys that the schema of a predicate names, and the words of the schema about their values (language 6.2).
//!
//! **Example.** `{ properties: { tags: { items: { minLength: 2 } } } }` names `tags`, which has to be there, and says `items` of it and `minLength` of
//! its items.

use crate::{
    project::SchemaKeySyntax,
    scalar::Plain,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    path::{KeyPath, Segment, is_name},
    schema::SchemaWord,
    span::Spanned,
};

/// Words that decide about every value: beside one of them, a word that applies to nothing changes no answer.
const DECIDING: [&str; 4] = ["type", "const", "enum", "$ref"];

/// Returns the keys that a schema names. Those under `properties` and `required`, and those that a pattern spells out, have to be there; those of
/// alternatives need not.
pub(super) fn schema_keys(schema: &YamlNode<'_>) -> Vec<SchemaKeySyntax> {
    let (mut keys, mut asked) = (Vec::new(), Vec::new());
    add_needed(schema, &[], &mut keys, &mut asked);
    // Inside of a value, `required` asks whether a key is there: without it the predicate does not hold.
    for key in &mut keys {
        key.is_needed &= !asked.iter().any(|asked| key.path.value.segments().starts_with(asked.segments()));
    }
    for part in listed(schema, "anyOf").iter().chain(listed(schema, "oneOf")) {
        for (key, entry) in properties(part) {
            let Some(path) = KeyPath::new(vec![Segment::Key(key.into())]) else { continue };
            keys.push(SchemaKeySyntax { path: Spanned::new(path, entry.span), words: words(&entry.value, true), is_needed: false });
        }
    }
    keys
}

/// Adds the keys that have to be there, below these segments, and in the parts that all hold, and the keys inside of values that `required` asks about.
/// A key with the schema `false` may not be there, so nobody needs it.
fn add_needed(schema: &YamlNode<'_>, above: &[Segment], keys: &mut Vec<SchemaKeySyntax>, asked: &mut Vec<KeyPath>) {
    let path = |key: &str| KeyPath::new([above, &[Segment::Key(key.into())]].concat());
    for (key, entry) in properties(schema).filter(|(_, entry)| entry.value.plain() != Plain::Bool(false)) {
        let Some(path) = path(key) else { continue };
        let words = words(&entry.value, false);
        keys.push(SchemaKeySyntax { path: Spanned::new(path.clone(), entry.span), words, is_needed: true });
        add_needed(&entry.value, path.segments(), keys, asked);
    }
    for name in listed(schema, "required") {
        let YamlData::Scalar(key, _) = &name.data else { continue };
        match path(key) {
            Some(path) if !above.is_empty() => asked.push(path),
            Some(path) if keys.iter().all(|known| known.path.value != path) => {
                keys.push(SchemaKeySyntax { path: Spanned::new(path, name.span), words: Vec::new(), is_needed: true });
            }
            _ => {}
        }
    }
    listed(schema, "allOf").iter().for_each(|part| add_needed(part, above, keys, asked));
}

/// Returns the words of a schema about a value, and about what is inside of it. Where others stand beside it, or around it, the words about a value
/// count only if nothing decides about every value.
fn words(schema: &YamlNode<'_>, is_inner: bool) -> Vec<SchemaWord> {
    let mut found = Vec::new();
    let mut open = vec![(schema, Vec::new(), is_inner)];
    while let Some((schema, at, is_inner)) = open.pop() {
        let YamlData::Map(entries) = &schema.data else { continue };
        if !is_inner || !entries.iter().any(|entry| DECIDING.contains(&&*entry.key)) {
            let word = |entry: &YamlEntry<'_>| SchemaWord { at: at.clone(), word: Spanned::new(entry.key.as_ref().into(), entry.span) };
            found.extend(entries.iter().map(word));
        }
        let item = || [&at[..], &[Segment::Index(0)]].concat();
        let of_item = entries.iter().filter(|entry| matches!(&*entry.key, "items" | "contains")).map(|entry| &entry.value);
        open.extend(of_item.chain(listed(schema, "prefixItems")).map(|inner| (inner, item(), true)));
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().flat_map(|word| listed(schema, word));
        open.extend(parts.map(|part| (part, at.clone(), true)));
        // The properties of the value itself are keys of their own.
        if is_inner {
            open.extend(properties(schema).map(|(key, entry)| {
                let at = [&at[..], &[Segment::Key(key.into())]].concat();
                (&entry.value, at, true)
            }));
        }
    }
    found
}

/// Returns the properties that a schema names, also by a pattern that only one name fits.
fn properties<'n, 't>(schema: &'n YamlNode<'t>) -> impl Iterator<Item = (&'n str, &'n YamlEntry<'t>)> {
    let named = entries(schema, "properties").iter().map(|entry| (&*entry.key, entry));
    let spelt = |entry: &'n YamlEntry<'t>| entry.key.strip_prefix('^')?.strip_suffix('$').filter(|name| is_name(name));
    named.chain(entries(schema, "patternProperties").iter().filter_map(move |entry| Some((spelt(entry)?, entry))))
}

fn entries<'n, 't>(schema: &'n YamlNode<'t>, word: &str) -> &'n [YamlEntry<'t>] {
    match value(schema, word) {
        Some(YamlData::Map(entries)) => entries,
        _ => &[],
    }
}

fn listed<'n, 't>(schema: &'n YamlNode<'t>, word: &str) -> &'n [YamlNode<'t>] {
    match value(schema, word) {
        Some(YamlData::List(items)) => items,
        _ => &[],
    }
}

fn value<'n, 't>(schema: &'n YamlNode<'t>, word: &str) -> Option<&'n YamlData<'t>> {
    let YamlData::Map(entries) = &schema.data else { return None };
    entries.iter().find(|entry| entry.key == word).map(|entry| &entry.value.data)
}
