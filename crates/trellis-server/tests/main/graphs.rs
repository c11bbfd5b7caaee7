//! Graphs: listed, shown, broken, mended, read again; and the engine alone.

use std::fs;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::stand::{SHOP, Stand, TOKEN, Terms, write};

#[tokio::test]
async fn a_graph_shows_its_nodes_and_its_findings() {
    let stand = Stand::new(SHOP).await;
    stand.counting("ana").await;
    let listed = stand.get("/api/graphs").await.json();
    let shop = &listed["items"][0];
    assert_eq!(
        (&shop["name"], &shop["status"], &shop["nodes"], &shop["sessions"]),
        (&json!("shop"), &json!("sound"), &json!(5), &json!({ "open": 1, "held": 0 }))
    );
    let graph = stand.get("/api/graphs/shop").await;
    assert_eq!((&graph.json()["name"], graph.json()["nodes"].as_array().map(Vec::len).unwrap_or_default() >= 5), (&json!("shop"), true));
    let same = stand.with("GET", "/api/graphs/shop", &[("if-none-match", &graph.headers["etag"])], None).await;
    assert_eq!(same.status, 304);
    assert!(stand.get("/api/graphs/shop?format=mermaid").await.text.starts_with("flowchart"));
    let node = stand.get("/api/graphs/shop/nodes/count").await.json();
    assert_eq!(
        (&node["kind"], &node["path"], &node["html"]),
        (&json!("listen"), &json!("count.md"), &json!("<p>How many, {{ name }}?</p>\n"))
    );
    assert!(node["keys"].as_array().unwrap().iter().any(|key| key["key"] == "name" && key["certain"] == true), "{node}");
    assert!(node["ways"].as_array().unwrap().iter().any(|way| way["to"] == "send"));
    let unknown = stand.get("/api/graphs/shop/nodes/cuont").await;
    assert!(unknown.code() == "unknown-node" && unknown.json()["detail"].as_str().unwrap().contains("`count`"));
    let found = stand.get("/api/graphs/shop/search?q=HOW").await.json();
    assert_eq!((&found["items"][0]["id"], &found["items"][0]["excerpt"]), (&json!("count"), &json!("How many, {{ name }}?")));
    let fit = stand.get("/api/graphs/shop/fit").await.json();
    assert_eq!((&fit["items"][0]["session"], &fit["items"][0]["is_fine"]), (&json!("ana"), &json!(true)));
    let page = stand.get("/api/explain/unknown-target").await;
    assert!(page.text.starts_with("# unknown-target") && page.headers["content-type"].starts_with("text/markdown"));
    let html = stand.with("GET", "/api/explain/conflict", &[("accept", "text/html")], None).await;
    assert!(html.text.starts_with("<h1>conflict</h1>"));
}

// `docs/serve.md#routes`, `docs/studio.md`: what a node says is its own content, also of a graph in one file
#[tokio::test]
async fn a_node_of_a_file_with_several_says_its_own_content() {
    let several = "nodes:\n  start: { content: \"*One* or two?\", options: [one, two], to: more }\n  more:\n    content:\n      - text: First.\n      \
                   - { text: Second., condition: more is set }\n    to: end\n  end: {}\n";
    let stand = Stand::new(&[("pick/start.yaml", several)]).await;
    for (node, html) in [("start", "<p><em>One</em> or two?</p>\n"), ("more", "<p>First.</p>\n<p>Second.</p>\n"), ("end", "")] {
        let shown = stand.get(&format!("/api/graphs/pick/nodes/{node}")).await.json();
        assert_eq!(shown["html"], html, "{shown:#}");
        assert_eq!(shown["source"], several);
    }
}

/// Places for everything, the same in the picture; a picture may have its own style sheet and nothing else (`docs/reference/cli.md#graph`,
/// `docs/serve.md#security`).
#[tokio::test]
async fn a_graph_is_laid_out_and_drawn() {
    let inner = [("shop/extra/start.md", "---\ninput_type: text\nto: left\n---\nMore?\n"), ("shop/left.md", "---\nto: extra\n---\n")];
    let more = [("shop/extra/left.md", "---\n---\nYou left.\n")];
    let stand = Stand::new(&[SHOP, &inner, &more].concat()).await;
    let plain = stand.get("/api/graphs/shop").await.json();
    assert_eq!(plain["layout"], Value::Null);
    let open = stand.get("/api/graphs/shop?layout=down").await.json();
    let layout = &open["layout"];
    assert_eq!((&layout["direction"], &layout["collapsed"]), (&json!("down"), &json!([])));
    let node = layout["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "extra/start").unwrap();
    let module = &layout["modules"][0];
    assert_eq!((&node["width"], &node["height"], &module["id"], &module["nodes"]), (&json!(160), &json!(44), &json!("extra"), &json!(2)));
    assert!(node["x"].as_i64() > module["x"].as_i64() && node["y"].as_i64() > module["y"].as_i64(), "{layout}");
    let edges = open["edges"].as_array().unwrap();
    for edge in layout["edges"].as_array().unwrap() {
        for at in edge["edges"].as_array().unwrap() {
            let of = &edges[usize::try_from(at.as_u64().unwrap()).unwrap()];
            assert_eq!((&of["from"], &of["to"]), (&edge["from"], &edge["to"]));
        }
    }
    let shut = stand.get("/api/graphs/shop?layout=right&collapsed=extra").await.json();
    assert_eq!((&shut["layout"]["collapsed"], &shut["layout"]["modules"][0]["collapsed"]), (&json!(["extra"]), &json!(true)));
    assert_eq!(stand.get("/api/graphs/shop?layout=right&collapsed=extra&expanded=extra").await.json()["layout"]["collapsed"], json!([]));
    assert_eq!(stand.get("/api/graphs/shop?layout=up").await.code(), "bad-request");
    let svg = stand.get("/graph?format=svg").await;
    assert_eq!((svg.status, &*svg.headers["content-type"]), (200, "image/svg+xml"));
    assert!(svg.text.starts_with("<svg") && svg.text.contains("calls ship"), "{}", svg.text);
    assert!(svg.headers["content-security-policy"].starts_with("default-src 'none'; style-src 'sha256-"), "{:?}", svg.headers);
}

/// Large answers are compressed for those who take it, and streams never are.
#[tokio::test]
async fn answers_are_compressed() {
    let stand = Stand::new(SHOP).await;
    let gzip = [("accept-encoding", "gzip")];
    let head = |path: &str| {
        let port = stand.port;
        format!("GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\nauthorization: Bearer {TOKEN}\r\naccept-encoding: gzip\r\n\r\n")
    };
    let mut stream = stand.connect().await;
    stream.write_all(head("/api/graphs/shop").as_bytes()).await.unwrap();
    assert!(first(&mut stream).await.contains("content-encoding: gzip"));
    let mut stream = stand.connect().await;
    stream.write_all(head("/api/events").as_bytes()).await.unwrap();
    let begun = first(&mut stream).await;
    assert!(begun.contains("text/event-stream") && !begun.contains("content-encoding"), "{begun}");
    let small = stand.with("GET", "/readyz", &gzip, None).await;
    assert!(!small.headers.contains_key("content-encoding"), "{small:?}");
}

/// The beginning of an answer.
async fn first(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = vec![0; 4096];
    let length = stream.read(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

#[tokio::test]
async fn a_broken_graph_goes_on_with_the_version_that_it_had() {
    let stand = Stand::new(SHOP).await;
    stand.counting("ana").await;
    let sound = stand.get("/api/graphs/shop/diagnostics").await;
    write(stand.folder.path(), &[("shop/count.md", "---\ninput_type: int\nsave_to: count\nto: nowhere\n---\nHow many now?\n")]);
    let reload = stand.post("/api/graphs/shop/reload", json!({})).await.json();
    assert_eq!((&reload["status"], &reload["diagnostics"][0]["code"]), (&json!("broken"), &json!("unknown-target")));
    assert_ne!(stand.get("/api/graphs/shop/diagnostics").await.headers["etag"], sound.headers["etag"]);
    assert_eq!(stand.get("/api/sessions/ana").await.json()["said"][0]["text"], "How many, Ada?\n");
    write(stand.folder.path(), &[("shop/count.md", "---\ninput_type: int\nsave_to: count\nto: send\n---\nHow many now?\n")]);
    assert_eq!(stand.post("/api/graphs/shop/reload", json!({})).await.json()["status"], "sound");
    let stale = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", "\"2\"")], Some(&json!({ "input": 2 }))).await;
    // In memory, the graph that asked takes the answer.
    assert!([200, 412].contains(&stale.status), "{stale:?}");
    let begun = stand.post("/api/sessions", json!({ "id": "bea", "context": {} })).await;
    assert_eq!(begun.status, 201);
    assert_eq!(stand.post("/api/sessions/bea/turns", json!({ "input": "Bea" })).await.json()["said"][0]["text"], "How many now?\n");
}

#[tokio::test]
async fn a_graph_that_never_was_sound_says_so() {
    let stand = Stand::new(&[("shop/start.md", "---\nto: nowhere\n---\n")]).await;
    for (method, path) in [("GET", "/api/graphs/shop"), ("POST", "/api/sessions"), ("GET", "/readyz"), ("GET", "/api/sessions/ana")] {
        let body = json!({});
        let answer = stand.with(method, path, &[], if method == "POST" { Some(&body) } else { None }).await;
        assert_eq!(
            (answer.status, answer.code(), answer.headers.contains_key("retry-after")),
            (503, "no-program".to_owned(), true),
            "{path}"
        );
    }
    assert_eq!(stand.get("/api/graphs/shop/diagnostics").await.json()["status"], "broken");
    write(stand.folder.path(), SHOP);
    assert_eq!(stand.post("/api/graphs/shop/reload", json!({})).await.json()["status"], "sound");
    assert_eq!(stand.post("/api/sessions", json!({})).await.status, 201);
    assert_eq!(stand.get("/readyz").await.text, "ready\n");
}

#[tokio::test]
async fn two_graphs_share_a_server_and_a_name_of_a_session() {
    let files =
        [SHOP, &[("other/start.md", "---\ninput_type: text\nto: end\n---\nHi.\n"), ("other/end.md", "---\noutput: 1\n---\n")]].concat();
    let stand = Stand::new(&files).await;
    assert_eq!(stand.post("/api/sessions", json!({ "id": "ana" })).await.code(), "bad-request");
    assert_eq!(stand.post("/api/sessions", json!({ "id": "ana", "graph": "shop" })).await.status, 201);
    assert_eq!(stand.get("/api/sessions/ana").await.json()["graph"], "shop");
    assert_eq!(stand.get("/api/sessions/ana?graph=other").await.code(), "other-graph");
    assert_eq!(stand.get("/navigate").await.code(), "unknown-route", "there the paths of Go Trellis mean nothing");
    let mut names = Vec::new();
    for number in 0..3 {
        let graph = if number == 1 { "other" } else { "shop" };
        stand.post("/api/sessions", json!({ "id": format!("s{number}"), "graph": graph })).await;
    }
    let mut next = String::new();
    loop {
        let page = stand.get(&format!("/api/sessions?limit=1&after={next}")).await.json();
        names.extend(page["items"].as_array().unwrap().iter().map(|head| head["session"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(cursor) => cursor.clone_into(&mut next),
            None => break,
        }
    }
    names.sort();
    assert_eq!(names, ["ana", "s0", "s1", "s2"]);
    assert_eq!(stand.get("/api/sessions?after=x").await.code(), "bad-cursor");
}

/// The paths of Go Trellis, where one graph is served; the state is the client's.
#[tokio::test]
async fn the_engine_walks_a_state_that_the_client_keeps() {
    let stand = Stand::new(SHOP).await;
    let begun = stand.post("/api/graphs/shop/engine/start", json!({ "context": {} })).await.json();
    let bare = stand.get("/render").await.json();
    let view = stand.post("/render", json!({ "state": begun["state"] })).await.json();
    assert_eq!((&view, &view["content"], &view["terminal"]), (&bare, &json!("# Shop\n\nWho are you?\n"), &json!(false)));
    assert_eq!(view["actions"][1]["type"], "REQUEST_INPUT");
    let step = |state: &Value, input: Value| json!({ "state": state, "input": input });
    let named = stand.post("/navigate", step(&begun["state"], json!("Ada"))).await.json();
    assert_eq!(named["state"]["context"], json!({ "name": "Ada" }));
    let refused = stand.post("/navigate", step(&named["state"], json!("many"))).await;
    assert_eq!(
        (refused.status, refused.code(), &refused.json()["expected"]["type"]),
        (422, "invalid-input".into(), &json!("REQUEST_INPUT"))
    );
    let counted = stand.post("/api/graphs/shop/engine/navigate", step(&named["state"], json!(2))).await.json();
    let call = stand.post("/api/graphs/shop/engine/render", json!({ "state": counted["state"] })).await.json();
    let id = &call["actions"][0]["payload"]["id"];
    let result = json!({ "state": counted["state"], "tool_result": { "id": id, "result": "box" } });
    let shipped = stand.post("/navigate", result).await.json();
    let end = stand.post("/render", json!({ "state": shipped["state"] })).await.json();
    assert_eq!((&end["terminal"], &end["actions"][1]["payload"]["output"]), (&json!(true), &json!("box")));
    let left = stand.post("/api/graphs/shop/engine/signal", json!({ "state": named["state"], "signal": "leave" })).await.json();
    assert_eq!(left["state"]["current_node_id"], "left");
    let nowhere = stand.post("/api/graphs/shop/engine/signal", json!({ "state": named["state"], "signal": "dance" })).await;
    assert_eq!((nowhere.status, nowhere.code()), (409, "unhandled-signal".to_owned()));
    stand.counting("ana").await;
    assert_eq!(stand.get("/render?session=ana").await.json()["said"][0]["text"], "How many, Ada?\n");
    assert_eq!(stand.get("/graph").await.json()["name"], "shop");
}

/// Files that are saved are taken up by themselves, where the server watches.
#[tokio::test(flavor = "multi_thread")]
async fn a_save_is_taken_up_and_told() {
    let stand = Stand::on(SHOP, Terms { watch: true, ..Terms::default() }).await;
    let mut events = crate::events::Stream::open(&stand, "/events", &[]).await;
    let start = stand.folder.path().join("shop/start.md");
    let text = fs::read_to_string(&start).unwrap();
    fs::write(&start, text.replace("Who are you?", "Your name?")).unwrap();
    loop {
        let event = events.next().await;
        if event.name == "reload" {
            assert_eq!(event.data["graph"], "shop");
            break;
        }
        assert!(["graph", "diagnostics"].contains(&&*event.name), "{event:?}");
    }
    let begun = stand.post("/api/sessions", json!({})).await.json();
    assert_eq!(begun["said"][0]["text"], "# Shop\n\nYour name?\n");
}

// a server describes the routes that it has, each of them
#[tokio::test]
async fn the_document_has_the_routes_of_the_server_and_no_others() {
    let several = [SHOP, &[("other/start.md", "Hello.\n")]].concat();
    for files in [SHOP, &several[..]] {
        let stand = Stand::new(files).await;
        let document = stand.get("/api/openapi.json").await.json();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(paths.contains_key("/navigate"), files.len() == SHOP.len());
        for (path, operations) in paths {
            for (method, operation) in operations.as_object().unwrap() {
                let concrete = path.replace(['{', '}'], "");
                let body = operation["requestBody"].is_object().then(|| json!({}));
                if operation["responses"]["200"]["content"]["text/event-stream"].is_object() {
                    continue;
                }
                let answer = stand.with(&method.to_uppercase(), &concrete, &[], body.as_ref()).await;
                let code = if answer.status < 400 { String::new() } else { answer.code() };
                assert!(code != "unknown-route" && code != "method", "{method} {path}: {answer:?}");
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let needed: Vec<_> =
                    parameters.filter(|one| one["in"] == "header" && one["required"] == true).map(|one| &one["name"]).collect();
                let is_matched = operation["responses"]["428"].is_object();
                assert_eq!(needed.is_empty(), !is_matched, "{method} {path}");
            }
        }
        let needed = |path: &str, method: &str| document["paths"][path][method]["responses"]["428"].is_object();
        assert!(
            needed("/api/sessions/{id}", "delete")
                && needed("/api/sessions/{id}/back", "post")
                && needed("/api/sessions/{id}/context", "patch")
        );
        assert!(!needed("/api/sessions/{id}/fork", "post") && !needed("/api/sessions/{id}/turns", "post"));
    }
}

/// The document in the docs is the one that is served.
#[tokio::test]
async fn the_docs_hold_the_document_that_is_served() {
    let stand = Stand::new(SHOP).await;
    let served = stand.get("/api/openapi.json").await.json();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
    let text = format!("{served:#}\n");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, &text).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap_or_default() == text, "docs/reference/openapi.json is old: UPDATE=1 writes it again");
    for (path, operations) in served["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(operation["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{method} {path}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert!(response["description"].as_str().is_some_and(|told| !told.is_empty()), "{method} {path} {status}");
            }
        }
    }
    let text = served["components"].to_string();
    assert!(!text.contains("#/$defs/"), "a reference leads nowhere");
}
