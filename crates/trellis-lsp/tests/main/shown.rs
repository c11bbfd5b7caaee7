//! The drawings of editors: colours, hints, lenses, links, selections, hierarchies, the graph and the cases of a sheet (`docs/lsp.md`).

use serde_json::{Value as Json, json};

use crate::client::{Client, capabilities};

const FILES: [(&str, &str); 7] = [
    ("trellis.yaml", "bindings:\n  look: { process: [bin/look] }\non_error: lost\n"),
    ("start.md", "---\ninput_type: int\nsave_to: number\nto: look\n---\nNumber?\n"),
    ("look.md", "---\ndo: { name: look, args: { n: \"{{ number }}\" } }\nsave_to: found\nto: ask\n---\n"),
    (
        "ask.md",
        "---\ndo: { graph: inner, args: { n: \"{{ number }}\" } }\ntransitions:\n  - { condition: number == 3, to: lost }\n  - to: lost\n---\n",
    ),
    ("lost.md", "---\n---\nLost {{ number | string }}. See [look](look.md).\n"),
    ("inner/trellis.yaml", "name: inner\n"),
    ("inner/start.md", "---\nrequired_context: [n]\n---\nInner {{ n }}\n"),
];

fn opened(options: Json) -> Client {
    let client = Client::with(&FILES, capabilities(), options);
    std::fs::create_dir_all(client.folder.path().join("bin")).expect("a folder");
    std::fs::write(client.folder.path().join("bin/look"), "").expect("a file");
    for (path, text) in FILES {
        client.open(path, text);
    }
    client
}

fn text(path: &str) -> &'static str {
    FILES.iter().find(|(name, _)| *name == path).map_or("", |(_, text)| text)
}

fn of(client: &mut Client, method: &str, path: &str) -> Json {
    client.request(method, json!({ "textDocument": { "uri": client.uri(path) } })).expect("it answers")
}

#[test]
fn names_templates_and_conditions_are_coloured_and_nothing_else() {
    let mut client = opened(json!({}));
    let legend = client.initialized["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"].clone();
    let words = |client: &mut Client, path: &str, source: &str| {
        let data = of(client, "textDocument/semanticTokens/full", path)["data"].as_array().cloned().unwrap_or_default();
        let numbers: Vec<usize> = data.iter().map(|number| number.as_u64().unwrap_or_default() as usize).collect();
        let (mut line, mut start) = (0, 0);
        let mut found = Vec::new();
        for token in numbers.chunks(5) {
            start = if token[0] == 0 { start + token[1] } else { token[1] };
            line += token[0];
            let written = &source.lines().nth(line).unwrap_or_default()[start..start + token[2]];
            found.push(format!("{written}:{}", legend[token[3]].as_str().unwrap_or_default()));
        }
        found
    };
    assert_eq!(
        words(&mut client, "lost.md", text("lost.md")),
        ["{{:macro", "number:variable", "|:operator", "string:function", "}}:macro"]
    );
    let ask = words(&mut client, "ask.md", text("ask.md"));
    assert_eq!(ask[..2], ["inner:class", "n:variable"]);
    assert!(
        ask.contains(&"==:operator".to_owned()) && ask.contains(&"3:number".to_owned()) && ask.contains(&"lost:class".to_owned()),
        "{ask:?}"
    );
    assert_eq!(words(&mut client, "look.md", text("look.md"))[0], "look:function");
    // If YAML does not parse, the parts that parse by themselves are coloured.
    let half = "---\nto: [\nto: lost\n---\n{{ number }}\n";
    client.replace("look.md", 2, half);
    assert_eq!(words(&mut client, "look.md", half), ["lost:class", "{{:macro", "number:variable", "}}:macro"]);
    client.leave().expect("it ends well");
}

#[test]
fn hints_show_types_and_what_an_error_comes_to_once_they_are_asked_for() {
    let mut client = opened(json!({ "inlayHints": { "types": true, "endings": true } }));
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = |client: &Client, path: &str| json!({ "textDocument": { "uri": client.uri(path) }, "range": range });
    let first = params(&client, "start.md");
    let hints = client.linked("textDocument/inlayHint", &first, |answer| answer.as_array().is_some_and(|hints| !hints.is_empty()));
    assert_eq!((&hints[0]["label"], &hints[0]["position"]), (&json!("an integer"), &json!({ "line": 2, "character": 15 })));
    let look = params(&client, "look.md");
    let hints = client.request("textDocument/inlayHint", look).expect("it answers");
    let labels: Vec<&str> = hints.as_array().into_iter().flatten().filter_map(|hint| hint["label"].as_str()).collect();
    assert!(labels.contains(&"on error: to `lost`"), "{labels:?}");
    client.leave().expect("it ends well");
    let mut off = opened(json!({}));
    let params = params(&off, "start.md");
    assert_eq!(off.request("textDocument/inlayHint", params), Ok(json!([])));
    off.leave().expect("it ends well");
}

#[test]
fn lenses_use_the_commands_of_the_client_and_no_others() {
    let mut client =
        opened(json!({ "commands": { "play": "my.play", "references": "my.references", "test": "my.test", "update": "my.update" } }));
    let params = json!({ "textDocument": { "uri": client.uri("lost.md") } });
    let lenses = client.linked("textDocument/codeLens", &params, |answer| answer.as_array().is_some_and(|lenses| lenses.len() == 2));
    assert_eq!(lenses[0]["command"]["command"], "my.play");
    assert_eq!(lenses[0]["command"]["arguments"], json!([client.uri("lost.md"), "lost"]));
    assert!(lenses[1]["command"]["title"].as_str().is_some_and(|title| title.ends_with("ways in")), "{lenses}");
    client.open("_tests/a.md", "# A\n\n```transcript\n> 3\n```\n\n# B\n\n```transcript\n> 4\n```\n");
    let lenses = of(&mut client, "textDocument/codeLens", "_tests/a.md");
    let titles: Vec<&str> = lenses.as_array().into_iter().flatten().filter_map(|lens| lens["command"]["title"].as_str()).collect();
    assert_eq!(titles, ["▶ run all", "▶ run", "▶ run", "update", "update"]);
    client.leave().expect("it ends well");
    let mut none = opened(json!({}));
    assert_eq!(of(&mut none, "textDocument/codeLens", "lost.md"), json!([]));
    none.leave().expect("it ends well");
}

#[test]
fn links_lead_to_the_files_that_are_there() {
    let mut client = opened(json!({}));
    let targets = |client: &mut Client, path: &str| {
        let links = of(client, "textDocument/documentLink", path);
        let root = client.uri("");
        links
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|link| link["target"].as_str())
            .map(|target| target.trim_start_matches(&root).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(targets(&mut client, "lost.md"), ["look.md"]);
    assert_eq!(targets(&mut client, "ask.md"), ["inner/start.md", "lost.md", "lost.md"]);
    assert_eq!(targets(&mut client, "trellis.yaml"), ["bin/look", "lost.md"]);
    client.replace("ask.md", 2, "---\nto: [\nto: lost\n---\n");
    assert_eq!(targets(&mut client, "ask.md"), ["lost.md"]);
    client.leave().expect("it ends well");
}

#[test]
fn selections_grow_from_the_word_to_the_file() {
    let mut client = opened(json!({}));
    let marked = text("ask.md").replace("number ==", "num‸ber ==");
    let place = client.place("ask.md", &marked);
    let params = json!({ "textDocument": place["textDocument"], "positions": [place["position"]] });
    let mut range = client.request("textDocument/selectionRange", params).expect("it answers")[0].clone();
    let mut sizes = Vec::new();
    while !range.is_null() {
        let (start, end) = (&range["range"]["start"], &range["range"]["end"]);
        sizes.push((
            start["line"].as_u64().unwrap_or_default(),
            start["character"].as_u64().unwrap_or_default(),
            end["line"].as_u64().unwrap_or_default(),
        ));
        range = range["parent"].clone();
    }
    assert!(sizes.len() >= 5, "{sizes:?}");
    assert_eq!((sizes[0], *sizes.last().expect("there is one")), ((3, 17, 3), (0, 0, 6)));
    client.leave().expect("it ends well");
}

#[test]
fn the_ways_of_a_node_are_a_hierarchy() {
    let mut client = opened(json!({}));
    let params = client.place("ask.md", &text("ask.md").replace("to: lost }", "to: lo‸st }"));
    let item = client.request("textDocument/prepareCallHierarchy", params).expect("it answers")[0].clone();
    assert_eq!(item["name"], "lost");
    let incoming = client
        .linked("callHierarchy/incomingCalls", &json!({ "item": item }), |answer| answer.as_array().is_some_and(|calls| !calls.is_empty()));
    let names: Vec<&str> = incoming.as_array().into_iter().flatten().filter_map(|call| call["from"]["name"].as_str()).collect();
    assert_eq!(names, ["ask", "look"], "the default for errors is a way, too: {incoming}");
    assert!(incoming[0]["from"]["detail"].as_str().is_some_and(|detail| detail.contains("number == 3")), "{incoming}");
    assert_eq!(incoming[0]["fromRanges"].as_array().map(Vec::len), Some(2));
    let params = client.place("ask.md", &format!("‸{}", text("ask.md")));
    let item = client.request("textDocument/prepareCallHierarchy", params).expect("it answers")[0].clone();
    let outgoing = client.request("callHierarchy/outgoingCalls", json!({ "item": item })).expect("it answers");
    let names: Vec<&str> = outgoing.as_array().into_iter().flatten().filter_map(|call| call["to"]["name"].as_str()).collect();
    assert_eq!(names, ["inner/start", "lost"]);
    client.leave().expect("it ends well");
}

#[test]
fn the_graph_and_the_cases_of_a_sheet_are_at_hand() {
    let mut client = opened(json!({}));
    let params = json!({ "uri": client.uri("start.md") });
    let drawn = client.linked("trellis/graph", &params, |answer| answer["stale"] == false);
    assert!(drawn["text"].as_str().is_some_and(|text| text.starts_with("<svg")), "{drawn}");
    // A client says what is collapsed, as `trellis graph --collapsed` does.
    let collapsed = json!({ "uri": client.uri("start.md"), "collapsed": ["inner", "gone"] });
    let collapsed = client.request("trellis/graph", collapsed).expect("it answers");
    let closed = |drawn: &Json| drawn["text"].as_str().is_some_and(|text| text.contains("<g><title>inner</title>"));
    assert!(closed(&collapsed) && !closed(&drawn), "{collapsed}");
    client.replace("start.md", 2, "---\nto: [\n---\n");
    let half = client.request("trellis/graph", params).expect("it answers");
    assert!(half["text"].as_str().is_some_and(|text| text.starts_with("<svg")), "{half}");
    let sheet = "# A\n\n## one\n\n```transcript\n> 3\n```\n\n## two\n\n```transcript\n> 4\n```\n";
    client.open("_tests/deep/a.md", sheet);
    let params = json!({ "uri": client.uri("_tests/deep/a.md") });
    let answer = client.request("trellis/tests", params.clone()).expect("it answers");
    let ids: Vec<&str> = answer["cases"].as_array().into_iter().flatten().filter_map(|case| case["id"].as_str()).collect();
    assert_eq!((ids, &answer["stale"]), (vec!["deep/a.md › A › one", "deep/a.md › A › two"], &json!(false)));
    client.replace("_tests/deep/a.md", 2, "# A\n\n```transcript\n");
    let answer = client.request("trellis/tests", params).expect("it answers");
    assert_eq!((answer["cases"].as_array().map(Vec::len), &answer["stale"]), (Some(2), &json!(true)));
    client.leave().expect("it ends well");
}
