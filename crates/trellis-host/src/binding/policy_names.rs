//! Names in policies: tools, graphs, and arguments of tools, as the graph has them (language 11.3).

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{
    Code, Diagnostic, Document, Mapping, Value, compile,
    diagnostic::{Near, Severity, near},
    span::Span,
    syntax::{
        document::Content,
        node::{ToolRef, ToolSyntax},
        project::{HostConfig, ProjectSyntax},
    },
};

use super::globs::{is_glob, matcher, meant_glob};

/// The beginning of the name of a call that starts a child.
const GRAPH: &str = "graph:";

/// Returns the findings about tools, graphs and arguments that the policies of a graph name and that it does not have.
pub(super) fn check_policies(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    // A file that was not read may have any tool.
    if documents.iter().any(|document| matches!(document.content, Content::Broken)) {
        return Vec::new();
    }
    let known = KnownCalls::of(documents);
    let mut found = Vec::new();
    for document in documents {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        let policy = PolicyNames { config: &project.host, document, key: "policy", known: &known, project };
        found.extend(policy.check());
        for binding in &project.bindings {
            found.extend(PolicyNames { config: &binding.config, key: "chain", ..policy }.check());
        }
    }
    found
}

/// The calls that a graph can make.
struct KnownCalls<'d> {
    tools: Vec<(&'d str, &'d ToolSyntax)>,
    /// `graph:PATH` of each node, and of each module by its own name.
    graphs: Vec<String>,
}

impl<'d> KnownCalls<'d> {
    fn of(documents: &'d [Arc<Document>]) -> Self {
        let tools = documents.iter().flat_map(|document| tools_of(document));
        let tools = tools.filter_map(|tool| Some((&*tool.name.as_ref()?.value, tool))).collect();
        let ids: Vec<String> = compile::nodes(documents).into_iter().map(|(id, _)| format!("{GRAPH}{}", id.as_str())).collect();
        let modules = ids.iter().filter_map(|id| id.strip_suffix("/start")).map(str::to_owned);
        let graphs = modules.chain(ids.iter().cloned()).collect();
        Self { tools, graphs }
    }

    fn names(&self) -> BTreeSet<&str> {
        self.tools.iter().map(|(name, _)| *name).chain(self.graphs.iter().map(String::as_str)).collect()
    }

    /// Returns the nearest call; a graph by its own name.
    fn near<'n>(&'n self, name: &str) -> Option<Near<'n>> {
        let Some(own) = name.strip_prefix(GRAPH) else { return near(name, self.tools.iter().map(|(name, _)| *name)) };
        let found = near(own, self.graphs.iter().filter_map(|graph| graph.strip_prefix(GRAPH)))?;
        let whole = self.graphs.iter().find(|graph| graph.strip_prefix(GRAPH) == Some(found.name))?;
        Some(Near { name: whole, ..found })
    }
}

/// The tools that a file declares.
pub(super) fn tools_of(document: &Document) -> Vec<&ToolSyntax> {
    match &document.content {
        Content::Node(node) => inline(&node.tools).collect(),
        Content::Nodes(nodes, project) => nodes.iter().flat_map(|node| inline(&node.tools)).chain(bound_tools(project)).collect(),
        Content::Library(tools) => inline(tools).collect(),
        Content::Project(project) => bound_tools(project).collect(),
        Content::Broken => Vec::new(),
    }
}

/// The tools that a list defines and does not only name.
fn inline(tools: &[ToolRef]) -> impl Iterator<Item = &ToolSyntax> {
    tools.iter().filter_map(|tool| match tool {
        ToolRef::Inline(tool) => Some(tool),
        ToolRef::Name(_) | ToolRef::Library(_) => None,
    })
}

fn bound_tools(project: &ProjectSyntax) -> impl Iterator<Item = &ToolSyntax> {
    project.bindings.iter().map(|binding| &binding.tool)
}

/// A chain of providers as it is written.
#[derive(Clone, Copy)]
struct PolicyNames<'d> {
    config: &'d HostConfig,
    document: &'d Document,
    /// `policy`, or `chain` of a binding that decides.
    key: &'static str,
    known: &'d KnownCalls<'d>,
    project: &'d ProjectSyntax,
}

impl PolicyNames<'_> {
    fn check(self) -> Vec<Diagnostic> {
        let Some(Value::List(providers)) = self.config.get(self.key) else { return Vec::new() };
        let mut found = Vec::new();
        for (at, provider) in providers.iter().enumerate() {
            let place = format!("{}.{at}", self.key);
            found.extend(self.unbound_decider(provider, &place));
            for list in ["block", "ask", "allow"] {
                let Some(Value::List(patterns)) = provider.get(list) else { continue };
                let items = patterns.iter().enumerate();
                found.extend(items.flat_map(|(index, pattern)| self.pattern(list, pattern, &format!("{place}.{list}.{index}"))));
            }
            found.extend(self.risk(provider, &place));
        }
        found
    }

    fn span(self, place: &str) -> Span {
        self.config.span(place).unwrap_or(Span::at(0))
    }

    fn finding(self, code: Code, span: Span, message: String) -> Diagnostic {
        Diagnostic::new(code, &self.document.path, span, message)
    }

    /// Reports a tool that is asked and that has no binding.
    fn unbound_decider(self, provider: &Value, place: &str) -> Option<Diagnostic> {
        let name = provider.get("tool").and_then(Value::as_str)?;
        let bound = self.project.bindings.iter().filter_map(|binding| binding.tool.name.as_ref()).map(|name| &*name.value);
        let bound: Vec<&str> = bound.collect();
        if bound.contains(&name) {
            return None;
        }
        let message = format!("`{name}` is asked by a policy, and there is no such binding");
        let help = || format!("bind it: `bindings: {{{name}: {{process: [./{name}]}}}}`");
        let span = self.span(&format!("{place}.tool"));
        Some(self.finding(Code::UnknownTool, span, message).meant(span, near(name, bound), help))
    }

    /// Reports a pattern that matches no call, and arguments that the tool of one does not have.
    fn pattern(self, list: &str, pattern: &Value, place: &str) -> Vec<Diagnostic> {
        match pattern {
            Value::Text(name) => self.unknown_call(list, name, self.span(place)).into_iter().collect(),
            Value::Map(keys) => {
                let Some(name) = keys.get("tool").and_then(Value::as_str) else { return Vec::new() };
                let unknown = self.unknown_call(list, name, self.span(&format!("{place}.tool")));
                // The arguments that `policy.decide` is asked about are not those of a call.
                let args = keys.get("args").filter(|_| self.key == "policy");
                let args = args.map(|args| self.unknown_arguments(name, args, &format!("{place}.args")));
                unknown.into_iter().chain(args.into_iter().flatten()).collect()
            }
            _ => Vec::new(),
        }
    }

    fn unknown_call(self, list: &str, name: &str, span: Span) -> Option<Diagnostic> {
        let names = self.known.names();
        if is_glob(name) {
            let meant = meant_glob(name, &names)?;
            let message = format!("`{list}` names `{name}`, which matches no tool and no graph");
            return Some(self.finding(Code::UnknownTool, span, message).help(format!("did you mean `{meant}`?")));
        }
        if names.contains(name) {
            return None;
        }
        let what = if name.starts_with(GRAPH) { "node" } else { "tool" };
        let message = format!("`{list}` names `{name}`, which is no {what} of this graph, so it matches no call");
        let listed = || "name a tool that the graph calls, `graph:PATH` of a child, or a pattern such as `mail.*`".to_owned();
        Some(self.finding(Code::UnknownTool, span, message).meant(span, self.known.near(name), listed))
    }

    /// Reports names in a schema of arguments that are no parameters of the tool; of a glob, those that are slips of a parameter of all that it matches.
    fn unknown_arguments(self, tool: &str, schema: &Value, place: &str) -> Vec<Diagnostic> {
        let glob = Some(tool).filter(|tool| is_glob(tool)).and_then(matcher);
        let is_meant = |name: &str| glob.as_ref().map_or(name == tool, |glob| glob.is_match(name));
        // The arguments of a child are not those of tools.
        if glob.is_some() && self.known.graphs.iter().any(|graph| is_meant(graph)) {
            return Vec::new();
        }
        let declared = self.known.tools.iter().filter(|(name, _)| is_meant(name)).map(|(_, tool)| Parameters::of(tool));
        let Some(declared) = declared.collect::<Option<Vec<_>>>().filter(|declared| !declared.is_empty()) else { return Vec::new() };
        let whose = if glob.is_some() { format!("any tool that `{tool}` matches") } else { format!("`{tool}`") };
        let named = named_arguments(schema, place);
        let mut known = BTreeSet::new();
        let unknown = named.into_iter().filter(|(name, _)| known.insert(name.clone()));
        // A tool to come may have other arguments.
        let is_slip = |name: &str| {
            declared.iter().flat_map(|tool| tool.names.keys()).any(|own| near(name, [&**own]).is_some_and(|near| near.is_only))
        };
        let unknown = unknown.filter(|(name, _)| glob.is_none() || is_slip(name));
        unknown.filter_map(|(name, place)| self.unknown_argument(&name, &place, &declared, &whose)).collect()
    }

    /// Reports a path to the risk that begins with no parameter of any tool.
    fn risk(self, provider: &Value, place: &str) -> Option<Diagnostic> {
        let path = provider.get("score")?.get("risk")?.as_str().filter(|_| self.key == "policy")?;
        let asked = self.config.get(self.key).and_then(Value::as_list)?.iter().filter_map(|provider| provider.get("tool")?.as_str());
        let asked: Vec<&str> = asked.collect();
        let decided = self.known.tools.iter().filter(|(name, _)| !asked.contains(name));
        let declared = decided.map(|(_, tool)| Parameters::of(tool)).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())?;
        let name = path.split('.').next().unwrap_or_default();
        self.unknown_argument(name, &format!("{place}.score.risk"), &declared, "any tool")
    }

    /// Returns the finding of an argument that none of the tools has. Tools that take others beside their parameters have it if a parameter is near.
    fn unknown_argument(self, name: &str, place: &str, declared: &[Parameters<'_>], whose: &str) -> Option<Diagnostic> {
        let names: BTreeSet<&str> = declared.iter().flat_map(|tool| tool.names.keys().map(|key| &**key)).collect();
        let near = near(name, names.iter().copied());
        let is_closed = declared.iter().all(|tool| tool.is_closed);
        if names.contains(name) || !(is_closed || near.is_some_and(|near| near.is_only)) {
            return None;
        }
        let span = self.named_at(name, self.span(place));
        let message = format!("`{name}` is no argument of {whose}");
        let listed = || format!("its `parameters` are `{}`", names.iter().copied().collect::<Vec<_>>().join("`, `"));
        let mut found = self.finding(Code::BadToolArgs, span, message).meant(span, near, listed);
        found.severity = if is_closed { Severity::Error } else { Severity::Warning };
        Some(found)
    }

    /// Returns the place of a name in a value, or of the key before it.
    fn named_at(self, name: &str, span: Span) -> Span {
        let text = &self.document.text;
        let own = text.get(span.range()).unwrap_or_default();
        let at = match own.starts_with(name) {
            true => Some(span.start as usize),
            false => text.get(..span.start as usize).and_then(|before| before.rfind(name)),
        };
        at.map_or(span, |at| Span::new(at, at + name.len()))
    }
}

/// The declared parameters of a tool.
struct Parameters<'d> {
    names: &'d Mapping,
    /// True if it takes no others.
    is_closed: bool,
}

impl<'d> Parameters<'d> {
    /// Returns the parameters of a tool, if they are written one by one.
    fn of(tool: &'d ToolSyntax) -> Option<Self> {
        let schema = tool.parameters.as_ref()?.value.as_map()?;
        let composes = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"];
        if composes.iter().any(|key| schema.contains(key)) {
            return None;
        }
        let closes = schema.get("additionalProperties").and_then(Value::as_bool) == Some(false);
        Some(Self { names: schema.get("properties")?.as_map()?, is_closed: closes })
    }
}

/// Returns the arguments that a schema names, each with the path of the place.
fn named_arguments(schema: &Value, place: &str) -> Vec<(Arc<str>, String)> {
    let Some(keys) = schema.as_map() else { return Vec::new() };
    let mut found = Vec::new();
    let items = |key: &str| keys.get(key).and_then(Value::as_list).into_iter().flat_map(|list| list.iter().enumerate());
    found.extend(items("required").filter_map(|(at, name)| Some((name.as_str()?.into(), format!("{place}.required.{at}")))));
    let properties = keys.get("properties").and_then(Value::as_map);
    found.extend(properties.into_iter().flat_map(|map| map.keys()).map(|name| (Arc::from(&**name), format!("{place}.properties.{name}"))));
    for key in ["allOf", "anyOf", "oneOf"] {
        found.extend(items(key).flat_map(|(at, schema)| named_arguments(schema, &format!("{place}.{key}.{at}"))));
    }
    for key in ["not", "if", "then", "else"] {
        found.extend(keys.get(key).into_iter().flat_map(|schema| named_arguments(schema, &format!("{place}.{key}"))));
    }
    found
}

#[cfg(test)]
mod tests {
    use trellis_core::{Dialect, Source};

    use super::*;

    /// The text at the place of each finding about a policy, and its help.
    fn findings(policy: &str, parameters: &str) -> Vec<(String, String)> {
        let project = format!("bindings: {{ pay: {{ process: [a]{parameters} }} }}\npolicy: {policy}\n");
        let files = [
            ("trellis.yaml", &*project),
            ("start.md", "---\ndo: pay\n---\n"),
            ("sub/start.md", "---\n---\n"),
            ("sub/end.md", "---\n---\n"),
        ];
        let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
        let told = |found: Diagnostic| (project[found.place.unwrap().span.range()].to_owned(), found.help.unwrap_or_default().to_string());
        check_policies(&documents).into_iter().map(told).collect()
    }

    fn places(found: &[(String, String)]) -> Vec<&str> {
        found.iter().map(|(place, _)| &**place).collect()
    }

    // language 11.3
    #[test]
    fn tools_and_graphs_of_policies_are_resolved() {
        let wrong = findings(
            "[{ block: [pya, \"graph:sbu\"] }, { tool: gate }, { ask: [{ tool: pai }] }, { allow: [\"graph:sub/edn\", \"pya*\"] }]",
            "",
        );
        assert_eq!(places(&wrong), ["pya", "graph:sbu", "gate", "pai", "graph:sub/edn", "pya*"]);
        assert_eq!(wrong[0].1, "did you mean `pay`?");
        assert_eq!(wrong[1].1, "did you mean `graph:sub`?");
        assert_eq!(wrong[5].1, "did you mean `pay*`?");
        let right = "[{ block: [pay, \"shell.*\", \"graph:sub\", \"graph:sub/start\", \"graph:sub/end\", \"graph:s*\"] }, { tool: pay }]";
        assert_eq!(findings(right, ""), []);
    }

    // language 11.3
    #[test]
    fn arguments_behind_a_glob_are_those_of_some_tool_that_it_matches() {
        let tool = |key: &str| {
            format!(
                ", parameters: {{ type: object, properties: {{ amount: {{}} }}, additionalProperties: false }} }}, {key}: {{ process: [a]"
            )
        };
        let other = ", parameters: { type: object, properties: { note: {} } }";
        let parameters = format!("{}{other}", tool("pay_back"));
        let policy = |glob: &str, name: &str| format!("[{{ block: [{{ tool: '{glob}', args: {{ required: [{name}] }} }}] }}]");
        let wrong = findings(&policy("pay*", "amuont"), &parameters);
        assert_eq!(places(&wrong), ["amuont"]);
        assert_eq!(wrong[0].1, "did you mean `amount`?");
        // An argument of one of them; one that a tool to come may have; a glob that also matches children, or nothing.
        for (glob, name) in [("pay*", "note"), ("pay*", "amount"), ("pay*", "weight"), ("*", "amuont"), ("shop.*", "amuont")] {
            assert_eq!(findings(&policy(glob, name), &parameters), [], "{glob} {name}");
        }
    }

    // language 11.3
    #[test]
    fn arguments_in_policies_are_those_of_their_tool() {
        let closed = ", parameters: { type: object, properties: { amount: {}, note: {} }, additionalProperties: false }";
        let open = ", parameters: { type: object, properties: { amount: {}, note: {} } }";
        let wrong = "[{ block: [{ tool: pay, args: { required: [amuont], properties: { amuont: { minimum: 1 }, nte: {} } } }] }]";
        for parameters in [closed, open] {
            let wrong = findings(wrong, parameters);
            assert_eq!(places(&wrong), ["amuont", "nte"], "{wrong:?}");
            assert_eq!(wrong[0].1, "did you mean `amount`?");
        }
        let score = |risk: &str| format!("[{{ score: {{ files: a, field: b, risk: {risk} }} }}]");
        assert_eq!(places(&findings(&score("amonut.of"), open)), ["amonut"]);
        assert_eq!(places(&findings(&score("weight"), closed)), ["weight"]);
        let other = "[{ block: [{ tool: pay, args: { required: [weight], not: { required: [amount] } } }] }]";
        assert_eq!(places(&findings(other, closed)), ["weight"]);
        for (policy, parameters) in
            [(other, open), (wrong, ""), (&score("weight"), open), (&score("amonut"), ""), (&score("amount"), closed)]
        {
            assert_eq!(findings(policy, parameters), [], "{policy} {parameters}");
        }
    }
}
