//! The gates, tried from outside: names, pages, tokens, rights, bounds, half a header.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use trellis_server::{Bounds, Tokens};

use crate::stand::{SHOP, Stand, TOKEN, Terms};

#[tokio::test]
async fn strangers_names_pages_and_tokens_are_refused_and_every_answer_is_dressed() {
    let stand = Stand::new(SHOP).await;
    let of = async |headers: &[(&str, &str)]| {
        let answer = stand.with("GET", "/api/graphs", headers, None).await;
        (answer.status, if answer.status < 400 { String::new() } else { answer.code() })
    };
    assert_eq!(of(&[("host", "evil.example")]).await, (421, "bad-host".into()));
    assert_eq!(of(&[("host", "localhost")]).await, (421, "bad-host".into()), "the port belongs to it");
    for origin in ["http://evil.example", "null"] {
        assert_eq!(of(&[("origin", origin)]).await, (403, "bad-origin".into()), "{origin}");
    }
    assert_eq!(of(&[("sec-fetch-site", "cross-site")]).await, (403, "bad-origin".into()));
    assert_eq!(of(&[("origin", &format!("http://127.0.0.1:{}", stand.port))]).await, (200, String::new()));
    for token in ["", "Bearer", "Bearer x", "Basic YTpi"] {
        let answer = stand.with("GET", "/api/graphs", &[("authorization", token)], None).await;
        assert_eq!((answer.status, &*answer.headers["www-authenticate"]), (401, "Bearer"), "{token:?}");
    }
    let open = stand.with("GET", "/healthz", &[("authorization", "")], None).await;
    for answer in [open, stand.get("/api/graphs").await, stand.get("/nowhere").await, stand.get("/api/explain/no-such").await] {
        let headers = &answer.headers;
        assert!(headers["content-security-policy"].starts_with("default-src 'none'") && headers["cache-control"] == "no-store");
        assert_eq!((&*headers["x-content-type-options"], &*headers["referrer-policy"]), ("nosniff", "no-referrer"));
        assert!(!headers.contains_key("server") && !headers.contains_key("access-control-allow-origin"), "{headers:?}");
    }
}

#[tokio::test]
async fn eleven_wrong_tokens_close_the_door_for_a_while() {
    let stand = Stand::new(SHOP).await;
    for _ in 0..10 {
        assert_eq!(stand.with("GET", "/api/graphs", &[("authorization", "Bearer wrong")], None).await.status, 401);
    }
    let closed = stand.with("GET", "/api/graphs", &[("authorization", "Bearer wrong")], None).await;
    assert!((closed.status, closed.code()) == (429, "too-many".into()) && closed.headers.contains_key("retry-after"), "{closed:?}");
    assert_eq!(stand.get("/api/graphs").await.status, 429, "a guess that is right tells nobody");
    assert_eq!(stand.with("GET", "/healthz", &[("authorization", "")], None).await.status, 200);
}

/// Each right alone, on every route.
#[tokio::test]
async fn a_token_may_do_what_its_line_says_and_no_more() {
    let rights = ["read", "walk", "approve", "operate", "metrics"];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let lines = rights.map(|right| {
        let digest: String = Sha256::digest(right.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digest} {right} only-{right}\n")
    });
    fs::write(&file, lines.concat()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Tokens::of_file(&file).is_err(), "others can read it");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let bounds = {
        let mut bounds = Bounds::default();
        bounds.grace = Duration::ZERO;
        bounds
    };
    let tokens = Tokens::of_file(&file).unwrap();
    let stand = Stand::on(SHOP, Terms { tokens: tokens.clone(), bounds, ..Terms::default() }).await;
    let document = trellis_server::openapi();
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if path == "/healthz" {
                continue;
            }
            let needs = operation["description"].as_str().unwrap().split('`').nth(1).unwrap().to_owned();
            let path = path.replace("{graph}", "shop").replace("{node}", "start").replace("{code}", "ended").replace("{seq}", "0");
            let path = path.replace("{id}", "nobody").replace("{call}", "c");
            for right in rights.iter().filter(|right| **right != needs) {
                let authorization = format!("Bearer {right}");
                let body = if method == "post" || method == "patch" { Some(json!({})) } else { None };
                let answer = stand.with(&method.to_uppercase(), &path, &[("authorization", &authorization)], body.as_ref()).await;
                assert_eq!((answer.status, answer.code()), (403, "forbidden".to_owned()), "{method} {path} with `{right}`");
                assert_eq!(answer.json()["right"], *needs);
                tried += 1;
            }
        }
    }
    assert!(tried > 150, "{tried}");
    // A reply that decides, and a start elsewhere, take rights of their own.
    let walk = [("authorization", "Bearer walk")];
    assert_eq!(stand.with("POST", "/api/sessions", &walk, Some(&json!({ "id": "ana" }))).await.status, 201);
    let decided = stand.with("POST", "/api/sessions/ana/turns", &walk, Some(&json!({ "approve": "c" }))).await;
    assert_eq!((decided.code(), &decided.json()["right"]), ("forbidden".to_owned(), &json!("approve")));
    let elsewhere = stand.with("POST", "/api/sessions", &walk, Some(&json!({ "at": "end" }))).await;
    assert_eq!((elsewhere.code(), &elsewhere.json()["right"]), ("forbidden".to_owned(), &json!("operate")));
    // Arguments of a call that the client carries out are for those who walk.
    fs::write(&file, "").unwrap();
    tokens.reload().unwrap();
    assert_eq!(stand.with("GET", "/api/graphs", &[("authorization", "Bearer read")], None).await.status, 401, "the file was read again");
}

#[tokio::test]
async fn requests_are_bounded() {
    let mut bounds = Bounds::default();
    (bounds.body, bounds.body_time, bounds.header_time) = (1000, Duration::from_millis(200), Duration::from_millis(200));
    (bounds.streams, bounds.grace) = (1, Duration::ZERO);
    let stand = Stand::on(SHOP, Terms { bounds, ..Terms::default() }).await;
    let large = stand.post("/api/sessions", json!({ "id": "x".repeat(2000) })).await;
    assert_eq!((large.status, large.code(), &large.json()["limit"]), (413, "too-large".to_owned(), &json!(1000)));
    let many: Vec<_> = (0..40).map(|number| (format!("x-{number}"), "1".to_owned())).collect();
    let many: Vec<_> = many.iter().map(|(name, value)| (&**name, &**value)).collect();
    let answer = stand.with("GET", "/api/graphs", &many, None).await;
    assert_eq!((answer.status, answer.code()), (431, "headers-too-large".to_owned()));
    let long = "x".repeat(20_000);
    assert_eq!(stand.with("GET", "/api/graphs", &[("x-long", &long)], None).await.status, 431);
    let head =
        |more: &str| format!("POST /api/sessions HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\n{more}", stand.port);
    let slow = stand.raw(&head("connection: close\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{")).await;
    assert_eq!((slow.status, slow.code()), (408, "too-slow".to_owned()));
    // Half a header ends with the connection.
    let mut stream = stand.connect().await;
    stream.write_all(head("x: ").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(!String::from_utf8_lossy(&answer).contains(" 200 "), "{answer:?}");
    // A form of another page is no JSON.
    let form = stand.with("POST", "/api/sessions", &[("content-type", "text/plain")], Some(&json!({}))).await;
    assert_eq!((form.status, form.code()), (415, "media-type".to_owned()));
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let request =
        format!("GET /api/sessions/ana/events HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\n\r\n", stand.port);
    let mut open = stand.connect().await;
    open.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    open.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let second = stand.with("GET", "/api/sessions/ana/events", &[], None).await;
    assert_eq!((second.status, second.code()), (429, "too-many".to_owned()));
}

#[tokio::test]
async fn a_burst_of_a_token_ends_with_429() {
    let mut bounds = Bounds::default();
    (bounds.requests_a_second, bounds.grace) = (Some(1), Duration::ZERO);
    let stand = Stand::on(SHOP, Terms { bounds, ..Terms::default() }).await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(stand.get("/api/explain/ended").await.status);
    }
    assert!(statuses.starts_with(&[200, 200]) && statuses.contains(&429), "{statuses:?}");
}

/// Names of files that a client sends are read by no route.
#[tokio::test]
async fn no_path_leads_out_of_the_graph() {
    let stand = Stand::new(SHOP).await;
    for path in [
        "/api/graphs/shop/nodes/..%2f..%2fetc%2fpasswd",
        "/api/graphs/shop/nodes/../../../etc/passwd",
        "/api/graphs/..%2fshop",
        "/api/sessions/..%2f..%2fkept",
        "/api/sessions/%2e%2e/records",
        "/api/explain/..%2f..%2fREADME",
        "/api/sessions/%ff",
    ] {
        let answer = stand.get(path).await;
        assert!((400..=404).contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.text.contains(&*stand.folder.path().to_string_lossy()), "{answer:?}");
    }
}
