//! Servers of others, as `.ci/install` installs them. One that is missing fails its test.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use trellis_core::{Dialect, Document, Source, Value, engine::ToolErrorKind};
use trellis_host::binding::server_library;

use crate::host::{Stage, asked, code, peers, run};

/// A server over HTTP that ends with its test.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) port: u16,
}

impl HttpServer {
    /// Starts a script that says its port first.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("the server did not say its port: run .ci/install"));
        Self { child, port }
    }

    pub(crate) fn modern(legacy: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/modern.mjs");
        Self::start(Command::new(peers().join("node")).arg(script).arg(peers()).arg(legacy))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn installed(server: &str, args: &str, bindings: &str) -> Stage {
    let command = format!("PEERS/node, PEERS/node_modules/.bin/mcp-server-{server}{args}");
    Stage::new(&format!("servers: {{ s: {{ process: [{command}], env: {{ MEMORY_FILE_PATH: ./memory.json }} }} }}\nbindings:\n{bindings}"))
}

#[test]
fn a_reference_server_answers_in_all_shapes() {
    run(async {
        // language 9.14, 9.15
        let stage = installed(
            "everything",
            ", stdio",
            "  echo: { mcp: s/echo }\n  sum: { mcp: s/get-sum }\n  city: { mcp: s/get-structured-content }\n  image: { mcp: s/get-tiny-image }\n  \
             long: { mcp: s/trigger-long-running-operation }\n  links: { mcp: s/get-resource-links }\n",
        );
        assert_eq!(stage.call("echo", r#"{"message":"hello"}"#).await.unwrap(), Value::text("Echo: hello"));
        assert!(stage.call("sum", r#"{"a":2,"b":3}"#).await.unwrap().to_json().contains('5'));
        let city = stage.call("city", r#"{"location":"Chicago"}"#).await.unwrap();
        assert!(city.get("temperature").is_some() && city.get("conditions").is_some(), "{city}");
        let blocks = stage.call("image", "{}").await.unwrap();
        let kinds: Vec<_> = blocks.as_list().unwrap().iter().map(|block| block.get("type").unwrap().to_json()).collect();
        assert_eq!(kinds, [r#""text""#, r#""image""#, r#""text""#]);
        let links = stage.call("links", r#"{"count":2}"#).await.unwrap();
        assert!(links.as_list().unwrap().iter().any(|block| block.get("uri").is_some()), "{links}");
        let long = asked("long", r#"{"duration":0.6,"steps":3}"#, None);
        assert!(stage.carry_out(&long).await.is_ok());
        assert_eq!(*long.progress.lock().unwrap(), ["1/3", "2/3", "3/3"]);
        // Arguments that break the schema are never sent.
        let error = stage.call("sum", r#"{"a":"two"}"#).await.unwrap_err();
        assert_eq!((code(&error), error.data.as_ref().unwrap().to_json().as_str()), ("mcp-rpc", r#"{"rpc":-32602}"#));
        // A call that is given up leaves the connection usable.
        let error = stage.call_within("long", r#"{"duration":20,"steps":100}"#, 500).await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Timeout);
        assert_eq!(stage.call("echo", r#"{"message":"still there"}"#).await.unwrap(), Value::text("Echo: still there"));
        stage.host.close().await;
    });
}

#[test]
fn the_file_server_reads_writes_and_refuses() {
    run(async {
        let stage = installed("filesystem", ", .", "  read: { mcp: s/read_text_file }\n  write: { mcp: s/write_file }\n");
        let path = stage.folder.path().join("note.txt").display().to_string();
        stage.call("write", &format!(r#"{{"path":"{path}","content":"{{}}"}}"#)).await.unwrap();
        let read = stage.call("read", &format!(r#"{{"path":"{path}"}}"#)).await.unwrap();
        assert_eq!(read.to_json(), r#"{"content":"{}"}"#);
        let error = stage.call("read", r#"{"path":"/etc/passwd"}"#).await.unwrap_err();
        assert_eq!((code(&error), error.is_final), ("tool", false));
        assert!(error.message.contains("outside allowed directories"), "{}", error.message);
        stage.host.close().await;
    });
}

#[test]
fn the_memory_server_keeps_what_it_is_told() {
    run(async {
        let stage = installed("memory", "", "  add: { mcp: s/create_entities }\n  find: { mcp: s/search_nodes }\n");
        stage.call("add", r#"{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]}]}"#).await.unwrap();
        let found = stage.call("find", r#"{"query":"ada"}"#).await.unwrap();
        assert_eq!(found.at("entities[0].name").or_else(|| found.at("entities.0.name")), Some(&Value::text("Ada")), "{found}");
        stage.host.close().await;
    });
}

#[test]
fn a_server_of_2026_over_http() {
    run(async {
        // language 9.13, 9.16
        let server = HttpServer::modern("reject");
        for era in ["auto", "modern"] {
            let stage = Stage::new(&project(server.port, era));
            let call = asked("echo", r#"{"text":"hello"}"#, None);
            let result = stage.bindings.call(&stage.program, &call.pending, &call.caller).await;
            assert_eq!(result.meta.unwrap().to_json(), r#"{"protocol":"2026-07-28","server":"s","version":"modern 3.0.0"}"#);
            assert_eq!(stage.call("echo", r#"{"text":"hello"}"#).await.unwrap(), Value::text("hello"));
            let error = stage.call("ask", r#"{"text":"x"}"#).await.unwrap_err();
            assert_eq!((code(&error), error.is_final), ("mcp-rpc", true));
            assert_eq!(error.data.unwrap().get("rpc"), Some(&Value::Int(-32021)));
            stage.host.close().await;
        }
        // It speaks nothing older.
        let error = Stage::new(&project(server.port, "legacy")).call("echo", r#"{"text":"x"}"#).await.unwrap_err();
        assert!(["mcp-rpc", "http-400", "http-404", "http-405"].contains(&code(&error)), "{error:?}");
    });
}

#[test]
fn a_server_of_both_eras_over_http() {
    run(async {
        let server = HttpServer::modern("legacy");
        for era in ["auto", "legacy"] {
            let stage = Stage::new(&project(server.port, era));
            assert_eq!(stage.call("echo", r#"{"text":"hello"}"#).await.unwrap(), Value::text("hello"), "{era}");
            stage.host.close().await;
        }
    });
}

#[test]
fn a_library_is_written_from_the_list_of_a_server() {
    run(async {
        // language 9.16
        let stage = installed("filesystem", ", .", "  read: { mcp: s/read_text_file }\n");
        let text = server_library(stage.program.documents(), stage.folder.path(), &stage.host, "s", "2026-11-23").await.unwrap().text;
        let heading =
            "# Tools of the server `s` (secure-filesystem-server 0.2.0, protocol 2025-11-25) on 2026-11-23, from `trellis new tools`.\n";
        assert!(text.starts_with(heading) && text.contains("#     \"read_text_file\": { mcp: \"s/read_text_file\" }\n"), "{text}");
        let library = Arc::new(Document::parse(&Source::text("lib/s.yaml", text.as_str()), Dialect::default()));
        assert!(library.diagnostics.is_empty(), "{:?}", library.diagnostics);
        let effect = |name: &str| {
            let tool = text.split("\n- name: ").find(|tool| tool.starts_with(&format!("{name}\n"))).unwrap();
            tool.lines().find_map(|line| line.strip_prefix("  effect: ")).unwrap()
        };
        assert_eq!((effect("read_text_file"), effect("write_file")), ("none", "irreversible"));
        let error = server_library(stage.program.documents(), stage.folder.path(), &stage.host, "t", "2026-11-23").await.unwrap_err();
        assert_eq!(error.message, "there is no server `t` in the project file");
        stage.host.close().await;
    });
}

fn project(port: u16, era: &str) -> String {
    format!(
        "servers: {{ s: {{ url: \"http://127.0.0.1:{port}/mcp\", era: {era}, headers: {{ authorization: \"Bearer {{{{secret:token}}}}\" }} }} }}\n\
         bindings: {{ echo: {{ mcp: s/echo }}, ask: {{ mcp: s/ask }} }}\n"
    )
}
