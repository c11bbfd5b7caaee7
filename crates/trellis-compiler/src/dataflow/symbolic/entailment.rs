//! Entailment among schemas, keyword by keyword: whether values that fit some schemas, or constraints, fit another one.
//!
//! Incomplete and sound: `true` only if each keyword is implied by a bound that is at least as strict, or repeated word by word.
//!
//! **Example.** `{minimum: 18}` entails `{minimum: 0}`; `{pattern: "^a"}` entails only itself.

use super::{Constraints, SymValue, VarOrigin};
use crate::dataflow::domain::{TypeId, plain};
use trellis_base::{
    language::InputType,
    schema::Schema,
    value::{Mapping, Value},
};

/// Keywords that constrain nothing.
const SILENT: [&str; 9] = ["title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "$schema"];

/// Keywords that types have decided.
const TYPED: [&str; 4] = ["type", "enum", "const", "required"];

impl Constraints {
    /// Returns true if every value that the constraints leave fits a schema, by its type and by entailment among schemas.
    pub(crate) fn certainly_fits(&self, of: &SymValue, schema: &Schema) -> bool {
        if let SymValue::Var(at) = of
            && let Some(only) = &self.get(*at).finite
        {
            let var = self.get(*at);
            return only.iter().chain(&var.default).filter(|value| self.suits(var, value)).all(|value| schema.fits(value));
        }
        let source = schema.source();
        let cache = &mut *self.cache.borrow_mut();
        let known = self.typed(cache, of);
        let known = cache.types.present(known);
        // An unknown part may be anything.
        if cache.types.is_unsure(known, schema) {
            return false;
        }
        if known == TypeId::NEVER || !cache.types.breaks(known, schema, true) {
            return true;
        }
        let Ok(coarse) = Schema::new(&plain(source)) else { return false };
        !cache.types.breaks(known, &coarse, true) && all(&self.demands_on(of), source)
    }

    /// Returns schemas that a value certainly fits.
    fn demands_on(&self, of: &SymValue) -> Vec<Value> {
        match of {
            SymValue::Var(at) => {
                let var = self.get(*at);
                let own = if let VarOrigin::Schemas(schemas) = &var.kind { &schemas[..] } else { &[] };
                let mut schemas: Vec<Value> = own.iter().chain(&var.fits).map(|schema| schema.source().clone()).collect();
                if matches!(var.kind, VarOrigin::Input(InputType::Text | InputType::Secret)) && var.default.is_none() {
                    schemas.push(Value::map([("minLength", Value::Int(1))]));
                }
                schemas
            }
            SymValue::List(items) if items.is_filled => vec![Value::map([("minItems", Value::Int(1))])],
            _ => Vec::new(),
        }
    }
}

/// Returns true if everything that fits all of `known` fits `wanted`; kinds and closed values are left to types.
fn all(known: &[Value], wanted: &Value) -> bool {
    if known.contains(wanted) {
        return true;
    }
    let Some(wanted) = wanted.as_map() else { return wanted.as_bool() == Some(true) };
    let known: Vec<&Mapping> = known.iter().filter_map(Value::as_map).collect();
    wanted.iter().all(|(key, value)| {
        let same = || known.iter().any(|known| known.get(key) == Some(value));
        match &**key {
            key if SILENT.contains(&key) || TYPED.contains(&key) || key.starts_with("x-") => true,
            "properties" => value.as_map().is_some_and(|properties| {
                properties.iter().all(|(name, wanted)| {
                    let schemas = known.iter().filter_map(|known| known.get("properties")?.as_map()?.get(name));
                    all(&schemas.cloned().collect::<Vec<_>>(), wanted)
                })
            }),
            "items" => {
                let schemas = known.iter().filter_map(|known| known.get("items"));
                all(&schemas.cloned().collect::<Vec<_>>(), value)
            }
            "minLength" | "minItems" | "minProperties" => same() || number(value) <= bound(&known, key, f64::max).or(Some(0.0)),
            "maxLength" | "maxItems" | "maxProperties" => {
                same() || bound(&known, key, f64::min).zip(number(value)).is_some_and(|(known, wanted)| known <= wanted)
            }
            "minimum" => {
                let least = [bound(&known, "minimum", f64::max), bound(&known, "exclusiveMinimum", f64::max)].into_iter().flatten();
                number(value).is_some_and(|wanted| least.into_iter().any(|known| known >= wanted))
            }
            "maximum" => {
                let most = [bound(&known, "maximum", f64::min), bound(&known, "exclusiveMaximum", f64::min)].into_iter().flatten();
                number(value).is_some_and(|wanted| most.into_iter().any(|known| known <= wanted))
            }
            "exclusiveMinimum" => number(value).is_some_and(|wanted| {
                bound(&known, "minimum", f64::max).is_some_and(|known| known > wanted)
                    || bound(&known, "exclusiveMinimum", f64::max).is_some_and(|known| known >= wanted)
            }),
            "exclusiveMaximum" => number(value).is_some_and(|wanted| {
                bound(&known, "maximum", f64::min).is_some_and(|known| known < wanted)
                    || bound(&known, "exclusiveMaximum", f64::min).is_some_and(|known| known <= wanted)
            }),
            _ => same(),
        }
    })
}

/// Returns the strictest bound among the known schemas.
fn bound(known: &[&Mapping], key: &str, strictest: impl Fn(f64, f64) -> f64) -> Option<f64> {
    known.iter().filter_map(|known| number(known.get(key)?)).reduce(strictest)
}

#[expect(clippy::cast_precision_loss, reason = "a bound beyond 2⁵³ is compared as near as doubles go, which schemas do too")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}
