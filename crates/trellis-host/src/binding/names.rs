//! Names in project files that only a host resolves: tools of policies, secrets, and parameters of SQL (language 9.26, 11.1, 11.3).

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{
    Code, Diagnostic, Document, Mapping, Value,
    diagnostic::near,
    span::Span,
    syntax::{
        document::Content,
        node::CalleeSyntax,
        project::{BindingSyntax, PredicateAnswer},
    },
    template::Shape,
};

use super::policy_names::{check_policies, tools_of};
use crate::secrets::{calls_in, is_name, named_by_host, named_in};

/// Returns the findings about names that nothing in the graph has: tools and graphs in `policy`, secrets whose name no provider could have, parameters of SQL
/// that are no arguments, and arguments that no call gives to a binding without `parameters`.
pub fn check_names(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let mut found = check_policies(documents);
    for document in documents {
        found.extend(secrets_of(document));
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        found.extend(project.bindings.iter().flat_map(|binding| parameters(document, binding)));
        found.extend(project.bindings.iter().flat_map(|binding| ungiven_arguments(document, documents, binding)));
    }
    found
}

/// Reports secrets whose name no provider could have.
fn secrets_of(document: &Document) -> Vec<Diagnostic> {
    let named = named_in(document).into_iter().chain(named_by_host(document));
    let wrong = named.filter(|(name, _)| !is_name(name));
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

/// Reports names that the request, the statement or the `args` of a binding without `parameters` read, and that none of its calls gives.
fn ungiven_arguments(document: &Document, documents: &[Arc<Document>], binding: &BindingSyntax) -> Vec<Diagnostic> {
    let Some(tool) = binding.tool.name.as_ref().filter(|_| binding.tool.parameters.is_none()) else { return Vec::new() };
    let Some(given) = given_arguments(documents, &tool.value) else { return Vec::new() };
    let mut named: Vec<(String, Span, &str)> = Vec::new();
    for shape in ["http", "args"].into_iter().filter_map(|key| binding.config.shape(key)) {
        let reads = shape.value.reads().into_iter().filter(|read| read.when.is_empty() && **read.path.root() != *"call");
        named.extend(reads.map(|read| (read.path.root().to_string(), read.span, "")));
    }
    let is_query = binding.config.get("builtin").and_then(Value::as_str) == Some("sql.query") && binding.config.get("args").is_none();
    if let (Some(sql), Some(span)) = (binding.config.get("sql").and_then(Value::as_str).filter(|_| is_query), binding.config.span("sql")) {
        let written = document.text.get(span.range()).unwrap_or_default();
        let names = placeholders(sql).into_iter().map(|name| (name.to_owned(), place_in(span, written, name), ", so it is always null"));
        named.extend(names);
    }
    let mut known = BTreeSet::new();
    let unknown = named.into_iter().filter(|(name, ..)| !given.contains(&**name) && known.insert(name.clone()));
    let finding = |(name, span, so): (String, Span, &str)| {
        let message = format!("no call of `{}` gives `{name}`{so}", tool.value);
        let near = near(&name, given.iter().copied());
        let help = near.map_or_else(
            || format!("give it, or declare what the tool takes: `parameters: {{properties: {{{name}: {{}}}}}}`"),
            |near| near.question(),
        );
        Diagnostic::new(Code::UndefinedVariable, &document.path, span, message).help(help)
    };
    unknown.map(finding).collect()
}

/// Returns the arguments that the calls of a tool give; `None` if it is not called, or others may give it more: also a call that is a mistake.
fn given_arguments<'d>(documents: &'d [Arc<Document>], tool: &str) -> Option<BTreeSet<&'d str>> {
    let named = documents.iter().flat_map(|document| tools_of(document)).filter_map(|tool| tool.name.as_ref());
    // Of two tools of one name, a call may mean the other.
    if named.filter(|name| *name.value == *tool).count() != 1 {
        return None;
    }
    let (mut given, mut is_called) = (BTreeSet::new(), false);
    for document in documents {
        if document.diagnostics.iter().any(Diagnostic::is_error) || is_asked(document, tool) {
            return None;
        }
        for call in calls_in(document) {
            match &call.callee {
                // Its items may call any tool.
                CalleeSyntax::Each(..) => return None,
                CalleeSyntax::Tool(name) if *name.value == *tool => {}
                _ => continue,
            }
            is_called = true;
            given.extend(call.body.iter().map(|body| &*body.value));
            match call.args.as_ref().map(|args| &args.value) {
                None => {}
                Some(Shape::Map(entries)) => given.extend(entries.iter().map(|(key, _)| &*key.value)),
                Some(Shape::Literal(Value::Map(entries))) => given.extend(entries.keys().map(|key| &**key)),
                Some(_) => return None,
            }
        }
    }
    is_called.then_some(given)
}

/// Returns whether a predicate or a policy of a file asks a tool, with arguments of its own.
fn is_asked(document: &Document, tool: &str) -> bool {
    let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return false };
    let by_predicate = |answer: &PredicateAnswer| matches!(answer, PredicateAnswer::Binding { tool: asked, .. } if *asked.value == *tool);
    let of_bindings = project.bindings.iter().filter_map(|binding| binding.config.get("chain"));
    let mut chains = project.host.get("policy").into_iter().chain(of_bindings).filter_map(Value::as_list);
    let asks = |provider: &Value| provider.get("tool").and_then(Value::as_str) == Some(tool);
    project.predicates.iter().any(|predicate| by_predicate(&predicate.answer)) || chains.any(|chain| chain.iter().any(asks))
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
    fn names_that_no_secret_can_have_are_found() {
        let wrong = found("bindings: { pay: { process: [a], env: { A: \"{{secret:Flights}}\", B: \"{{secret:flights}}\" } } }");
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].0.contains("Flights") && wrong[0].2.contains("`flights`"), "{wrong:?}");
        let of_host = found(concat!(
            "servers:\n  web: { url: \"https://a.example/\", headers: { A: \"{{secret:Web}}\", B: \"{{secret:web}}\" } }\n",
            "  own: { process: [a], env: { A: \"Bearer {{secret:My.Key}}\" } }\n",
            "models: { providers: { p: { openai: \"https://a.example/\", key: \"{{secret:P}}\" } }, roles: {} }\n",
        ));
        let helps: Vec<_> = of_host.iter().map(|(_, _, help)| help.split(';').next().unwrap()).collect();
        assert_eq!(helps.len(), 3, "{of_host:?}");
        for near in ["`p`", "`web`", "`my.key`"] {
            assert!(helps.iter().any(|help| help.contains(near)), "{near}: {of_host:?}");
        }
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
    fn arguments_that_no_call_gives_are_found_without_parameters() {
        let of = |binding: &str, start: &str| {
            let project = format!("bindings: {{ pay: {{ {binding} }} }}\n");
            let files = [("trellis.yaml", &*project), ("start.md", start)];
            let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
            let told =
                |found: Diagnostic| (project[found.place.unwrap().span.range()].to_owned(), found.help.unwrap_or_default().to_string());
            check_names(&documents).into_iter().map(told).collect::<Vec<_>>()
        };
        let call = "---\ndo: { name: pay, args: { order: 1 } }\n---\n";
        let statement = "builtin: sql.query, database: a.db, sql: \"select * from p where id = :ordre\"";
        let request = "http: { get: \"https://a.example/{{ ordre }}\" }";
        for binding in [statement, request] {
            let wrong = of(binding, call);
            assert_eq!(wrong.len(), 1, "{binding}: {wrong:?}");
            assert_eq!((&*wrong[0].0, &*wrong[0].1), ("ordre", "did you mean `order`?"), "{binding}");
            // It is called by nobody, by items of a list, by a mistake, or gives the name.
            let silent =
                ["---\n---\n", "---\ndo: { each: list }\ntools: [pay]\n---\n", "---\ndo: { name: pay, args: \"{{ all }}\" }\n---\n"];
            for start in silent.into_iter().chain(["---\ndo: { name: pay, args: { ordre: 1 } }\n---\n"]) {
                assert_eq!(of(binding, start), [], "{binding}: {start}");
            }
        }
        assert_eq!(of("http: { get: \"https://a.example/{{ order }}\", query: { a: \"{{ ordre | optional }}\" } }", call), []);
        assert_eq!(of(&format!("{request}, parameters: {{ type: object }}"), call), []);
    }

    #[test]
    fn placeholders_stand_outside_of_texts_and_comments() {
        assert_eq!(
            placeholders("a = :a and b = @b_1 or c = 'it''s :no' /* :no */ and \"x:no\" = $d -- :no\n and :e"),
            ["a", "b_1", "d", "e"]
        );
    }
}
