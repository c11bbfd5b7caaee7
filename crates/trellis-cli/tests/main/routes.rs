//! Every route of the server, asked for what its document says by a program of others; `.ci/install` installs it.

use std::process::Command;

use trellis_tests::peers::peer;

use crate::{sandbox::Sandbox, scenarios, serve::Serving};

/// Checks that are left out: the document cannot say everything about a request, such as which sessions exist, and wrong tokens close the door.
const UNTRIED: &str = "positive_data_acceptance,missing_required_header,object_level_authorization,ignored_auth";

/// Examples of a route beside those of its coverage; `EXAMPLES=500` tries more.
const EXAMPLES: &str = "4";

/// No answer is a mistake of the server, none has a status, a kind or a body that the document does not have, and no request is taken that the document
/// forbids. Of a stream the first events are read, since it does not end.
#[test]
fn no_request_meets_what_is_not_documented() {
    let sandbox: Sandbox = scenarios::graph();
    let serving = Serving::start(&sandbox, &[".", "--no-watch"]);
    serving.post("/api/sessions", r#"{"id":"ana"}"#, "");
    let examples = std::env::var("EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    // Links between requests are followed where there is time for it.
    let phases =
        if examples == EXAMPLES { "examples,coverage,fuzzing".to_owned() } else { "examples,coverage,fuzzing,stateful".to_owned() };
    let token = format!("Authorization: Bearer {}", serving.token());
    // The route of a document is not asked for where the document comes from there.
    let document = trellis_server::openapi();
    sandbox.write("_openapi.json", document.to_string().as_bytes());
    let ran = Command::new(peer("schemathesis-4.32.5/bin/schemathesis"))
        .args(["run", "_openapi.json", "--url", serving.address(), "--header", &token, "--no-color"])
        .args(["--phases", &phases, "--max-examples", &examples])
        .args(["--checks", "all", "--exclude-checks", UNTRIED, "--seed", "7", "--request-timeout", "30", "--generation-database", "none"])
        .env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/routes"))
        .env("SCHEMATHESIS_HOOKS", "streams")
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
    let asked = told.lines().find_map(|line| line.trim().strip_prefix("Tested: ")?.parse::<usize>().ok());
    let routes = document["paths"].as_object().unwrap().values().map(|operations| operations.as_object().unwrap().len()).sum();
    assert!(asked == Some(routes) && !told.contains("429"), "{routes} routes: {told}");
}
