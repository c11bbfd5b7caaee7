//! Every file of `graphs/`, typed letter by letter: each request has an answer, no list is stale, and the last one is that of a check.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::{Value as Json, json};
use trellis_core::diagnostic::FilePath;
use trellis_project::{Found, GraphLoader as _, Memory, Overlay, Project, discover};

use crate::client::{Client, List};

/// Requests about a place.
const AT: [&str; 7] = [
    "textDocument/completion",
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/prepareCallHierarchy",
];

/// Requests about a whole file.
const OF: [&str; 5] = [
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/codeLens",
    "textDocument/documentLink",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../graphs")
}

fn graphs() -> Vec<PathBuf> {
    match discover(folder()).expect("the graphs are there") {
        Found::Collection(graphs) => graphs,
        Found::Graph(graph) => vec![graph],
    }
}

/// The texts of a graph.
fn texts(root: &Path) -> Vec<(String, String)> {
    let project = Project::open(root).expect("it is a graph");
    project.documents().iter().map(|document| (document.path.to_string(), document.text.to_string())).collect()
}

/// Waits until the findings of a file are those of a check, and those of `start.md` of this version.
fn comes_to_the_check(client: &mut Client, now: &[(String, String)], path: &str, version: i32) {
    let mut expected = checked(now, path);
    expected.sort();
    client.wait(path, |list| {
        let mut lines = list.lines();
        lines.sort();
        lines == expected && (path != "start.md" || list.version == Some(i64::from(version)))
    });
}

/// The findings of a check, by file, as `line:column code message`.
fn checked(files: &[(String, String)], path: &str) -> Vec<String> {
    let graph: Memory = files.iter().map(|(path, text)| (path.as_str(), text)).collect();
    let project = Project::with_loader(graph).expect("memory is always there");
    let path = FilePath::from(path);
    let text = project.documents().iter().find(|document| document.path == path).map(|document| document.text.clone()).unwrap_or_default();
    let found = project.compile().diagnostics;
    let here = found.iter().filter_map(|found| Some((found.place.as_ref().filter(|place| place.path == path)?, found)));
    here.map(|(place, found)| {
        let before = &text[..place.span.start as usize];
        let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
        format!("{}:{column} {} {}", before.matches('\n').count(), found.code, found.message)
    })
    .collect()
}

/// Returns whether every position in an answer is one of a text with this many lines.
fn positions_fit(answer: &Json, lines: u64) -> bool {
    match answer {
        Json::Object(entries) => {
            entries.iter().all(|(key, value)| key != "line" || value.as_u64().is_some_and(|line| line < lines))
                && entries.values().all(|value| positions_fit(value, lines))
        }
        Json::Array(items) => items.iter().all(|item| positions_fit(item, lines)),
        _ => true,
    }
}

/// Types one file into its graph, every `stride` letters.
fn type_file(client: &mut Client, files: &[(String, String)], path: &str, text: &str, stride: usize) {
    let uri = client.uri(path);
    client.open(path, "");
    let mut version = 1;
    let ends: Vec<usize> = text.char_indices().map(|(at, char)| at + char.len_utf8()).collect();
    for (count, end) in ends.iter().enumerate() {
        if count % stride != 0 && *end != text.len() {
            continue;
        }
        version += 1;
        let typed = &text[..*end];
        client.replace(path, version, typed);
        let position = json!({ "line": typed.matches('\n').count(), "character": typed.rsplit('\n').next().unwrap_or_default().encode_utf16().count() });
        let params = json!({ "textDocument": { "uri": uri }, "position": position });
        let with_context = json!({ "textDocument": { "uri": uri }, "position": position, "context": { "includeDeclaration": true } });
        let lines = typed.matches('\n').count() as u64 + 1;
        for method in AT {
            let params = if method.ends_with("references") { &with_context } else { &params };
            let answer = client.request(method, params.clone());
            assert!(answer.is_ok() || method == "textDocument/prepareRename", "{method} of {typed:?}: {answer:?}");
            let is_refusal = method == "textDocument/prepareRename" && answer.is_err();
            let answer = answer.unwrap_or_default();
            let own = matches!(method, "textDocument/completion" | "textDocument/hover" | "textDocument/documentHighlight");
            assert!(is_refusal || !own || positions_fit(&answer, lines), "{method} of {typed:?}: {answer}");
        }
        for method in OF {
            let answer = client.request(method, json!({ "textDocument": { "uri": uri } })).expect("it answers");
            assert!(positions_fit(&answer, lines), "{method} of {typed:?}: {answer}");
        }
        let all = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": lines, "character": 0 } });
        let ranged = json!({ "textDocument": { "uri": uri }, "range": all, "context": { "diagnostics": [], "triggerKind": 2 } });
        for method in ["textDocument/codeAction", "textDocument/inlayHint", "textDocument/semanticTokens/range"] {
            client.request(method, ranged.clone()).unwrap_or_else(|error| panic!("{method} of {typed:?}: {error:?}"));
        }
        let positions = json!({ "textDocument": { "uri": uri }, "positions": [position] });
        let answer = client.request("textDocument/selectionRange", positions).expect("it answers");
        assert!(positions_fit(&answer, lines), "selectionRange of {typed:?}: {answer}");
        let format = json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 2, "insertSpaces": true } });
        client.request("textDocument/formatting", format).expect("it answers");
    }
    let mut expected = checked(files, path);
    expected.sort();
    let last = client.wait(path, |list| {
        let mut lines = list.lines();
        lines.sort();
        list.version == Some(i64::from(version)) && lines == expected
    });
    assert_eq!(last.version, Some(i64::from(version)));
    let versions: Vec<_> = client.lists[&uri].iter().filter_map(|list| list.version).collect();
    assert!(versions.is_sorted(), "no list is older than the one before it: {versions:?}");
    client.close(path);
}

/// Types every file of a graph.
fn type_graph(root: &Path) {
    let files = texts(root);
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let options = json!({ "inlayHints": { "types": true, "endings": true }, "commands": { "play": "play", "references": "references" } });
    let mut client = Client::with(&borrowed, crate::client::capabilities(), options);
    for (path, text) in &files {
        // A prime, so that the letters that are looked at differ from line to line. `EVERY_LETTER` looks at all of them.
        let stride = if text.len() < 40 || std::env::var_os("EVERY_LETTER").is_some() { 1 } else { 127 };
        client.lists.clear();
        type_file(&mut client, &files, path, text, stride);
    }
    client.leave().expect("it ends well");
}

/// A test for each graph of `graphs/`.
macro_rules! typed {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            type_graph(&folder().join(stringify!($name)));
        })*

        #[test]
        fn every_graph_is_typed() {
            let named: Vec<_> = [$(stringify!($name)),*].iter().map(|name| folder().join(name)).collect();
            let mut there = graphs();
            there.sort();
            assert_eq!(there, named);
        }
    };
}

typed!(agent, atod, chancellor, hello, incident, orchestrator, support, toolflow, tour);

#[test]
fn lists_are_in_order_whatever_is_saved_and_edited_meanwhile() {
    let files = [
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n"),
        ("greet.md", "---\nto: bye\n---\nHello {{ name }}\n"),
        ("bye.md", "---\n---\nBye, {{ name }}\n"),
    ];
    let edits = ["to: greet", "to: gret", "to: [", "save_to: nam\nto: greet", "", "to: bye", "to: greet"];
    // A simple generator of numbers: each run is the same.
    let mut state = 0x9e37_79b9_u32;
    let mut next = |bound: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % bound
    };
    let mut client = Client::new(&files);
    let mut now: Vec<(String, String)> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    client.open("start.md", files[0].1);
    let mut version = 1;
    for _ in 0..200 {
        let edit = edits[next(7) as usize];
        match next(4) {
            0 => {
                let text = format!("---\n{edit}\n---\nHello {{{{ name }}}}\n");
                client.save("greet.md", Some(&text));
                now[1].1 = text;
            }
            _ => {
                version += 1;
                let text = format!("---\ninput_type: text\nsave_to: name\n{edit}\n---\nName?\n");
                client.replace("start.md", version, &text);
                now[0].1 = text;
            }
        }
    }
    for path in ["start.md", "greet.md", "bye.md"] {
        comes_to_the_check(&mut client, &now, path, version);
    }
    let uri = client.uri("start.md");
    let versions: Vec<_> = client.lists[&uri].iter().filter_map(|list| list.version).collect();
    assert!(versions.is_sorted(), "{versions:?}");
    client.leave().expect("it ends well");
}

#[test]
fn a_link_that_is_held_back_says_nothing_of_an_older_text() {
    static LINKS: AtomicU64 = AtomicU64::new(0);
    let files = [("start.md", "---\nto: greet\n---\nHi.\n"), ("greet.md", "---\nto: bye\n---\nHello.\n"), ("bye.md", "Bye.\n")];
    let mut client = Client::started(
        &files,
        |_| {
            // Some links are done at once, others long after the next edits.
            std::thread::sleep(Duration::from_millis(LINKS.fetch_add(1, Ordering::Relaxed) * 7919 % 23));
            Vec::new().into()
        },
        json!({ "capabilities": crate::client::capabilities() }),
    );
    client.open("start.md", files[0].1);
    let (mut state, mut version) = (0x9e37_79b9_u32, 1);
    let mut now = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    for round in 0..300 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match (state >> 16) % 5 {
            0 | 1 => {
                version += 1;
                now[0].1 = format!("---\nto: lost{round}\n---\nHi.\n");
                client.replace("start.md", version, &now[0].1);
            }
            2 => {
                now[1].1 = format!("---\nto: lost{round}\n---\nHello.\n");
                client.save("greet.md", Some(&now[1].1));
            }
            3 => {
                // YAML that is half typed, and whole again with the next edit.
                version += 1;
                now[0].1 = format!("---\nto: [lost{round}\n---\nHi.\n");
                client.replace("start.md", version, &now[0].1);
            }
            _ => std::thread::sleep(Duration::from_millis(u64::from(state >> 28))),
        }
    }
    for path in ["start.md", "greet.md"] {
        comes_to_the_check(&mut client, &now, path, version);
        // Each finding names the round of its text: none comes back.
        let lists = &client.lists[&client.uri(path)];
        let named = lists.iter().flat_map(List::lines).filter_map(|line| line.split("`lost").nth(1)?.split('`').next()?.parse().ok());
        let rounds: Vec<u32> = named.collect();
        assert!(rounds.is_sorted(), "{path}: {rounds:?}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn an_overlay_takes_its_text_back() {
    let graph = Overlay::new([("start.md", "---\n---\n")].into_iter().collect::<Memory>());
    let path = FilePath::from("new.md");
    graph.put(&path, Some("---\n---\nNew.\n"));
    assert_eq!(graph.list_files().expect("memory is always there").len(), 2);
    graph.put(&path, None);
    assert_eq!(graph.list_files().expect("memory is always there").len(), 1);
    assert!(graph.read_file("new.md").is_err());
}
