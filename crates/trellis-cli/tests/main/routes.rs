//! Every route of the server, asked for what its document says by a program of others (doors 10.2); `.ci/setup` installs it.

use std::process::Command;

use trellis_tests::peers::peer;

use crate::{sandbox::Sandbox, scenarios, serve::Serving};

/// Checks that are left out: the document cannot say everything about a request, such as which sessions exist, and wrong tokens close the door.
const UNTRIED: &str = "positive_data_acceptance,missing_required_header,object_level_authorization,ignored_auth";

/// No answer is a mistake of the server, none has a status, a kind or a body that the document does not have, and no request is taken that the document
/// forbids. Streams are left out: they do not end.
#[test]
fn no_request_meets_what_is_not_documented() {
    let sandbox: Sandbox = scenarios::graph();
    let serving = Serving::start(&sandbox, &[".", "--no-watch"]);
    serving.post("/api/sessions", r#"{"id":"ana"}"#, "");
    let token = format!("Authorization: Bearer {}", serving.token());
    let ran = Command::new(peer("schemathesis-4.32.5/bin/schemathesis"))
        .args(["run", &format!("{}/api/openapi.json", serving.address()), "--header", &token, "--no-color"])
        .args(["--exclude-path-regex", "events$", "--phases", "examples,coverage,fuzzing", "--max-examples", "4"])
        .args(["--checks", "all", "--exclude-checks", UNTRIED, "--seed", "7", "--request-timeout", "30", "--generation-database", "none"])
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
    let asked = told.lines().find_map(|line| line.trim().strip_prefix("Tested: ")?.parse::<usize>().ok());
    assert!(asked >= Some(40) && !told.contains("429"), "{told}");
}
