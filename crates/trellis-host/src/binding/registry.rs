//! The registry of kinds: bindings as written become something that runs, or findings with their place.

use std::{path::Path, sync::Arc};

use trellis_core::{
    Diagnostic, Document, Program,
    diagnostic::FilePath,
    program::Graph,
    syntax::{
        document::Content,
        project::{BindingSyntax, HostConfig},
    },
};

#[cfg(feature = "http")]
use super::http;
#[cfg(feature = "mcp")]
use super::mcp;
#[cfg(feature = "model")]
use super::model;
#[cfg(feature = "processes")]
use super::process;
use super::{
    Host, absolute, builtin, compute,
    config::ConfigReader,
    function,
    kind::{Carrier, Kind, Site},
    limits::CallLimits,
    settings,
};

/// The kinds of this build. Keys of other kinds are read by the compiler and carried out elsewhere.
pub(super) const KINDS: &[Kind] = &[
    #[cfg(feature = "processes")]
    Kind { key: "process", read: process::config::read },
    Kind { key: "function", read: function::read },
    #[cfg(feature = "http")]
    Kind { key: "http", read: http::config::read },
    #[cfg(feature = "mcp")]
    Kind { key: "mcp", read: mcp::read },
    #[cfg(feature = "model")]
    Kind { key: "model", read: model::read },
    Kind { key: "builtin", read: builtin::read },
    Kind { key: "compute", read: compute::read },
];

/// Returns the project file of a graph's binding.
pub(super) fn path_of(program: &Program, graph: &Graph, name: &Arc<str>, syntax: &BindingSyntax) -> FilePath {
    let here = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder) == &*graph.root;
    let named = |binding: &BindingSyntax| {
        binding.tool.span == syntax.tool.span && binding.tool.name.as_ref().is_some_and(|written| written.value == *name)
    };
    let holds = |content: &Content| match content {
        Content::Project(project) | Content::Nodes(_, project) => project.bindings.iter().any(named),
        _ => false,
    };
    let found = program.documents().iter().find(|document| here(&document.path) && holds(&document.content));
    found.map_or_else(|| "trellis.yaml".into(), |document| Arc::clone(&document.path))
}

/// Returns the findings for which [`super::Bindings::new`] would refuse the bindings of a graph's files, at its place; also where the graph has
/// other mistakes.
pub fn check_bindings(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for document in documents {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        let root = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if root.is_empty() {
            found.extend(settings::check(&project.host, &document.path));
        }
        #[cfg(feature = "mcp")]
        found.extend(mcp::check_servers(&project.host));
        #[cfg(feature = "model")]
        found.extend(model::check_models(&project.host, root, documents));
        for binding in &project.bindings {
            let name = binding.tool.name.as_ref().map_or("", |name| &*name.value);
            let (folder, host) = (Path::new(root), &Host::new());
            let site = Site { tool: name, folder, root, config: &binding.config, documents, graph: None, host };
            found.extend(decode_all(binding, &document.path, &site).1);
        }
    }
    found
}

/// Decodes one binding; `None` if it is a bare contract, or of a kind that this build does not carry out. Every finding is collected; those that
/// are no errors are left to [`check_bindings`].
pub(super) fn decode(syntax: &BindingSyntax, path: &FilePath, site: &Site<'_>) -> Result<Option<Carrier>, Vec<Diagnostic>> {
    let (carrier, found) = decode_all(syntax, path, site);
    // A mistake in `models` or `servers` is told there.
    let refers = |kind: &Kind| matches!(kind.key, "mcp" | "model") && syntax.config.values.contains(kind.key);
    let is_unread = carrier.is_none() && KINDS.iter().any(refers);
    if is_unread || found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(carrier) }
}

fn decode_all(syntax: &BindingSyntax, path: &FilePath, site: &Site<'_>) -> (Option<Carrier>, Vec<Diagnostic>) {
    let HostConfig { values, spans, shapes, .. } = &syntax.config;
    let mut reader = ConfigReader { config: values, spans, shapes, prefix: "", around: syntax.tool.span, path, found: Vec::new() };
    let folder = absolute(site.folder);
    let site = Site { folder: &folder, ..*site };
    let kind = KINDS.iter().find(|kind| values.contains(kind.key));
    let carrier = kind.and_then(|kind| (kind.read)(&mut reader, &site));
    CallLimits::read(&mut reader);
    reader.found.sort_by(|one, other| one.order().cmp(&other.order()));
    (carrier, reader.found)
}

#[cfg(test)]
mod tests {
    use trellis_core::{
        Code, Value,
        span::{Span, Spanned},
        syntax::node::ToolSyntax,
    };

    use super::*;

    fn binding(config: &str, spans: &[(&str, Span)]) -> BindingSyntax {
        let name = Some(Spanned::new("t".into(), Span::at(0)));
        let tool = ToolSyntax {
            span: Span::new(0, 99),
            name,
            description: None,
            parameters: None,
            returns: None,
            effect: None,
            timeout: None,
            retry: None,
        };
        let Value::Map(config) = Value::from_json(config).unwrap() else { panic!() };
        let spans = spans.iter().map(|(path, span)| ((*path).to_owned(), *span)).collect();
        BindingSyntax { tool, config: HostConfig { values: config, spans, ..HostConfig::default() } }
    }

    fn read(config: &str, spans: &[(&str, Span)]) -> Result<Option<Carrier>, Vec<Diagnostic>> {
        let syntax = binding(config, spans);
        let host = &Host::new();
        let site = Site { tool: "t", folder: Path::new("/graph"), root: "", config: &syntax.config, documents: &[], graph: None, host };
        decode(&syntax, &"trellis.yaml".into(), &site)
    }

    #[test]
    fn every_mistake_has_its_own_place() {
        let spans = [("process.1", Span::new(5, 6)), ("env", Span::new(7, 8)), ("grace", Span::new(9, 12))];
        let found = read(r#"{"process":["a",3],"env":{"A":[]},"grace":"soon"}"#, &spans).unwrap_err();
        let found: Vec<_> =
            found.iter().map(|finding| (finding.code, finding.place.as_ref().unwrap().span.start, finding.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (Code::WrongType, 5, "`process.1` takes a text, not an integer"),
                (Code::WrongType, 7, "`env.A` takes a text, not a list"),
                (Code::WrongType, 9, "`soon` is no duration"),
            ]
        );
        let found = read(r#"{"process":[],"grace":5,"output_limit":-1}"#, &[]).unwrap_err();
        let found: Vec<_> = found.iter().map(|finding| finding.message.as_str()).collect();
        let no_command = "the binding `t` names no command";
        assert_eq!(found, ["`5` is no duration", "`output_limit` takes a whole number from 0 on, not a negative number", no_command]);
        let found = read(r#"{"process":"./bin/x --fast"}"#, &[]).unwrap_err();
        assert!(found[0].help.as_ref().unwrap().contains("as a list"), "{found:?}");
        assert!(read(r#"{"process":[]}"#, &[]).unwrap_err()[0].message.contains("names no command"));
    }

    #[test]
    fn other_kinds_are_left_to_others() {
        let none = |config| read(config, &[]).unwrap().is_none();
        assert!(none(r#"{"telepathy":{"to":"worker"}}"#) && none("{}"));
        let function = |config| match read(config, &[]).unwrap() {
            Some(Carrier::Function(name)) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!((&*function(r#"{"function":"find"}"#), &*function(r#"{"function":{}}"#)), ("find", "t"));
    }

    #[test]
    fn a_function_is_a_name_or_the_tools_own() {
        for (config, why) in [
            (r#"{"function":3}"#, "a name, not an integer"),
            (r#"{"function":["find"]}"#, "a name, not a list"),
            (r#"{"function":{"name":"find"}}"#, "a name or `{}`, not a mapping with `name`"),
        ] {
            let found = read(config, &[("function", Span::new(3, 4))]).unwrap_err();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].message, format!("`function` takes {why}"));
            assert_eq!(found[0].place.as_ref().unwrap().span, Span::new(3, 4));
            assert!(found[0].help.is_some());
        }
    }
}
