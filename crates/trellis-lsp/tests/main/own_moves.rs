//! Moves that the server's own edits make, announced as those of a person are (`docs/lsp.md#renames`).

use serde_json::{Value as Json, json};

use crate::client::{Client, capabilities};

const START: &str = "---\nto: tea\n---\n";
const FILES: [(&str, &str); 3] = [("start.md", START), ("tea.md", "---\nto: bye\n---\nTea.\n"), ("bye.md", "Bye.\n")];

fn opened() -> Client {
    let mut capabilities = capabilities();
    capabilities["workspace"]["fileOperations"] = json!({ "willRename": true });
    let client = Client::with(&FILES, capabilities, json!({}));
    client.open("start.md", START);
    client
}

fn renamed(client: &mut Client) {
    let mut params = client.place("start.md", "---\nto: te‸a\n---\n");
    params["newName"] = "pot".into();
    let edit = client.request("textDocument/rename", params).expect("it can be");
    assert!(edit.to_string().contains("\"rename\""), "{edit}");
}

fn announced(client: &mut Client, from: &str, to: &str) -> Json {
    let file = json!({ "oldUri": client.uri(from), "newUri": client.uri(to) });
    client.request("workspace/willRenameFiles", json!({ "files": [file] })).expect("it answers")
}

fn refusals(client: &Client) -> usize {
    client.said.iter().filter(|said| said.starts_with("nothing else was changed")).count()
}

#[test]
fn the_move_of_an_edit_that_is_being_made_asks_for_nothing_more() {
    let mut client = opened();
    renamed(&mut client);
    client.replace("start.md", 2, "---\nto: pot\n---\n");
    let more = announced(&mut client, "tea.md", "pot.md");
    assert!(more.is_null(), "{more}");
    // The one note is that of the move which comes after it.
    assert!(announced(&mut client, "bye.md", "rollback.md").is_null());
    client.until("the reason", |client| refusals(client) > 0);
    assert_eq!(refusals(&client), 1, "{:?}", client.said);
    client.leave().expect("it ends well");
}

#[test]
fn the_same_move_by_a_person_takes_what_leads_there_along() {
    let mut client = opened();
    renamed(&mut client);
    // The edit was offered, and nobody made it.
    let edit = announced(&mut client, "tea.md", "pot.md");
    assert!(edit.to_string().contains("\"newText\":\"pot\""), "{edit}");
    client.leave().expect("it ends well");
}
