//! The gates, tried from outside: names, pages, tokens, rights, bounds, half a header.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use trellis_server::{Bounds, Settings, Tokens};

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
        assert_eq!((answer.code(), &*answer.headers["www-authenticate"]), ("unauthenticated".to_owned(), "Bearer"), "{token:?}");
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
async fn eleven_wrong_tokens_close_the_door_to_wrong_ones_for_a_while() {
    let stand = Stand::new(SHOP).await;
    for _ in 0..10 {
        assert_eq!(stand.with("GET", "/api/graphs", &[("authorization", "Bearer wrong")], None).await.status, 401);
    }
    let closed = stand.with("GET", "/api/graphs", &[("authorization", "Bearer wrong")], None).await;
    assert!((closed.status, closed.code()) == (429, "too-many".into()) && closed.headers.contains_key("retry-after"), "{closed:?}");
    // A page of others may send wrong ones from the address of whoever has the right one.
    assert_eq!(stand.get("/api/graphs").await.status, 200);
    assert_eq!(stand.with("GET", "/api/graphs", &[("authorization", "Bearer wrong")], None).await.status, 429);
    assert_eq!(stand.with("GET", "/api/graphs", &[("authorization", "")], None).await.status, 401, "none is no wrong one");
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
    let reading = async || stand.with("GET", "/api/graphs", &[("authorization", "Bearer read")], None).await.status;
    fs::write(&file, "# nobody\n").unwrap();
    let why = tokens.reload().unwrap_err().to_string();
    assert!(why.contains("has no token") && reading().await == 200, "the tokens stay as they are: {why}");
    fs::write(&file, &lines[1]).unwrap();
    tokens.reload().unwrap();
    assert_eq!(reading().await, 401, "the file was read again");
}

#[tokio::test]
async fn requests_are_bounded() {
    let mut bounds = Bounds::default();
    (bounds.body, bounds.body_time, bounds.header_time) = (1000, Duration::from_millis(200), Duration::from_millis(200));
    (bounds.streams, bounds.grace, bounds.first_header_time) = (1, Duration::ZERO, Duration::from_millis(800));
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

/// The address that a proxy adds names the client, whatever the client sent before; also where addresses of IPv4 come in those of IPv6.
#[tokio::test]
async fn wrong_tokens_are_counted_for_the_address_that_the_proxy_adds() {
    let mut places = vec!["127.0.0.1:0"];
    // Some machines have no IPv6.
    places.extend(TcpListener::bind("[::]:0").await.is_ok().then_some("[::]:0"));
    for listen in places {
        let settings = |settings: Settings| settings.proxies(vec!["127.0.0.0/8".parse().unwrap()]);
        let mut terms = Terms { settings, listen, ..Terms::default() };
        terms.bounds.failures_a_minute = 2;
        let stand = Stand::on(SHOP, terms).await;
        let guess = async |sent: &str, added: &str| {
            let headers = [("authorization", "Bearer wrong"), ("x-forwarded-for", sent), ("x-forwarded-for", added)];
            stand.with("GET", "/api/graphs", &headers, None).await.status
        };
        // A line of its own, a list, and an address with its port.
        assert_eq!(guess("198.51.100.1", "203.0.113.9").await, 401, "{listen}");
        assert_eq!(guess("198.51.100.2", "198.51.100.3, 203.0.113.9:4711").await, 401, "{listen}");
        assert_eq!(guess("198.51.100.4", "::ffff:203.0.113.9").await, 429, "{listen}");
        assert_eq!(guess("203.0.113.9", "198.51.100.7").await, 401, "nobody shuts another one out, {listen}");
        assert_eq!(stand.with("GET", "/api/graphs", &[("x-forwarded-for", "198.51.100.8")], None).await.status, 200, "{listen}");
    }
}

/// The questions of a browser before the request of a page that may use the server, and the headers that the page may read.
#[tokio::test]
async fn a_page_that_is_allowed_can_use_the_server() {
    let settings = |mut settings: Settings| {
        settings.names = settings.names.allow_origin("https://app.example");
        settings
    };
    let stand = Stand::on(SHOP, Terms { settings, ..Terms::default() }).await;
    let asked = |origin, method| {
        let names = "authorization, content-type,If-Match, x-own,mcp-session-id, mcp-param-a";
        let wanted = [("access-control-request-method", method), ("access-control-request-headers", names)];
        [("authorization", ""), ("sec-fetch-site", "cross-site"), ("origin", origin)].into_iter().chain(wanted).collect::<Vec<_>>()
    };
    for path in ["/api/sessions/ana/context", "/mcp", "/api/nowhere"] {
        let answer = stand.with("OPTIONS", path, &asked("https://app.example", "PATCH"), None).await;
        let headers = &answer.headers;
        assert_eq!((answer.status, &*headers["access-control-allow-origin"]), (204, "https://app.example"), "{path}");
        assert_eq!(headers["access-control-allow-methods"], "GET, POST, PATCH, DELETE");
        assert_eq!(headers["access-control-allow-headers"], "authorization, content-type, if-match, mcp-session-id, mcp-param-a");
        assert!(headers["content-security-policy"].starts_with("default-src 'none'"));
    }
    for (origin, method, status) in [("https://evil.example", "POST", 403), ("https://app.example", "", 401)] {
        let answer = stand.with("OPTIONS", "/api/sessions", &asked(origin, method), None).await;
        assert_eq!((answer.status, answer.headers.get("access-control-allow-methods")), (status, None), "{origin} {method}");
    }
    let page = [("origin", "https://app.example"), ("sec-fetch-site", "cross-site")];
    let begun = stand.with("POST", "/api/sessions", &page, Some(&json!({ "id": "ana" }))).await;
    assert_eq!((begun.status, &*begun.headers["access-control-allow-origin"]), (201, "https://app.example"));
    let told: Vec<_> = begun.headers["access-control-expose-headers"].split(", ").collect();
    for name in ["etag", "location", "retry-after", "mcp-session-id", "idempotency-replayed", "preference-applied", "allow"] {
        assert!(told.contains(&name), "{name}: {told:?}");
    }
}
