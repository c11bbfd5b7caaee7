//! Choosing values in the end: the first that fits all that was decided on the way.

use super::*;

impl Vars {
    /// A value, chosen; nothing where none is known that fits.
    pub(in super::super) fn choose(&self, of: &Sym) -> Option<Value> {
        match of {
            Sym::Known(value) => Some(value.clone()),
            Sym::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| Some((key.clone(), self.choose(value)?)));
                Some(Value::Map(entries.collect::<Option<Mapping>>()?))
            }
            Sym::Var(at) => {
                let var = &self.0[*at as usize];
                let fits = |value: &Value| {
                    !var.not.contains(value)
                        && var.truthy.is_none_or(|truth| is_true(value) == truth)
                        && self.may_be(var, value)
                        && var.fits.iter().all(|schema| schema.fits(value))
                        && var.breaks.as_ref().is_none_or(|schema| !schema.fits(value))
                };
                if let Some(only) = &var.only {
                    return only.iter().find(|value| fits(value)).cloned();
                }
                let candidates: Vec<Value> = match &var.kind {
                    Kind::Input(kind) => {
                        let wished =
                            var.fits.iter().chain(&var.breaks).flat_map(|schema| instance::of_input_schema(*kind, schema.source()));
                        instance::inputs(*kind).into_iter().chain(wished).collect()
                    }
                    Kind::Schemas(schemas) => {
                        schemas.iter().chain(&var.fits).chain(&var.breaks).flat_map(|schema| instance::of_schema(schema.source())).collect()
                    }
                    Kind::Any | Kind::Made | Kind::Words => {
                        let near = var.breaks.iter().flat_map(|schema| instance::of_schema(schema.source()));
                        instance::any(!var.parts.is_empty()).into_iter().chain(near).collect()
                    }
                };
                candidates.into_iter().map(|value| self.with_parts(value, var)).find(|value| value.as_ref().is_some_and(&fits)).flatten()
            }
        }
    }

    pub(super) fn with_parts(&self, value: Value, var: &Var) -> Option<Value> {
        if var.parts.is_empty() {
            return Some(value);
        }
        let Value::Map(mut entries) = value else { return None };
        for (key, part) in &var.parts {
            match part {
                Some(part) => {
                    entries.insert(key.clone(), self.choose(&Sym::Var(*part))?);
                }
                None => {
                    entries = entries.iter().filter(|(known, _)| *known != key).map(|(key, value)| (key.clone(), value.clone())).collect()
                }
            }
        }
        Some(Value::Map(entries))
    }

    pub(super) fn may_be(&self, var: &Var, value: &Value) -> bool {
        match &var.kind {
            Kind::Input(kind) => instance::of_input(*kind, value),
            Kind::Schemas(schemas) => schemas.iter().all(|schema| schema.fits(value)),
            Kind::Any | Kind::Made => true,
            Kind::Words => value.as_str().is_some(),
        }
    }

    /// Whether some value of which all is known is left without any that fits.
    pub(in super::super) fn is_impossible(&self) -> bool {
        let all_known =
            |schema: &Schema| schema.source().as_map().is_some_and(|schema| schema.contains(super::super::knowledge::ALL_OF_IT));
        (0..).zip(self.0.iter()).any(|(at, var)| {
            matches!(&var.kind, Kind::Schemas(schemas) if schemas.iter().any(all_known)) && self.choose(&Sym::Var(at)).is_none()
        })
    }
}
