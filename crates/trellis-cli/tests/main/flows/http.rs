//! `graphs/atod` and `graphs/chancellor` with a language model over HTTP: `@copilotkit/aimock`, which `.ci/install` installs.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use trellis_tests::peers::peer;

use super::{
    Flow, Played,
    atod::answer,
    chancellor::{SURE, court},
};

/// A server that runs; it ends with this.
struct Peer {
    child: Child,
    origin: String,
    _folder: tempfile::TempDir,
}

impl Peer {
    fn start(fixtures: &Value) -> Self {
        let program = peer("aimock-1.43.0/node_modules/.bin/llmock");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fixtures.json");
        std::fs::write(&file, json!({ "fixtures": fixtures }).to_string()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(["-p", &port.to_string(), "-f", file.to_str().unwrap()]).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The Node.js that was installed for the tests, where the system's is too old.
        let path = std::env::var("PATH").unwrap_or_default();
        let child = command.env("PATH", format!("{}:{path}", peer("mcp").display())).spawn().unwrap();
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(120), "the server does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { child, origin: format!("http://127.0.0.1:{port}"), _folder: folder }
    }

    fn turn(&self, flow: &Flow, text: &str) -> Played {
        self.play(flow, &json!({ "session_id": " s1 ", "text": text }))
    }

    /// Plays a flow whose models are this server.
    fn play(&self, flow: &Flow, context: &Value) -> Played {
        let base = format!("{}/v1", self.origin);
        let variables = [("OPENAI_BASE_URL", base.as_str()), ("TRELLIS_SECRET_OPENAI", "none"), ("OPENAI_MODEL", "gpt-4o")];
        flow.play_in(&["--store", "memory"], Some(context), &variables, &[])
    }

    /// Returns the requests that it got, in order.
    fn requests(&self) -> Vec<Value> {
        let mut stream = TcpStream::connect(self.origin.trim_start_matches("http://")).unwrap();
        // Without chunks.
        stream.write_all(b"GET /__aimock/journal HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn plan(goal_type: &str, priority: i64) -> String {
    json!({ "goal_type": goal_type, "priority": priority, "slots_patch": {}, "missing": [] }).to_string()
}

/// source 004.1.3: the turn with a desk lamp, and the one that interrupts it.
#[test]
fn two_turns_with_an_endpoint() {
    let mut lamp = answer("active");
    lamp["message"] = json!("We have 12 of the desk lamp.");
    let mut refund = answer("done");
    refund["message"] = json!("Within 14 days.");
    let peer = Peer::start(&json!([
        { "match": { "userMessage": "sales specialist. Answer with" }, "response": { "content": lamp.to_string() } },
        { "match": { "userMessage": "support specialist. Answer with" }, "response": { "content": refund.to_string() } },
        { "match": { "userMessage": "sales specialist. Answer, or" },
          "response": { "toolCalls": [{ "name": "inventory_query", "arguments": { "query": "lamp" } }] } },
        { "match": { "userMessage": "support specialist. Answer, or" },
          "response": { "toolCalls": [{ "name": "knowledge_base_search", "arguments": { "query": "refund" } }] } },
        { "match": { "userMessage": "refund" }, "response": { "content": plan("support.refund", 100) } },
        { "match": { "userMessage": "lamp" }, "response": { "content": plan("sales.quote", 50) } },
    ]));
    let flow = Flow::copy("atod");
    let played = peer.turn(&flow, " Do you have a desk lamp? ");
    assert_eq!(played.output(), &json!({ "reply": "We have 12 of the desk lamp." }), "{played:#?}");
    assert_eq!(played.results("inventory.query")[0]["result"][1]["stock"], 12);
    assert_eq!((flow.stored("atod").unwrap().1, flow.stored("atod_memory").unwrap().1), (1, 1));
    let offered: Vec<Value> = peer.requests().iter().filter_map(|request| request["body"].get("tools").cloned()).collect();
    let names: Vec<&Value> = offered[0].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["math_evaluate", "inventory_query"], "names of the wire have no dot: {offered:#?}");

    let played = peer.turn(&flow, "I want a refund");
    assert_eq!(played.output(), &json!({ "reply": "Within 14 days." }), "{played:#?}");
    assert_eq!(played.results("knowledge_base.search")[0]["result"]["hits"][0]["path"], "refunds.md");
    let interrupted = played.calls().into_iter().find(|(name, _)| *name == "goals.finish").unwrap().1;
    assert_eq!(interrupted["state"]["stack"], json!(["g2", "g1"]), "{interrupted}");
    assert_eq!(interrupted["state"]["goals"]["g1"]["status"], "suspended");
    assert_eq!(flow.stack(), [("sales.quote".to_owned(), "active".to_owned())], "done, and the quote resumes");
}

/// source 004.5.2, 004.5.3: after two errors of a server the turn fails: nothing is saved, and no script replies.
#[test]
fn an_endpoint_that_fails_fails_the_turn() {
    let peer = Peer::start(&json!([
        { "match": { "userMessage": "Which goal" }, "response": { "error": { "message": "down", "type": "server_error" }, "status": 500 } },
    ]));
    let flow = Flow::copy("atod");
    flow.edit("trellis.yaml", "planner_model:\n", "planner_model:\n    retry: { max: 2, base: 10ms }\n");
    let played = peer.turn(&flow, "Do you have a desk lamp?");
    let results = played.results("planner_model");
    let codes: Vec<&str> = results.iter().filter_map(|result| result["error"]["code"].as_str()).collect();
    assert_eq!((played.code, codes), (Some(1), vec!["http-500", "http-500"]), "{played:#?}");
    assert!(!flow.path().join(".trellis/values.db").exists(), "nothing is saved");
    assert_eq!(peer.requests().len(), 2);
}

/// source 001.3.3: each pillar is six parts heuristic, and four parts model where one is set up.
#[test]
fn pillars_with_an_endpoint() {
    let score = |question: &str, score: f64| json!({ "match": { "userMessage": question }, "response": { "content": json!({ "score": score }).to_string() } });
    let peer = Peer::start(&json!([score("How sound", 0.95), score("How safe", 0.45), score("How clear", 0.4)]));
    let flow = court(SURE);
    let played = peer.play(&flow, &json!({ "command": "note buy lamps" }));
    // The strategist is asked too, and gets no answer that it could use.
    assert_eq!(peer.requests().len(), 4, "{played:#?}");
    let held = played.of_type("APPROVAL").next().unwrap_or_else(|| panic!("{played:#?}"));
    assert_eq!(held["name"], "skills.execute", "below the bound the commander is asked");
    let mut blended: Vec<&Value> = played.results("blend").into_iter().map(|result| &result["result"]["score"]).collect();
    blended.sort_by_key(|score| score.to_string());
    assert_eq!(blended, [&json!(0.7), &json!(0.75), &json!(0.95)]);
}

/// source 001.2.3: a command whose first word is no skill.
#[test]
fn a_strategist_with_an_endpoint() {
    let plan = json!({ "skill_id": "skill_note", "parameters": { "args": ["buy", "lamps"] }, "plan_description": "note what is wanted" });
    let score =
        |question: &str| json!({ "match": { "userMessage": question }, "response": { "content": json!({ "score": 0.95 }).to_string() } });
    let chooses = json!({ "match": { "userMessage": "Which skill carries" }, "response": { "content": plan.to_string() } });
    let peer = Peer::start(&json!([chooses, score("How sound"), score("How safe"), score("How clear")]));
    let flow = court(SURE);
    let played = peer.play(&flow, &json!({ "command": "put lamps on the notes" }));
    assert_eq!((&played.output()["plan"], &played.output()["status"]), (&plan, &json!("success")), "{played:#?}");
    assert_eq!(flow.notes().as_deref(), Some("buy lamps\n"));
    let asked = peer.requests()[0]["body"]["messages"].to_string();
    assert!(asked.contains("skill_note") && asked.contains("skill_put"), "it sees the skills that fit, and the plan by the rule: {asked}");
    // A skill that the caller names needs nobody's advice.
    let before = peer.requests().len();
    let named = peer.play(&flow, &json!({ "command": "write that down", "skill_id": "skill_note" }));
    assert_eq!((&named.output()["plan"]["skill_id"], peer.requests().len() - before), (&json!("skill_note"), 3), "{named:#?}");
}
