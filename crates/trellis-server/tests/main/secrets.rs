//! Secrets are listed by name, and no value is told (doors, dead letters and secrets). The right that this takes is tried with those of all routes.

use serde_json::json;
use trellis_host::{
    Secrets,
    secrets::{SecretError, SecretName},
};

use crate::stand::{SHOP, Stand, Terms};

/// A graph whose call, binding and server each name a secret.
const KEYED: &[(&str, &str)] = &[
    (
        "keyed/trellis.yaml",
        "bindings: {ask: {http: {get: \"https://crm.invalid/\", headers: {authorization: \"Bearer {{secret:crm}}\"}}, effect: none}}\nservers: {wiki: {url: \"https://wiki.invalid/mcp\", headers: {authorization: \"{{secret:wiki}}\"}}}\n",
    ),
    ("keyed/start.md", "---\ndo: {name: ask, args: {key: \"{{secret:lost}}\"}}\non_error: fail\n---\n"),
];

/// A vault that has `crm` and one that nobody names; `wiki` is known without being listed, as variables of the environment are.
fn vault() -> Secrets {
    let known = Secrets::new(|name| ["crm", "old", "wiki"].contains(&name).then(|| "hunter2".to_owned()));
    let entry = |name: &str, set| SecretName { name: name.into(), set };
    known.listed(move || Ok(vec![entry("old", 5), entry("crm", 7)]))
}

#[tokio::test]
async fn secrets_are_listed_by_name_alone() {
    let stand = Stand::on(&[SHOP, KEYED].concat(), Terms { secrets: vault, ..Terms::default() }).await;
    let listed = stand.get("/api/secrets?graph=keyed").await;
    let secret = |name: &str, set: Option<u64>, is_named: bool, is_missing: bool| json!({ "graph": "keyed", "name": name, "set": set, "is_named": is_named, "is_missing": is_missing });
    let expected = [
        secret("crm", Some(7), true, false),
        secret("lost", None, true, true),
        secret("old", Some(5), false, false),
        secret("wiki", None, true, false),
    ];
    assert_eq!(listed.json(), json!({ "items": expected, "next": null }));
    assert!(!listed.text.contains("hunter2"));
    let all = stand.get("/api/secrets").await.json();
    let names: Vec<_> =
        all["items"].as_array().unwrap().iter().map(|one| (&one["graph"], &one["name"])).map(|(a, b)| format!("{a} {b}")).collect();
    assert_eq!(names.len(), 6, "{names:?}: the shop has the vault, and names none of it");
    assert_eq!(stand.get("/api/secrets?graph=nowhere").await.code(), "unknown-graph");
    for method in ["POST", "DELETE"] {
        assert_eq!(stand.with(method, "/api/secrets", &[], Some(&json!({}))).await.code(), "method", "no door takes a value");
    }
}

#[tokio::test]
async fn a_vault_that_cannot_be_read_is_told_without_its_place() {
    let secrets = || Secrets::default().listed(|| Err(SecretError::Unlisted("`/home/ana/vault.json` is closed".into())));
    let stand = Stand::on(SHOP, Terms { secrets, ..Terms::default() }).await;
    let told = stand.get("/api/secrets").await;
    assert_eq!((told.status, told.code()), (503, "store-unavailable".to_owned()));
    assert!(!told.text.contains("/home"), "{told:?}");
}
