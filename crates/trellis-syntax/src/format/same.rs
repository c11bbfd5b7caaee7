//! Comparison of the meanings of two texts: their trees, regardless of the order of keys and their old names.
//!
//! **Invariant:** a difference that matters to the decoder matters here: everything but the order of keys in a mapping of a known form, and
//! how those keys are spelled.

use super::super::{
    decode::{Form, Inside},
    tree::{YamlData, YamlEntry, YamlNode},
};

/// Returns whether `one` and `other` mean the same as a value of `form`.
pub(super) fn same(one: &YamlNode<'_>, other: &YamlNode<'_>, form: Option<Inside>) -> bool {
    match (&one.data, &other.data) {
        (YamlData::Scalar(one, style), YamlData::Scalar(other, styled)) => one == other && style == styled,
        (YamlData::List(one), YamlData::List(other)) => {
            let of_item = form.and_then(Inside::of_item);
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other, of_item))
        }
        (YamlData::Map(one), YamlData::Map(other)) if one.len() == other.len() => match form {
            Some(Inside::One(form)) => of_form(one, other, form),
            form => {
                let of_named = form.and_then(Inside::of_named);
                one.iter().zip(other).all(|(one, other)| one.key == other.key && same(&one.value, &other.value, of_named))
            }
        },
        _ => false,
    }
}

fn of_form(one: &[YamlEntry<'_>], other: &[YamlEntry<'_>], form: &'static Form) -> bool {
    one.iter().all(|entry| {
        let key = form.meant(&entry.key, one.iter().map(|entry| &*entry.key));
        let found = other.iter().find(|other| *other.key == *key);
        found.is_some_and(|found| same(&entry.value, &found.value, form.of_value(key)))
    })
}
