//! `graphs/atod`: one turn of an assistant over a stack of goals (source 004), with a script in place of the models.

use std::{fs, process::Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Flow, Played};
use crate::sandbox::finish;

/// The answers of the models.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) plan: Value,
    /// The tools that the first pass asks for.
    pub(super) tools: Value,
    pub(super) answer: Value,
}

impl Script {
    /// A plan, an answer without tools.
    pub(super) fn new(goal_type: &str, priority: i64) -> Self {
        Self {
            plan: json!({ "goal_type": goal_type, "priority": priority, "slots_patch": {}, "missing": [] }),
            tools: json!([]),
            answer: answer("active"),
        }
    }

    /// The same with what is asked for, and what the second pass says.
    pub(super) fn asking(self, tools: Value, answer: Value) -> Self {
        Self { tools, answer, ..self }
    }

    fn planning(goal: Value) -> Self {
        let mut script = Self::new("sales.quote", 50);
        script.plan.as_object_mut().unwrap().extend(goal.as_object().unwrap().clone());
        script
    }
}

pub(super) fn answer(status: &str) -> Value {
    json!({ "message": "Here you are.", "status": status, "slots_patch": {}, "missing": [] })
}

/// A sum that the second pass sees, so that there is one.
fn sum(expression: &str) -> Value {
    json!([{ "id": "t1", "name": "math.evaluate", "args": { "expression": expression } }])
}

impl Flow {
    fn script(&self, script: &Script) {
        let tools = if script.tools == json!([]) { json!({ "content": "Here you are." }) } else { json!({ "tool_calls": script.tools }) };
        // A text of JSON is a text of YAML.
        let content = |value: &Value| value.as_str().map_or_else(|| json!({ "json": value }), |text| json!({ "content": text }));
        let replies = json!([
            { "when": { "role": "planner" }, "reply": content(&script.plan) },
            { "when": { "role": "tool_planning" }, "reply": tools },
            { "when": { "role": "specialist" }, "reply": content(&script.answer) },
        ]);
        self.write("_model.yaml", replies.to_string().as_bytes());
    }

    /// One message of the session `s1`.
    pub(super) fn say(&self, text: &str) -> Played {
        self.turn(&json!({ "session_id": " s1 ", "text": text }))
    }

    fn turn(&self, context: &Value) -> Played {
        self.play(context, &[], &[])
    }

    /// The end to which the script leads.
    fn scripted(&self, script: &Script) -> Played {
        self.script(script);
        self.say("please")
    }

    /// A value of a space of `.trellis/values.db`, with its version.
    pub(super) fn stored(&self, space: &str) -> Option<(Value, i64)> {
        let file = self.path().join(".trellis/values.db");
        let connection = Connection::open(file).unwrap();
        let row = connection.query_row("select value, version from entries where space = ?1 and key = 's1'", [space], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?))
        });
        row.ok().map(|(json, version)| (serde_json::from_str(&json).unwrap(), version))
    }

    fn state(&self) -> Value {
        self.stored("atod").unwrap().0
    }

    /// The goals of the stack with their status, top first.
    pub(super) fn stack(&self) -> Vec<(String, String)> {
        let state = self.state();
        let goal = |id: &Value| state["goals"][id.as_str().unwrap()].clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        state["stack"].as_array().unwrap().iter().map(goal).map(|goal| (text(&goal["type"]), text(&goal["status"]))).collect()
    }
}

/// It failed with this message, and nothing was kept.
fn fails(flow: &Flow, script: &Script, message: &str) {
    let played = flow.scripted(script);
    assert_eq!(played.code, Some(1), "{message}: {played:#?}");
    assert!(played.end()["message"].as_str().unwrap().ends_with(message), "{message}: {}", played.end());
    assert!(!flow.path().join(".trellis/values.db").exists() || flow.stored("atod").is_none(), "{message}");
}

fn stack<const N: usize>(goals: [(&str, &str); N]) -> Vec<(String, String)> {
    goals.map(|(kind, status)| (kind.to_owned(), status.to_owned())).into()
}

/// source 004.3.2: the nodes of the orchestrator, in their order, with all that the graph brings.
#[test]
fn a_newcomer_asks_for_a_lamp() {
    let flow = Flow::copy("atod");
    let played = flow.turn(&json!({ "session_id": " s1 ", "text": " Do you have a desk lamp? " }));
    assert_eq!(played.output(), &json!({ "reply": "The desk lamp: 12 in stock, 35 each." }), "{played:#?}");
    let names: Vec<&str> = played.calls().into_iter().map(|(name, _)| name).filter(|name| name.contains('.')).collect();
    let expected = [
        "state.load",
        "memory.read",
        "json.parse",
        "goals.apply_plan",
        "inventory.query",
        "json.parse",
        "json.merge",
        "goals.finish",
        "state.save",
        "memory.write",
    ];
    assert_eq!(names, expected);
    assert_eq!(played.calls().iter().find(|(name, _)| *name == "inventory.query").unwrap().1, &json!({ "query": "lamp" }));
    let rows = &played.results("inventory.query")[0]["result"];
    assert_eq!(rows[1], json!({ "article": "desk lamp", "price": 35, "stock": 12 }));
    assert!(played.err.contains("the roles `planner`, `specialist`, `tool_planning` are answered by `script`"), "{}", played.err);
    assert_eq!(flow.stored("atod").unwrap().1, 1);
    let turns = json!([{ "user": "Do you have a desk lamp?", "assistant": "The desk lamp: 12 in stock, 35 each." }]);
    assert_eq!(flow.stored("atod_memory"), Some((turns, 1)));

    let sum = flow.say("How much is 2 + 3 * (4 - 1)?");
    assert_eq!(sum.output(), &json!({ "reply": "That is 11." }));
    let warranty = flow.say("보증이 얼마나 되나요?");
    assert!(warranty.output()["reply"].as_str().unwrap().contains("보증 기간은 5년"), "{}", warranty.output());
    assert_eq!((flow.stored("atod").unwrap().1, flow.stored("atod_memory").unwrap().1), (3, 3));
}

/// source 004.3.2.1: the session comes first.
#[test]
fn a_request_has_a_session_and_a_message() {
    let flow = Flow::copy("atod");
    for (session, text, message) in [
        ("  ", "hello", "session id is empty"),
        ("  ", "", "session id is empty"),
        ("s1", "", "message is empty"),
        ("s1", " \n", "message is empty"),
    ] {
        let played = flow.turn(&json!({ "session_id": session, "text": text }));
        assert_eq!((played.code, played.end()["message"].as_str()), (Some(1), Some(message)), "{played:#?}");
        assert!(played.calls().is_empty());
    }
}

/// source 004.1.4: no JSON, and a broken schema.
#[test]
fn a_plan_is_json_and_fits_its_schema() {
    let flow = Flow::copy("atod");
    let script = Script { plan: json!("I would say sales."), ..Script::new("sales.quote", 50) };
    fails(&flow, &script, "the plan is no JSON");
    for goal in [
        json!({ "goal_type": "hr.leave" }),
        json!({ "priority": 0 }),
        json!({ "missing": ["colour"] }),
        json!({ "missing": ["colour"], "next_question": "" }),
    ] {
        fails(&flow, &Script::planning(goal), "the plan breaks its schema");
    }
}

/// 004, 1: models fence their JSON, and have null or "" where they have nothing to say.
#[test]
fn a_plan_is_read_as_models_write_it() {
    let flow = Flow::copy("atod");
    let script = Script::new("sales.quote", 50);
    let mut plan = script.plan.clone();
    for (key, value) in [("goal_id", json!(null)), ("next_question", json!(null)), ("slots_patch", json!(null)), ("missing", json!(null))] {
        plan[key] = value;
    }
    let mut empty = script.plan.clone();
    (empty["goal_id"], empty["next_question"]) = (json!(""), json!(""));
    let fenced = json!(format!("```json\n{}\n```", script.plan));
    let talked = json!(format!("Here is the plan: ```json {} ``` Done.", script.plan));
    let told = json!(format!("Here is the plan:\n\n```json\n{}\n```\n\nDone.", script.plan));
    let mut holed = script.plan.clone();
    holed["missing"] = json!([null, ""]);
    for plan in [plan, empty, fenced, talked, told, holed] {
        let mut said = answer("done");
        (said["next_question"], said["requests"]) = (json!(null), json!(null));
        let played = flow.scripted(&Script { plan: plan.clone(), ..Script::new("sales.quote", 50).asking(sum("1"), said) });
        assert_eq!(played.output(), &json!({ "reply": "Here you are." }), "{plan}: {played:#?}");
    }
}

/// 004, 5: "No runtime fallback": an endpoint that is set up by half is an error at the start, and no scripted reply.
#[test]
fn an_endpoint_without_its_secret_is_an_error_at_the_start() {
    for graph in ["atod", "chancellor"] {
        let flow = Flow::copy(graph);
        let context = if graph == "atod" { json!({ "session_id": "s1", "text": "hello" }) } else { json!({ "command": "note it" }) };
        let played = flow.play(&context, &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")], &[]);
        assert!(played.code == Some(1) && played.calls().is_empty(), "{played:#?}");
        assert!(played.err.contains("`openai` has an address, by `OPENAI_BASE_URL`") && played.err.contains("openai"), "{}", played.err);
        assert_eq!(flow.play(&context, &[], &[]).code, Some(0), "neither is set");
        // A server starts all the same, for the other graphs, and says what is wrong.
        let mut child = flow.command(&["mcp", "."]).env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").stdin(Stdio::piped()).spawn().unwrap();
        drop(child.stdin.take());
        let ran = finish(child);
        assert!(ran.err.contains("`openai` has an address, by `OPENAI_BASE_URL`"), "{}", ran.err);
        assert!(ran.err.contains("`trellis check --host "), "{}", ran.err);
    }
}

/// 004, 2.3: "`tool_path`: calls tool-planning graph and validates allowed tool list"; 4: "pass-2 must not request tools again".
#[test]
fn tools_are_asked_for_once_by_who_may() {
    let flow = Flow::copy("atod");
    let inventory = json!([{ "name": "inventory.query", "args": { "query": "lamp" } }]);
    fails(&flow, &Script::new("support.refund", 100).asking(inventory, answer("done")), "a tool that support may not call");
    let knowledge = json!([{ "name": "knowledge_base.search", "args": { "query": "lamp" } }]);
    fails(&flow, &Script::new("sales.quote", 50).asking(knowledge, answer("done")), "a tool that sales may not call");
    let mut again = answer("active");
    again["requests"] = sum("1");
    fails(&flow, &Script::new("sales.quote", 50).asking(sum("1"), again), "the second pass asked for tools again");
    let names = ["tool", "toolCalls", "calls", "tool_use", "Tool_Calls", "actions", "tool_calls", "tool_requests", "function_call"];
    for key in names {
        for call in [sum("1"), json!({ "name": "math.evaluate" }), json!("math.evaluate"), json!(true)] {
            let mut again = answer("done");
            again[key] = call;
            let message = format!("an answer has no `{key}`; tools are asked for in `requests`");
            fails(&flow, &Script::new("sales.quote", 50).asking(sum("1"), again), &message);
        }
    }
    for words in [
        "<tool_call>{\"name\": \"math.evaluate\", \"arguments\": {}}</tool_call>",
        "One moment. <|python_tag|>call()",
        "<function=lookup>{}</function>",
        "[TOOL_CALLS] [{\"name\": \"x\"}]",
        "```tool_code\nlookup()\n```",
        "{\"name\": \"lookup\"}",
        "Let me ask inventory_query(lamp).",
    ] {
        for key in ["message", "next_question"] {
            let mut again = answer("done");
            again[key] = json!(words);
            fails(&flow, &Script::new("sales.quote", 50).asking(sum("1"), again), "the specialist wrote a call of a tool to the customer");
        }
    }
}

/// source 004.4.3: the error of a tool is data.
#[test]
fn the_error_of_a_tool_is_data() {
    let flow = Flow::copy("atod");
    let played = flow.scripted(&Script::new("sales.quote", 50).asking(sum("2 + abc"), answer("done")));
    assert_eq!(played.output(), &json!({ "reply": "Here you are." }), "{played:#?}");
    let entries: Vec<&Value> = played.calls().into_iter().filter_map(|(_, args)| args.get("tool_results")).collect();
    let entry = &entries[0][0];
    assert_eq!((&entry["id"], &entry["name"]), (&json!("t1"), &json!("math.evaluate")), "{entries:?}");
    assert_eq!((&entry["error"]["kind"], &entry["error"]["code"]), (&json!("error"), &json!("expression")));
    let played = flow.scripted(&Script::new("sales.quote", 50).asking(sum("2 + 3 * (4 - 1)"), answer("done")));
    assert_eq!(played.results("math.evaluate")[0]["result"], 11);
}

/// source 004.3.2.7, 004.3.5: what a blocked goal needs, a status that is none, and an empty message.
#[test]
fn what_a_specialist_says_is_held_to_its_rules() {
    let flow = Flow::copy("atod");
    let blocked = |more: Value| {
        let mut said = answer("blocked");
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Script::new("sales.quote", 50).asking(sum("1"), said)
    };
    let message = "a blocked goal needs what is missing and a question";
    fails(&flow, &blocked(json!({ "missing": ["colour"] })), message);
    fails(&flow, &blocked(json!({ "next_question": "Which colour?" })), message);
    let unknown = Script::new("sales.quote", 50).asking(sum("1"), answer("paused"));
    fails(&flow, &unknown, "`status` must be one of `active`, `blocked`, `done`, is `paused`");

    let mut silent = answer("done");
    silent["message"] = json!(" ");
    // An empty message of the second pass leaves that of the first, a blank one does not.
    let played = flow.scripted(&Script::new("sales.quote", 50).asking(sum("1"), silent));
    assert_eq!(played.end()["message"], "specialist message is empty", "{played:#?}");
    assert_eq!((flow.stored("atod").unwrap().1, flow.stored("atod_memory").unwrap().1), (1, 1));

    let asked = flow.scripted(&blocked(json!({ "missing": ["colour"], "next_question": "Which colour?" })));
    assert_eq!(asked.code, Some(0), "{asked:#?}");
    assert_eq!(flow.stack(), stack([("sales.quote", "blocked")]));
    // The answer meets the goal that asked.
    let answered = flow.scripted(&Script::new("sales.quote", 50));
    assert_eq!((answered.code, flow.stack()), (Some(0), stack([("sales.quote", "active")])));
}

/// source 004.3.2.5, 004.3.2.7: a strictly higher priority interrupts, a lower one waits beneath, and a goal that is done makes room for the one below.
#[test]
fn goals_interrupt_wait_and_resume() {
    let flow = Flow::copy("atod");
    flow.scripted(&Script::new("sales.quote", 50));
    assert_eq!(flow.stack(), stack([("sales.quote", "active")]));
    flow.scripted(&Script::new("support.refund", 100));
    assert_eq!(flow.stack(), stack([("support.refund", "active"), ("sales.quote", "suspended")]));
    flow.scripted(&Script::new("sales.gift", 70));
    let beneath = stack([("support.refund", "active"), ("sales.gift", "suspended"), ("sales.quote", "suspended")]);
    assert_eq!(flow.stack(), beneath);
    // Neither an equal priority nor the same goal interrupts.
    flow.scripted(&Script::new("sales.quote", 50));
    assert_eq!(flow.stack(), beneath);

    let done = |kind: &str, priority| Script::new(kind, priority).asking(sum("1"), answer("done"));
    flow.scripted(&done("support.refund", 100));
    assert_eq!(flow.stack(), stack([("sales.gift", "active"), ("sales.quote", "suspended")]));
    flow.scripted(&done("sales.gift", 70));
    assert_eq!(flow.stack(), stack([("sales.quote", "active")]));

    // A goal that is done is not revived, whatever its id.
    let mut again = Script::new("support.refund", 100);
    again.plan["goal_id"] = json!("g2");
    flow.scripted(&again);
    assert_eq!((&flow.state()["stack"], &flow.state()["goals"]["g2"]["status"]), (&json!(["g4", "g1"]), &json!("done")));
    // Another message for a goal by its id.
    let mut known = Script::new("sales.other", 120);
    known.plan["goal_id"] = json!("g1");
    flow.scripted(&known);
    assert_eq!(flow.state()["stack"], json!(["g1", "g4"]));
}

/// A model that waits for the file `go` where `HOLD` is set.
const PATIENT: &str = r#"#!/bin/sh
asked=$(cat)
for _ in $(seq 600); do
    [ -n "$HOLD" ] && [ ! -e go ] && sleep 0.1
done
case "$asked" in
*'"role":"planner"'*) echo '{"content": "{\"goal_type\": \"sales.quote\", \"priority\": 50, \"slots_patch\": {}, \"missing\": []}"}' ;;
*) echo '{"content": "Here you are."}' ;;
esac
"#;

/// source 004.3.2.8, 004.3.4: of two turns at once one gets a `conflict`; a save that fails leaves the memory unwritten.
#[test]
fn of_two_turns_at_once_one_is_kept() {
    let flow = Flow::copy("atod");
    flow.write("model.sh", PATIENT.as_bytes());
    flow.edit("trellis.yaml", "{ scripted: ./_model.yaml }", "{ process: [sh, model.sh] }");
    let mut other = None;
    let context = json!({ "session_id": "s1", "text": "slowly" });
    let slow = flow.watch(&["--store", "memory"], Some(&context), &[("HOLD", "1")], &mut |line| {
        if line["type"] == "CALL_TOOL" && line["payload"]["name"] == "planner_model" {
            other.get_or_insert_with(|| flow.say("quickly"));
            flow.write("go", b"");
        }
        true
    });
    assert_eq!(other.unwrap().code, Some(0));
    assert_eq!((slow.code, &slow.results("state.save")[0]["error"]["code"]), (Some(1), &json!("conflict")), "{slow:#?}");
    assert!(slow.results("memory.write").is_empty());
    assert_eq!((flow.stored("atod").unwrap().1, flow.stored("atod_memory").unwrap().1), (1, 1));
}

/// source 004.3.2.2: only a session that was not found is created.
#[test]
fn a_store_that_cannot_be_read_creates_no_session() {
    let flow = Flow::copy("atod");
    fs::create_dir_all(flow.path().join(".trellis")).unwrap();
    flow.write(".trellis/values.db", &b"This is no database. ".repeat(100));
    let played = flow.say("hello");
    assert_eq!((played.code, played.calls().len()), (Some(1), 1), "{played:#?}");
    assert_eq!(played.results("state.load")[0]["error"]["code"], "store");
}

/// source 004.3.4: killed at every call and after every save, so also between the two.
#[test]
fn a_turn_that_was_cut_off_anywhere_is_finished_once() {
    let calls =
        ["state.load", "memory.read", "planner/start", "goals.apply_plan", "dispatch/start", "goals.finish", "state.save", "memory.write"];
    let results = ["state.save", "memory.write"];
    for (kind, at) in calls.map(|at| ("CALL_TOOL", at)).into_iter().chain(results.map(|at| ("TOOL_RESULT", at))) {
        let flow = Flow::copy("atod");
        let context = json!({ "session_id": "s1", "text": "Do you have a desk lamp?" });
        let session = ["--session", "turn"];
        let (mut id, mut killed) = (Value::Null, false);
        let cut = flow.watch(&session, Some(&context), &[], &mut |line| {
            let call = &line["payload"];
            if line["type"] == "CALL_TOOL" && (call["name"] == at || call["kind"]["graph"] == at) {
                id = call["id"].clone();
            }
            killed |= line["type"] == kind && !id.is_null() && call["id"] == id;
            !killed
        });
        assert!(killed, "{kind} {at}: {cut:#?}");
        flow.watch(&session, None, &[], &mut |_| true);
        let memory = flow.stored("atod_memory").unwrap();
        assert_eq!((flow.stored("atod").unwrap().1, memory.1, memory.0.as_array().unwrap().len()), (1, 1, 1), "{kind} {at}");
    }
}

/// source 004.5.1: a graph with a mistake does not start.
#[test]
fn a_graph_with_a_mistake_does_not_start() {
    let flow = Flow::copy("atod");
    flow.edit("write_memory.md", "to: finalize_reply", "to: finalise_reply");
    let played = flow.say("Do you have a desk lamp?");
    assert_eq!((played.code, &played.end()["reason"]), (Some(1), &json!("invalid_graph")), "{played:#?}");
    assert!(played.calls().is_empty() && played.err.contains("unknown-target"), "{played:#?}");
    assert!(!flow.path().join(".trellis/values.db").exists());
}
