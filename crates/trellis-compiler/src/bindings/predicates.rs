//! Declared predicates of a graph, and the keys that a bound tool is asked with (language 6.2, 9.1).

use std::{collections::BTreeMap, sync::Arc};

use super::completed;
use crate::{graphs::GraphSyntax, schemas::Schemas};
use trellis_base::{
    diagnostic::{Code, Diagnostic, near},
    index::to_u32,
    path::KeyPath,
    value::Value,
};
use trellis_engine::program::{Origin, Predicate, PredicateSource, SchemaKey};
use trellis_syntax::project::{BindingSyntax, PredicateAnswer};

/// Collects the predicates of a graph. Reports bindings that do not exist.
pub(crate) fn declare(
    syntax: &GraphSyntax<'_>,
    schemas: &mut Schemas,
    predicates: &mut Vec<Predicate>,
    found: &mut Vec<Diagnostic>,
) -> BTreeMap<Arc<str>, u32> {
    let mut declared = BTreeMap::new();
    for &(document, path, project) in &syntax.projects {
        for predicate in &project.predicates {
            let source = match &predicate.answer {
                PredicateAnswer::Host { needs } => PredicateSource::Host(needs.iter().map(|path| path.value.clone()).collect()),
                PredicateAnswer::Binding { tool: name, needs } => {
                    let named = |binding: &&BindingSyntax| binding.tool.name.as_ref().is_some_and(|bound| bound.value == name.value);
                    let binding = project.bindings.iter().find(named);
                    if binding.is_none() {
                        let bound = project.bindings.iter().filter_map(|binding| binding.tool.name.as_ref()).map(|name| &*name.value);
                        let unknown = Diagnostic::new(Code::UnknownTool, path, name.span, format!("there is no binding `{}`", name.value));
                        found.push(unknown.meant(name.span, near(&name.value, bound), || "bind it under `bindings`".into()));
                    }
                    let (needs, gets): (Vec<KeyPath>, Vec<KeyPath>) = match needs {
                        Some(needs) => {
                            let needs: Vec<_> = needs.iter().map(|path| path.value.clone()).collect();
                            (needs.clone(), needs)
                        }
                        None => binding.map(arguments).unwrap_or_default(),
                    };
                    PredicateSource::Binding { tool: name.value.clone(), needs: needs.into(), gets: gets.into() }
                }
                PredicateAnswer::Schema(schema) => match schemas.checked(Code::WrongType, path, schema, found) {
                    Some(schema) => PredicateSource::Schema(schema),
                    None => PredicateSource::Host(Box::default()),
                },
            };
            declared.insert(predicate.name.value.clone(), to_u32(predicates.len()));
            // A schema that is none has no keys either.
            let keys = predicate.keys.iter().filter(|_| matches!(source, PredicateSource::Schema(_))).map(|key| SchemaKey {
                path: key.path.value.clone(),
                place: Origin { document, span: key.path.span },
                words: key.words.clone().into(),
                is_needed: key.is_needed,
            });
            let keys = keys.collect();
            predicates.push(Predicate { name: predicate.name.value.clone(), source, keys });
        }
    }
    declared
}

/// The keys that the `parameters` of a tool require, and all that they name.
fn arguments(binding: &BindingSyntax) -> (Vec<KeyPath>, Vec<KeyPath>) {
    let binding = completed(binding);
    let Some(parameters) = &binding.tool.parameters else { return <_>::default() };
    let list = |key: &str| parameters.value.get(key);
    let required: Vec<&str> =
        list("required").and_then(Value::as_list).into_iter().flat_map(|names| names.iter()).filter_map(Value::as_str).collect();
    let properties = list("properties").and_then(Value::as_map).into_iter().flat_map(|names| names.keys());
    let gets = properties.map(|name| &**name).chain(required.iter().copied());
    let mut gets: Vec<KeyPath> = gets.filter_map(KeyPath::parse).filter(KeyPath::is_key).collect();
    gets.sort();
    gets.dedup();
    (required.into_iter().filter_map(KeyPath::parse).filter(KeyPath::is_key).collect(), gets)
}
