//! Questions over MCP: what a person reads, when a question ends, and which clients are asked.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_host::Bindings;
use trellis_server::Settings;

use super::{answered, asked, result};
use crate::{
    stand::{Stand, Terms},
    subscriptions::Older,
};

const DICE: &[(&str, &str)] = &[
    (
        "forms/start.md",
        "---\ninput_type: int\ninput_schema: { minimum: 1, maximum: 6 }\non_invalid: { text: \"From 1 to 6, not {{ input }}.\", max: 3, to: bye }\nsave_to: n\nto: bye\n---\nHow many?\n",
    ),
    ("forms/bye.md", "Bye.\n"),
];

const PAIR: &[(&str, &str)] = &[
    (
        "forms/start.md",
        "---\ndo:\n  parallel:\n    a: { graph: ask, args: { topic: lamps } }\n    b: { graph: ask, args: { topic: tables } }\non_error: fail\nsave_to: both\nto: end\n---\nTwo.\n",
    ),
    ("forms/end.md", "---\noutput: \"{{ both.a }}, {{ both.b }}\"\n---\n"),
    (
        "forms/ask/start.md",
        "---\nrequired_context: [topic]\ncontext_schema: { topic: string }\ninput_type: text\nsave_to: answer\nto: end\n---\nWhat about {{ topic }}?\n",
    ),
    ("forms/ask/end.md", "---\noutput: \"{{ answer }}\"\n---\n"),
];

/// Asks for a secret, for one more after it, and then sleeps.
const SECRETS: &[(&str, &str)] = &[
    ("forms/start.md", "---\ninput_type: secret\nsave_to: pin\nto: word\n---\nYour PIN?\n"),
    ("forms/word.md", "---\ninput_type: text\nsave_to: word\nto: key\n---\nA word?\n"),
    ("forms/key.md", "---\ninput_type: secret\nsave_to: key\nto: nap\n---\nYour key?\n"),
    ("forms/nap.md", "---\nwait: 1h\nto: end\n---\nNapping.\n"),
    ("forms/end.md", "Done.\n"),
];

fn forms() -> Value {
    json!({ "elicitation": {} })
}

fn pages() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} } })
}

fn accept(answer: Value) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

/// Pages, and a short wait.
fn with_pages(mut settings: Settings) -> Settings {
    settings.mcp.pages = Some("http://studio.example".into());
    settings.mcp.wait = Duration::from_millis(200);
    settings
}

/// The structured content of the last message of a call, which must be its result.
fn told(message: &Value) -> &Value {
    assert_eq!(message["id"], 2, "{message}");
    &message["result"]["structuredContent"]
}

async fn begin(stand: &Stand, capabilities: Value) -> Value {
    result(stand, json!({ "name": "forms", "arguments": {} }), capabilities).await
}

/// Answers what the session of a round asks, as another door does.
async fn elsewhere(stand: &Stand, with: &Value, input: Value) {
    let state: Value = serde_json::from_str(with["state"].as_str().unwrap()).unwrap();
    typed(stand, state["session"].as_str().unwrap(), input).await;
}

async fn typed(stand: &Stand, session: &str, input: Value) {
    let path = format!("/api/sessions/{session}/turns");
    let answer = stand.with("POST", &path, &[("prefer", "wait=0")], Some(&json!({ "input": input }))).await;
    assert!([200, 202].contains(&answer.status), "{answer:?}");
}

/// The only session.
async fn only(stand: &Stand) -> String {
    stand.get("/api/sessions").await.json()["items"][0]["session"].as_str().unwrap().to_owned()
}

// `docs/mcp.md#questions`: an answer that its graph refuses and counts is asked for again, with the author's words and the question
#[tokio::test]
async fn an_answer_that_is_refused_and_counted_is_asked_for_with_its_reason() {
    let stand = Stand::new(DICE).await;
    let both = "From 1 to 6, not 9.\n\nHow many?";
    let (first, with) = asked(&begin(&stand, forms()).await);
    assert_eq!(first["message"], "How many?");
    let (again, with) = asked(&result(&stand, answered(&with, json!({ "answer": 9 })), forms()).await);
    assert_eq!(again["message"], both);
    let ended = result(&stand, answered(&with, json!({ "answer": 2 })), forms()).await;
    assert_eq!(ended["structuredContent"]["stop"]["type"], "END", "{ended}");

    let client = Older::with(&stand, forms()).await;
    let mut messages = client.call("forms", json!({})).await;
    let first = messages.next().await;
    assert_eq!(first["params"]["message"], "How many?", "{first}");
    client.reply(&first, accept(json!(9))).await;
    let again = messages.next().await;
    assert_eq!(again["params"]["message"], both, "{again}");
    client.reply(&again, accept(json!(2))).await;
    assert_eq!(told(&messages.next().await)["stop"]["type"], "END");

    let words = begin(&stand, json!({})).await;
    let session = words["structuredContent"]["session"].clone();
    let again = result(&stand, json!({ "name": "navigate", "arguments": { "session": session, "input": 9 } }), json!({})).await;
    assert!(again["content"][0]["text"].as_str().unwrap().starts_with(both), "{again}");
}

// `docs/mcp.md#questions`: children side by side are asked each by its own text, and no answer is taken for the other one's question
#[tokio::test(flavor = "multi_thread")]
async fn children_side_by_side_are_asked_one_after_the_other() {
    let stand = Stand::new(PAIR).await;
    // Whoever else uses the session at that moment changes nothing.
    for _ in 0..20 {
        let (lamps, _) = asked(&begin(&stand, forms()).await);
        assert_eq!(lamps["message"], "Two.\n\nWhat about lamps?");
    }
    let (lamps, first) = asked(&begin(&stand, forms()).await);
    assert_eq!(lamps["message"], "Two.\n\nWhat about lamps?");
    let (tables, second) = asked(&result(&stand, answered(&first, json!({ "answer": "bright" })), forms()).await);
    assert_eq!(tables["message"], "What about tables?");
    let used = result(&stand, answered(&first, json!({ "answer": "brighter" })), forms()).await;
    assert_eq!(used["structuredContent"]["stop"]["type"], "REQUEST_INPUT", "nothing was changed: {used}");
    let ended = result(&stand, answered(&second, json!({ "answer": "round" })), forms()).await;
    assert_eq!(ended["structuredContent"]["output"], "bright, round", "{ended}");

    let client = Older::with(&stand, forms()).await;
    let mut messages = client.call("forms", json!({})).await;
    for (message, answer) in [("Two.\n\nWhat about lamps?", "dim"), ("What about tables?", "square")] {
        let question = messages.next().await;
        assert_eq!(question["params"]["message"], message, "{question}");
        client.reply(&question, accept(json!(answer))).await;
    }
    assert_eq!(told(&messages.next().await)["output"], "dim, square");
}

const QUICK: &[(&str, &str)] = &[
    ("forms/start.md", "---\ninput_type: text\nsave_to: word\ntimeout: 1s\non_timeout: nap\nto: end\n---\nQuick!\n"),
    ("forms/nap.md", "---\nwait: 1h\nto: end\n---\nNapping.\n"),
    ("forms/end.md", "Done.\n"),
];

const BAKES: &[(&str, &str)] = &[
    ("forms/start.md", "---\ninput_type: text\nsave_to: word\nto: bake\n---\nReady?\n"),
    ("forms/bake.md", "---\ntools: [{name: bake}]\ndo: bake\nsave_to: baked\non_error: end\nto: end\n---\nBaking.\n"),
    ("forms/end.md", "Done.\n"),
];

fn endless(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        std::future::pending::<()>().await;
        Ok(trellis_core::Value::Null)
    })
}

// `docs/mcp.md`: a form ends with its question, also where the session asks nothing then, and the call returns
#[tokio::test(flavor = "multi_thread")]
async fn a_form_ends_when_its_question_is_over() {
    let none: fn(Bindings) -> Bindings = |bindings| bindings;
    for (graph, functions, stops) in [(QUICK, none, "SLEEPING"), (BAKES, endless, "RUNNING")] {
        let stand = Stand::on(graph, Terms { settings: with_pages, functions, ..Terms::default() }).await;
        let client = Older::with(&stand, forms()).await;
        // The library sends notifications about its own requests here.
        let mut beside = client.listen().await;
        let mut messages = client.call("forms", json!({})).await;
        let question = messages.next().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        if stops == "RUNNING" {
            typed(&stand, &only(&stand).await, json!("yes")).await;
        }
        let over = beside.next().await;
        assert_eq!((&over["method"], &over["params"]["requestId"]), (&json!("notifications/cancelled"), &question["id"]), "{over}");
        assert_eq!(told(&messages.next().await)["stop"]["type"], stops);
    }
}

// `docs/mcp.md#questions`: a session that is removed asks nobody
#[tokio::test(flavor = "multi_thread")]
async fn a_form_ends_with_its_session() {
    let stand = Stand::new(BAKES).await;
    let client = Older::with(&stand, forms()).await;
    let mut beside = client.listen().await;
    let mut messages = client.call("forms", json!({})).await;
    messages.next().await;
    let session = only(&stand).await;
    let seq = stand.get(&format!("/api/sessions/{session}")).await.seq();
    let removed = stand.with("DELETE", &format!("/api/sessions/{session}?open=true"), &[("if-match", &format!("\"{seq}\""))], None).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    assert_eq!(beside.next().await["method"], "notifications/cancelled");
    assert_eq!(told(&messages.next().await)["code"], "unknown-session");
}

// `docs/mcp.md#tools`: in words, what a child asks stands beside its name
#[tokio::test]
async fn words_say_what_each_child_asks() {
    let stand = Stand::new(PAIR).await;
    let begun = begin(&stand, json!({})).await;
    let at = json!({ "session": begun["structuredContent"]["session"] });
    let seen = result(&stand, json!({ "name": "render_state", "arguments": at }), json!({})).await;
    let text = seen["content"][0]["text"].as_str().unwrap();
    let (first, other) = text.split_once("Besides, at `ask/start` in `").unwrap_or_else(|| panic!("{text}"));
    assert!(first.contains("What about lamps?") && !first.contains("tables"), "{text}");
    assert!(other.contains("` (`to`): What about tables?\n\nAn answer is asked for."), "{text}");
}

// `docs/mcp.md#questions`: what the node said stands above the address, and whoever typed the secret goes on, whenever the client says that its page
// is open
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_was_typed_goes_on_to_what_is_asked_then() {
    let stand = Stand::on(SECRETS, Terms { settings: with_pages, ..Terms::default() }).await;
    let (pin, with) = asked(&begin(&stand, pages()).await);
    assert_eq!((&pin["mode"], &pin["message"]), (&json!("url"), &json!("Your PIN?\n\nA secret is asked for. Type it on this page.")));
    let opened = |with: &Value| {
        let key = with["key"].as_str().unwrap();
        json!({ "name": "forms", "arguments": {}, "requestState": with["state"], "inputResponses": { key: { "action": "accept" } } })
    };
    // Not yet.
    let waits = result(&stand, opened(&with), pages()).await;
    assert!(waits["content"][0]["text"].as_str().unwrap().starts_with("The secret was not typed yet"), "{waits}");
    elsewhere(&stand, &with, json!("4711")).await;
    let (word, with) = asked(&result(&stand, opened(&with), pages()).await);
    assert_eq!(word["message"], "A word?");
    let (key, with) = asked(&result(&stand, answered(&with, json!({ "answer": "moss" })), pages()).await);
    assert_eq!(key["mode"], "url", "{key}");
    elsewhere(&stand, &with, json!("xyzzy")).await;
    let sleeps = result(&stand, opened(&with), pages()).await;
    assert_eq!(sleeps["structuredContent"]["stop"]["type"], "SLEEPING", "{sleeps}");
    assert!(!sleeps["content"][0]["text"].as_str().unwrap().contains("ot typed"), "{sleeps}");

    let client = Older::with(&stand, pages()).await;
    let mut messages = client.call("navigate", json!({ "session": only(&stand).await })).await;
    assert_eq!(told(&messages.next().await)["stop"]["type"], "SLEEPING");
}

// `docs/mcp.md#questions`: the same by a request, where the page is open first
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_typed_while_a_call_waits_for_it_is_heard() {
    const PIN: &[(&str, &str)] = &[
        ("forms/start.md", "---\ninput_type: secret\nsave_to: pin\nto: nap\n---\nYour PIN?\n"),
        ("forms/nap.md", "---\nwait: 1h\nto: end\n---\nNapping.\n"),
        ("forms/end.md", "Done.\n"),
    ];
    let settings = |settings: Settings| {
        let mut settings = with_pages(settings);
        settings.mcp.wait = Duration::from_secs(2);
        settings
    };
    let stand = Stand::on(PIN, Terms { settings, ..Terms::default() }).await;
    let client = Older::with(&stand, pages()).await;
    let mut messages = client.call("forms", json!({})).await;
    let question = messages.next().await;
    assert_eq!(question["params"]["message"], "Your PIN?\n\nA secret is asked for. Type it on this page.", "{question}");
    client.reply(&question, json!({ "action": "accept" })).await;
    typed(&stand, &only(&stand).await, json!("4711")).await;
    let ended = messages.next().await;
    assert_eq!(told(&ended)["stop"]["type"], "SLEEPING", "{ended}");
    assert!(!ended["result"]["content"][0]["text"].as_str().unwrap().contains("not typed"), "{ended}");
}

/// Asks for ever.
const CIRCLE: &[(&str, &str)] = &[
    ("forms/start.md", "---\ninput_type: int\nsave_to: n\nmax_visits: 1000\non_max_visits: end\nto: start\n---\nA number?\n"),
    ("forms/end.md", "Done.\n"),
];

// `docs/mcp.md#questions`: one call asks as often by requests as by its results, whether the answers fit or not; `navigate` continues
#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_an_older_client_ends_after_as_many_questions_as_that_of_a_new_one() {
    let stand = Stand::new(CIRCLE).await;
    for answer in [json!(1), json!("none")] {
        let mut rounds = 0;
        let mut new = begin(&stand, forms()).await;
        while new["resultType"] == "input_required" {
            let (_, with) = asked(&new);
            new = result(&stand, answered(&with, json!({ "answer": answer })), forms()).await;
            rounds += 1;
        }
        let client = Older::with(&stand, forms()).await;
        let (mut name, mut arguments) = ("forms", json!({}));
        for call in 0..2 {
            let mut messages = client.call(name, arguments).await;
            let (mut questions, mut message) = (0, messages.next().await);
            while message["method"] == "elicitation/create" {
                client.reply(&message, accept(answer.clone())).await;
                (questions, message) = (questions + 1, messages.next().await);
            }
            assert_eq!(questions, rounds, "call {call} with {answer}");
            let result = told(&message);
            assert_eq!(result["stop"]["type"], "REQUEST_INPUT", "{message}");
            (name, arguments) = ("navigate", json!({ "session": result["session"] }));
        }
    }
}

// `docs/mcp.md#questions`: what was not declared is not used
#[tokio::test]
async fn a_client_that_opens_pages_alone_gets_no_form() {
    let stand = Stand::on(DICE, Terms { settings: with_pages, ..Terms::default() }).await;
    let only_pages = || json!({ "elicitation": { "url": {} } });
    let words = begin(&stand, only_pages()).await;
    assert_eq!(words["structuredContent"]["stop"]["type"], "REQUEST_INPUT", "{words}");
    let client = Older::with(&stand, only_pages()).await;
    let words = client.call("forms", json!({})).await.next().await;
    assert_eq!(told(&words)["stop"]["type"], "REQUEST_INPUT", "{words}");
}

// `docs/mcp.md#questions`: a call that is sent again without an answer gets the same question
#[tokio::test]
async fn a_round_without_an_answer_asks_the_same_again() {
    let stand = Stand::new(DICE).await;
    let (_, with) = asked(&begin(&stand, forms()).await);
    for responses in [Value::Null, json!({}), json!({ "99": accept(json!(2)) })] {
        let mut again = json!({ "name": "forms", "arguments": {}, "requestState": with["state"], "inputResponses": responses });
        if responses.is_null() {
            again.as_object_mut().unwrap().remove("inputResponses");
        }
        let (form, same) = asked(&result(&stand, again, forms()).await);
        assert_eq!((&form["message"], &same["key"]), (&json!("How many?"), &with["key"]));
    }
}

// `docs/mcp.md#questions`: options are told apart, a number from its text too
#[tokio::test]
async fn a_number_and_its_text_are_two_options() {
    const VALUES: &[(&str, &str)] = &[
        (
            "forms/start.md",
            "---\noptions:\n  - { value: 1, text: One }\n  - { value: \"1\", text: Its text }\n  - { value: true, text: Sure }\nsave_to: chosen\nto: end\n---\nWhich?\n",
        ),
        ("forms/end.md", "---\noutput: \"{{ chosen }}\"\n---\n"),
    ];
    let stand = Stand::new(VALUES).await;
    for (at, value) in [json!(1), json!("1"), json!(true)].into_iter().enumerate() {
        let begun = begin(&stand, forms()).await;
        let (form, with) = asked(&begun);
        let chosen = form["requestedSchema"]["properties"]["answer"]["oneOf"][at]["const"].clone();
        let ended = result(&stand, answered(&with, json!({ "answer": chosen })), forms()).await;
        assert_eq!(ended["structuredContent"]["output"], value, "{form}");
    }
    let words = begin(&stand, json!({})).await;
    assert!(words["content"][0]["text"].as_str().unwrap().contains("- 1: One\n- \"1\": Its text\n- true: Sure\n"), "{words}");
}
