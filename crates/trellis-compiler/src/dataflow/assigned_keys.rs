//! Keys that a graph assigns, removes and mentions: flow-insensitive facts about names.
//!
//! A read of a key that nothing assigns is a misspelt name on every path, so it needs no witness.

use crate::{
    dataflow::{
        domain::TypeId,
        ir::{ReadKind, ReadSite},
        *,
    },
    names::mentions,
};
use trellis_base::{template::Shape, value::Value};
use trellis_engine::program::Role;

impl Findings<'_, '_> {
    /// Returns the keys that something assigns. A read of any other key fails on every path, also inside of a loop.
    pub(crate) fn set(&self, entry_states: &[EntryState]) -> BTreeSet<Key> {
        let writes = self.ir.ops.iter().filter_map(|op| match op {
            Instr::Write { write, .. } => match &write.to {
                WriteTarget::Path(path) | WriteTarget::Append(path) => Some(path.root().clone()),
                WriteTarget::Absent(key) => Some(key.clone()),
                WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => None,
            },
            _ => None,
        });
        let begun = entry_states.iter().flat_map(|origin| {
            let entry = &self.program.node(self.program.point(origin.point).node).entry;
            let declared = entry.types.iter().map(|(key, _)| key.clone()).chain(entry.required.iter().map(|path| path.root().clone()));
            origin.given.iter().map(|given| given.key.clone()).chain(declared)
        });
        writes.chain(begun).collect()
    }

    /// Reports reads of keys that nothing assigns, although other mistakes hide parts of the graph. A key that a file with mistakes
    /// mentions is left out.
    pub(crate) fn misspelt_reads(
        &self,
        known: &mut Analysis<'_, '_>,
        reporter: &mut Reporter<'_, '_>,
        mut set: BTreeSet<Key>,
        found: &mut Vec<Diagnostic>,
    ) {
        let Some(faulty) = self.faulty else { return };
        // Arguments of unreachable callers count as assignments.
        for node in &self.program.nodes {
            if let Role::Act(call) = &node.role {
                let mut open = vec![&**call];
                while let Some(call) = open.pop() {
                    let args = call.args.iter().flat_map(|args| if let Shape::Map(entries) = args { &entries[..] } else { &[] });
                    set.extend(args.map(|(key, _)| key.value.clone()).chain(call.body.clone()));
                    open.extend(call.undo.as_deref());
                    if let Callee::Parallel(branches, _) = &call.callee {
                        open.extend(branches.iter().map(|(_, branch)| branch));
                    }
                }
            }
        }
        let words = faulty.iter().map(|at| &*self.program.documents[*at as usize].text).collect::<Vec<_>>();
        let messages: Vec<String> = found.iter().map(|found| found.message.clone()).collect();
        for point in (0..self.program.points.len()).filter(|point| !self.tainted[*point]) {
            let point = PointIndex::from_usize(point);
            for at in self.ir.sites_of(point) {
                let site = &self.ir.sites[at.index()];
                let (name, root) = (site.path.to_string(), site.path.root());
                let alarm = Alarm { point, violation: Violation::Missing(at), never: true, seen: TypeId::ABSENT };
                let is_plain = site.is_certain() && site.is_followed() && site.calculation().is_none();
                let is_unset = is_plain && self.is_never_set(site, &set);
                let is_reported =
                    || reporter.is_reported(&alarm) || messages.iter().any(|messages| messages.contains(&format!("`{name}`")));
                if is_unset && !is_reported() && !words.iter().any(|text| mentions(text, root)) {
                    reporter.name(known, &alarm, found);
                }
            }
        }
    }

    /// Returns the site of an alarm about a key that nothing assigns; `None` for other alarms, and for `required_context`.
    pub(crate) fn unset(&self, alarm: &Alarm, set: &BTreeSet<Key>) -> Option<&ReadSite<'_>> {
        let Violation::Missing(site) = alarm.violation else { return None };
        let site = &self.ir.sites[site.index()];
        (!matches!(site.kind, ReadKind::Required(..)) && self.is_never_set(site, set)).then_some(site)
    }

    /// Returns true if nothing in the graph assigns the key that a site reads, and no host can supply it.
    fn is_never_set(&self, site: &ReadSite<'_>, set: &BTreeSet<Key>) -> bool {
        let root = site.path.root();
        // A host may supply keys that `inputs` admits without naming them.
        let open = ["additionalProperties", "patternProperties", "if", "dependentSchemas", "anyOf", "oneOf", "allOf"];
        let inputs = self.program.graphs.iter().filter_map(|graph| graph.inputs.as_ref()?.source().as_map());
        let is_open = |inputs: &trellis_base::value::Mapping| {
            open.iter().any(|word| inputs.get(word).is_some_and(|part| part.as_bool() != Some(false)))
        };
        let given = |inputs: &trellis_base::value::Mapping| {
            let named = inputs.get("properties").and_then(Value::as_map).is_some_and(|named| named.contains(root));
            let required = inputs.get("required").and_then(Value::as_list);
            named || required.is_some_and(|required| required.iter().any(|name| name.as_str() == Some(root)))
        };
        let is_free = !RESERVED.contains(&&**root) && !set.contains(root) && site.inside().is_empty();
        is_free && !inputs.clone().any(|inputs| is_open(inputs) || given(inputs))
    }

    /// Returns true if the file of a site mentions its key only in reads, so that no guard tests it.
    pub(crate) fn is_unasked(&self, site: &ReadSite<'_>) -> bool {
        let text = &self.program.documents[site.document as usize].text;
        let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
        let reads = self.ir.sites.iter().filter(|other| other.document == site.document && other.path.root() == site.path.root());
        // One word can be several sites: it is iterated over, and counted.
        let places: BTreeSet<Span> = reads.map(|read| read.span(self.program)).collect();
        words.filter(|word| **word == **site.path.root()).count() == places.len()
    }

    /// Returns true if a path can become absent again: a write replaces something above it, or it exists only while a node resolves.
    pub(crate) fn forgets(&self, path: &KeyPath) -> bool {
        let above = |written: &KeyPath| written.segments().len() < path.segments().len() && path.segments().starts_with(written.segments());
        let mut writes = self.ir.ops.iter().filter_map(|op| if let Instr::Write { write, .. } = op { Some(&write.to) } else { None });
        matches!(&**path.root(), "input" | "tool_result" | "sys")
            || writes.any(|to| if let WriteTarget::Path(written) = to { above(written) } else { false })
    }
}
