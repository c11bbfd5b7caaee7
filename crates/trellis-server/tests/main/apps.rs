//! The page that a chat shows beside a session (`docs/mcp.md#beside-the-chat`), as the stateless revision has it: for clients that declare the
//! extension, and for no other.

use serde_json::{Value, json};

use crate::{
    mcp::{call, message},
    stand::{SHOP, Stand, TOKEN, write},
};

const PAGE: &str = "ui://trellis/session";
const KIND: &str = "text/html;profile=mcp-app";

/// A client that shows pages.
fn shows() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": [KIND] } } })
}

async fn ask(stand: &Stand, method: &str, params: Value, capabilities: Value) -> Value {
    message(&call(stand, &[], method, params, capabilities).await)["result"].clone()
}

async fn tool(stand: &Stand, name: &str, arguments: Value, capabilities: Value) -> Value {
    ask(stand, "tools/call", json!({ "name": name, "arguments": arguments }), capabilities).await
}

// `docs/mcp.md#beside-the-chat`: the tools that lead to a session name the page, the others do not
#[tokio::test]
async fn only_clients_that_show_pages_learn_of_one() {
    let stand = Stand::new(SHOP).await;
    let discovered = ask(&stand, "server/discover", json!({}), json!({})).await;
    assert!(discovered["capabilities"]["extensions"]["io.modelcontextprotocol/ui"].is_object(), "{discovered}");
    let other = json!({ "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html"] } } });
    let bare = json!({ "extensions": { "io.modelcontextprotocol/ui": {} } });
    for (capabilities, is_shown) in [(shows(), true), (json!({}), false), (other, false), (bare, false)] {
        let listed = ask(&stand, "tools/list", json!({}), capabilities.clone()).await;
        let named: Vec<_> = listed["tools"].as_array().unwrap().iter().filter(|tool| tool["_meta"]["ui"]["resourceUri"] == PAGE).collect();
        let named: Vec<_> = named.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(named, if is_shown { vec!["shop", "navigate", "render_state"] } else { vec![] }, "{capabilities}");
        let resources = ask(&stand, "resources/list", json!({}), capabilities.clone()).await;
        let pages: Vec<_> = resources["resources"].as_array().unwrap().iter().filter(|resource| resource["uri"] == PAGE).collect();
        assert_eq!(pages.len(), usize::from(is_shown), "{capabilities}");
        assert!(pages.iter().all(|page| page["mimeType"] == KIND && page["_meta"]["ui"] == json!({ "prefersBorder": true })), "{pages:?}");
        let begun = tool(&stand, "shop", json!({}), capabilities.clone()).await;
        assert_eq!(begun["_meta"].get("trellis/turn").is_some(), is_shown, "{begun}");
    }
}

// `docs/mcp.md#beside-the-chat`: the page holds no token and no address, loads nothing, and has no field for a secret
#[tokio::test]
async fn the_page_is_one_file_that_reaches_nobody() {
    let stand = Stand::new(SHOP).await;
    let read = ask(&stand, "resources/read", json!({ "uri": PAGE }), shows()).await;
    let page = &read["contents"][0];
    assert_eq!((&page["uri"], &page["mimeType"]), (&json!(PAGE), &json!(KIND)));
    assert_eq!(page["_meta"], json!({ "ui": { "prefersBorder": true } }), "it wants no domain and no permission");
    let html = page["text"].as_str().unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("default-src 'none'; script-src 'sha256-"), "{}", &html[..400]);
    let port = stand.port.to_string();
    for none in [
        TOKEN,
        &*format!(":{port}"),
        "Bearer",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "EventSource",
        "localStorage",
        "src=",
        "href=",
        "\"password\"",
    ] {
        assert!(!html.contains(none), "the page has `{none}`");
    }
}

// `docs/mcp.md`: text and structured content are the same with and without the page; its turn has HTML besides
#[tokio::test]
async fn a_result_says_the_same_without_the_page() {
    let stand = Stand::new(SHOP).await;
    let with = tool(&stand, "shop", json!({}), shows()).await;
    let session = with["structuredContent"]["session"].clone();
    let without = tool(&stand, "render_state", json!({ "session": session }), json!({})).await;
    assert_eq!((&with["content"], &with["structuredContent"]), (&without["content"], &without["structuredContent"]));
    let turn = &with["_meta"]["trellis/turn"];
    assert_eq!((&turn["graph"], &turn["node"], &turn["stop"]), (&json!("shop"), &json!("start"), &with["structuredContent"]["stop"]));
    assert_eq!(turn["said"][0]["html"], "<h1>Shop</h1>\n<p>Who are you?</p>\n");
}

// `docs/serve.md#security`: what is hidden from a model is hidden from the page
#[tokio::test]
async fn the_page_sees_no_secret() {
    let stand = Stand::new(&[
        ("safe/trellis.yaml", "redact: [card]\n"),
        ("safe/start.md", "---\ninput_type: text\nsave_to: card\nto: word\n---\nYour card?\n"),
        ("safe/word.md", "---\ninput_type: text\nto: end\n---\nThe card is {{ card }}. A word?\n"),
        ("safe/end.md", "---\noutput: \"{{ card }}\"\n---\nBye.\n"),
    ])
    .await;
    let begun = tool(&stand, "safe", json!({}), shows()).await;
    let session = begun["structuredContent"]["session"].clone();
    for input in ["4111-1111-1111", "yes"] {
        let told = tool(&stand, "navigate", json!({ "session": session, "input": input }), shows()).await;
        assert!(told["_meta"]["trellis/turn"]["stop"].is_object() && !told.to_string().contains("4111"), "{told}");
    }
}

// `docs/mcp.md`: a client that shows pages and forms is not asked twice; what the page does not ask is a form
#[tokio::test]
async fn no_form_asks_what_the_page_asks() {
    let stand = Stand::new(SHOP).await;
    let both = || json!({ "elicitation": {}, "extensions": shows()["extensions"] });
    let mut told = tool(&stand, "shop", json!({}), both()).await;
    for (input, stop) in [(json!("Ada"), "REQUEST_INPUT"), (json!(2), "")] {
        let at = told["structuredContent"].clone();
        assert_eq!(at["stop"]["type"], "REQUEST_INPUT", "{told}");
        let arguments = json!({ "session": at["session"], "seq": at["seq"], "input": input });
        told = tool(&stand, "navigate", arguments, both()).await;
        assert_eq!(told["structuredContent"]["stop"]["type"].as_str().unwrap_or_default(), stop, "{told}");
    }
    assert_eq!(told["resultType"], "input_required", "the approval is a form: {told}");
}

// `docs/mcp.md#beside-the-chat`: a number that is of no question any more changes nothing, and the reason has the present one
#[tokio::test]
async fn a_stale_answer_of_the_page_changes_nothing() {
    let stand = Stand::new(SHOP).await;
    let begun = tool(&stand, "shop", json!({}), shows()).await["structuredContent"].clone();
    let arguments = json!({ "session": begun["session"], "seq": begun["seq"], "input": "Ada" });
    tool(&stand, "navigate", arguments.clone(), shows()).await;
    let stale = tool(&stand, "navigate", arguments, shows()).await;
    assert_eq!((&stale["isError"], &stale["structuredContent"]["code"]), (&json!(true), &json!("conflict")), "{stale}");
    let now = tool(&stand, "render_state", json!({ "session": begun["session"] }), shows()).await;
    assert_eq!(now["_meta"]["trellis/turn"]["node"], "count", "{now}");
    // An edit of the graph takes nothing from the page: it is the program's.
    write(stand.folder.path(), &[("shop/start.md", "---\nto: nowhere\n---\nBroken.\n")]);
    let read = ask(&stand, "resources/read", json!({ "uri": PAGE }), shows()).await;
    assert_eq!(read["contents"][0]["mimeType"], KIND);
}
