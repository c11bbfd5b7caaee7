//! Contracts of authors that contradict those of builtins and models (language 9.8, 9.24): `check --host` says where nothing fits both, and which
//! nodes builtins read.

use trellis_host::{Bindings, binding::Host};

use crate::stage::program;

/// Returns the findings of one binding, with the text that each points at.
fn said(binding: &str) -> Vec<String> {
    let models = "models: { providers: { p: { scripted: ./_p.yaml } }, roles: { r: [{ provider: p }] } }\n";
    let project = format!("{models}bindings:\n  t: {{ {binding} }}\n");
    let program = program(&[("trellis.yaml", &project), ("start.md", "Hello.\n")]);
    let folder = tempfile::tempdir().unwrap();
    let (bindings, found) = Bindings::new(&program, folder.path(), &Host::new());
    assert!(found.is_empty(), "{found:?}");
    let obstacles = bindings.obstacles(&program);
    let shown = obstacles.iter().map(|found| {
        let span = found.place.as_ref().unwrap().span;
        format!("{} @ {}", found.message, &project[span.start as usize..span.end as usize])
    });
    shown.collect()
}

#[test]
fn a_contract_that_no_call_of_a_builtin_meets_is_named() {
    for (binding, message, at) in [
        (
            "builtin: values.get, returns: { type: integer }",
            "nothing fits both `returns` and what `values.get` has there: it is a mapping, not an integer",
            "{ type: integer }",
        ),
        (
            "builtin: values.get, returns: { type: object, required: [version], properties: { version: { type: string } } }",
            "nothing fits both `returns` and what `values.get` has there: `version` is an integer, not a text",
            "{ type: object, required: [version], properties: { version: { type: string } } }",
        ),
        (
            "builtin: math.evaluate, parameters: { type: object, required: [sum], properties: { sum: { type: string } } }",
            "nothing fits both `parameters` and what `math.evaluate` has there: it has no `sum`",
            "{ type: object, required: [sum], properties: { sum: { type: string } } }",
        ),
        (
            "model: { role: r }, returns: { type: string }",
            "nothing fits both `returns` and what `model` has there: it is a mapping, not a text",
            "{ type: string }",
        ),
    ] {
        let found = said(binding);
        assert!(found.contains(&format!("{message} @ {at}")), "{binding}: {found:#?}");
    }
}

#[test]
fn a_contract_that_some_call_meets_is_the_authors() {
    for binding in [
        "builtin: values.get, returns: { type: object, required: [value], properties: { value: { type: integer } } }",
        "builtin: math.evaluate, returns: { type: integer }",
        // With `args:` the arguments of a call are the author's own.
        "builtin: math.evaluate, args: { expression: \"{{ sum }}\" }, parameters: { type: object, required: [sum], properties: { sum: { type: string } } }",
    ] {
        assert_eq!(said(binding), Vec::<String>::new(), "{binding}");
    }
    // The JSON that a model gives is the author's matter.
    let found = said("model: { role: r, format: json }, returns: { type: string }");
    assert!(!found.iter().any(|message| message.contains("nothing fits both")), "{found:#?}");
}

// 9.8: a file that a binding reads and that is also a node
#[test]
fn nodes_in_a_folder_that_a_builtin_reads_are_named() {
    let said = |folder: &str| {
        let project = format!(
            "bindings:\n  kb: {{ builtin: documents.search, {folder} }}\n  texts: {{ builtin: documents.search, folder: kb, files: '*.txt' }}\n"
        );
        let files = [
            ("trellis.yaml", project.as_str()),
            ("start.md", "---\nto: kb/a\n---\n"),
            ("kb/a.md", "---\nto: kb/b/c\n---\n"),
            ("kb/b/c.md", "---\n---\nThe end.\n"),
            ("kb/page.md", "A page.\n"),
        ];
        let program = program(&files);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("kb")).unwrap();
        let (bindings, found) = Bindings::new(&program, folder.path(), &Host::new());
        assert!(found.is_empty(), "{found:?}");
        let obstacles = bindings.obstacles(&program);
        obstacles.iter().map(|found| format!("{} / {}", found.message, found.help.clone().unwrap_or_default())).collect::<Vec<_>>()
    };
    let expected = "`kb` reads `kb/a.md`, which is a node as well, and so is one more / `kb` reads the folder `kb`: let its name begin with `_`, and its files are no nodes";
    assert_eq!(said("folder: kb"), [expected]);
    assert_eq!(said("folder: ./kb/"), [expected.replace("folder `kb`", "folder `./kb/`")]);
    assert_eq!(said("folder: ."), Vec::<String>::new(), "the whole graph");
    assert_eq!(said("folder: kb, files: '*.txt'"), Vec::<String>::new(), "no node is read");
}
