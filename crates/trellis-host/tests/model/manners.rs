//! Endpoints with bad manners, and what is asked of good ones.

use std::time::Duration;

use trellis_core::Value;

use crate::{
    endpoint::{Endpoint, Part, ends, raw_stream, says, status, stream},
    stage::{Stage, code},
};

fn project(base: &str, more: &str) -> String {
    format!(
        concat!(
            "models:\n",
            "  providers: {{ cloud: {{ openai: {}, key: \"{{{{secret:key}}}}\" }} }}\n",
            "  roles: {{ helper: [{{ provider: cloud, model: m-1, max_tokens: 90 }}] }}\n",
            "bindings:\n",
            "  ask: {{ model: {{ role: helper{} }}, parameters: {{ type: object }} }}\n",
        ),
        base, more
    )
}

fn stage(endpoint: &Endpoint, more: &str) -> Stage {
    Stage::new(&project(&endpoint.base, more))
}

const DONE: &str = "[DONE]";

#[tokio::test]
async fn a_text_is_told_while_it_is_written_and_the_result_is_whole() {
    // language 9.18, 9.20, 9.21
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;
    let endpoint = Endpoint::streaming(&[&says("Hel"), &says("lo"), &ends("stop"), usage, DONE]).await;
    let (result, told) = stage(&endpoint, "").watch().await;
    let result = result.unwrap();
    assert_eq!((told.concat().as_str(), result.get("content").unwrap().as_str()), ("Hello", Some("Hello")));
    assert_eq!(result.at("usage.output").and_then(Value::as_u64), Some(2));
    let request = &endpoint.requests()[0];
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer sk-hunter2hunter2") && head.contains("idempotency-key: s-key"), "{head}");
    let body = Value::from_json(body).unwrap();
    assert_eq!(body.get("model").unwrap().as_str(), Some("m-1"));
    assert_eq!(body.get("max_tokens").and_then(Value::as_u64), Some(90));
    // language 9.19
    assert_eq!(body.at("tools.0.function.name").unwrap().as_str(), Some("stock_find"));
    assert_eq!(body.at("tools.0.function.parameters.required.0").unwrap().as_str(), Some("q"));
    assert_eq!(body.at("tools.1.function.name").unwrap().as_str(), Some("clock_now"));
}

#[tokio::test]
async fn a_stream_may_be_cut_anywhere_between_its_pieces() {
    let whole = format!(": hello\r\ndata: {}\r\n\r\ndata: {}\r\n\r\ndata: [DONE]\r\n\r\n", says("gr\u{fc}n \u{1f33f}"), ends("stop"));
    let bytes = whole.as_bytes();
    // In the middle of `ü`, of the leaf, between CR and LF.
    let leaf = whole.find('\u{1f33f}').unwrap();
    let umlaut = whole.find('\u{fc}').unwrap();
    let endpoint = Endpoint::saying(vec![raw_stream(&[
        &bytes[..8],
        &bytes[8..=umlaut],
        &bytes[umlaut + 1..leaf + 2],
        &bytes[leaf + 2..whole.find("\r\n\r\n").unwrap() + 1],
        &bytes[whole.find("\r\n\r\n").unwrap() + 1..],
    ])])
    .await;
    let (result, told) = stage(&endpoint, "").watch().await;
    assert_eq!(result.unwrap().get("content").unwrap().as_str(), Some("gr\u{fc}n \u{1f33f}"));
    assert_eq!(told.concat(), "gr\u{fc}n \u{1f33f}");
}

#[tokio::test]
async fn a_stream_that_ends_inside_of_an_answer_is_cut() {
    // language 9.21
    let whole = format!("data: {}\n\n", says("gr\u{fc}n"));
    let inside = whole.find('\u{fc}').unwrap() + 1;
    for parts in [stream(&[&says("Hel")]), raw_stream(&[&whole.as_bytes()[..inside]]), stream(&[])] {
        let endpoint = Endpoint::saying(vec![parts]).await;
        assert_eq!(code(stage(&endpoint, "").watch().await.0), ("cut".into(), false));
    }
    // The reason of its end came: nothing is missing but the last event.
    let endpoint = Endpoint::streaming(&[&says("Hi"), &ends("stop")]).await;
    assert!(stage(&endpoint, "").watch().await.0.is_ok());
}

#[tokio::test]
async fn answers_that_are_none_say_what_is_wrong() {
    let choice = |message: &str, finish: &str| format!(r#"{{"choices":[{{"message":{message},"finish_reason":"{finish}"}}]}}"#);
    for (answer, expected, is_final) in [
        (status("200 OK", "", r#"{"choices":[]}"#), "malformed_json", false),
        (status("200 OK", "", r#"{"choices":"#), "malformed_json", false),
        (status("200 OK", "", &choice(r#"{"content":null,"refusal":"I will not."}"#, "stop")), "refused", true),
        (status("200 OK", "", &choice(r#"{"content":"Once upon"}"#, "length")), "length", true),
        (status("200 OK", "", &choice(r#"{"content":""}"#, "content_filter")), "refused", true),
        (stream(&[r#"{"error":{"message":"overloaded","type":"server_error"}}"#]), "cut", false),
        (raw_stream(&[b"data: {\n\n"]), "malformed_json", false),
        (raw_stream(&[b"data: \xff\xff\n\n"]), "malformed_json", false),
        (status("500 Internal Server Error", "", "oops"), "http-500", false),
        (status("404 Not Found", "", r#"{"error":{"message":"no such model"}}"#), "http-404", true),
        (status("302 Found", "location: http://evil.example\r\n", ""), "redirect", true),
    ] {
        let shown = format!("{answer:?}");
        let endpoint = Endpoint::saying(vec![answer]).await;
        assert_eq!(code(stage(&endpoint, "").watch().await.0), (expected.into(), is_final), "{shown}");
    }
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>";
    let endpoint = Endpoint::saying(vec![vec![Part::Bytes(page.into())]]).await;
    assert_eq!(code(stage(&endpoint, "").watch().await.0), ("content-type".into(), true));
}

#[tokio::test]
async fn content_may_be_null_or_a_list() {
    for (content, expected) in [("null", ""), (r#"[{"type":"text","text":"Hi"},{"type":"text","text":"!"}]"#, "Hi!")] {
        let body = format!(r#"{{"choices":[{{"message":{{"role":"assistant","content":{content}}},"finish_reason":"stop"}}]}}"#);
        let endpoint = Endpoint::saying(vec![status("200 OK", "", &body)]).await;
        let result = stage(&endpoint, ", stream: never").ask(r#"{"prompt":"hi"}"#).await.unwrap();
        assert_eq!(result.get("content").unwrap().as_str(), Some(expected));
        assert_eq!(result.get("finish").unwrap().as_str(), Some("stop"));
    }
}

#[tokio::test]
async fn tool_calls_of_every_kind_come_through() {
    // language 9.18, 9.19
    let calls = [
        r#"{"id":"a","function":{"name":"stock_find","arguments":"{\"q\":\"lamp\"}"}}"#,
        r#"{"id":"a","function":{"name":"clock_now","arguments":"{"}}"#,
        r#"{"function":{"name":"format_disk","arguments":"\"all\""}}"#,
    ];
    let body =
        format!(r#"{{"choices":[{{"message":{{"content":null,"tool_calls":[{}]}},"finish_reason":"tool_calls"}}]}}"#, calls.join(","));
    let endpoint = Endpoint::saying(vec![status("200 OK", "", &body)]).await;
    let result = stage(&endpoint, "").ask(r#"{"prompt":"hi"}"#).await.unwrap();
    let expected = concat!(
        r#"[{"id":"a","name":"stock.find","args":{"q":"lamp"}},"#,
        r#"{"id":"call_2","name":"clock.now","args":null,"raw":"{"},"#,
        r#"{"id":"call_3","name":"format_disk","args":null,"raw":"\"all\""}]"#
    );
    assert_eq!(*result.get("tool_calls").unwrap(), Value::from_json(expected).unwrap());
    // 500 of them, in a stream.
    let events: Vec<String> = (0..500)
        .map(|index| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"function":{{"name":"clock_now","arguments":"{{}}"}}}}]}}}}]}}"#
            )
        })
        .chain([ends("tool_calls")])
        .collect();
    let endpoint = Endpoint::streaming(&events.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let result = stage(&endpoint, "").watch().await.0.unwrap();
    assert_eq!(result.get("tool_calls").unwrap().as_list().unwrap().len(), 500);
}

#[tokio::test]
async fn the_key_is_in_no_message_of_the_provider() {
    // language 9.9
    let said = r#"{"error":{"message":"Incorrect API key provided: sk-hunter2hunter2."}}"#;
    let endpoint = Endpoint::saying(vec![status("401 Unauthorized", "", said)]).await;
    let error = stage(&endpoint, "").ask(r#"{"prompt":"hi"}"#).await.unwrap_err();
    assert_eq!((error.code.clone(), error.is_final), (Some("http-401".into()), true));
    assert!(error.message.contains("Incorrect API key provided: ***."), "{}", error.message);
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    // Nor in a text that is told in pieces.
    let endpoint = Endpoint::streaming(&[&says("it is sk-hun"), &says("ter2hunter2!"), &ends("stop")]).await;
    let (result, told) = stage(&endpoint, "").watch().await;
    assert_eq!((told.concat().as_str(), result.unwrap().get("content").unwrap().as_str()), ("it is ***!", Some("it is ***!")));
}

#[tokio::test]
async fn a_storm_of_429_waits_as_it_was_told() {
    let endpoint = Endpoint::saying(vec![status("429 Too Many Requests", "retry-after-ms: 250\r\n", "{}")]).await;
    let error = stage(&endpoint, "").ask(r#"{"prompt":"hi"}"#).await.unwrap_err();
    assert_eq!((error.code, error.after, error.is_final), (Some("http-429".into()), Some(250), false));
    let endpoint = Endpoint::saying(vec![status("429 Too Many Requests", "retry-after: 99999\r\n", "{}")]).await;
    assert!(stage(&endpoint, "").ask(r#"{"prompt":"hi"}"#).await.unwrap_err().is_final);
    assert_eq!(endpoint.requests().len(), 1, "the host asks once an attempt");
}

#[tokio::test]
async fn json_is_parsed_and_told_apart_from_what_breaks_its_type() {
    // language 9.18
    let answer = |content: &str| {
        let content = Value::text(content).to_json();
        status("200 OK", "", &format!(r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"stop"}}]}}"#))
    };
    let endpoint = Endpoint::saying(vec![answer("```json\n{\"a\": 1}\n```"), answer("Sure! {\"a\": 1}")]).await;
    let stage = stage(&endpoint, ", format: json");
    assert_eq!(stage.ask(r#"{"prompt":"hi"}"#).await.unwrap().to_json(), r#"{"a":1}"#);
    assert_eq!(code(stage.ask(r#"{"prompt":"hi"}"#).await), ("malformed_json".into(), false));
    assert!(endpoint.requests()[0].contains(r#""response_format":{"type":"json_object"}"#), "{}", endpoint.requests()[0]);
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_its_bound_and_a_slow_one_at_its_time() {
    let endless = [b"data: ".as_slice(), &vec![b'x'; 9 << 20]].concat();
    let mut parts = raw_stream(&[]);
    parts.extend((0..16).map(|_| Part::Bytes(endless.clone())));
    let endpoint = Endpoint::saying(vec![parts]).await;
    let mut project = project(&endpoint.base, "");
    project.push_str("limits: { tool_output: 65536 }\n");
    assert_eq!(code(Stage::new(&project).watch().await.0), ("too-large".into(), true));
    let slow = vec![Part::Pause(Duration::from_secs(30))];
    let endpoint = Endpoint::saying(vec![slow]).await;
    let stage = stage(&endpoint, "");
    let (result, _) = stage.result(r#"{"prompt":"hi"}"#, Some(200)).await;
    assert_eq!(code(crate::stage::outcome(result)).0, "Timeout");
}

#[tokio::test]
async fn braces_are_nobodys_templates() {
    // language 9.17
    let endpoint = Endpoint::streaming(&[&says("{{ secret }}"), &ends("stop")]).await;
    let stage = Stage::with(
        &project(&endpoint.base, ", system: ./_prompts/p.md"),
        &[("_prompts/p.md", "---\nfor: people\n---\nSay {{ x }} {% y %}.\n")],
    );
    let result = stage.ask(r#"{"prompt":"{{ 1 + 1 }}"}"#).await.unwrap();
    assert_eq!(result.get("content").unwrap().as_str(), Some("{{ secret }}"));
    let request = endpoint.requests().remove(0);
    assert!(request.contains("Say {{ x }} {% y %}.") && request.contains("{{ 1 + 1 }}") && !request.contains("for: people"), "{request}");
}

#[tokio::test]
async fn no_listener_is_no_connection() {
    let stage = Stage::new(&project("http://127.0.0.1:1/v1", ""));
    assert_eq!(code(stage.ask(r#"{"prompt":"hi"}"#).await), ("connect".into(), false));
}
