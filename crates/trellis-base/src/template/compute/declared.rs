//! The reads of a call's arguments, against the JSON Schema that declares them (language 9.2, 9.27).

use super::super::{GuardedTest, Used};
use crate::{
    diagnostic::{Code, Diagnostic, Report, near},
    path::{KeyPath, Segment},
    value::{Mapping, Value},
};

/// Reports uses of names that `parameters` do not have, or that calls may leave out where no test asks for them.
pub(super) fn check<'t>(uses: impl Iterator<Item = Used<'t>>, parameters: &Value, report: &mut Report) {
    // A path that a loop or a calculation reads is a use of its own as well.
    for used in uses.filter(|used| !used.blind && used.calculation.is_none() && used.inside.is_empty()) {
        if let Some(found) = missing(&used, parameters, report)
            && !report.diagnostics.contains(&found)
        {
            report.push(found);
        }
    }
}

/// Reports the first step of the path that is undeclared or possibly absent.
fn missing(used: &Used<'_>, parameters: &Value, report: &Report) -> Option<Diagnostic> {
    let mut of = parameters;
    for (at, segment) in used.path.segments().iter().enumerate() {
        let Segment::Key(key) = segment else { return None };
        let properties = of.get("properties").and_then(Value::as_map)?;
        let path = KeyPath::new(used.path.segments()[..=at].to_vec())?;
        let found = |code, message: String| Diagnostic::new(code, &report.path, used.span(), message);
        let Some(property) = properties.get(key) else {
            // Top-level names are declared; a mapping may have more entries than its schema declares, unless the schema forbids it.
            let is_closed = at == 0 || of.get("additionalProperties") == Some(&Value::Bool(false));
            return is_closed
                .then(|| undeclared(found(Code::UndefinedVariable, format!("no argument is called `{path}`")), key, properties));
        };
        let is_required =
            of.get("required").and_then(Value::as_list).is_some_and(|keys| keys.iter().any(|name| name.as_str() == Some(key)));
        if !is_required && !used.when.iter().any(|test| implies(test, &path)) {
            let message = format!("`{path}` may be missing: `parameters` do not require it");
            return Some(
                found(Code::MaybeUndefined, message).help(format!("write `{path} | default(…)`, or ask `{path} is defined` before")),
            );
        }
        of = property;
    }
    None
}

fn undeclared(found: Diagnostic, key: &str, properties: &Mapping) -> Diagnostic {
    match near(key, properties.keys().map(|name| &**name)) {
        Some(near) => found.help(near.question()),
        None => found.help("declare it in the `properties` of `parameters`"),
    }
}

/// Returns whether a test holds only where the path is present.
fn implies(test: &GuardedTest, path: &KeyPath) -> bool {
    match test {
        GuardedTest::Set(tested, true) | GuardedTest::Truthy(tested, true) | GuardedTest::Is(tested, true, _) => {
            tested.segments().starts_with(path.segments())
        }
        _ => false,
    }
}
