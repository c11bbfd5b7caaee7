//! Servers with bad manners: a call ends, in time and with little memory.

use std::{io::Write, path::Path, thread::sleep, time::Duration};

use trellis_core::{ToolOutcome, engine::ToolErrorKind};

use super::{
    call, call_within, code, error,
    servers::{RawServer, response},
    value,
};

async fn get(server: &RawServer) -> trellis_core::ToolResult {
    call(&format!(r#"{{ get: "{}/a?key={{{{secret:key}}}}" }}"#, server.url), "", "{}").await
}

#[tokio::test]
async fn nobody_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = error(call(&format!(r#"{{ get: "http://127.0.0.1:{port}/{{{{secret:key}}}}" }}"#), "", "{}").await);
    assert_eq!(code(&error), ("connect", false));
    assert!(
        error.message.contains(&format!("no connection to `http://127.0.0.1:{port}`")) && error.message.contains("refused"),
        "{error:?}"
    );
    let error = super::error(call(r#"{ get: "http://no-such-host.invalid/" }"#, "", "{}").await);
    assert_eq!(code(&error), ("connect", false), "{error:?}");
}

#[tokio::test]
async fn slow_heads_and_a_byte_a_second_run_into_the_timeout() {
    let heads = RawServer::with(|_, stream| {
        for byte in b"HTTP/1.1 200 OK\r\nx: ".iter().chain(std::iter::repeat(&b'a')) {
            stream.write_all(&[*byte])?;
            sleep(Duration::from_millis(50));
        }
        Ok(())
    });
    let bodies = RawServer::with(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n")?;
        loop {
            stream.write_all(b"a")?;
            sleep(Duration::from_millis(50));
        }
    });
    for server in [heads, bodies] {
        let project = format!("bindings:\n  t:\n    http: {{ get: \"{}\" }}\n", server.url);
        let error = error(call_within(Some(300), Path::new("."), &project, "{}").await);
        assert_eq!(error.kind, ToolErrorKind::Timeout, "{error:?}");
    }
}

#[tokio::test]
async fn ten_gigabytes_are_not_read() {
    let announced = RawServer::new("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10000000000\r\n\r\n");
    let endless = RawServer::with(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")?;
        loop {
            stream.write_all(format!("1000\r\n{}\r\n", "a".repeat(0x1000)).as_bytes())?;
        }
    });
    for server in [announced, endless] {
        let error = error(get(&server).await);
        assert_eq!(code(&error), ("too-large", true), "{error:?}");
        assert!(error.message.contains("100000 bytes"), "{error:?}");
    }
}

#[tokio::test]
async fn wrong_lengths_and_what_is_no_http_break_the_answer_off() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\ncontent-length: junk\r\n\r\nabc",
        "HTTP/1.1 200",
        "SSH-2.0-OpenSSH_9\r\n",
        "",
    ] {
        let error = error(get(&RawServer::new(answer)).await);
        assert_eq!(code(&error), ("cut", false), "{answer}: {error:?}");
    }
    let longer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nabc";
    assert_eq!(value(get(&RawServer::new(longer)).await).as_str(), Some("ab"));
    let shorter = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[1]";
    assert_eq!(code(&error(get(&RawServer::new(shorter)).await)), ("malformed_json", true));
}

#[tokio::test]
async fn errors_of_a_server_hold_no_url() {
    for server in [RawServer::new(""), RawServer::answering("500 x", "", ""), RawServer::answering("200 x", "content-type: x/y", "z")] {
        let shown = format!("{:?}", get(&server).await);
        assert!(!shown.contains("hunter2") && !shown.contains("/a?"), "{shown}");
    }
}

// A connection stays open between calls; where the server has closed it, another is made.
#[tokio::test]
async fn connections_are_kept_and_made_again() {
    let server = RawServer::with(|_, stream| stream.write_all(response("200 OK", "content-type: text/plain", "x").as_bytes()));
    for _ in 0..3 {
        assert!(matches!(get(&server).await.outcome, ToolOutcome::Success(_)));
    }
}
