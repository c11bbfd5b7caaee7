//! Which keys a graph sets and takes away, and which it names.

use super::{
    script::{Kind, Site},
    *,
};

impl Findings<'_, '_> {
    /// The keys that something sets: what nothing sets is missing on every way, also where a loop comes back behind a read of it.
    pub(super) fn set(&self, origins: &[Origin]) -> BTreeSet<Key> {
        let writes = self.script.ops.iter().filter_map(|op| match op {
            Op::Write { write, .. } => match &write.to {
                To::Path(path) | To::Append(path) => Some(path.root().clone()),
                To::Absent(key) => Some(key.clone()),
                To::Input | To::Ans | To::Error => None,
            },
            _ => None,
        });
        let begun = origins.iter().flat_map(|origin| {
            let entry = &self.program.node(self.program.point(origin.point).node).entry;
            let declared = entry.types.iter().map(|(key, _)| key.clone()).chain(entry.required.iter().map(|path| path.root().clone()));
            origin.given.iter().map(|given| given.key.clone()).chain(declared)
        });
        writes.chain(begun).collect()
    }

    /// Where something reads what nothing sets.
    pub(super) fn unset(&self, candidate: &Candidate, set: &BTreeSet<Key>) -> Option<&Site<'_>> {
        let Accident::Missing(site) = candidate.accident else { return None };
        let site = &self.script.sites[site as usize];
        let (root, is_read) = (site.path.root(), !matches!(site.kind, Kind::Required(..)) && site.inside().is_empty());
        // A host may give what `inputs` lets in without a name.
        let open = ["additionalProperties", "patternProperties", "if", "dependentSchemas", "anyOf", "oneOf", "allOf"];
        let inputs = self.program.graphs.iter().filter_map(|graph| graph.inputs.as_ref()?.source().as_map());
        let is_open =
            |inputs: &crate::value::Mapping| open.iter().any(|word| inputs.get(word).is_some_and(|part| part.as_bool() != Some(false)));
        (is_read && !RESERVED.contains(&&**root) && !set.contains(root) && !inputs.clone().any(is_open)).then_some(site)
    }

    /// Whether its file names a key nowhere but where it is read: no guard asks for it.
    pub(super) fn is_unasked(&self, site: &Site<'_>) -> bool {
        let text = &self.program.documents[site.document as usize].text;
        let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
        let reads = self.script.sites.iter().filter(|other| other.document == site.document && other.path.root() == site.path.root());
        // One word may be read in several ways: looped over, and counted.
        let places: BTreeSet<Span> = reads.map(|read| read.span(self.program)).collect();
        words.filter(|word| **word == **site.path.root()).count() == places.len()
    }

    /// Whether something may take a path away again: what it stands in is written as a whole, or it is there for a moment only.
    pub(super) fn forgets(&self, path: &KeyPath) -> bool {
        let above = |written: &KeyPath| written.segments().len() < path.segments().len() && path.segments().starts_with(written.segments());
        let mut writes = self.script.ops.iter().filter_map(|op| if let Op::Write { write, .. } = op { Some(&write.to) } else { None });
        matches!(&**path.root(), "input" | "tool_result" | "sys")
            || writes.any(|to| if let To::Path(written) = to { above(written) } else { false })
    }
}
