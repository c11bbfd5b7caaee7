//! Findings before a call is made: `check`, `check --host`, `check --host --reach` (language 9.1, 9.8).

use trellis_core::diagnostic::Severity;

use crate::{
    endpoint::{Endpoint, status},
    stage::{Stage, findings},
};

fn project(providers: &str, roles: &str, model: &str) -> String {
    format!("models:\n  providers: {providers}\n  roles: {roles}\nbindings:\n  ask: {{ model: {model}, parameters: {{ type: object }} }}\n")
}

const CLOUD: &str = "{ cloud: { openai: https://api.example.org/v1 } }";
const HELPER: &str = "{ helper: [{ provider: cloud, model: m }] }";

#[test]
fn every_mistake_is_one_finding_with_its_remedy() {
    // language 9.1
    for (providers, roles, model, message, help) in [
        (CLOUD, HELPER, "{ role: helpr }", "there is no role `helpr`", "helper"),
        (CLOUD, HELPER, "{ }", "the binding `ask` names no role", "roles stand in"),
        (CLOUD, HELPER, "{ role: helper, sytem: ./a.md }", "`model` has no key `sytem`", "system"),
        (CLOUD, HELPER, "{ role: helper, format: yaml }", "`model.format` takes `text` or `json`, not `yaml`", "role: planner"),
        (CLOUD, HELPER, "{ role: helper, temperature: 9 }", "from 0 to 2", ""),
        (CLOUD, HELPER, "{ role: helper, max_tokens: 0 }", "from 1 on", ""),
        (CLOUD, "{ helper: [{ provider: cluod, model: m }] }", "{ role: helper }", "there is no provider `cluod`", "cloud"),
        (CLOUD, "{ helper: [{ provider: cloud }] }", "{ role: helper }", "names no model", "OPENAI_MODEL"),
        (CLOUD, "{ helper: [{ model: m }] }", "{ role: helper }", "names no provider", "provider: NAME"),
        (CLOUD, "{ helper: [] }", "{ role: helper }", "takes a list of providers", "write `helper:"),
        (CLOUD, "{ helper: cloud }", "{ role: helper }", "takes a list of providers", "write `helper:"),
        ("{ cloud: { } }", HELPER, "{ role: helper }", "says no way to reach a model", "openai: https"),
        ("{ cloud: { openai: https://a.example/v1, scripted: ./_m.yaml } }", HELPER, "{ role: helper }", "in several ways", "one of"),
        ("{ cloud: { openai: api.example.org } }", HELPER, "{ role: helper }", "is no address of an endpoint", "https://"),
        (
            "{ cloud: { openai: https://a.example/v1, kye: x } }",
            HELPER,
            "{ role: helper }",
            "`models.providers.cloud` has no key `kye`",
            "key",
        ),
        ("{ cloud: { openai: https://a.example/v1, extra: { stream: true } } }", HELPER, "{ role: helper }", "may not set `stream`", ""),
        ("{ cloud: { scripted: ./_m.yaml, key: x } }", HELPER, "{ role: helper }", "`key` means nothing here", "openai"),
        ("{ cloud: { openai: https://a.example/v1, timeout: soon } }", HELPER, "{ role: helper }", "`soon` is no duration", ""),
    ] {
        let project = project(providers, roles, model);
        let found = findings(&project);
        let shown: Vec<_> = found.iter().map(|found| format!("{} ({:?})", found.message, found.help)).collect();
        assert_eq!(found.len(), 1, "{project}{shown:#?}");
        assert!(found[0].message.contains(message), "{project}{shown:#?}");
        assert!(found[0].help.as_deref().unwrap_or_default().contains(help), "{project}{shown:#?}");
        let span = found[0].place.as_ref().unwrap().span;
        assert!(span.start > 0 && (span.end as usize) < project.len(), "{project}{span:?}");
    }
    let found = findings("models: { provider: {} }\n");
    assert!(found[0].message.contains("`models` has no key `provider`"), "{found:?}");
}

/// Returns the findings of `check --host`, with their severities.
fn obstacles(stage: &Stage) -> Vec<(Severity, String)> {
    stage.bindings.obstacles(&stage.program).into_iter().map(|found| (found.severity, found.message)).collect()
}

#[test]
fn what_is_not_set_up_is_worth_knowing_while_a_later_provider_is() {
    // language 9.8
    let unset = "{ cloud: { openai: { env: TRELLIS_TEST_NO_SUCH_VARIABLE } }, house: { scripted: ./_model.yaml } }";
    let roles = "{ helper: [{ provider: cloud, model: m }, { provider: house }] }";
    let files = [("_model.yaml", "- reply: { content: hi }\n")];
    let found = obstacles(&Stage::with(&project(unset, roles, "{ role: helper }"), &files));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0 == Severity::Info && found[0].1.contains("the provider `cloud` is not set up"), "{found:?}");
    let found = obstacles(&Stage::with(&project(unset, HELPER, "{ role: helper }"), &files));
    assert!(found.len() == 1 && found[0].0 == Severity::Error, "{found:?}");
}

#[test]
fn a_provider_of_several_bindings_is_told_once() {
    // language 9.8
    let models = |roles: &str| {
        format!(
            "models:\n  providers: {{ cloud: {{ openai: {{ env: TRELLIS_TEST_NO_SUCH_VARIABLE }} }}, house: {{ scripted: ./_model.yaml }} }}\n  \
             roles: {{ one: [{{ provider: cloud, model: m }}, {{ provider: house }}], other: {roles} }}\nbindings:\n  ask: {{ model: {{ role: one }} }}\n  \
             b: {{ model: {{ role: other }} }}\n  c: {{ model: {{ role: one }} }}\n"
        )
    };
    let files = [("_model.yaml", "- reply: { content: hi }\n")];
    let found = obstacles(&Stage::with(&models("[{ provider: cloud, model: n }, { provider: house }]"), &files));
    assert_eq!(found, [(Severity::Info, "the provider `cloud` is not set up".to_owned())]);
    // One of its roles has no other.
    let found = obstacles(&Stage::with(&models("[{ provider: cloud, model: n }]"), &files));
    assert_eq!(
        found,
        [(Severity::Error, "`ask` and 2 other bindings cannot be carried out: the provider `cloud` is not set up".to_owned())]
    );
}

#[test]
fn what_goes_unencrypted_to_another_machine_is_a_warning() {
    // language 9.11
    let found = |openai: &str| {
        let found = findings(&project(&format!("{{ cloud: {{ openai: {openai} }} }}"), HELPER, "{ role: helper }"));
        found.into_iter().map(|found| (found.severity, found.message)).collect::<Vec<_>>()
    };
    for openai in ["http://example.org/v1", "{ env: A, default: \"http://example.org/v1\" }"] {
        assert_eq!(
            found(openai),
            [(Severity::Warning, "calls of the provider `cloud` go unencrypted to `example.org`".to_owned())],
            "{openai}"
        );
    }
    for openai in ["http://localhost:8080/v1", "{ env: A }", "https://example.org/v1"] {
        assert_eq!(found(openai), [], "{openai}");
    }
}

#[test]
fn files_that_are_missing_or_nodes_as_well_are_named() {
    // language 9.8
    let house = "{ house: { scripted: ./lib/tools.yaml } }";
    let roles = "{ helper: [{ provider: house }] }";
    let files = [("lib/tools.yaml", "- reply: { content: hi }\n"), ("end.md", "Be brief.\n")];
    let found = obstacles(&Stage::with(&project(house, roles, "{ role: helper, system: ./end.md }"), &files));
    let named = |part: &str| found.iter().any(|(severity, message)| *severity == Severity::Error && message.contains(part));
    assert!(
        found.len() == 2 && named("tools.yaml` is a file of the graph as well") && named("end.md` is a file of the graph as well"),
        "{found:?}"
    );
    let gone = "{ house: { scripted: ./_gone.yaml } }";
    let found = obstacles(&Stage::with(&project(gone, roles, "{ role: helper, system: ./_gone.md }"), &[]));
    let named = |part: &str| found.iter().any(|(_, message)| message.contains(part));
    assert!(found.len() == 2 && named("_gone.yaml` cannot be read") && named("_gone.md` does not exist"), "{found:?}");
}

#[tokio::test]
async fn reaching_asks_for_the_models_with_the_key() {
    // language 9.8
    let reach = async |status_line: &str| {
        let endpoint = Endpoint::saying(vec![status(status_line, "", r#"{"error":{"message":"bad key sk-hunter2hunter2"}}"#)]).await;
        let cloud = format!("{{ cloud: {{ openai: {}, key: \"{{{{secret:key}}}}\" }} }}", endpoint.base);
        let stage = Stage::new(&project(&cloud, HELPER, "{ role: helper }"));
        let found = stage.bindings.reach(&stage.program).await;
        assert!(endpoint.requests()[0].starts_with("GET /v1/models HTTP/1.1"), "{:?}", endpoint.requests());
        found.into_iter().map(|found| found.message).collect::<Vec<_>>()
    };
    assert!(reach("200 OK").await.is_empty() && reach("404 Not Found").await.is_empty());
    let found = reach("401 Unauthorized").await;
    assert!(found.len() == 1 && found[0].contains("401") && found[0].contains("bad key ***"), "{found:?}");
    let stage = Stage::new(&project("{ cloud: { openai: http://127.0.0.1:1/v1 } }", HELPER, "{ role: helper }"));
    assert!(stage.bindings.reach(&stage.program).await[0].message.contains("no connection"));
}
