//! The keys and words of the host as they are described for editors: those that it takes, and no others (language 9, 11, `docs/lsp.md`).

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value as Json;
use trellis_core::{
    Dialect, Document, Source,
    syntax::vocabulary::{self, FileKind},
};
use trellis_host::binding::check_bindings;

/// The message of the host about `zzz`, and its help.
fn refused(project: &str) -> (String, String) {
    let files = [("trellis.yaml", project), ("start.md", "Hi.\n")];
    let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
    let found = check_bindings(&documents);
    let about = found.iter().find(|found| found.message.contains("`zzz`"));
    let about = about.unwrap_or_else(|| panic!("{project} is taken: {found:#?}"));
    (about.message.clone(), about.help.clone().unwrap_or_default().to_string())
}

/// The words in backticks, but for `zzz` and the key that is asked about.
fn quoted<'t>(text: &'t str, but: &str) -> BTreeSet<&'t str> {
    text.split('`').skip(1).step_by(2).filter(|word| *word != "zzz" && *word != but).collect()
}

/// The schema at a path below another: keys, `*` for any key or item.
fn below(root: &Json, path: &str) -> Json {
    let mut here = root.clone();
    for step in path.split('.') {
        let mut forms = vec![here.clone()];
        forms.extend(here["anyOf"].as_array().cloned().unwrap_or_default());
        let resolved = forms.into_iter().map(|form| match form["$ref"].as_str() {
            Some(name) => root["definitions"][name.trim_start_matches("#/definitions/")].clone(),
            None => form,
        });
        let inner = resolved.flat_map(|form| match step {
            "*" => [form["items"].clone(), form["additionalProperties"].clone()],
            key => [form["properties"][key].clone(), Json::Null],
        });
        here = inner.into_iter().find(Json::is_object).unwrap_or_else(|| panic!("{path}: {step} is not described"));
    }
    here
}

/// The keys that a schema describes.
fn keys(schema: &Json) -> BTreeSet<String> {
    let forms = std::iter::once(schema).chain(schema["anyOf"].as_array().into_iter().flatten());
    forms.filter_map(|form| form["properties"].as_object()).flat_map(|keys| keys.keys().cloned()).collect()
}

#[test]
fn each_mapping_of_the_host_is_described_by_the_keys_that_it_takes() {
    let project = vocabulary::schema(FileKind::Project);
    for (path, written) in [
        ("bindings.*.http", "bindings: { a: { http: { get: \"https://a.org/\", zzz: 1 } } }"),
        ("bindings.*.mcp", "bindings: { a: { mcp: { server: s, tool: t, zzz: 1 } } }\nservers: { s: { url: \"https://a.org/\" } }"),
        ("bindings.*.model", "bindings: { a: { model: { role: r, zzz: 1 } } }"),
        ("bindings.*.rate", "bindings: { a: { process: [a], rate: { zzz: 1 } } }"),
        ("servers.*", "servers: { s: { url: \"https://a.org/\", zzz: 1 } }"),
        ("servers.*.rate", "servers: { s: { url: \"https://a.org/\", rate: { zzz: 1 } } }"),
        ("models", "models: { zzz: 1 }"),
        ("models.providers.*", "models: { providers: { p: { openai: \"https://a.org/\", zzz: 1 } } }"),
        ("models.roles.*.*", "models: { roles: { r: [{ provider: p, model: m, zzz: 1 }] } }"),
        ("policy.*", "policy: [{ zzz: 1 }]"),
        ("policy.*.forced", "policy: [{ forced: { zzz: 1 } }]"),
        ("policy.*.score", "policy: [{ score: { zzz: 1 } }]"),
        ("budget", "budget: { zzz: 1 }"),
    ] {
        let (_, help) = refused(written);
        let taken = quoted(&help, "").into_iter().map(str::to_owned).collect();
        assert_eq!(keys(&below(&project, path)), taken, "{path}");
    }
}

#[test]
fn each_word_of_the_host_is_described() {
    let project = vocabulary::schema(FileKind::Project);
    let provider = |pair: &str| format!("models: {{ providers: {{ p: {{ {pair} }} }} }}");
    for (path, written) in [
        ("bindings.*.http.response", "bindings: { a: { http: { get: \"https://a.org/\", response: zzz } } }".to_owned()),
        ("bindings.*.model.format", "bindings: { a: { model: { role: r, format: zzz } } }".to_owned()),
        ("bindings.*.model.stream", "bindings: { a: { model: { role: r, stream: zzz } } }".to_owned()),
        ("servers.*.era", "servers: { s: { url: \"https://a.org/\", era: zzz } }".to_owned()),
        ("models.providers.*.schema", provider("openai: \"https://a.org/\", schema: zzz")),
        ("models.providers.*.limit_key", provider("openai: \"https://a.org/\", limit_key: zzz")),
        ("models.providers.*.headless", provider("headless: zzz")),
        ("models.providers.*.own_shell", provider("headless: codex, own_shell: zzz")),
        ("policy.*.else", "policy: [{ allow: [a], else: zzz }]".to_owned()),
    ] {
        let (message, _) = refused(&written);
        let place = message.split('`').nth(1).unwrap_or_default();
        let described = below(&project, path)["enum"].clone();
        let described: BTreeSet<&str> = described.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        assert_eq!(described, quoted(&message, place), "{path}: {message}");
    }
}
