//! Findings before anything is sent (language 9.8, 9.10, 9.11).

use std::{path::Path, sync::Arc};

use trellis_core::{Code, Dialect, Document, Source, diagnostic::Severity};
use trellis_host::{
    Bindings,
    binding::{Host, check_bindings},
};

use crate::stage::program;

fn found(http: &str) -> Vec<(Severity, String)> {
    let project = format!("bindings:\n  t:\n    http: {http}\n");
    let document = Arc::new(Document::parse(&Source::text("trellis.yaml", project.as_str()), Dialect::default()));
    let found = check_bindings(&[document]);
    assert!(found.iter().all(|found| found.code == Code::WrongType && found.help.is_some()), "{found:#?}");
    found.into_iter().map(|found| (found.severity, found.message)).collect()
}

#[test]
fn mistakes_are_found_before_anything_is_sent() {
    for (http, why) in [
        (r#"{ get: "https://{{ host }}/a" }"#, "a hole stands before the first `/` after the host"),
        (r#"{ get: "https://example.org{{ x }}" }"#, "a hole stands before the first `/` after the host"),
        (r#"{ get: "https://example.org{{ x }}/a" }"#, "a hole stands before the first `/` after the host"),
        (r#"{ get: "https://{{secret:key}}@example.org/a" }"#, "a hole stands before the first `/` after the host"),
        (r#"{ get: "{{ url }}" }"#, "a hole stands where the host of the URL begins"),
        (r#"{ get: "{{ scheme }}://example.org/" }"#, "a hole stands where the host of the URL begins"),
        (r#"{ get: "https://example.org/a#{{ x }}" }"#, "a hole stands after `#`, which is never sent"),
        (r#"{ get: "https://example.org/a b" }"#, "' ' may not stand in a URL"),
        (r#"{ get: "https://example.org/a\\b" }"#, "'\\\\' may not stand in a URL"),
        (r#"{ get: "example.org/a" }"#, "the URL begins with neither `/` nor `https://`"),
        (r#"{ get: "https:///a" }"#, ""),
        (r#"{ get: /a }"#, "the URL begins with `/`, and there is no `base`"),
        (r#"{ base: "https://example.org", get: "https://example.org/a" }"#, "`base` is not used: `get` has a whole URL"),
        (r#"{ base: "https://example.org?a", get: /a }"#, "it is no base of URLs: it has a query or a fragment"),
        (r#"{ base: "ftp://example.org", get: /a }"#, "it is no base of URLs: `ftp:` is no scheme that is spoken here; write `https://…`"),
        (r#"{ base: { default: "https://example.org" }, get: /a }"#, "`http.base` has no `env`"),
        (r#"{ base: { env: A, defualt: x }, get: /a }"#, "`http.base` has no key `defualt`"),
        (r#"{ base: 3, get: /a }"#, "`http.base` takes a text, or `{ env: NAME, default: … }`, not an integer"),
        ("{}", "the binding `t` names no method"),
        (r#"{ get: "https://a.org/", post: "https://a.org/" }"#, "`get` and `post` exclude each other: a call is one request"),
        (r#"{ gte: "https://a.org/" }"#, "`http` has no key `gte`"),
        (r#"{ post: "https://a.org/", json: {}, form: {} }"#, "`json` and `form` exclude each other: a request has one body"),
        (r#"{ get: "https://a.org/", json: {} }"#, "a request of `get` has no body"),
        (r#"{ get: "https://a.org/", headers: { Host: x } }"#, "`Host` is made by the client"),
        (r#"{ get: "https://a.org/", headers: { "a b": x } }"#, "`a b` is no name of a header"),
        (
            r#"{ post: "https://a.org/", idempotency: Connection }"#,
            "`http.idempotency` takes the name of a header or `false`: `Connection` is made by the client",
        ),
        (r#"{ get: "https://a.org/", accept: [99] }"#, "`99` is no status of HTTP, which go from 100 to 599"),
        (r#"{ get: "https://a.org/", response: xml }"#, "`http.response` takes `auto`, `json` or `text`, not `xml`"),
        (r#"{ get: "https://a.org/", redirects: -1 }"#, ""),
        (r#"{ get: "https://a.org/", query: [a] }"#, "`http.query` takes a mapping, not a list"),
    ] {
        let found = found(http);
        assert!(
            found.iter().any(|(severity, message)| *severity == Severity::Error && (message == why || why.is_empty())),
            "{http}: {found:#?}"
        );
    }
}

#[test]
fn what_goes_unencrypted_to_another_machine_is_a_warning() {
    for http in [r#"{ get: "http://example.org/a" }"#, r#"{ base: { env: A, default: "http://example.org" }, get: /a }"#] {
        assert_eq!(found(http), [(Severity::Warning, "calls of `t` go unencrypted to `example.org`".to_owned())], "{http}");
    }
    for http in
        [r#"{ get: "http://localhost:3/a" }"#, r#"{ base: "http://[::1]/", get: "/a/{{ x }}" }"#, r#"{ get: "https://example.org/" }"#]
    {
        assert_eq!(found(http), [], "{http}");
    }
    // A warning does not keep the binding from running.
    let project = "bindings:\n  t:\n    http: { get: \"http://example.org/a\" }\n";
    let program = program(&[("trellis.yaml", project), ("start.md", "---\ndo: t\n---\n")]);
    let (bindings, found) = Bindings::new(&program, Path::new("."), &Host::new());
    assert!(bindings.binds("", "t") && found.is_empty());
}

#[test]
fn what_is_missing_here_is_an_obstacle() {
    let project = "bindings:\n  t:\n    http: { base: { env: TRELLIS_TEST_NO_SUCH_URL }, get: /a, ca: gone.pem }\n";
    let program = program(&[("trellis.yaml", project), ("start.md", "---\ndo: t\n---\n")]);
    let (bindings, _) = Bindings::new(&program, Path::new("/nowhere"), &Host::new());
    let mut found: Vec<String> = bindings.obstacles(&program).into_iter().map(|found| found.message).collect();
    found.sort();
    assert_eq!(found.len(), 2, "{found:#?}");
    for (found, why) in
        found.iter().zip(["the CA file `/nowhere/gone.pem` cannot be read", "the variable `TRELLIS_TEST_NO_SUCH_URL` is not set"])
    {
        assert!(found.starts_with(&format!("`t` cannot be carried out: {why}")), "{found}");
    }
}
