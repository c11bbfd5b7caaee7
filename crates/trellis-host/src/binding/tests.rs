//! The common properties of all kinds of bindings.

use std::{path::Path, time::Duration};

use trellis_core::{Dialect, Document, Source, compile, state::PendingCall};

use super::{Bindings, Host};

const PROJECT: &str = "\
servers: { s: { process: [./s] } }
models: { providers: { p: { scripted: ./_p.yaml } }, roles: { r: [{ provider: p }] } }
bindings:
  a_process: { process: [sh, ./pay.sh, --fast] }
  a_request: { http: { base: { env: CRM_URL }, post: \"/people/{{ id }}\" }, parameters: { type: object, required: [id], properties: { id: { type: string } } } }
  a_tool: { mcp: s/read }
  a_named_tool: { mcp: { server: s, tool: write } }
  a_model: { model: { role: r } }
  a_builtin: { builtin: math.evaluate }
  a_skill: { builtin: skills.execute, folder: _skills, workspace: _work }
  a_file: { compute: ./_f.jinja }
  a_function: { function: here }
";

/// The bindings of each kind that this build has.
fn bindings() -> (std::sync::Arc<trellis_core::Program>, Bindings) {
    let files = [("trellis.yaml", PROJECT), ("start.md", "Hello.\n")];
    let documents = files.map(|(path, text)| std::sync::Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
    let program = compile(&documents).program.expect("it compiles");
    let (bindings, found) = Bindings::new(&program, Path::new("/nowhere"), &Host::new());
    assert!(found.is_empty(), "{found:?}");
    (program, bindings.function("here", |_, _| Ok(trellis_core::Value::Null)))
}

/// The kinds of bindings that only some builds have.
fn is_built(tool: &str) -> bool {
    match tool {
        "a_process" => cfg!(feature = "processes"),
        "a_request" => cfg!(feature = "http"),
        "a_tool" | "a_named_tool" => cfg!(feature = "mcp"),
        "a_model" => cfg!(feature = "model"),
        "a_skill" => cfg!(all(feature = "processes", feature = "sqlite")),
        _ => true,
    }
}

// language 9.5
#[test]
fn each_kind_of_binding_has_its_time() {
    let (_, bindings) = bindings();
    for (tool, seconds) in [
        ("a_process", None),
        ("a_request", Some(30)),
        ("a_tool", Some(30)),
        ("a_model", Some(60)),
        ("a_builtin", Some(30)),
        ("a_skill", None),
        ("a_file", Some(30)),
        ("a_function", None),
    ] {
        if is_built(tool) {
            let found = bindings.find("", tool).unwrap_or_else(|| panic!("{tool} is bound"));
            assert_eq!(found.timeout(), seconds.map(Duration::from_secs), "{tool}");
        }
    }
}

// The carrier of a held call is named as its author wrote it.
#[test]
fn each_kind_of_binding_is_named() {
    let (program, bindings) = bindings();
    for (tool, by) in [
        ("a_process", "`sh ./pay.sh --fast`"),
        ("a_request", "POST $CRM_URL/people/{{ id }}"),
        ("a_tool", "the tool `read` of the server `s`"),
        ("a_named_tool", "the tool `write` of the server `s`"),
        ("a_model", "the model `r`"),
        ("a_builtin", "the builtin `math.evaluate`"),
        ("a_file", "the file `./_f.jinja`"),
        ("a_function", "the function `here`"),
    ] {
        let call = format!(r#"{{"id":"c","name":"{tool}","role":"do","node":"start","args":{{}},"idempotency_key":"c","attempt":1}}"#);
        let call: PendingCall = serde_json::from_str(&call).expect("a call");
        assert_eq!(bindings.carrier(&program, &call).as_deref(), is_built(tool).then_some(by), "{tool}");
    }
}
