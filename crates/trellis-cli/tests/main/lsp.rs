//! `trellis lsp`: a foreign client decides. pytest-lsp talks to the program as VS Code, Neovim and Emacs; `.ci/install` installs it.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use trellis_tests::peers::peer;

use crate::sandbox::{SOUND, Sandbox};

#[test]
fn editors_see_findings_complete_follow_and_rename() {
    let python = peer("pytest-lsp-1.0.1/bin/python");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"])
        .arg(folder.path())
        .arg(here.join("tests/editors/test_editors.py"))
        .current_dir(folder.path())
        .env("TRELLIS", env!("CARGO_BIN_EXE_trellis"))
        .env("TRELLIS_GRAPH", here.join("../../graphs/tour"))
        .env("TRELLIS_TARGET", "name")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ran = command.output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("6 passed"), "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
}

/// Runs the program with these messages on its standard input.
fn talk(messages: &[&str]) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trellis"))
        .args(["lsp", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in messages {
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    }
    drop(input);
    let ran = child.wait_with_output().unwrap();
    (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;

#[test]
fn a_session_ends_as_its_client_says() {
    let shutdown = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
    let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
    let (code, out) = talk(&[INITIALIZE, INITIALIZED, shutdown, exit]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("\"positionEncoding\":\"utf-16\"") && out.contains("\"serverInfo\""), "{out}");
    // A client that dies leaves.
    assert_eq!(talk(&[INITIALIZE, INITIALIZED]).0, Some(2));
    // Before `initialize` nothing is answered.
    let (_, out) = talk(&[r#"{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":{}}"#, exit]);
    assert!(out.contains("-32002"), "{out}");
}

#[test]
fn a_message_that_is_too_large_is_refused_and_the_session_goes_on() {
    let large = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"textDocument/hover","params":{{"text":"{}"}}}}"#, "x".repeat(17 << 20));
    let shutdown = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
    let (code, out) = talk(&[INITIALIZE, INITIALIZED, &large, shutdown, r#"{"jsonrpc":"2.0","method":"exit"}"#]);
    assert!(code == Some(0) && out.contains("\"id\":9,\"error\"") && out.contains("the limit is 16777216"), "{out}");
}

#[test]
fn findings_are_those_of_check() {
    let sandbox = Sandbox::new(SOUND);
    let root = std::fs::canonicalize(sandbox.path()).unwrap();
    std::fs::write(root.join("wrong.md"), "---\nto: nowhere\n---\n").unwrap();
    std::fs::write(root.join("trellis.yaml"), "bindings:\n  v: { compute: v.jinja, returns: { type: boolean } }\n").unwrap();
    std::fs::write(root.join("v.jinja"), "{% set result = \"yes\" %}\n").unwrap();
    let folder = format!("file://{}", root.display());
    let initialize = INITIALIZE.replace("\"rootUri\":null", &format!("\"rootUri\":\"{folder}\""));
    let mut child = Command::new(env!("CARGO_BIN_EXE_trellis")).args(["lsp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in [&initialize, INITIALIZED] {
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    }
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !(text.contains("unknown-target") && text.contains("/v.jinja\"") && text.contains("type-mismatch")) {
        let mut byte = [0; 1024];
        let count = std::io::Read::read(&mut reader, &mut byte).unwrap();
        assert!(count > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&byte[..count]));
    }
    let found = sandbox.trellis(&["check"]).out;
    assert!(found.contains("unknown-target") && found.contains("  v.jinja:1:17\n"), "{found}");
    drop(input);
    child.wait().unwrap();
}
