//! `incompatible-shadowing`: a tool shadows another one that it cannot replace (language 5.2).
//!
//! Only parts that both contracts declare are compared: a part that one leaves open is no difference.

use trellis_base::{
    diagnostic::{Code, Diagnostic},
    schema::disjoint::{kind_name, property, required_keys, types},
    value::{Mapping, Value},
};
use trellis_engine::program::Tool;

/// Differences that a message names.
const MAX_NAMED_DIFFERENCES: usize = 3;

/// The finding, if the parameters or the result of `second` do not fit those of `first`.
pub(crate) fn check(first: &Tool, second: &Tool) -> Option<Diagnostic> {
    let (place, before) = (second.place.as_ref()?, first.place.as_ref()?);
    let mut why = Vec::new();
    if let (Some(first), Some(second)) = (schema(first.parameters.as_ref()), schema(second.parameters.as_ref())) {
        arguments(first, second, &mut why);
    }
    match (schema(first.returns.as_ref()), schema(second.returns.as_ref())) {
        (Some(first), Some(second)) => results(first, second, &mut why),
        (Some(_), None) if second.returns.is_none() => why.push("it does not say what it `returns`".into()),
        _ => {}
    }
    if why.is_empty() {
        return None;
    }
    let more = if why.len() > MAX_NAMED_DIFFERENCES { format!("; and {} more", why.len() - MAX_NAMED_DIFFERENCES) } else { String::new() };
    why.truncate(MAX_NAMED_DIFFERENCES);
    let message = format!("`{}` shadows a tool that it cannot stand in for: {}{more}", second.name, why.join("; "));
    let diagnostic = Diagnostic::new(Code::IncompatibleShadowing, &place.path, place.span, message);
    Some(diagnostic.label(&before.path, before.span, "the shadowed one").help("give one of them another name, or make them agree"))
}

fn schema(schema: Option<&trellis_base::schema::Schema>) -> Option<&Mapping> {
    schema?.source().as_map()
}

/// Adds the differences in arguments: those that the first accepts and the second does not.
fn arguments(first: &Mapping, second: &Mapping, why: &mut Vec<String>) {
    let needed = required_keys(second).into_iter().filter(|key| !required_keys(first).contains(key)).map(|key| format!("`{key}`"));
    let needed: Vec<_> = needed.collect();
    if !needed.is_empty() {
        why.push(format!("it needs {}", needed.join(", ")));
    }
    let closed = second.get("additionalProperties").and_then(Value::as_bool) == Some(false) && !second.contains("patternProperties");
    for (key, before) in properties(first) {
        match property(second, key) {
            Some(now) => why.extend(narrower(before, now).map(|(now, before)| format!("it takes `{key}` as {now}, not as {before}"))),
            None if closed => why.push(format!("it takes no `{key}`")),
            None => {}
        }
    }
}

/// Adds the differences in results: those that the first returns and the second does not.
fn results(first: &Mapping, second: &Mapping, why: &mut Vec<String>) {
    if let Some((before, now)) = types_differ(second, first) {
        why.push(format!("it returns {now}, not {before}"));
        return;
    }
    let missing = required_keys(first).into_iter().filter(|key| !required_keys(second).contains(key));
    why.extend(missing.map(|key| format!("its result need not have `{key}`")));
    for (key, before) in properties(first) {
        let now = property(second, key);
        why.extend(
            now.and_then(|now| narrower(now, before)).map(|(before, now)| format!("its result has `{key}` as {now}, not as {before}")),
        );
    }
}

/// Returns how `narrow` excludes a value that `wide` allows: the values of each.
fn narrower(wide: &Value, narrow: &Value) -> Option<(String, String)> {
    let (wide, narrow) = (wide.as_map()?, narrow.as_map()?);
    if let Some(differ) = types_differ(wide, narrow) {
        return Some(differ);
    }
    let allowed = values(narrow)?;
    let listed = |values: &[&Value]| values.iter().take(4).map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
    // Values of an open type are narrowed on purpose: a node offers less of the same tool.
    let missing: Vec<_> = values(wide)?.into_iter().filter(|value| !allowed.contains(value)).collect();
    (!missing.is_empty()).then(|| (listed(&allowed), listed(&missing)))
}

/// Returns the types of which `wide` allows one that `narrow` does not, if both declare some.
fn types_differ(wide: &Mapping, narrow: &Mapping) -> Option<(String, String)> {
    let (before, now) = (types(wide)?, types(narrow)?);
    let fits = |kind: &&str| now.contains(kind) || (*kind == "integer" && now.contains(&"number"));
    let missing: Vec<_> = before.iter().filter(|kind| !fits(kind)).copied().collect();
    let shown = |kinds: &[&str]| kinds.iter().map(|kind| kind_name(kind)).collect::<Vec<_>>().join(" or ");
    (!missing.is_empty()).then(|| (shown(&now), shown(&missing)))
}

fn values(schema: &Mapping) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, values) => Some(values?.as_list()?.iter().collect()),
    }
}

fn properties(schema: &Mapping) -> impl Iterator<Item = (&str, &Value)> {
    schema.get("properties").and_then(Value::as_map).into_iter().flat_map(Mapping::iter).map(|(key, value)| (&**key, value))
}
