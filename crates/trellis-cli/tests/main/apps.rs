//! The page that a chat shows beside a session: a foreign host decides. The official bridge shows it in a browser's sandbox, over the official client.

use serde_json::{Value, json};
use trellis_tests::peers::peer;

use crate::{mcp::Talk, sandbox::Sandbox, studio::script};

const ASKS: &[(&str, &str)] =
    &[("trellis.yaml", "name: asks\n"), ("start.md", "---\ninput_type: confirm\nto: end\n---\nSure?\n"), ("end.md", "Done.\n")];

/// People walk, are refused, and see what is decided and typed elsewhere; by keyboard, on a narrow and a dark page, and against axe
/// (`docs/mcp.md#beside-the-chat`, `docs/studio.md#a-session`).
#[test]
fn people_walk_beside_a_chat() {
    let mcp = peer("mcp/node_modules/@modelcontextprotocol/ext-apps/package.json").join("../../../..");
    let ran = script("guest.mjs").env("TRELLIS_MCP_PEERS", mcp).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("journeys\n"), "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
}

/// Capabilities that are declared at the beginning hold for the session; over standard streams there is the same page (`docs/mcp.md`).
#[test]
fn a_client_declares_once_that_it_shows_pages() {
    let sandbox = Sandbox::new(ASKS);
    let shows =
        json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html;profile=mcp-app"] } } });
    for (capabilities, page) in [(shows, json!("ui://trellis/session")), (json!({}), Value::Null)] {
        let mut talk = Talk::with(&sandbox, &["mcp", "."], capabilities);
        let listed = talk.ask("tools/list", json!({}))["result"]["tools"].clone();
        for (at, name) in ["asks", "navigate", "render_state"].into_iter().enumerate() {
            assert_eq!((&listed[at]["name"], &listed[at]["_meta"]["ui"]["resourceUri"]), (&json!(name), &page), "{listed}");
        }
        let begun = talk.ask("tools/call", json!({ "name": "asks", "arguments": {} }))["result"].clone();
        assert_eq!(begun["structuredContent"]["stop"]["type"], "REQUEST_INPUT", "no form asks: {begun}");
        assert_eq!(begun["_meta"]["trellis/turn"]["said"][0]["html"].is_string(), page.is_string(), "{begun}");
        let read = talk.ask("resources/read", json!({ "uri": "ui://trellis/session" }))["result"].clone();
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("Content-Security-Policy"), "whoever asks gets it");
        talk.end();
    }
}
