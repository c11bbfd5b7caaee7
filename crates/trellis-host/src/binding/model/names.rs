//! Names of tools as models take them: `[A-Za-z0-9_-]{1,64}` (language 9.19).

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Characters that a name on the wire has at most.
const MAX_WIRE_NAME: usize = 64;

/// The names of the tools that are offered, in both forms.
#[derive(Debug, Default)]
pub(super) struct WireNames {
    wire: BTreeMap<Arc<str>, String>,
    own: BTreeMap<String, Arc<str>>,
}

impl WireNames {
    /// Maps names in their order; of those with the same result, the later ones are numbered.
    pub(super) fn new<'n>(names: impl IntoIterator<Item = &'n Arc<str>>) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        // A valid name stays unchanged, after any other names.
        let fit: BTreeSet<&str> = names.iter().map(|name| &***name).filter(|name| spelled(name) == *name).collect();
        let mut mapped = Self::default();
        for &name in &names {
            if mapped.wire.contains_key(name) {
                continue;
            }
            let plain = spelled(name).into_owned();
            let is_taken = |wire: &str| mapped.own.contains_key(wire) || (fit.contains(wire) && wire != &**name);
            let mut wire = plain.clone();
            for number in 2.. {
                if !is_taken(&wire) {
                    break;
                }
                let number = format!("_{number}");
                wire = format!("{}{number}", &plain[..plain.len().min(MAX_WIRE_NAME - number.len())]);
            }
            mapped.own.insert(wire.clone(), Arc::clone(name));
            mapped.wire.insert(Arc::clone(name), wire);
        }
        mapped
    }

    /// Returns the name for a model; also of a tool that is not offered now, but was called before.
    pub(super) fn wire<'n>(&'n self, name: &'n str) -> Cow<'n, str> {
        self.wire.get(name).map_or_else(|| spelled(name), |wire| Cow::Borrowed(wire))
    }

    /// The tool that a model means; a name that was not offered stays as it came.
    pub(super) fn own<'n>(&'n self, wire: &'n str) -> &'n str {
        self.own.get(wire).map_or(wire, |name| name)
    }
}

/// Returns a name with `_` for every other character; a long one is cut and ends in a hash of the whole.
pub(super) fn spelled(name: &str) -> Cow<'_, str> {
    let is_fit = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if name.len() <= MAX_WIRE_NAME && !name.is_empty() && name.chars().all(is_fit) {
        return Cow::Borrowed(name);
    }
    let plain: String = name.chars().map(|char| if is_fit(char) { char } else { '_' }).collect();
    if plain.len() > MAX_WIRE_NAME {
        let hash = format!("_{:08x}", crc32fast::hash(name.as_bytes()));
        return format!("{}{hash}", &plain[..MAX_WIRE_NAME - hash.len()]).into();
    }
    if plain.is_empty() { "_".into() } else { plain.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(names: &[&str]) -> Vec<String> {
        let names: Vec<Arc<str>> = names.iter().map(|&name| name.into()).collect();
        let map = WireNames::new(&names);
        for name in &names {
            let wire = map.wire(name).into_owned();
            assert!(
                (1..=64).contains(&wire.len()) && wire.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char)),
                "{wire}"
            );
            assert_eq!(map.own(&wire), &**name);
        }
        names.iter().map(|name| map.wire(name).into_owned()).collect()
    }

    #[test]
    fn names_are_mapped_and_mapped_back() {
        // language 9.19
        assert_eq!(mapped(&["inventory.query", "a-b_C9", "größe"]), ["inventory_query", "a-b_C9", "gr__e"]);
        assert_eq!(mapped(&["a.b", "a/b", "a_b", "a:b"]), ["a_b_2", "a_b_3", "a_b", "a_b_4"]);
        assert_eq!(mapped(&["a_b_2", "a.b", "a_b"]), ["a_b_2", "a_b_3", "a_b"]);
    }

    #[test]
    fn long_names_end_in_a_hash() {
        let (one, other) = ("x".repeat(70), format!("{}y", "x".repeat(69)));
        let both = mapped(&[&one, &other]);
        assert_eq!(both[0].len(), 64);
        assert!(both[0].starts_with(&"x".repeat(55)) && both[0] != both[1]);
        assert_eq!(mapped(&[&"é".repeat(40), &"ü".repeat(40)])[1].len(), 42);
    }

    #[test]
    fn what_was_not_offered_stays_as_it_came() {
        let map = WireNames::new(&[Arc::from("a.b")]);
        assert_eq!((map.own("nuke"), &*map.wire("old.tool")), ("nuke", "old_tool"));
    }
}
