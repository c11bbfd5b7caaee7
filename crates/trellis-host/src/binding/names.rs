//! Names in project files that only a host resolves: tools of policies, secrets, and parameters of SQL (language 9.26, 11.1, 11.3).

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{
    Code, Diagnostic, Document, Mapping, Value,
    diagnostic::near,
    span::Span,
    syntax::{document::Content, project::BindingSyntax},
};

use super::policy_names::check_policies;
use crate::secrets::{is_name, named_by_host, named_in};

/// Returns the findings about names that nothing in the graph has: tools and graphs in `policy`, secrets whose name no provider could have, and parameters of
/// SQL that are no arguments.
pub fn check_names(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let mut found = check_policies(documents);
    for document in documents {
        found.extend(secrets_of(document));
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        found.extend(project.bindings.iter().flat_map(|binding| parameters(document, binding)));
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
    fn placeholders_stand_outside_of_texts_and_comments() {
        assert_eq!(
            placeholders("a = :a and b = @b_1 or c = 'it''s :no' /* :no */ and \"x:no\" = $d -- :no\n and :e"),
            ["a", "b_1", "d", "e"]
        );
    }
}
