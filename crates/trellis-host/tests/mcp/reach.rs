//! Mistakes about servers: what `check` finds in the files, `check --host` without starting anything, and `check --host --reach` by connecting.

use std::sync::Arc;

use trellis_core::{Code, Dialect, Document, Source, compile, diagnostic::Severity};
use trellis_host::{
    Bindings, Secrets,
    binding::{Host, check_bindings},
};

use crate::host::{documents, run};

fn mistakes(project: &str) -> Vec<String> {
    check_bindings(&documents(project)).into_iter().map(|found| found.message).collect()
}

#[test]
fn every_mistake_in_servers_has_its_place() {
    // language 9.1
    for (server, message) in [
        ("3", "`servers.s` takes a mapping"),
        ("{}", "the server `s` cannot be reached: it has neither `process` nor `url`"),
        ("{ process: [a], url: \"https://a\" }", "`process` and `url` exclude each other"),
        ("{ process: [] }", "the server `s` names no command"),
        ("{ process: run }", "`process` takes a list of texts, not a text"),
        ("{ url: wiki }", "`wiki` is no URL of a server"),
        ("{ url: \"ftp://a\" }", "`ftp://a` is no URL of a server"),
        ("{ url: \"https://a\", headers: { \"a b\": x } }", "`a b` is no name of a header"),
        ("{ url: \"https://a\", headers: { Host: x } }", "the header `Host` is set by the protocol"),
        ("{ url: \"https://a\", env: { A: x } }", "`env` means nothing here"),
        ("{ process: [a], headers: { a: x } }", "`headers` means nothing here"),
        ("{ process: [a], graze: 5s }", "`servers.s` has no key `graze`"),
        ("{ process: [a], idle: soon }", "`soon` is no duration"),
        ("{ process: [a], rate: 10 }", "`rate` takes a mapping, not an integer"),
        ("{ process: [a], rate: { max: 3 } }", "`rate.per` takes a duration above zero"),
        ("{ process: [a], abreast: 0 }", "`abreast` takes a whole number from 1 on"),
        ("{ process: [a], max_wait: 5s }", "`servers.s` has no key `max_wait`"),
        ("{ process: [a], era: old }", "`era` takes `auto`, `modern` or `legacy`, not `old`"),
    ] {
        assert_eq!(mistakes(&format!("servers: {{ s: {server} }}\n")), [message], "{server}");
    }
    for (mcp, message) in [
        ("files/read", "there is no server `files`"),
        ("read", "`read` names no tool of a server"),
        ("{ server: s }", "`mcp` has no `tool`"),
        ("3", "`mcp` takes `server/tool`, not an integer"),
    ] {
        assert_eq!(mistakes(&format!("servers: {{ s: {{ process: [a] }} }}\nbindings: {{ t: {{ mcp: {mcp} }} }}\n")), [message], "{mcp}");
    }
    let near = check_bindings(&documents("servers: { files: { process: [a] } }\nbindings: { t: { mcp: file/read } }\n"));
    assert_eq!(near[0].help.as_deref(), Some("did you mean `files`?"));
}

#[test]
fn what_goes_unencrypted_to_another_machine_is_a_warning() {
    // language 9.11
    let project = |url: &str| {
        format!("servers: {{ wiki: {{ url: \"{url}\" }}, unused: {{ url: \"{url}\" }} }}\nbindings: {{ t: {{ mcp: wiki/find }} }}\n")
    };
    let found = check_bindings(&documents(&project("http://example.org:81/mcp")));
    let messages: Vec<_> = found.iter().map(|found| (found.severity, found.message.as_str())).collect();
    assert_eq!(
        messages,
        [
            (Severity::Warning, "calls of the server `unused` go unencrypted to `example.org:81`"),
            (Severity::Warning, "calls of the server `wiki` go unencrypted to `example.org:81`"),
        ]
    );
    for url in ["https://example.org/mcp", "http://127.0.0.1:81/mcp", "http://[::1]/mcp", "http://localhost/mcp"] {
        assert_eq!(check_bindings(&documents(&project(url))), [], "{url}");
    }
    // A warning does not keep the binding from running.
    let program = compile(&documents(&project("http://example.org/mcp"))).program.unwrap();
    let (bindings, found) = Bindings::new(&program, std::path::Path::new("."), &Host::new());
    assert!(bindings.binds("", "t") && found.is_empty(), "{found:?}");
}

#[test]
fn a_server_that_cannot_be_reached_is_told_once() {
    // language 9.8
    let bindings = |names: &[&str]| names.iter().map(|name| format!("  {name}: {{ mcp: s/{name} }}\n")).collect::<String>();
    // What is seen without starting it is told so; connecting tells the rest.
    // It ends after the first message: one that ended before would have closed the pipe to it, and then that is all that is known.
    for (reach, process) in [(false, "./nowhere"), (true, "sh, -c, 'read -r line; exit 3'")] {
        let project = |names: &[&str]| format!("servers: {{ s: {{ process: [{process}] }} }}\nbindings:\n{}", bindings(names));
        let messages = |names: &[&str]| {
            findings(&project(names), "content: hello\n", reach).into_iter().map(|(.., message)| message).collect::<Vec<_>>()
        };
        let (two, three) = (messages(&["a", "b"]), messages(&["a", "b", "c"]));
        assert!(two.len() == 1 && two[0].starts_with("`a` and another binding cannot be carried out: "), "{two:?}");
        assert!(three.len() == 1 && three[0].starts_with("`a` and 2 other bindings cannot be carried out: "), "{three:?}");
    }
}

#[test]
fn servers_of_outer_graphs_are_found() {
    // language 9.1
    let sources = [
        ("start.yaml", "content: hello\n"),
        ("trellis.yaml", "servers: { files: { process: [a] } }\n"),
        ("inner/start.yaml", "content: hello\n"),
        ("inner/trellis.yaml", "bindings: { t: { mcp: files/read } }\n"),
    ];
    let documents: Vec<_> =
        sources.iter().map(|(path, text)| Arc::new(Document::parse(&Source::text(*path, text), Dialect::default()))).collect();
    assert!(check_bindings(&documents).is_empty());
}

fn findings(project: &str, node: &str, reach: bool) -> Vec<(Code, String, String)> {
    let mut documents = documents(project);
    documents[0] = Arc::new(Document::parse(&Source::text("start.yaml", node), Dialect::default()));
    let compiled = compile(&documents);
    let program = compiled.program.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let folder = tempfile::tempdir().unwrap();
    let (bindings, found) = Bindings::new(&program, folder.path(), &Host::new().secrets(Secrets::new(|_| None)));
    assert!(found.is_empty(), "{found:?}");
    let found = if reach { run(bindings.reach(&program)) } else { bindings.obstacles(&program) };
    found
        .into_iter()
        .map(|found| (found.code, found.place.map(|place| place.path.to_string()).unwrap_or_default(), found.message))
        .collect()
}

#[test]
fn what_would_keep_a_server_from_starting_is_known_before() {
    // language 9.8
    let project = "servers: { s: { process: [./nowhere], env: { A: \"{{secret:unknown-one}}\" } } }\nbindings: { t: { mcp: s/t } }\n";
    let found = findings(project, "content: hello\n", false);
    let messages: Vec<_> = found.iter().map(|(.., message)| message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`t` cannot be carried out: the server `s`: `./nowhere` does not exist",
            "`t` cannot be carried out: the server `s`: the secret `unknown-one` is not known here",
        ]
    );
}

#[test]
fn connecting_shows_tools_that_are_not_there_and_arguments_that_do_not_fit() {
    // language 9.8
    let project = "servers: { rude: { process: [python3, SCRIPTS/rude.py, good] } }\n\
                   bindings: { echo: { mcp: rude/echo }, gone: { mcp: rude/ecko } }\n";
    let found = findings(project, "tools: [echo]\ndo: { name: echo, args: { text: 3 } }\n", true);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        found[0],
        (Code::UnknownTool, "trellis.yaml".into(), "`gone` cannot be carried out: the server `rude` has no tool `ecko`".into())
    );
    assert_eq!((found[1].0, found[1].1.as_str()), (Code::BadToolArgs, "start.yaml"), "{found:?}");
    assert!(findings(project, "tools: [echo]\ndo: { name: echo, args: { text: hello } }\n", true).len() == 1);
}
