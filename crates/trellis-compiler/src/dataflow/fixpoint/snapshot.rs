//! Types of every key at every point, detached from the program, for queries after the check.

use super::Analysis;
use crate::{
    cfg::Cfg,
    dataflow::{
        domain::{Type, TypeTable},
        env::Env,
        index::to_u32,
        slot::Slot,
    },
};
use trellis_base::value::{Key, Value};
use trellis_engine::program::{PointIndex, Program};

/// Types of every key at each point where a session waits.
#[derive(Debug)]
pub(crate) struct PointTypes {
    types: TypeTable,
    keys: Vec<(String, Slot)>,
    env_at: Vec<Option<Env>>,
}

impl PointTypes {
    pub(crate) fn of(program: &Program) -> Self {
        let tainted = vec![false; program.points.len()];
        Self::of_analysis(&mut Analysis::new(program, &Cfg::new(program), &tainted))
    }

    /// Copies the types of an analysis that continues.
    pub(crate) fn of_analysis(analysis: &mut Analysis<'_, '_>) -> Self {
        let points = 0..to_u32(analysis.program.points.len());
        let env_at = points.map(|point| analysis.env_at(PointIndex(point))).collect();
        Self { keys: analysis.keys(), env_at, types: analysis.types.clone() }
    }

    /// Returns each key that can be present at a point: whether it always is, and its type in words.
    pub(crate) fn at(&self, point: u32) -> impl Iterator<Item = (&str, bool, String)> {
        let env = self.env_at[point as usize].as_ref();
        self.keys.iter().filter_map(move |(key, slot)| {
            let env = env?;
            let known = env.look(*slot, &self.types);
            env.may_hold(*slot, &self.types).then(|| (key.as_str(), !known.absent && !known.dynamic, known.described()))
        })
    }

    /// Returns the tracked keys that are never present at a point; none where no session comes.
    pub(crate) fn absent_at(&self, point: u32) -> impl Iterator<Item = &str> {
        let env = self.env_at[point as usize].as_ref();
        self.keys.iter().filter(move |(_, slot)| env.is_some_and(|env| !env.may_hold(*slot, &self.types))).map(|(key, _)| key.as_str())
    }

    /// Returns the known parts of a value at a point: of a key, below these names. Each with whether it is there whenever the key is, and its type in
    /// words.
    pub(crate) fn parts(&self, point: u32, key: &str, below: &[&str]) -> Vec<(Key, bool, String)> {
        let env = self.env_at[point as usize].as_ref();
        let slot = self.keys.iter().find(|(known, _)| known == key).map(|(_, slot)| *slot);
        let Some((env, slot)) = env.zip(slot) else { return Vec::new() };
        let root = env.look(slot, &self.types);
        let part = below.iter().try_fold(&*root, |of, name| Some(self.types.get(of.fields.as_ref()?.get(name))));
        let named = part.and_then(|of| of.fields.as_ref()).map_or(&[][..], |fields| &fields.named);
        let held = named.iter().filter(|(_, of)| self.types.may_be_there(*of));
        held.map(|(name, of)| (name, self.types.get(*of)))
            .map(|(name, of)| (name.clone(), !of.absent && !of.dynamic, of.described()))
            .collect()
    }

    /// Checks a concrete context against the types of a point. Returns the first key whose value is not included, in words.
    pub(crate) fn admit(&self, point: u32, value: impl Fn(&str) -> Option<Value>) -> Result<(), String> {
        let Some(env) = &self.env_at[point as usize] else { return Err("no session was thought to come here".to_owned()) };
        for (key, slot) in &self.keys {
            let (of, value) = (env.look(*slot, &self.types), value(key));
            if !self.types.holds(&of, value.as_ref()) {
                let met = value.map_or_else(|| "absent".to_owned(), |value| value.to_json());
                return Err(format!("`{key}` is {met}, and was thought to be {:?} {}", of.absent, of.described()));
            }
        }
        Ok(())
    }
}

impl TypeTable {
    /// Returns true if a type includes a value; `None` is absence.
    fn holds(&self, of: &Type, value: Option<&Value>) -> bool {
        let Some(value) = value else { return of.absent || of.dynamic };
        if of.unknown || of.dynamic {
            return true;
        }
        match value {
            Value::Map(entries) => of.fields.as_ref().is_some_and(|fields| {
                let named = fields.named.iter().all(|(key, of)| self.holds(self.get(*of), entries.get(key)));
                named && entries.iter().all(|(key, value)| self.holds(self.get(fields.get(key)), Some(value)))
            }),
            Value::List(items) if !items.is_empty() => {
                of.items.is_some_and(|of| items.iter().all(|item| self.holds(self.get(of), Some(item))))
            }
            value => of.kinds.hold(value) || of.values.contains(value),
        }
    }
}
