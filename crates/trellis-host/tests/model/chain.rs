//! Roles as chains (language 9.22), scripted and process providers (language 9.23).

use trellis_core::Value;

use crate::{
    endpoint::{Endpoint, ends, says, status, stream},
    stage::{Stage, code, outcome},
};

/// A role with these providers, in their order.
fn project(providers: &[(&str, String)], more: &str) -> String {
    let defined: String = providers.iter().map(|(name, provider)| format!("    {name}: {{ {provider} }}\n")).collect();
    let chain: Vec<String> = providers.iter().map(|(name, _)| format!("{{ provider: {name}, model: m-{name} }}")).collect();
    format!(
        "models:\n  providers:\n{defined}  roles: {{ helper: [{}] }}\nbindings:\n  ask: {{ model: {{ role: helper{more} }}, parameters: {{ type: object }} }}\n",
        chain.join(", ")
    )
}

fn openai(endpoint: &Endpoint) -> String {
    format!("openai: {}", endpoint.base)
}

fn meta(stage_result: &trellis_core::ToolResult) -> String {
    stage_result.meta.as_ref().map(Value::to_json).unwrap_or_default()
}

const PROMPT: &str = r#"{"prompt":"hi"}"#;

#[tokio::test]
async fn the_next_provider_answers_where_one_is_down() {
    // language 9.22
    let down = Endpoint::saying(vec![status("503 Service Unavailable", "", "{}")]).await;
    let cut = Endpoint::streaming(&[&says("I am")]).await;
    let up = Endpoint::streaming(&[&says("Here."), &ends("stop")]).await;
    let providers = [("a", openai(&down)), ("b", openai(&cut)), ("c", openai(&up))];
    let stage = Stage::new(&project(&providers, ""));
    let (result, told) = stage.result(PROMPT, None).await;
    assert_eq!(told, ["I am", "!", "Here."], "the text of the second is taken back");
    assert!(meta(&result).contains(r#""tried":[{"code":"http-503","provider":"a"},{"code":"cut","provider":"b"}]"#), "{}", meta(&result));
    assert!(meta(&result).contains(r#""provider":"c""#) && meta(&result).contains(r#""model":"m-c""#));
    assert_eq!(outcome(result).unwrap().get("content").unwrap().as_str(), Some("Here."));
    assert!(up.requests()[0].contains(r#""model":"m-c""#));
}

#[tokio::test]
async fn what_another_provider_would_refuse_too_ends_the_chain() {
    // language 9.22
    let refusing = Endpoint::saying(vec![status("400 Bad Request", "", r#"{"error":{"message":"too long"}}"#)]).await;
    let up = Endpoint::streaming(&[&says("Here."), &ends("stop")]).await;
    let stage = Stage::new(&project(&[("a", openai(&refusing)), ("b", openai(&up))], ""));
    assert_eq!(code(stage.ask(PROMPT).await), ("http-400".into(), true));
    assert!(up.requests().is_empty());
}

#[tokio::test]
async fn a_provider_that_says_nothing_takes_its_share_only() {
    // language 9.22
    let mute = Endpoint::saying(vec![vec![crate::endpoint::Part::Pause(std::time::Duration::from_secs(60))]]).await;
    let up = Endpoint::streaming(&[&says("Here."), &ends("stop")]).await;
    let stage = Stage::new(&project(&[("a", openai(&mute)), ("b", openai(&up))], ""));
    let (result, _) = stage.result(PROMPT, Some(6_000)).await;
    assert!(outcome(result.clone()).is_ok(), "{result:?}");
    assert!(meta(&result).contains(r#"{"code":"timeout","provider":"a"}"#), "{}", meta(&result));
    let stage = Stage::new(&project(&[("a", format!("{}, timeout: 100ms", openai(&mute))), ("b", openai(&up))], ""));
    let (result, _) = stage.result(PROMPT, None).await;
    assert!(meta(&result).contains(r#"{"code":"timeout","provider":"a"}"#), "{}", meta(&result));
    assert!(outcome(result).is_ok());
}

#[tokio::test]
async fn a_script_stands_in_where_nothing_else_is_set_up_and_never_after_a_failure() {
    // language 9.22, 9.23
    const SCRIPT: &str = "- reply: { content: \"Scripted, {{ role }}.\" }\n";
    let unset = "openai: { env: TRELLIS_TEST_NO_SUCH_VARIABLE }".to_owned();
    let script = "scripted: ./_model.yaml".to_owned();
    let stage = Stage::with(&project(&[("cloud", unset.clone()), ("house", script.clone())], ""), &[("_model.yaml", SCRIPT)]);
    let (result, _) = stage.result(PROMPT, None).await;
    assert_eq!(
        meta(&result),
        r#"{"model":"scripted","provider":"house","tried":[{"code":"unconfigured","provider":"cloud"}],"usage":{"input":0,"output":0}}"#
    );
    assert_eq!(outcome(result).unwrap().get("content").unwrap().as_str(), Some("Scripted, helper."));
    let notices = stage.bindings.notices(&stage.program);
    let expected =
        "the role `helper` is answered by `house` (scripted replies), since `cloud` is not set up; set `TRELLIS_TEST_NO_SUCH_VARIABLE`";
    assert_eq!(notices.iter().collect::<Vec<_>>(), [expected]);

    let down = Endpoint::saying(vec![status("500 Internal Server Error", "", "{}")]).await;
    let stage = Stage::with(&project(&[("cloud", openai(&down)), ("house", script)], ""), &[("_model.yaml", SCRIPT)]);
    assert_eq!(code(stage.ask(PROMPT).await), ("http-500".into(), false));
    assert!(stage.bindings.notices(&stage.program).is_empty());

    let unknown = "openai: http://127.0.0.1:1/v1, key: \"{{secret:nobody}}\"".to_owned();
    let stage = Stage::new(&project(&[("cloud", unset), ("other", unknown)], ""));
    let error = stage.ask(PROMPT).await.unwrap_err();
    assert_eq!(error.code, Some("unconfigured".into()));
    assert!(error.is_final && error.message.contains("`TRELLIS_TEST_NO_SUCH_VARIABLE`") && error.message.contains("`nobody`"), "{error:?}");
}

#[tokio::test]
async fn an_address_without_its_secret_starts_nothing() {
    // language 9.22
    const SCRIPT: &str = "- reply: { content: \"Scripted.\" }\n";
    let script = ("house", "scripted: ./_model.yaml".to_owned());
    // `PATH` is a variable that is set.
    let half = ("cloud", "openai: { env: PATH }, key: \"{{secret:nobody}}\"".to_owned());
    let whole = ("cloud", "openai: { env: PATH }".to_owned());
    let unset = ("cloud", "openai: { env: TRELLIS_TEST_NO_SUCH_VARIABLE }, key: \"{{secret:nobody}}\"".to_owned());
    for (provider, refusals) in [(&half, 1), (&whole, 0), (&unset, 0)] {
        let stage = Stage::with(&project(&[provider.clone(), script.clone()], ""), &[("_model.yaml", SCRIPT)]);
        let refused = stage.bindings.refusals(&stage.program);
        assert_eq!(refused.len(), refusals, "{provider:?}: {refused:?}");
        for found in refused {
            assert!(
                found.is_error() && found.message.contains("`cloud` has an address, by `PATH`") && found.message.contains("`nobody`"),
                "{found:?}"
            );
            assert!(stage.bindings.obstacles(&stage.program).iter().any(|found| found.is_error()), "`check --host` says so too");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_is_a_provider_too() {
    // language 9.23
    let answers = |body: &str| project(&[("local", format!("process: [sh, -c, \"cat > asked.json; {body}\"]"))], "");
    let stage = Stage::new(&answers(
        "echo '{\\\"content\\\": \\\"Hi.\\\", \\\"tool_calls\\\": [{\\\"name\\\": \\\"stock.find\\\", \\\"args\\\": {}}]}'",
    ));
    let result = stage.ask(PROMPT).await.unwrap();
    let expected = concat!(
        r#"{"content":"Hi.","finish":"tool_calls","message":{"role":"assistant","content":"Hi.","tool_calls":[{"id":"call_1","name":"stock.find","args":{}}]},"#,
        r#""tool_calls":[{"id":"call_1","name":"stock.find","args":{}}],"usage":{"input":0,"output":0}}"#
    );
    assert_eq!(result, Value::from_json(expected).unwrap());
    let asked = std::fs::read_to_string(stage.folder.path().join("asked.json")).unwrap();
    let asked = Value::from_json(&asked).unwrap();
    assert_eq!(asked.get("role").unwrap().as_str(), Some("helper"));
    assert_eq!(asked.at("tools.0.name").unwrap().as_str(), Some("stock.find"));
    assert_eq!(asked.at("messages.0.content").unwrap().as_str(), Some("hi"));
    assert!(!code(Stage::new(&answers("exit 3")).ask(PROMPT).await).1);
}

#[tokio::test]
async fn arguments_are_made_by_templates_over_those_of_the_call() {
    // language 9.2
    let up = Endpoint::saying(vec![stream(&[&says("ok"), &ends("stop")])]).await;
    let project = format!(
        concat!(
            "models:\n  providers: {{ a: {{ openai: {} }} }}\n  roles: {{ helper: [{{ provider: a, model: m }}] }}\n",
            "bindings:\n  ask:\n    model: {{ role: helper }}\n    args: {{ prompt: \"About {{{{ topic | default(0) }}}}, {{{{ call.attempt }}}}\" }}\n",
            "    parameters: {{ type: object, properties: {{ topic: {{ type: string }} }} }}\n",
        ),
        up.base
    );
    let documents = crate::stage::documents(&project);
    assert!(trellis_host::binding::check_bindings(&documents).is_empty());
    let stage = Stage::new(&project);
    stage.ask(r#"{"topic":"lamps {{ x }}"}"#).await.unwrap();
    assert!(up.requests()[0].contains(r#""content":"About lamps {{ x }}, 1""#), "{}", up.requests()[0]);
}
