//! The requests that are sent (language 9.10–9.12, 9.6).

use super::{call, code, error, servers::RawServer, value};

/// The request of a call, with `URL` in the binding replaced by the server's.
async fn sent(http: &str, beside: &str, args: &str) -> String {
    let server = RawServer::answering("204 No Content", "", "");
    let result = call(&http.replace("URL", &server.url), beside, args).await;
    assert_eq!(value(result).to_json(), "null", "{http}");
    server.request()
}

fn first_line(request: &str) -> &str {
    request.lines().next().unwrap()
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

fn header<'r>(request: &'r str, name: &str) -> Option<&'r str> {
    request.lines().find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

#[tokio::test]
async fn urls_and_queries_are_encoded() {
    let binding = r#"{ base: "URL/v1/", get: "/people/{{ id }}?all=1", query: { fields: "{{ fields | optional }}", q: "{{ q }}", n: [1, "{{ q }}"] } }"#;
    let request = sent(binding, "", r#"{"id":"a/b c%","q":"x&y=é","fields":["a","b"]}"#).await;
    assert_eq!(first_line(&request), "GET /v1/people/a%2Fb%20c%25?all=1&fields=a&fields=b&q=x%26y%3D%C3%A9&n=1&n=x%26y%3D%C3%A9 HTTP/1.1");
    assert_eq!(body(&request), "");
    let request = sent(binding, "", r#"{"id":7,"q":null}"#).await;
    assert_eq!(first_line(&request), "GET /v1/people/7?all=1&n=1 HTTP/1.1");
    let request = sent(r#"{ get: "URL/{{ x }}/y" }"#, "", r#"{"x":"@evil.example/..%2e\r\nhost: evil\u0000"}"#).await;
    assert_eq!(first_line(&request), "GET /%40evil.example%2F..%252e%0D%0Ahost%3A%20evil%00/y HTTP/1.1");
    assert!(header(&request, "host").unwrap().starts_with("127.0.0.1:"), "{request}");
}

#[tokio::test]
async fn the_key_of_the_call_goes_with_what_changes_something() {
    // language 9.6: bare, as servers in use take it
    for method in ["post", "put", "patch", "delete"] {
        let request = sent(&format!(r#"{{ {method}: "URL/a" }}"#), "", "{}").await;
        assert_eq!(header(&request, "idempotency-key"), Some("k1"), "{request}");
    }
    for binding in [r#"{ get: "URL/a" }"#, r#"{ post: "URL/a", idempotency: false }"#] {
        assert_eq!(header(&sent(binding, "", "{}").await, "idempotency-key"), None, "{binding}");
    }
    let request =
        sent(r#"{ post: "URL/a", idempotency: X-Key, headers: { x-call: "{{ call.id }}/{{ call.key }}/{{ call.attempt }}" } }"#, "", "{}")
            .await;
    assert_eq!((header(&request, "x-key"), header(&request, "x-call")), (Some("k1"), Some("c1/k1/2")));
    let request = sent(r#"{ post: "URL/a", headers: { Idempotency-Key: "mine-{{ call.key }}" } }"#, "", "{}").await;
    assert_eq!(header(&request, "idempotency-key"), Some("mine-k1"));
}

#[tokio::test]
async fn bodies_are_what_the_binding_says_else_the_arguments_that_no_template_names() {
    let request =
        sent(r#"{ post: "URL/people/{{ id }}", query: { q: "{{ q }}" } }"#, "", r#"{"id":"7","q":1,"name":"Ana","tags":["a"]}"#).await;
    assert_eq!((body(&request), header(&request, "content-type")), (r#"{"name":"Ana","tags":["a"]}"#, Some("application/json")));
    let request = sent(
        r#"{ put: "URL/a", json: { who: { name: "{{ name }}", age: "{{ age }}" }, key: "{{secret:key}}" } }"#,
        "",
        r#"{"name":"Ana","age":3}"#,
    )
    .await;
    assert_eq!(body(&request), r#"{"key":"hunter2","who":{"age":3,"name":"Ana"}}"#);
    let request = sent(r#"{ post: "URL/a", form: { a: "{{ a }}", b: [1, 2], c: null } }"#, "", r#"{"a":"x y&z"}"#).await;
    assert_eq!((body(&request), header(&request, "content-type")), ("a=x%20y%26z&b=1&b=2", Some("application/x-www-form-urlencoded")));
    let request =
        sent(r#"{ patch: "URL/a", text: "Hello {{ a }}", headers: { content-type: text/markdown } }"#, "", r#"{"a":"you"}"#).await;
    assert_eq!((body(&request), header(&request, "content-type")), ("Hello you", Some("text/markdown")));
    let request = sent(r#"{ delete: "URL/a" }"#, "", r#"{"a":"you"}"#).await;
    assert_eq!(body(&request), "");
    let request = sent(r#"{ delete: "URL/a", json: { reason: "{{ a }}" } }"#, "", r#"{"a":"you"}"#).await;
    assert_eq!(body(&request), r#"{"reason":"you"}"#);
}

#[tokio::test]
async fn nobody_asks_for_cookies_or_compression() {
    let request =
        sent(r#"{ get: "URL/a", headers: { authorization: "Bearer {{secret:key}}", x-none: "{{ x | optional }}" } }"#, "", "{}").await;
    assert_eq!(header(&request, "authorization"), Some("Bearer hunter2"));
    for absent in ["accept-encoding", "cookie", "x-none", "referer"] {
        assert_eq!(header(&request, absent), None, "{request}");
    }
    assert!(header(&request, "user-agent").unwrap().starts_with("trellis/"), "{request}");
}

// what may not stand in a URL or a header is refused, and nothing is sent
#[tokio::test]
async fn what_may_not_stand_there_is_refused() {
    let server = RawServer::answering("204 No Content", "", "");
    let url = &server.url;
    for (http, args, expected) in [
        (r#"{ get: "URL/a/{{ x }}{{ x }}/b" }"#, r#"{"x":"."}"#, "url"),
        (r#"{ get: "URL/a/{{ x }}" }"#, r#"{"x":".."}"#, "url"),
        (r#"{ get: "URL/a/{{ x }}" }"#, r#"{"x":""}"#, "url"),
        (r#"{ get: "URL/a/{{ x }}" }"#, r#"{"x":[1]}"#, "url"),
        (r#"{ get: "URL/a", query: { q: "{{ x }}" } }"#, r#"{"x":{"a":1}}"#, "url"),
        (r#"{ get: "URL/a", headers: { x: "{{ x }}" } }"#, r#"{"x":"a\r\nhost: evil"}"#, "header"),
        (r#"{ get: "URL/a", headers: { x: "{{ x }}" } }"#, r#"{"x":"a\u0000"}"#, "header"),
        (r#"{ get: "URL/a", headers: { x: "{{ x }}" } }"#, r#"{"x":["a"]}"#, "header"),
        (r#"{ get: "URL/a/{{ x }}" }"#, "{}", "template"),
        (r#"{ get: "URL/a", headers: { x: "{{secret:gone}}" } }"#, "{}", "secret"),
        (r#"{ base: { env: TRELLIS_TEST_NO_SUCH_URL }, get: /a }"#, "{}", "url"),
    ] {
        let error = error(call(&http.replace("URL", url), "", args).await);
        assert_eq!(code(&error), (expected, true), "{http} {args}: {error:?}");
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}
