//! Sessions walked from their start to their end, by one client, by two, and through their past.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_host::{Sessions, Verdict, interceptor::Intercepted};

use crate::stand::{Answer, SHOP, Stand, Terms};

#[tokio::test]
async fn a_session_is_walked_to_its_end() {
    let stand = Stand::new(SHOP).await;
    let begun = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    assert_eq!((begun.status, &*begun.headers["location"], &*begun.headers["etag"]), (201, "/api/sessions/ana", "\"1\""));
    let turn = begun.json();
    assert_eq!((&turn["graph"], &turn["node"], &turn["standing"]), (&json!("shop"), &json!("start"), &json!("waiting_for_input")));
    assert_eq!(turn["said"], json!([{ "node": "start", "text": "# Shop\n\nWho are you?\n" }]));
    let html = stand.get("/api/sessions/ana?html=true").await.json();
    assert_eq!(html["said"][0]["html"], "<h1>Shop</h1>\n<p>Who are you?</p>\n");

    let asked = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", "\"1\"")], Some(&json!({ "input": "Ada" }))).await;
    assert_eq!((asked.status, asked.stop(), asked.seq()), (200, "REQUEST_INPUT".to_owned(), 2));
    let refused = stand.post("/api/sessions/ana/turns", json!({ "input": "many" })).await;
    assert_eq!((refused.status, refused.code(), &refused.json()["expected"]["payload"]["seq"]), (422, "invalid-input".into(), &json!(2)));
    // `docs/serve.md`: an unknown key is named, with its place and the nearest one.
    let unknown = stand.post("/api/sessions/ana/turns", json!({ "input": 2, "sqe": 2 })).await;
    let error = json!([{ "pointer": "/sqe", "message": "unknown key `sqe`; did you mean `seq`?" }]);
    assert_eq!((unknown.status, &unknown.json()["errors"]), (400, &error));
    let held = stand.post("/api/sessions/ana/turns", json!({ "input": 2, "seq": 2 })).await;
    assert_eq!((held.stop(), &held.json()["stop"]["payload"]["ask"]), ("APPROVAL".to_owned(), &json!("Ship 2?")));
    let call = held.json()["stop"]["payload"]["id"].clone();
    let approved = stand.post("/api/sessions/ana/turns", json!({ "approve": call })).await;
    assert_eq!((approved.stop(), &approved.json()["stop"]["payload"]["args"]), ("CALL_TOOL".to_owned(), &json!({ "count": 2 })));
    let result = json!({ "tool_result": { "id": approved.json()["stop"]["payload"]["id"], "result": "box 7" } });
    let ended = stand.post("/api/sessions/ana/turns", result.clone()).await;
    assert_eq!((ended.stop(), &ended.json()["stop"]["payload"]["output"]), ("END".to_owned(), &json!("box 7")));
    let again = stand.post("/api/sessions/ana/turns", json!({ "input": "more" })).await;
    assert_eq!((again.status, again.code()), (409, "ended".to_owned()));

    let records = stand.get("/api/sessions/ana/records?limit=2").await.json();
    assert_eq!((records["items"].as_array().unwrap().len(), &records["next"], &records["first"]), (2, &json!("2"), &json!(0)));
    assert_eq!(records["items"][1]["request"], json!({ "by": "local" }));
    let newest = stand.get("/api/sessions/ana/records?newest=true&limit=1").await.json();
    assert_eq!(newest["items"][0]["kind"], "end");
    let at = stand.get("/api/sessions/ana/at/1").await.json();
    assert_eq!((&at["changed"], &at["said"]), (&json!([{ "path": "name", "after": "Ada" }]), &json!("How many, Ada?\n")));
    let path = stand.get("/api/sessions/ana/path").await.json();
    let nodes: Vec<_> = path["hops"].as_array().unwrap().iter().map(|hop| hop["to"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["start", "count", "send", "end", "end:finished"]);
    assert_eq!((&path["hops"][0]["why"], &path["hops"][1]["why"]), (&Value::Null, &json!("answer")), "{path}");
    assert_eq!(stand.get("/api/sessions/ana/replay").await.json()["same"], true);
    let export = stand.get("/api/sessions/ana/export").await;
    assert!(export.headers["content-type"].starts_with("text/markdown") && export.text.contains("How many, Ada?"), "{}", export.text);

    let heads = stand.get("/api/sessions?standing=finished&node=end").await.json();
    assert_eq!(
        (heads["items"][0]["session"].as_str(), &heads["items"][0]["fits"], &heads["next"]),
        (Some("ana"), &json!(true), &Value::Null)
    );
    assert_eq!(stand.get("/api/sessions?standing=open").await.json()["items"], json!([]));
    let seq = ended.seq().to_string();
    let removed = stand.with("DELETE", "/api/sessions/ana", &[("if-match", &format!("\"{seq}\""))], None).await;
    assert_eq!((removed.status, &*removed.text), (204, ""));
    assert_eq!(stand.get("/api/sessions/ana").await.code(), "unknown-session");
}

#[tokio::test]
async fn of_two_who_answer_the_first_counts() {
    let stand = Stand::new(SHOP).await;
    stand.counting("ana").await;
    let (one, other) = (json!({ "input": 1 }), json!({ "input": 2 }));
    let tag = [("if-match", "\"2\"")];
    let answers = tokio::join!(
        stand.with("POST", "/api/sessions/ana/turns", &tag, Some(&one)),
        stand.with("POST", "/api/sessions/ana/turns", &tag, Some(&other)),
    );
    let mut statuses = [answers.0.status, answers.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    let late = if answers.0.status == 412 { answers.0 } else { answers.1 };
    assert_eq!((late.code(), &late.json()["current"]["stop"]["type"]), ("conflict".to_owned(), &json!("APPROVAL")));
    assert_eq!(late.headers["etag"], format!("\"{}\"", late.json()["current"]["seq"]));
}

#[tokio::test]
async fn a_request_that_comes_twice_is_taken_once_also_by_another_server() {
    let stand = Stand::new(SHOP).await;
    let key = [("idempotency-key", "k1")];
    let begun = stand.with("POST", "/api/sessions", &key, Some(&json!({}))).await;
    let again = stand.with("POST", "/api/sessions", &key, Some(&json!({}))).await;
    assert_eq!((begun.status, again.status, &*again.headers["idempotency-replayed"]), (201, 200, "true"));
    assert_eq!(begun.json()["session"], again.json()["session"], "its name is made of the key");
    let path = format!("/api/sessions/{}/turns", begun.json()["session"].as_str().unwrap());
    let ada = json!({ "input": "Ada" });
    let first = stand.with("POST", &path, &[("idempotency-key", "k2"), ("if-match", "\"1\"")], Some(&ada)).await;
    assert_eq!((first.status, first.seq()), (200, 2));
    let stand = Stand::again(stand.stop().await, Terms::default()).await;
    let again = stand.with("POST", &path, &[("idempotency-key", "k2"), ("if-match", "\"1\"")], Some(&ada)).await;
    assert_eq!(
        (again.status, again.seq(), again.headers.contains_key("idempotency-replayed")),
        (200, 2, true),
        "before `If-Match` is compared"
    );
    let reused = stand.with("POST", &path, &[("idempotency-key", "k2")], Some(&json!({ "input": "Bob" }))).await;
    assert_eq!((reused.status, reused.code()), (422, "key-reused".to_owned()));
}

// `docs/serve.md#turns`: a key belongs to one body, whatever graph that names, with one store for all graphs or one for each
#[tokio::test]
async fn a_key_that_began_a_session_begins_none_in_another_graph() {
    let more = [("tour/start.md", "---\ninput_type: text\nto: end\n---\nWhere?\n"), ("tour/end.md", "---\n---\nBye.\n")];
    for stores in [true, false] {
        let stand = Stand::on(&[SHOP, &more].concat(), Terms { stores, ..Terms::default() }).await;
        let begin =
            async |graph: &str| stand.with("POST", "/api/sessions", &[("idempotency-key", "k1")], Some(&json!({ "graph": graph }))).await;
        let begun = begin("shop").await;
        assert_eq!(begun.status, 201, "{begun:?}");
        let other = begin("tour").await;
        assert_eq!((other.status, other.code()), (422, "key-reused".to_owned()), "{other:?}");
        let again = begin("shop").await;
        assert_eq!((again.status, &again.json()["session"]), (200, &begun.json()["session"]), "{again:?}");
        assert_eq!(stand.get(&begun.headers["location"]).await.status, 200, "it has no twin");
    }
}

// `docs/serve.md#turns`: what happened is what happened since the stop before
#[tokio::test]
async fn a_session_that_is_put_back_tells_nothing_that_was_told_before() {
    let functions = |bindings: trellis_host::Bindings| bindings.function("ship", |_, _| Ok(trellis_core::Value::Int(2)));
    let stand = Stand::on(SHOP, Terms { functions, ..Terms::default() }).await;
    let rendered = |turn: &Answer| {
        let lines = turn.json()["happened"].as_array().unwrap().clone();
        lines.iter().filter(|line| line["type"] == "RENDER_CONTENT").map(|line| line["payload"].clone()).collect::<Vec<_>>()
    };
    let call = stand.held("ana").await;
    let ended = stand.post("/api/sessions/ana/turns", json!({ "approve": call })).await;
    assert_eq!((ended.stop(), rendered(&ended)), ("END".to_owned(), vec![json!("Shipped.\n")]), "{ended:?}");
    // One that is refused reads the session anew, and what that says is nobody's news.
    assert_eq!(stand.post("/api/sessions/ana/turns", json!({ "input": "more" })).await.code(), "ended");
    let tag = ended.headers["etag"].clone();
    let back = stand.with("POST", "/api/sessions/ana/back", &[("if-match", &tag)], Some(&json!({ "to": 1 }))).await;
    assert_eq!(rendered(&back), [json!("How many, Ada?\n")], "{back:?}");
    let set = json!({ "set": { "count": 4 } });
    let set = stand.with("PATCH", "/api/sessions/ana/context", &[("if-match", &back.headers["etag"])], Some(&set)).await;
    assert_eq!((rendered(&set), &set.json()["said"][0]["text"]), (Vec::new(), &json!("How many, Ada?\n")), "{set:?}");
    let set = json!({ "set": { "name": "Bo" } });
    let set = stand.with("PATCH", "/api/sessions/ana/context", &[("if-match", &format!("\"{}\"", back.seq() + 1))], Some(&set)).await;
    assert_eq!(rendered(&set), [json!("How many, Bo?\n")], "{set:?}");
}

#[tokio::test]
async fn a_session_is_put_back_forked_and_set() {
    let stand = Stand::new(SHOP).await;
    stand.counting("ana").await;
    let needed = stand.post("/api/sessions/ana/back", json!({ "to": 0 })).await;
    assert_eq!((needed.status, needed.code()), (428, "if-match-required".to_owned()));
    let stale = stand.with("POST", "/api/sessions/ana/back", &[("if-match", "\"1\"")], Some(&json!({ "to": 0 }))).await;
    assert_eq!((stale.status, stale.json()["current"]["seq"].as_u64()), (412, Some(2)));
    let back = stand.with("POST", "/api/sessions/ana/back", &[("if-match", "\"2\"")], Some(&json!({ "to": 0 }))).await;
    assert_eq!((back.status, &back.json()["node"], back.seq()), (200, &json!("start"), 3));
    let key = [("if-match", "\"3\""), ("idempotency-key", "set")];
    let set = stand.with("PATCH", "/api/sessions/ana/context", &key, Some(&json!({ "set": { "name": "Bob" } }))).await;
    assert_eq!((set.status, set.seq()), (200, 4));
    let again = stand.with("PATCH", "/api/sessions/ana/context", &key, Some(&json!({ "set": { "name": "Bob" } }))).await;
    assert_eq!((again.status, again.seq(), &*again.headers["idempotency-replayed"]), (200, 4, "true"));
    let gone = stand.with("POST", "/api/sessions/ana/goto", &[("if-match", "\"4\"")], Some(&json!({ "node": "count" }))).await;
    assert_eq!(gone.json()["said"][0]["text"], "How many, Bob?\n");
    let forked = stand.post("/api/sessions/ana/fork", json!({ "at": 1, "id": "bea" })).await;
    assert_eq!(
        (forked.status, &*forked.headers["location"], &forked.json()["said"][0]["text"]),
        (201, "/api/sessions/bea", &json!("How many, Ada?\n"))
    );
    assert_eq!(stand.post("/api/sessions/ana/fork", json!({ "id": "bea" })).await.code(), "session-exists");
}

#[tokio::test]
async fn a_call_is_approved_by_who_may_and_only_the_one_that_was_seen() {
    let stand = Stand::new(SHOP).await;
    let call = stand.held("ana").await;
    let listed = stand.get("/api/approvals?graph=shop").await.json();
    assert_eq!((&listed["items"][0]["call"]["id"], &listed["items"][0]["session"]), (&json!(call), &json!("ana")));
    let other = stand.post("/api/sessions/ana/approvals/another", json!({ "decision": "approve" })).await;
    assert_eq!((other.status, other.code(), &other.json()["waits"]), (409, "call-changed".to_owned(), &json!([call])));
    let path = format!("/api/sessions/ana/approvals/{call}");
    assert_eq!(stand.post(&path, json!({ "decision": "approve" })).await.stop(), "CALL_TOOL");
    let second = stand.post(&path, json!({ "decision": "deny" })).await;
    assert_eq!((second.status, second.code()), (409, "approved-already".to_owned()));
    let call = stand.held("bea").await;
    let denied = stand.post(&format!("/api/sessions/bea/approvals/{call}"), json!({ "decision": "deny", "because": "too many" })).await;
    assert_eq!((denied.stop(), &denied.json()["said"][0]["text"]), ("END".to_owned(), &json!("You left.\n")));
    // `docs/serve.md#routes`: of two who decide, the first counts, and the second learns what was decided.
    let second = stand.post(&path, json!({ "decision": "approve" })).await.json();
    assert_eq!((&second["code"], &second["decided"]), (&json!("approved-already"), &json!("approved")), "{second}");
    for decision in ["approve", "deny"] {
        let late = stand.post(&format!("/api/sessions/bea/approvals/{call}"), json!({ "decision": decision })).await;
        assert_eq!((late.status, late.code(), &late.json()["decided"]), (409, "not-held".to_owned(), &json!("denied")), "{late:?}");
        assert_eq!(late.json()["detail"], format!("call `{call}` was denied already: too many"));
        let late = stand.post("/api/sessions/bea/turns", json!({ decision: call })).await;
        assert_eq!((late.status, &late.json()["decided"]), (409, &json!("denied")), "{late:?}");
    }
    assert_eq!(stand.get("/api/approvals").await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_call_that_an_interceptor_holds_is_listed_and_decided_as_any_other_also_by_another_server() {
    let files = [("shop/start.md", "---\ntools: [{name: pay}]\ndo: pay\nto: end\n---\n"), ("shop/end.md", "Done.\n")];
    let holding = |sessions: Sessions| {
        sessions.interceptor(|_: Intercepted<'_>| Verdict::Hold {
            ask: Some("More than usual?".to_owned()),
            expires: Some(Duration::from_secs(900)),
        })
    };
    let stand = Stand::on(&files, Terms { over: holding, ..Terms::default() }).await;
    let held = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    assert_eq!((held.stop(), &held.json()["stop"]["payload"]["ask"]), ("APPROVAL".to_owned(), &json!("More than usual?")));
    let call = held.json()["stop"]["payload"]["id"].as_str().unwrap().to_owned();
    let other = Stand::again(stand.stop().await, Terms::default()).await;
    assert_eq!(other.get("/api/sessions/ana").await.stop(), "APPROVAL");
    let item = other.get("/api/approvals").await.json()["items"][0].clone();
    assert_eq!((&item["call"]["id"], &item["ask"]), (&json!(call), &json!("More than usual?")), "{item}");
    assert_eq!(item["why"]["source"], "interceptor", "{item}");
    let result = json!({ "tool_result": { "id": call, "result": 1 } });
    assert_eq!(other.post("/api/sessions/ana/turns", result).await.code(), "not-yours");
    let approved = other.post(&format!("/api/sessions/ana/approvals/{call}"), json!({ "decision": "approve" })).await;
    assert_eq!(approved.stop(), "CALL_TOOL", "{approved:?}");
}

// `docs/serve.md#routes`: what was decided about a call is told also while another one is held
#[tokio::test]
async fn who_decides_second_learns_that_also_while_another_call_is_held() {
    let held = "---\ntools: [{name: pay}, {name: ship}]\ndo: {parallel: {one: {name: pay, approve: true}, two: {name: ship, approve: true}}}\nto: end\n---\n";
    let stand = Stand::new(&[("shop/start.md", held), ("shop/end.md", "Done.\n")]).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let listed = stand.get("/api/approvals").await.json();
    let call = |at: usize| listed["items"][at]["call"]["id"].as_str().unwrap().to_owned();
    for (call, decision, code, decided) in [(call(0), "approve", "approved-already", "approved"), (call(1), "deny", "not-held", "denied")] {
        let path = format!("/api/sessions/ana/approvals/{call}");
        assert_eq!(stand.post(&path, json!({ "decision": decision })).await.status, 200);
        let second = stand.post(&path, json!({ "decision": "approve" })).await;
        assert_eq!((second.status, &*second.code(), &second.json()["decided"]), (409, code, &json!(decided)), "{second:?}");
    }
}

/// A call that was given up is listed, made again under its key, and dropped (language 11.7).
#[tokio::test]
async fn a_dead_letter_is_made_again_and_dropped() {
    let files =
        [("shop/start.md", "---\ntools: [{name: ship}]\ndo: {name: ship, args: {n: 2}}\nto: end\n---\n"), ("shop/end.md", "Shipped.\n")];
    let stand = Stand::new(&files).await;
    let call = stand.post("/api/sessions", json!({ "id": "ana" })).await.json()["stop"]["payload"]["id"].clone();
    let failed = json!({ "tool_result": { "id": call, "error": "the line is down" } });
    assert_eq!(stand.post("/api/sessions/ana/turns", failed).await.stop(), "END");
    let listed = stand.get("/api/dead-letters").await.json();
    let letter = &listed["items"][0];
    assert_eq!(
        (&letter["tool"], &letter["args"], &letter["error"]["message"]),
        (&json!("ship"), &json!({ "n": 2 }), &json!("the line is down"))
    );
    let path = format!("/api/dead-letters/{}", letter["key"].as_str().unwrap());
    assert_eq!(stand.get(&path).await.json(), *letter);
    let retried = stand.post(&format!("{path}/retry"), json!({})).await;
    assert_eq!((retried.status, retried.code()), (409, "refused".to_owned()), "nothing here carries it out");
    assert_eq!(stand.with("DELETE", &path, &[], None).await.status, 204);
    assert_eq!(stand.with("DELETE", &path, &[], None).await.code(), "unknown-letter");
    assert_eq!(stand.get("/api/dead-letters").await.json()["items"], json!([]));
}

// `docs/serve.md#turns`: in a graph with secrets, only a record that holds one keeps no digest of the body
#[tokio::test]
async fn a_key_belongs_to_one_body_also_where_a_graph_has_secrets() {
    let files = [
        ("safe/trellis.yaml", "redact: [token]\n"),
        ("safe/start.md", "---\ninput_type: text\nsave_to: name\nto: pin\n---\nYour name?\n"),
        ("safe/pin.md", "---\ninput_type: secret\nsave_to: pin\nto: token\n---\nYour PIN?\n"),
        ("safe/token.md", "---\ninput_type: text\nsave_to: token\nto: end\n---\nYour token?\n"),
        ("safe/end.md", "---\ninput_type: text\nsave_to: word\nto: end\n---\nA word?\n"),
    ];
    let stand = Stand::new(&files).await;
    let send = async |key: &str, body: serde_json::Value| {
        let sent = stand.with("POST", "/api/sessions/ana/turns", &[("idempotency-key", key)], Some(&body)).await;
        (sent.status, sent.headers.contains_key("idempotency-replayed"))
    };
    let begin = async |context: serde_json::Value| {
        let body = json!({ "id": "ana", "context": context });
        stand.with("POST", "/api/sessions", &[("idempotency-key", "begin")], Some(&body)).await.status
    };
    assert_eq!((begin(json!({})).await, begin(json!({})).await, begin(json!({ "who": 1 })).await), (201, 200, 422));
    for (key, input, is_secret) in [("a", "Ada", false), ("b", "1234", true), ("c", "5678", true), ("d", "word", false)] {
        assert_eq!(send(key, json!({ "input": input })).await, (200, false), "{key}");
        assert_eq!(send(key, json!({ "input": input })).await, (200, true), "{key}");
        let other = if is_secret { (200, true) } else { (422, false) };
        assert_eq!(send(key, json!({ "input": "other" })).await, other, "{key}");
    }
    let set = async |set: serde_json::Value| {
        let tag = format!("\"{}\"", stand.get("/api/sessions/ana").await.seq());
        let headers = [("idempotency-key", "set"), ("if-match", &*tag)];
        stand.with("PATCH", "/api/sessions/ana/context", &headers, Some(&json!({ "set": set }))).await.status
    };
    assert_eq!((set(json!({ "word": 1 })).await, set(json!({ "word": 1 })).await, set(json!({ "word": 2 })).await), (200, 200, 422));
    let bodies: Vec<String> = stand.get("/api/sessions/ana/records").await.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|record| record["request"]["digest"].as_str().map(str::to_owned))
        .collect();
    // The two secrets were sent to the same path by the same method, and differ in nothing that is kept.
    assert_eq!((bodies.len(), bodies[2] == bodies[3], bodies[1] == bodies[2]), (6, true, false), "{bodies:?}");
}

/// A typed secret is shown by no route, and stands in no digest.
#[tokio::test]
async fn what_is_secret_is_shown_nowhere() {
    let files = [
        ("safe/start.md", "---\ninput_type: secret\nsave_to: pin\nto: again\n---\nYour PIN?\n"),
        ("safe/again.md", "---\ninput_type: text\nsave_to: word\nto: end\n---\nThe PIN is {{ pin }}. A word?\n"),
        ("safe/end.md", "---\noutput: \"{{ pin }}\"\n---\nBye {{ pin }}.\n"),
    ];
    let stand = Stand::new(&files).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let mut seen = Vec::new();
    seen.push(stand.with("POST", "/api/sessions/ana/turns", &[("idempotency-key", "p")], Some(&json!({ "input": "hunter2000" }))).await);
    for path in ["", "/records", "/at/1", "/path", "/replay", "/export"] {
        seen.push(stand.get(&format!("/api/sessions/ana{path}")).await);
    }
    seen.push(stand.post("/api/sessions/ana/turns", json!({ "input": "hunter2000" })).await);
    seen.push(stand.get("/api/sessions").await);
    for answer in seen {
        assert!(answer.status < 300 && !answer.text.contains("hunter2000"), "{answer:?}");
    }
}
