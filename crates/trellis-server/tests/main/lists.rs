//! Contents of answers: exact integers, bounded turns, and filtered lists of sessions.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use crate::{
    events::Stream,
    stand::{SHOP, Stand},
};

/// The first integer that no number of JavaScript is.
const LARGE: u64 = (1 << 53) + 1;

/// Asks for a number, and then for one that is no smaller.
const NUMBERS: &[(&str, &str)] = &[
    ("numbers/start.md", "---\ninput_type: int\nsave_to: n\nto: more\n---\nA number?\n"),
    ("numbers/more.md", "---\ninput_type: int\ninput_schema: {minimum: 9007199254740993}\nsave_to: m\nto: end\n---\nA larger one?\n"),
    ("numbers/end.md", "---\noutput: \"{{ n }}\"\n---\nThank you.\n"),
];

// `docs/serve.md#turns`: integers are exact; with `?integers=text` large ones are texts, wherever they stand
#[tokio::test]
async fn large_integers_are_exact_and_texts_for_those_who_ask() {
    let stand = Stand::new(NUMBERS).await;
    let (number, text) = (json!(LARGE), json!(LARGE.to_string()));
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let asked = stand.post("/api/sessions/ana/turns", json!({ "input": LARGE })).await;
    assert_eq!(asked.json()["stop"]["payload"]["schema"]["minimum"], number, "{asked:?}");
    for (query, expected) in [("", &number), ("?integers=text", &text)] {
        let at = stand.get(&format!("/api/sessions/ana/at/1{query}")).await.json();
        assert_eq!((&at["changed"][0]["after"], &at["seq"]), (expected, &json!(1)), "{at}");
        let turn = stand.get(&format!("/api/sessions/ana{query}")).await.json();
        assert_eq!(turn["stop"]["payload"]["schema"]["minimum"], *expected, "{turn}");
        let records = stand.get(&format!("/api/sessions/ana/records{query}")).await.json();
        assert_eq!(records["items"][1]["input"]["value"], *expected, "{records}");
        let tag = [("if-match", "\"1\"")];
        let stale = stand.with("POST", &format!("/api/sessions/ana/turns{query}"), &tag, Some(&json!({ "input": 1 }))).await;
        let current = &stale.json()["current"];
        assert_eq!((stale.status, &current["stop"]["payload"]["schema"]["minimum"]), (412, expected), "{current}");
        let and = query.replace('?', "&");
        let events = Stream::open(&stand, &format!("/api/sessions/ana/events?since=0{and}"), &[]).await.until("turn").await;
        assert_eq!((&events[0].data["input"]["value"], &events[0].data["seq"]), (expected, &json!(1)), "{events:?}");
        let turn = &events[events.len() - 1].data;
        assert_eq!(turn["stop"]["payload"]["schema"]["minimum"], *expected, "{turn}");
        let turn = Stream::open(&stand, &format!("/api/events?session=ana{and}"), &[]).await.until("turn").await.pop().unwrap();
        assert_eq!(turn.data["stop"]["payload"]["schema"]["minimum"], *expected, "{turn:?}");
    }
    let ended = stand.post("/api/sessions/ana/turns?integers=text", json!({ "input": LARGE })).await.json();
    assert_eq!((&ended["stop"]["payload"]["output"], &ended["seq"]), (&text, &json!(4)), "{ended}");
}

/// A graph that says something so many times before it asks.
fn talkative(times: usize) -> String {
    format!(
        "nodes:\n  start: {{ set: {{ n: 0 }}, to: step }}\n  step:\n    set: {{ n: \"{{{{ n + 1 }}}}\" }}\n    content: \"Step {{{{ n }}}}.\"\n    \
         transitions: [{{ condition: n == {times}, to: rest }}, {{ to: step }}]\n  rest: {{ content: Well?, input_type: text, to: bye }}\n  bye: {{}}\n"
    )
}

// `docs/serve.md#turns`: a turn has the last 200 lines of what happened, and says that there were more
#[tokio::test]
async fn a_turn_has_200_lines_of_what_happened() {
    let settings = "context: {n: {type: integer}}\nlimits: {pass_through: 1000}\n";
    let (exact, over) = (talkative(199), talkative(200));
    let files =
        [("exact/trellis.yaml", settings), ("exact/start.yaml", &*exact), ("over/trellis.yaml", settings), ("over/start.yaml", &*over)];
    let stand = Stand::new(&files).await;
    let begun = async |graph: &str| stand.post("/api/sessions", json!({ "id": graph, "graph": graph })).await.json();
    let told = |turn: &Value| {
        let texts = turn["happened"].as_array().unwrap();
        (texts.len(), texts[0]["payload"].clone(), texts[texts.len() - 1]["payload"].clone(), turn["more"] == true)
    };
    // Each step is a line, and so is the question.
    let exact = begun("exact").await;
    assert_eq!(told(&exact), (200, json!("Step 0."), json!("Well?"), false), "{exact}");
    let over = begun("over").await;
    assert_eq!(told(&over), (200, json!("Step 1."), json!("Well?"), true), "{over}");
}

/// A node that calls a graph so many times at once.
fn several(name: &str, graph: &str, times: usize) -> String {
    let mut node = format!("  {name}:\n    do:\n      limit: 64\n      parallel:\n");
    for number in 0..times {
        let _ = writeln!(node, "        b{number}: {{ graph: {graph} }}");
    }
    node + "    save_to: told\n    to: told\n"
}

// `docs/serve.md#turns`: 64 others are listed, and that there are more is said
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_has_64_others_that_wait() {
    let rest = "  inner: { content: Who?, input_type: text, save_to: name, to: inner_end }\n  inner_end: { output: \"{{ name }}\" }\n  \
                told: { output: \"{{ told }}\" }\n";
    let two = "  start:\n    do: { parallel: { many: { graph: many }, one: { graph: LAST } } }\n    save_to: told\n    to: told\n";
    let many = several("many", "inner", 64);
    let exact = format!("nodes:\n{}{many}{rest}", two.replace("LAST", "inner"));
    let over = format!("nodes:\n{}{many}{}{rest}", two.replace("LAST", "pair"), several("pair", "inner", 2));
    let stand = Stand::new(&[("exact/start.yaml", &*exact), ("over/start.yaml", &*over)]).await;
    for (graph, more) in [("exact", false), ("over", true)] {
        stand.post("/api/sessions", json!({ "id": graph, "graph": graph })).await;
        // Children begin one after the other.
        let until = std::time::Instant::now() + Duration::from_secs(120);
        let turn = loop {
            let turn = stand.get(&format!("/api/sessions/{graph}")).await.json();
            let is_asked = |stop: &Value| stop["type"] == "REQUEST_INPUT";
            let others = turn["others"].as_array().unwrap();
            if is_asked(&turn["stop"]) && others.len() >= 64 && others.iter().all(|other| is_asked(&other["stop"])) {
                break turn;
            }
            assert!(std::time::Instant::now() < until, "{} wait: {turn}", others.len());
        };
        assert_eq!((turn["others"].as_array().map(Vec::len), turn["more_others"] == true), (Some(64), more), "{graph}: {turn}");
    }
}

async fn listed(stand: &Stand, query: &str) -> Vec<String> {
    let list = stand.get(&format!("/api/sessions?{query}")).await;
    assert_eq!(list.status, 200, "{query}: {list:?}");
    list.json()["items"].as_array().unwrap().iter().map(|head| head["session"].as_str().unwrap().to_owned()).collect()
}

// `docs/serve.md#routes`
#[tokio::test]
async fn sessions_are_listed_by_what_is_asked_for() {
    let stand = Stand::new(SHOP).await;
    // A moment of their own each.
    let rest = async || tokio::time::sleep(Duration::from_millis(3)).await;
    for id in ["ana-1", "ana-2", "bea"] {
        stand.post("/api/sessions", json!({ "id": id })).await;
        rest().await;
    }
    stand.post("/api/sessions/ana-1/turns", json!({ "input": "Ada" })).await;
    let heads = stand.get("/api/sessions").await.json();
    let head = |id: &str| heads["items"].as_array().unwrap().iter().find(|head| head["session"] == id).unwrap().clone();
    assert_eq!(listed(&stand, "").await, ["ana-1", "bea", "ana-2"], "those that moved last first");
    assert_eq!(listed(&stand, "id=ana").await, ["ana-1", "ana-2"]);
    assert_eq!(listed(&stand, "id=na").await, [""; 0], "a name by its beginning");
    assert_eq!(listed(&stand, &format!("began_after={}", head("ana-1")["began"])).await, ["bea", "ana-2"]);
    assert_eq!(listed(&stand, &format!("began_after={}", head("bea")["began"])).await, [""; 0]);
    assert_eq!(listed(&stand, &format!("moved_after={}", head("ana-2")["at"])).await, ["ana-1", "bea"]);
    assert_eq!(listed(&stand, &format!("moved_after={}", head("bea")["at"])).await, ["ana-1"]);
    assert_eq!(listed(&stand, &format!("id=ana&node=start&began_after={}", head("ana-1")["began"])).await, ["ana-2"]);
    for query in ["began_after=yesterday", "moved_after=-1", "standing=lost", "limit=0", "limit=501"] {
        let refused = stand.get(&format!("/api/sessions?{query}")).await;
        assert_eq!((refused.status, refused.code()), (400, "bad-request".to_owned()), "{query}");
    }
    // Page by page, while another one comes.
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = stand.get(&format!("/api/sessions?id=ana&limit=1{after}")).await.json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|head| head["session"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
        stand.post("/api/sessions", json!({ "id": format!("ana-new-{}", seen.len()) })).await;
    }
    assert_eq!(seen, ["ana-1", "ana-2"]);
}

// `docs/serve.md#routes`
#[tokio::test]
async fn the_newest_records_come_in_their_order() {
    let stand = Stand::new(SHOP).await;
    stand.held("ana").await;
    let seqs = async |query: &str| {
        let page = stand.get(&format!("/api/sessions/ana/records?{query}")).await.json();
        let seqs: Vec<_> = page["items"].as_array().unwrap().iter().map(|record| record["seq"].as_u64().unwrap()).collect();
        (seqs, page["next"].clone(), page["first"].clone())
    };
    assert_eq!(seqs("newest=true&limit=2").await, (vec![1, 2], Value::Null, json!(0)));
    assert_eq!(seqs("newest=true").await, (vec![0, 1, 2], Value::Null, json!(0)));
    assert_eq!(seqs("from=1&limit=1").await, (vec![1], json!("2"), json!(0)));
    assert_eq!(seqs("from=2").await, (vec![2], Value::Null, json!(0)));
    assert_eq!(seqs("from=3").await, (vec![], Value::Null, json!(0)));
}
