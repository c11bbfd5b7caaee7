//! The results of responses (language 9.4, 9.9, 9.12).

use trellis_core::Value;

use super::{
    call, code, error,
    servers::{PythonServer, RawServer, response},
    value,
};
use crate::stage::Stage;

async fn got(http: &str, status: &str, headers: &str, body: &str) -> trellis_core::ToolResult {
    let server = RawServer::answering(status, headers, body);
    call(&http.replace("URL", &server.url), "    max_wait: 1m\n", "{}").await
}

const GET: &str = r#"{ get: "URL/a" }"#;

#[tokio::test]
async fn values_of_bodies() {
    for (http, headers, body, expected) in [
        (GET, "content-type: application/json; charset=utf-8", r#"{"a":[1,2.5,null]}"#, r#"{"a":[1,2.5,null]}"#),
        (GET, "content-type: application/problem+json", "1", "1"),
        (GET, "Content-Type: TEXT/Plain", "1", r#""1""#),
        (GET, "content-type: application/json", "\u{feff}1", "1"),
        (GET, "content-type: application/json", "", "null"),
        (GET, "", "", "null"),
        (r#"{ get: "URL/a", response: json }"#, "content-type: text/html", "[1]", "[1]"),
        (r#"{ get: "URL/a", response: text }"#, "content-type: application/json", "[1]", r#""[1]""#),
        (r#"{ get: "URL/a", response: text }"#, "", "", r#""""#),
        (r#"{ get: "URL/a", accept: [404] }"#, "content-type: text/plain", "x", r#"{"body":"x","status":200}"#),
    ] {
        let result = got(http, "200 OK", headers, body).await;
        assert_eq!(result.meta.clone().unwrap().to_json(), r#"{"status":200}"#);
        assert_eq!(value(result).to_json(), expected, "{http} {headers} {body}");
    }
    let accepted = got(r#"{ get: "URL/a", accept: [404, 302] }"#, "404 Not Found", "", "").await;
    assert_eq!(value(accepted).to_json(), r#"{"body":null,"status":404}"#);
    let accepted = got(r#"{ get: "URL/a", accept: [302], redirects: 3 }"#, "302 Found", "location: /b", "").await;
    assert_eq!(value(accepted).to_json(), r#"{"body":null,"status":302}"#);
}

#[tokio::test]
async fn bodies_that_are_no_values() {
    let deep = "[".repeat(300) + &"]".repeat(300);
    for (kind, body, expected) in [
        ("application/json", r#"{"a":"#, "malformed_json"),
        ("application/json", r#"{"a":1,"a":2}"#, "malformed_json"),
        ("application/json", "18446744073709551616", "malformed_json"),
        ("application/json", &deep, "malformed_json"),
        ("application/json", "NaN", "malformed_json"),
        ("image/png", "x", "content-type"),
    ] {
        let error = error(got(GET, "200 OK", &format!("content-type: {kind}"), body).await);
        assert_eq!(code(&error), (expected, true), "{body}: {error:?}");
    }
    let no_type = error(got(GET, "200 OK", "", "x").await);
    assert!(no_type.message.contains("no content type"), "{no_type:?}");
    for (kind, expected) in [("application/json", "malformed_json"), ("text/plain; charset=latin1", "content-type")] {
        let server = RawServer::new(
            [format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 3\r\n\r\n").as_bytes(), b"\"\xff\""].concat(),
        );
        let error = error(call(&GET.replace("URL", &server.url), "", "{}").await);
        assert_eq!(code(&error), (expected, true), "{error:?}");
    }
    let packed = error(got(GET, "200 OK", "content-type: application/json\ncontent-encoding: gzip", "x").await);
    assert!(packed.message.contains("the encoding `gzip`"), "{packed:?}");
}

#[tokio::test]
async fn statuses_are_errors_of_their_own() {
    for (status, expected) in [
        ("408 x", ("http-408", false)),
        ("425 x", ("http-425", false)),
        ("429 x", ("http-429", false)),
        ("500 x", ("http-500", false)),
        ("502 x", ("http-502", false)),
        ("503 x", ("http-503", false)),
        ("504 x", ("http-504", false)),
        ("404 x", ("http-404", true)),
        ("501 x", ("http-501", true)),
        ("304 x", ("http-304", true)),
        ("302 x", ("redirect", true)),
    ] {
        assert_eq!(code(&error(got(GET, status, "", "").await)), expected, "{status}");
    }
    let refused = error(got(GET, "422 x", "content-type: application/json", r#"{"why":"hunter2"}"#).await);
    assert_eq!(refused.data.unwrap().to_json(), r#"{"body":{"why":"hunter2"},"status":422,"type":"application/json"}"#);
    let long = error(got(GET, "500 x", "content-type: text/html", &"é".repeat(4000)).await).data.unwrap();
    assert_eq!(long.get("body").and_then(Value::as_str).map(str::len), Some(4096));
    let cut = error(got(GET, "500 x", "content-type: application/json", r#"{"a":"#).await);
    assert_eq!(cut.data.unwrap().get("body").unwrap().as_str(), Some(r#"{"a":"#));
}

// language 9.3, 9.4
#[tokio::test]
async fn delays_are_taken_from_the_response() {
    for (headers, after, is_final) in [
        ("retry-after: 2", Some(2000), false),
        ("retry-after: 60", Some(60_000), false),
        ("retry-after: 99999", Some(99_999_000), true),
        ("retry-after: -1", None, false),
        ("retry-after: soon", None, false),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT", Some(0), false),
        ("retry-after: 2\nretry-after-ms: 150", Some(150), false),
    ] {
        let error = error(got(GET, "429 Too Many", headers, "").await);
        assert_eq!((error.after, error.is_final), (after, is_final), "{headers}: {error:?}");
        assert_eq!(error.message.contains("`max_wait`"), is_final, "{error:?}");
    }
    let error = error(got(GET, "404 x", "retry-after: 2", "").await);
    assert_eq!((error.after, error.is_final), (None, true));
}

// language 9.12
#[tokio::test]
async fn redirects_are_followed_on_the_same_origin_for_get_and_head() {
    let server = RawServer::with(|number, stream| {
        use std::io::Write;
        let answer = match number {
            0 => response("302 Found", "location: /b?c=1", "gone"),
            _ => response("200 OK", "content-type: application/json", "1"),
        };
        stream.write_all(answer.as_bytes())
    });
    let binding = r#"{ get: "URL/a", redirects: 1, headers: { authorization: "Bearer {{secret:key}}" } }"#.replace("URL", &server.url);
    assert_eq!(value(call(&binding, "", "{}").await).to_json(), "1");
    let requests = server.requests();
    assert!(requests[1].starts_with("GET /b?c=1 HTTP/1.1") && requests[1].contains("Bearer hunter2"), "{requests:?}");
    for (http, status, location, why) in [
        (r#"{ get: "URL/a", redirects: 5 }"#, "302 x", "/a", "more than 5 times"),
        (r#"{ get: "URL/a", redirects: 5 }"#, "301 x", "http://evil.example/a", "another origin"),
        (r#"{ get: "URL/a", redirects: 5 }"#, "307 x", "https://127.0.0.1/a", "another origin"),
        (r#"{ get: "URL/a", redirects: 5 }"#, "308 x", "//evil.example", "another origin"),
        (r#"{ post: "URL/a", redirects: 5 }"#, "308 x", "/b", "not followed"),
        (r#"{ get: "URL/a", redirects: 5 }"#, "303 x", "", "not followed"),
    ] {
        let headers = if location.is_empty() { String::new() } else { format!("location: {location}") };
        let error = error(got(http, status, &headers, "").await);
        assert_eq!(code(&error), ("redirect", true));
        assert!(error.message.contains(why), "{location}: {error:?}");
    }
}

// language 9.9: the service repeats the key
#[tokio::test]
async fn a_secret_of_the_request_is_in_no_result() {
    let binding = r#"{ get: "URL/{{secret:key}}", headers: { authorization: "Bearer {{secret:key}}" } }"#;
    let result = got(binding, "200 OK", "content-type: application/json", r#"{"hunter2":["no hunter2","aHVudGVyMg=="]}"#).await;
    assert_eq!(value(result).to_json(), r#"{"***":["no ***","***"]}"#);
    for (kind, body) in [("text/plain", "no hunter2 here"), ("application/json", r#"{"why":"hunter2"}"#), ("application/json", "{hunter2")]
    {
        for status in ["401 Unauthorized", "200 OK"] {
            let error = got(binding, status, &format!("content-type: {kind}"), body).await;
            let shown = format!("{error:?}");
            assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        }
    }
}

// 204 where `returns` wants an object
#[test]
fn nothing_where_something_is_declared_breaks_the_contract() {
    let server = RawServer::answering("204 No Content", "", "");
    let project = format!("bindings:\n  t:\n    http: {{ get: \"{}\" }}\n    returns: {{ type: object }}\n", server.url);
    let stage = Stage::new(&[
        ("trellis.yaml", &project),
        ("start.md", "---\ndo: t\non_error: told\nto: told\n---\n"),
        ("told.md", "---\noutput: \"{{ sys.error.kind | default('none') }}\"\n---\n"),
    ]);
    assert_eq!(stage.text("").0.output, Some(Value::text("schema")));
}

#[tokio::test]
async fn a_server_that_others_wrote() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a b.json"), r#"{"n":1}"#).unwrap();
    std::fs::write(folder.path().join("note.txt"), "Hello.").unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/index.html"), "<p>").unwrap();
    let server = PythonServer::start(folder.path());
    let url = format!("http://localhost:{}", server.port);
    let get = |path: &str, more: &str| format!(r#"{{ base: "{url}", get: "{path}"{more} }}"#);
    assert_eq!(value(call(&get("/{{ name }}", ""), "", r#"{"name":"a b.json"}"#).await).to_json(), r#"{"n":1}"#);
    assert_eq!(value(call(&get("/note.txt", ""), "", "{}").await).as_str(), Some("Hello."));
    assert_eq!(value(call(&get("/note.txt", "").replace("get:", "head:"), "", "{}").await).to_json(), "null");
    assert_eq!(value(call(&get("/sub", ", redirects: 1"), "", "{}").await).as_str(), Some("<p>"));
    assert_eq!(code(&error(call(&get("/sub", ""), "", "{}").await)), ("redirect", true));
    let gone = error(call(&get("/{{ name }}", ""), "", r#"{"name":"../a"}"#).await);
    assert_eq!(code(&gone), ("http-404", true));
    assert_eq!(code(&error(call(&get("/note.txt", "").replace("get:", "post:"), "", "{}").await)), ("http-501", true));
}
