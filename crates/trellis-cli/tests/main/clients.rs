//! Clients of others: generators of TypeScript and Python make them from `openapi.json`, and they walk the tour. `.ci/install` installs the
//! generators.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use trellis_tests::peers::peer;

use crate::{sandbox::Sandbox, serve::Serving};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> PathBuf {
    repository().join("docs/reference/openapi.json")
}

/// A server of a copy of the tour, since sessions are kept beside it.
fn tour() -> (Sandbox, Serving) {
    let sandbox = Sandbox::new(&[]);
    let copied = Command::new("cp").arg("-r").arg(repository().join("graphs/tour")).arg(sandbox.path()).status();
    assert!(copied.unwrap().success());
    let serving = Serving::start(&sandbox, &["tour", "--port", "0", "--no-watch"]);
    (sandbox, serving)
}

/// Runs a command in a folder, and returns what it prints.
fn run(command: &mut Command, folder: &Path) -> String {
    let ran = command.current_dir(folder).stderr(Stdio::inherit()).output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{command:?}: {out}");
    out
}

/// The report of each client about its walk: every chapter, the approval, and the refusal after the end.
fn walked(told: &str) {
    let told: Value = serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {told}"));
    let output = json!({ "name": "Ada", "seen": ["words", "answers", "tools", "undo"] });
    let expected = json!({ "output": output, "approvals": 1, "late": "ended", "listed": ["typed"], "first": 0 });
    assert_eq!(told, expected);
}

/// The types of the document are those of the program: the client compiles under `strict`.
#[test]
fn a_client_of_typescript_walks_the_tour() {
    let (sandbox, serving) = tour();
    let folder = sandbox.path();
    let node = || Command::new(peer("mcp/node"));
    symlink(peer("clients/node_modules"), folder.join("node_modules")).unwrap();
    fs::write(folder.join("package.json"), r#"{"type":"module"}"#).unwrap();
    fs::copy(repository().join("crates/trellis-cli/tests/clients/walk.ts"), folder.join("walk.ts")).unwrap();
    run(node().arg(peer("clients/node_modules/.bin/openapi-typescript")).arg(document()).args(["-o", "api.d.ts"]), folder);
    let strict = ["--noEmit", "--strict", "--target", "es2023", "--module", "esnext", "--moduleResolution", "bundler"];
    run(node().arg(peer("clients/node_modules/.bin/tsc")).args(strict).args(["--skipLibCheck", "--types", "node", "walk.ts"]), folder);
    walked(&run(node().args(["--experimental-strip-types", "--no-warnings", "walk.ts", serving.address(), serving.token()]), folder));
}

#[test]
fn a_client_of_python_walks_the_tour() {
    let (sandbox, serving) = tour();
    let folder = sandbox.path();
    let made = ["generate", "--meta", "none", "--output-path", "tour_client", "--path"];
    run(Command::new(peer("openapi-python-client-0.29.1/bin/openapi-python-client")).args(made).arg(document()), folder);
    let walk = repository().join("crates/trellis-cli/tests/clients/walk.py");
    let python = peer("openapi-python-client-0.29.1/bin/python");
    walked(&run(Command::new(python).env("PYTHONPATH", folder).arg(walk).args([serving.address(), serving.token()]), folder));
}
