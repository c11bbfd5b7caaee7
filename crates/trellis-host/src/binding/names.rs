//! Names in project files that only a host resolves: tools of policies, secrets, and parameters of SQL (language 9.26, 11.1, 11.3).

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{
    Code, Diagnostic, Document, Mapping, Value, compile,
    diagnostic::near,
    span::Span,
    syntax::{
        document::Content,
        node::{NodeSyntax, ToolRef},
        project::{BindingSyntax, HostConfig, ProjectSyntax},
    },
};

use crate::secrets::{is_name, named_in};

/// The characters that make a glob of a name.
const GLOB: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// Returns the findings about names that nothing in the graph has: tools in `policy`, secrets whose name no provider could have, and parameters of
/// SQL that are no arguments.
pub fn check_names(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let tools = tools_of(documents);
    // A library or a file that was not read may have any tool.
    let is_whole = !documents.iter().any(|document| matches!(document.content, Content::Broken));
    for document in documents {
        found.extend(secrets_of(document));
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        if is_whole {
            let config = HostConfig { path: document.path.clone(), ..project.host.clone() };
            found.extend(policy(&config, "policy", &tools, project, documents));
        }
        for binding in &project.bindings {
            if is_whole {
                let config = HostConfig { path: document.path.clone(), ..binding.config.clone() };
                found.extend(policy(&config, "chain", &tools, project, documents));
            }
            found.extend(parameters(document, binding));
        }
    }
    found
}

/// The names of all tools that the graph declares, and of its builtins.
fn tools_of(documents: &[Arc<Document>]) -> BTreeSet<Arc<str>> {
    let inline = |tools: &[ToolRef]| {
        let named = tools.iter().filter_map(|tool| match tool {
            ToolRef::Inline(tool) => tool.name.as_ref(),
            ToolRef::Name(_) | ToolRef::Library(_) => None,
        });
        named.map(|name| Arc::clone(&name.value)).collect::<Vec<_>>()
    };
    let bound = |project: &ProjectSyntax| {
        let named = project.bindings.iter().filter_map(|binding| binding.tool.name.as_ref());
        named.map(|name| Arc::clone(&name.value)).collect::<Vec<_>>()
    };
    let of_nodes = |nodes: &[NodeSyntax]| nodes.iter().flat_map(|node| inline(&node.tools)).collect::<Vec<_>>();
    let of = |document: &Arc<Document>| match &document.content {
        Content::Node(node) => inline(&node.tools),
        Content::Nodes(nodes, project) => [of_nodes(nodes), bound(project)].concat(),
        Content::Library(tools) => inline(tools),
        Content::Project(project) => bound(project),
        Content::Broken => Vec::new(),
    };
    documents.iter().flat_map(of).collect()
}

/// Reports names in a chain of providers that are no tool of the graph. A pattern with `*` may be about tools to come.
fn policy(
    config: &HostConfig,
    key: &str,
    tools: &BTreeSet<Arc<str>>,
    project: &ProjectSyntax,
    documents: &[Arc<Document>],
) -> Vec<Diagnostic> {
    let Some(Value::List(providers)) = config.get(key) else { return Vec::new() };
    let mut found = Vec::new();
    for (at, provider) in providers.iter().enumerate() {
        if let Some(name) = provider.get("tool").and_then(Value::as_str) {
            let bound: Vec<&str> =
                project.bindings.iter().filter_map(|binding| binding.tool.name.as_ref()).map(|name| &*name.value).collect();
            if !bound.contains(&name) {
                let message = format!("`{name}` is asked by a policy, and there is no such binding");
                let help = || format!("bind it: `bindings: {{{name}: {{process: [./{name}]}}}}`");
                let span = config.span(&format!("{key}.{at}.tool")).unwrap_or(Span::at(0));
                let unknown = Diagnostic::new(Code::UnknownTool, &config.path, span, message);
                found.push(unknown.meant(span, near(name, bound), help));
            }
        }
        for list in ["block", "ask", "allow"] {
            let Some(Value::List(patterns)) = provider.get(list) else { continue };
            for (index, pattern) in patterns.iter().enumerate() {
                let place = format!("{key}.{at}.{list}.{index}");
                let (name, place) = match pattern {
                    Value::Text(name) => (&**name, place),
                    Value::Map(keys) => match keys.get("tool").and_then(Value::as_str) {
                        Some(name) => (name, format!("{place}.tool")),
                        None => continue,
                    },
                    _ => continue,
                };
                let span = config.span(&place).unwrap_or(Span::at(0));
                found.extend(unknown_call(config, name, list, span, tools, documents));
            }
        }
    }
    found
}

/// Returns the finding of a pattern without `*` that no call can match.
fn unknown_call(
    config: &HostConfig,
    name: &str,
    list: &str,
    span: Span,
    tools: &BTreeSet<Arc<str>>,
    documents: &[Arc<Document>],
) -> Option<Diagnostic> {
    if name.contains(GLOB) || tools.contains(name) {
        return None;
    }
    let graphs: Vec<String> = match name.strip_prefix("graph:") {
        Some(_) => compile::nodes(documents).into_iter().map(|(id, _)| format!("graph:{}", id.as_str())).collect(),
        None => Vec::new(),
    };
    if graphs.iter().any(|graph| graph == name || graph.strip_suffix("/start") == Some(name)) {
        return None;
    }
    let message = format!("`{list}` names `{name}`, which is no tool of this graph, so it matches no call");
    let known = tools.iter().map(|tool| &**tool).chain(graphs.iter().map(String::as_str));
    let listed = || "name a tool that the graph calls, or a pattern such as `mail.*`".to_owned();
    Some(Diagnostic::new(Code::UnknownTool, &config.path, span, message).meant(span, near(name, known), listed))
}

/// Reports secrets whose name no provider could have.
fn secrets_of(document: &Document) -> Vec<Diagnostic> {
    let wrong = named_in(document).into_iter().filter(|(name, _)| !is_name(name));
    let finding = |(name, place): (Arc<str>, trellis_core::diagnostic::Place)| {
        let message = format!("`{name}` can be the name of no secret");
        let meant: String = name.chars().map(|char| if char.is_whitespace() { '-' } else { char.to_ascii_lowercase() }).collect();
        let help = match is_name(&meant) {
            true => format!("did you mean `{meant}`? names have small letters, digits, `.`, `_` and `-`"),
            false => "names have small letters, digits, `.`, `_` and `-`, up to 64 of them".to_owned(),
        };
        Diagnostic::new(Code::WrongType, &place.path, place.span, message).help(help)
    };
    wrong.map(finding).collect()
}

/// Reports parameters of a statement that are no arguments of its tool: they would always be null.
fn parameters(document: &Document, binding: &BindingSyntax) -> Vec<Diagnostic> {
    let declared = binding.tool.parameters.as_ref().and_then(|schema| schema.value.get("properties")?.as_map());
    let (Some("sql.query"), Some(declared)) = (binding.config.get("builtin").and_then(Value::as_str), declared) else { return Vec::new() };
    let made = binding.config.get("args").is_some();
    let (Some(sql), Some(span), false) = (binding.config.get("sql").and_then(Value::as_str), binding.config.span("sql"), made) else {
        return Vec::new();
    };
    let tool = binding.tool.name.as_ref().map_or("", |name| &*name.value);
    let written = document.text.get(span.range()).unwrap_or_default();
    let mut known = BTreeSet::new();
    let unknown = placeholders(sql).into_iter().filter(|name| !declared.contains(name) && known.insert(*name));
    unknown.map(|name| unknown_parameter(document, tool, name, declared, place_in(span, written, name))).collect()
}

fn unknown_parameter(document: &Document, tool: &str, name: &str, declared: &Mapping, span: Span) -> Diagnostic {
    let message = format!("`:{name}` is no argument of `{tool}`, so it is always null");
    let found = Diagnostic::new(Code::UndefinedVariable, &document.path, span, message);
    let names: Vec<&str> = declared.keys().map(|key| &**key).collect();
    let listed = || format!("its `parameters` are `{}`", names.join("`, `"));
    match near(name, names.iter().copied()) {
        Some(near) if span.range().len() == name.len() => found.meant(span, Some(near), listed),
        Some(near) => found.help(near.question()),
        None => found.help(listed()),
    }
}

/// Returns the place of a parameter's name in the text of a statement.
fn place_in(span: Span, written: &str, name: &str) -> Span {
    let at = [":", "@", "$"].iter().find_map(|mark| Some(written.find(&format!("{mark}{name}"))? + 1));
    at.map_or(span, |at| Span::new(span.start as usize + at, span.start as usize + at + name.len()))
}

/// The names of the parameters of a statement, in order; texts and comments have none.
pub(super) fn placeholders(sql: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(char) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let to = |end: Option<usize>, more: usize| end.map_or(sql.len(), |end| at + end + more);
        at = match char {
            '\'' | '"' | '`' => to(rest[1..].find(char), 2),
            '[' => to(rest.find(']'), 1),
            '-' if rest.starts_with("--") => to(rest.find('\n'), 1),
            '/' if rest.starts_with("/*") => to(rest.find("*/"), 2),
            ':' | '@' | '$' => {
                let name = &rest[1..];
                let length = name.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(name.len());
                found.extend((length > 0).then(|| &name[..length]));
                at + 1 + length
            }
            char => at + char.len_utf8(),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use trellis_core::{Dialect, Source};

    use super::*;

    fn found(project: &str) -> Vec<(String, String, String)> {
        let files = [("trellis.yaml", project), ("start.md", "---\ndo: pay\n---\n"), ("sub/end.md", "---\n---\n")];
        let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
        let told = |found: Diagnostic| {
            let span = found.place.unwrap().span;
            (project[span.range()].to_owned(), found.message, found.help.unwrap_or_default().to_string())
        };
        check_names(&documents).into_iter().map(told).collect()
    }

    #[test]
    fn tools_of_policies_are_resolved() {
        let pay = "bindings: { pay: { process: [a] } }\n";
        let wrong = found(&format!(
            "{pay}policy: [{{ block: [pya] }}, {{ tool: gate }}, {{ ask: [{{ tool: pai }}] }}, {{ allow: [\"graph:sub/edn\"] }}]"
        ));
        let places: Vec<_> = wrong.iter().map(|(place, ..)| &**place).collect();
        assert_eq!(places, ["pya", "gate", "pai", "graph:sub/edn"]);
        assert_eq!(wrong[0].2, "did you mean `pay`?");
        let right = "policy: [{ block: [pay, \"shell.*\", \"graph:sub/end\"] }, { tool: pay }]";
        assert_eq!(found(&format!("{pay}{right}")), []);
    }

    #[test]
    fn names_that_no_secret_can_have_are_found() {
        let wrong = found("bindings: { pay: { process: [a], env: { A: \"{{secret:Flights}}\", B: \"{{secret:flights}}\" } } }");
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].0.contains("Flights") && wrong[0].2.contains("`flights`"), "{wrong:?}");
    }

    #[test]
    fn parameters_of_a_statement_are_arguments() {
        let of = |sql: &str| {
            found(&format!(
                "bindings: {{ pay: {{ builtin: sql.query, database: a.db, sql: \"{sql}\", parameters: {{ properties: {{ id: {{}} }} }} }} }}"
            ))
        };
        let wrong = of("select id from p where id = :ident");
        assert_eq!((wrong.len(), &*wrong[0].0), (1, "ident"));
        assert!(of("select ':no' from p where id = :id -- :no").is_empty());
    }

    #[test]
    fn placeholders_stand_outside_of_texts_and_comments() {
        assert_eq!(
            placeholders("a = :a and b = @b_1 or c = 'it''s :no' /* :no */ and \"x:no\" = $d -- :no\n and :e"),
            ["a", "b_1", "d", "e"]
        );
    }
}
