//! Servers over HTTP without manners.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use trellis_core::{Value, engine::ToolErrorKind};

use crate::host::{Stage, asked, code, run};

const JSON: &str = "application/json";

/// Status, content type and body.
type Reply = (u16, &'static str, String);

/// Answers each request on a port of its own: `answer` gets the method, the headers and the body.
fn serve(answer: impl Fn(&str, &str, &str) -> Reply + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = std::sync::Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = std::sync::Arc::clone(&answer);
            thread::spawn(move || one(stream.unwrap(), &*answer));
        }
    });
    port
}

fn one(mut stream: TcpStream, answer: &dyn Fn(&str, &str, &str) -> Reply) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let (status, kind, text) = answer(head.split(' ').next().unwrap(), &lower, &String::from_utf8(body).unwrap());
    let session = if text.contains("protocolVersion") { "mcp-session-id: s1\r\n" } else { "" };
    let length = if kind == "text/event-stream" { String::new() } else { format!("content-length: {}\r\n", text.len()) };
    let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{session}{length}connection: close\r\n\r\n{text}");
    if text.contains(": without end") {
        while stream.write_all(b": still there\n\n").is_ok() {
            thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn id(body: &str) -> String {
    let body = Value::from_json(body).unwrap();
    body.get("id").map(Value::to_json).unwrap_or_default()
}

fn result(body: &str, result: &str) -> Reply {
    (200, JSON, format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(body)))
}

/// A server of 2025 whose answer to `tools/call` is another one.
fn legacy(call: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> u16 {
    serve(move |method, head, body| match body {
        _ if method != "POST" => (405, JSON, String::new()),
        body if body.contains("\"server/discover\"") => (400, JSON, "{}".to_owned()),
        body if body.contains("\"initialize\"") => {
            result(body, r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}"#)
        }
        body if body.contains("\"notifications/") => (202, JSON, String::new()),
        body if body.contains("\"tools/list\"") => result(body, r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#),
        body => call(head, body),
    })
}

fn stage(port: u16, more: &str) -> Stage {
    bound(port, more, "t: { mcp: s/t }")
}

fn bound(port: u16, more: &str, bindings: &str) -> Stage {
    Stage::new(&format!("servers: {{ s: {{ url: \"http://127.0.0.1:{port}/mcp\"{more} }} }}\nbindings: {{ {bindings} }}\n"))
}

#[test]
fn statuses_pages_and_cut_answers_have_their_codes() {
    run(async {
        for (answer, expected, is_final) in [
            ((503, JSON, "{}"), "http-503", false),
            ((429, "text/plain", "slow down"), "http-429", false),
            ((401, "text/plain", "who are you"), "http-401", true),
            ((418, "text/plain", "teapot"), "http-418", true),
            ((200, "text/html", "<html>hello</html>"), "content-type", true),
            ((200, JSON, "{\"half"), "content-type", true),
        ] {
            let (status, kind, text) = answer;
            let error = stage(legacy(move |_, _| (status, kind, text.to_owned())), "").call("t", "{}").await.unwrap_err();
            assert_eq!((code(&error), error.is_final), (expected, is_final), "{error:?}");
        }
    });
}

#[test]
fn a_wait_that_a_server_asks_for_is_seconds_or_a_date_and_bounded() {
    // language 9.3, 9.4
    run(async {
        for (asked, more, after, is_final) in [
            ("3", "", Some(3000), false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "", Some(0), false),
            ("junk", "", None, false),
            ("-1", "", None, false),
            ("99999", "", Some(99_999_000), true),
            ("3", ", max_wait: 2s", Some(3000), true),
        ] {
            // The text after the content type is a header of its own.
            let kind: &'static str = format!("text/plain\r\nretry-after: {asked}").leak();
            let port = legacy(move |_, _| (429, kind, "slow down".to_owned()));
            let error = bound(port, "", &format!("t: {{ mcp: s/t{more} }}")).call("t", "{}").await.unwrap_err();
            assert_eq!((code(&error), error.after, error.is_final), ("http-429", after, is_final), "{asked}: {error:?}");
        }
        let port = legacy(|_, _| (503, "text/plain\r\nretry-after: Tue, 31 Dec 2999 23:59:59 GMT", String::new()));
        let error = stage(port, "").call("t", "{}").await.unwrap_err();
        assert!(error.is_final && error.message.contains("more than `max_wait` allows (1m)"), "{error:?}");
    });
}

#[test]
fn calls_of_all_tools_of_a_server_wait_for_its_turn() {
    // language 11.6
    run(async {
        for (more, at_once) in [("", 2), (", abreast: 1", 1), (", abreast: 2", 2)] {
            let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let most_of_all = Arc::clone(&most);
            let port = legacy(move |_, body| {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                for _ in 0..50 {
                    if most.load(Ordering::SeqCst) < 2 {
                        thread::sleep(std::time::Duration::from_millis(10));
                    }
                }
                running.fetch_sub(1, Ordering::SeqCst);
                result(body, r#"{"content":[{"type":"text","text":"done"}]}"#)
            });
            let stage = bound(port, more, "t: { mcp: s/t }, u: { mcp: s/t }");
            let (one, other) = tokio::join!(stage.call("t", "{}"), stage.call("u", "{}"));
            assert_eq!((one.unwrap(), other.unwrap()), (Value::text("done"), Value::text("done")));
            assert_eq!(most_of_all.load(Ordering::SeqCst), at_once, "{more}");
        }
    });
}

#[test]
fn a_call_says_which_span_it_is() {
    // language 9.15
    run(async {
        let port = legacy(|_, body| {
            let call = Value::from_json(body).unwrap();
            let meta = call.get("params").and_then(|params| params.get("_meta")).map(Value::to_json).unwrap_or_default();
            result(body, &format!(r#"{{"content":[],"structuredContent":{{"meta":{meta}}}}}"#))
        });
        let stage = stage(port, "");
        let span = "00-ad0e2db02a32487b66b279d91e7384d9-7d4678073e416e40-01";
        for traceparent in [Some(span), None] {
            let mut asked = asked("t", "{}", None);
            asked.caller = asked.caller.traced(traceparent.map(str::to_owned));
            let answer = stage.carry_out(&asked).await.unwrap();
            let meta = answer.get("meta").unwrap();
            assert_eq!(meta.get("traceparent").and_then(Value::as_str), traceparent);
            let told = ["trellis/call", "trellis/key", "trellis/attempt"].map(|key| meta.get(key).map(Value::to_json).unwrap_or_default());
            assert_eq!(told, ["\"s-call-1\"", "\"s-key\"", "1"]);
        }
    });
}

#[test]
fn a_call_that_is_stopped_leaves_the_queue_of_its_server() {
    // language 11.6
    run(async {
        let stage = bound(legacy(|_, _| (200, "text/event-stream", ": without end\n\n".to_owned())), ", abreast: 1", "t: { mcp: s/t }");
        let (first, second) = (asked("t", "{}", Some(60_000)), asked("t", "{}", None));
        let stop = async {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            second.caller.cancel().cancel();
        };
        let waiting = async { tokio::join!(stage.carry_out(&second), stop).0 };
        tokio::select! {
            biased;
            _ = stage.carry_out(&first) => panic!("its time is not up"),
            stopped = waiting => assert!(stopped.unwrap_err().message.contains("stopped")),
        }
    });
}

#[test]
fn a_server_of_another_era_says_so() {
    // language 9.13: a server that speaks 2025 or 2026 only
    run(async {
        let old = legacy(|_, body| result(body, r#"{"content":[{"type":"text","text":"done"}]}"#));
        for era in ["", ", era: auto", ", era: legacy"] {
            assert_eq!(stage(old, era).call("t", "{}").await.unwrap(), Value::text("done"), "{era}");
        }
        let error = stage(old, ", era: modern").call("t", "{}").await.unwrap_err();
        assert!(code(&error) == "mcp-rpc" && error.message.contains("server/discover"), "{error:?}");
        let new = serve(|_, _, body| match body {
            body if body.contains("\"server/discover\"") => {
                let info = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"new","version":"1"}}"#;
                result(body, info)
            }
            body if body.contains("\"tools/list\"") => result(body, r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#),
            body if body.contains("\"initialize\"") => {
                (200, JSON, format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no such method"}}}}"#, id(body)))
            }
            body => result(body, r#"{"content":[{"type":"text","text":"done"}]}"#),
        });
        let error = stage(new, ", era: legacy").call("t", "{}").await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("mcp-rpc", true), "{error:?}");
    });
}

#[test]
fn nobody_listens() {
    run(async {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let error = stage(port, "").call("t", "{}").await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("connect", false), "{error:?}");
    });
}

#[test]
fn a_session_that_is_gone_is_opened_again() {
    run(async {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let port = legacy(move |_, body| match calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            1 => (404, JSON, String::new()),
            _ => result(body, r#"{"content":[{"type":"text","text":"done"}]}"#),
        });
        let stage = stage(port, "");
        for _ in 0..3 {
            assert_eq!(stage.call("t", "{}").await.unwrap(), Value::text("done"));
        }
    });
}

#[test]
fn events_without_end_run_into_the_timeout_and_large_ones_into_the_bound() {
    run(async {
        let stage_of = |text: &'static str| stage(legacy(move |_, _| (200, "text/event-stream", text.to_owned())), "");
        let error = stage_of(": without end\n\n").call_within("t", "{}", 500).await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Timeout);
        let large = |_: &str, body: &str| {
            let blocks = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(20_000_000));
            result(body, &blocks)
        };
        let error = stage(legacy(large), "").call("t", "{}").await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("too-large", true), "{}", &error.message[..200.min(error.message.len())]);
    });
}

#[test]
fn an_image_above_the_bound_of_results_is_refused_over_http_too() {
    run(async {
        let image = |_: &str, body: &str| {
            let data = "QUJD".repeat(500_000);
            result(body, &format!(r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}"#))
        };
        let error = stage(legacy(image), "").call("t", "{}").await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("too-large", true), "{}", &error.message[..200.min(error.message.len())]);
        assert!(error.message.ends_with("more than the 1048576 that `limits.tool_output` allows"), "{}", error.message);
    });
}

#[test]
fn headers_hold_secrets_and_nobody_sees_them() {
    run(async {
        let echo = |head: &str, _: &str| {
            let line = head.lines().find(|line| line.starts_with("authorization")).unwrap_or("none").to_owned();
            (200, JSON, format!(r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32000,"message":"you sent {line}"}}}}"#))
        };
        let port = legacy(move |head, body| {
            let (status, kind, text) = echo(head, body);
            (status, kind, text.replace("\"id\":2", &format!("\"id\":{}", id(body))))
        });
        let error = stage(port, ", headers: { authorization: \"Bearer {{secret:token}}\" }").call("t", "{}").await.unwrap_err();
        assert_eq!(error.message, "you sent authorization: bearer ***");
    });
}
