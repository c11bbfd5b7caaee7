//! Every path that is read, written or asked about, numbered so that a path and all below it share one word of 64 bits.
//!
//! **Invariant:** a path's bit is followed by those of the paths below it; a family that does not fit one word is cut, and what is cut is unknown.

use std::collections::BTreeMap;

use crate::path::{KeyPath, Segment};

/// A tracked path: its word and its bit there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathId {
    pub(super) word: u32,
    pub(super) bit: u32,
}

impl PathId {
    pub(super) fn mask(self) -> u64 {
        1 << self.bit
    }
}

/// What is known of a tracked path.
struct Known {
    /// The paths above it, itself not among them.
    above: u64,
    /// The paths below it.
    below: u64,
}

/// All tracked paths.
pub(super) struct Paths {
    ids: BTreeMap<Vec<String>, PathId>,
    known: Vec<Vec<Known>>,
    names: Vec<Vec<String>>,
}

/// How deep paths are followed; what lies deeper is unknown.
const DEPTH: usize = 6;

/// The names of a path up to its first index, and whether it went on.
pub(super) fn names(path: &KeyPath) -> (Vec<String>, bool) {
    let names: Vec<String> = path
        .segments()
        .iter()
        .map_while(|segment| match segment {
            Segment::Key(key) => Some(key.to_string()),
            Segment::Index(_) => None,
        })
        .take(DEPTH)
        .collect();
    let cut = names.len() < path.segments().len();
    (names, cut)
}

impl Paths {
    pub(super) fn new(all: impl Iterator<Item = KeyPath>) -> Self {
        let mut families = BTreeMap::<Vec<String>, ()>::new();
        for path in all {
            let (names, _) = names(&path);
            for length in 1..=names.len() {
                families.insert(names[..length].to_vec(), ());
            }
        }
        let mut paths = Self { ids: BTreeMap::new(), known: Vec::new(), names: Vec::new() };
        let mut family: Vec<Vec<String>> = Vec::new();
        for names in families.into_keys() {
            if family.first().is_some_and(|root| root[0] != names[0]) {
                paths.place(std::mem::take(&mut family));
            }
            family.push(names);
        }
        paths.place(family);
        paths
    }

    /// Gives a family its bits, in the last word if it has room there.
    fn place(&mut self, mut family: Vec<Vec<String>>) {
        family.truncate(64);
        let used = self.names.last().map_or(64, Vec::len);
        if used + family.len() > 64 {
            self.names.push(Vec::new());
            self.known.push(Vec::new());
        }
        let Some(word) = self.names.len().checked_sub(1) else { return };
        let first = self.names[word].len();
        for (at, names) in family.iter().enumerate() {
            let bit_of = |index: usize| 1_u64 << (first + index);
            let above = (0..at).filter(|&other| names.starts_with(&family[other])).map(bit_of).sum();
            let below = (at + 1..family.len()).filter(|&other| family[other].starts_with(names)).map(bit_of).sum();
            self.known[word].push(Known { above, below });
            let id = PathId { word: u32::try_from(word).unwrap_or(u32::MAX), bit: u32::try_from(first + at).unwrap_or(63) };
            self.ids.insert(names.clone(), id);
        }
        self.names[word].extend(family.into_iter().map(|names| names.join(".")));
    }

    /// The number of words.
    pub(super) fn words(&self) -> u32 {
        u32::try_from(self.known.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn id(&self, names: &[String]) -> Option<PathId> {
        self.ids.get(names).copied()
    }

    /// The paths above one.
    pub(super) fn above(&self, id: PathId) -> u64 {
        self.known[id.word as usize][id.bit as usize].above
    }

    /// The paths below one.
    pub(super) fn below(&self, id: PathId) -> u64 {
        self.known[id.word as usize][id.bit as usize].below
    }

    /// The tracked paths below one, as the names behind it.
    pub(super) fn children(&self, id: PathId) -> impl Iterator<Item = (PathId, Vec<&str>)> {
        let below = self.below(id);
        let own = self.names[id.word as usize][id.bit as usize].len() + 1;
        (0..64).filter(move |bit| below >> bit & 1 == 1).map(move |bit| {
            let name = &self.names[id.word as usize][bit as usize];
            (PathId { word: id.word, bit }, name[own..].split('.').collect())
        })
    }

    /// The names of the bits of a word.
    pub(super) fn named(&self, word: u32, bits: u64) -> impl Iterator<Item = &str> {
        let names = &self.names[word as usize];
        (0..64).filter(move |bit| bits >> bit & 1 == 1).filter_map(move |bit| names.get(bit as usize)).map(String::as_str)
    }
}
