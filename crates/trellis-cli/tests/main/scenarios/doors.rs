//! The doors: each sends an act in its own words, and says what came in those of JSON Lines.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use trellis_core::{Engine, SessionId, Start, Value as CoreValue};
use trellis_host::{
    Bindings, Policy, Sessions, Unbound,
    assembly::deferred_predicates,
    store::{MemoryStore, SessionStore},
    wire,
};
use trellis_project::Project;

use crate::{mcp::Talk, open::Open, sandbox::Sandbox, serve::Serving};

/// The file of the graph.
pub(super) const GRAPH: &str = "start.yaml";

/// The result of an act.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Out {
    pub(super) said: Vec<String>,
    pub(super) stop: Value,
    pub(super) code: Option<String>,
}

impl Out {
    fn refused(code: &str) -> Self {
        Self { code: Some(code.to_owned()), ..Self::default() }
    }

    /// A turn of HTTP or MCP, or a problem.
    fn of_turn(turn: &Value) -> Self {
        if let Some(code) = turn["code"].as_str() {
            return Self::refused(code);
        }
        let said = turn["said"].as_array().unwrap_or_else(|| panic!("no turn: {turn}"));
        Self { said: said.iter().map(|said| said["text"].as_str().unwrap().to_owned()).collect(), stop: turn["stop"].clone(), code: None }
    }

    /// The same without what differs between sessions.
    pub(super) fn bare(mut self) -> Self {
        if let Some(payload) = self.stop.get_mut("payload").and_then(Value::as_object_mut) {
            for key in ["id", "of", "seq", "idempotency_key"] {
                payload.remove(key);
            }
        }
        // The name of a child has that of its parent.
        if let Some(line) = self.stop.as_object_mut() {
            line.remove("child");
        }
        self
    }
}

/// Takes acts.
pub(super) trait Door {
    /// Begins a session with a context.
    fn begin(&mut self, id: &str, context: &Map<String, Value>) -> Out;
    /// Sends a reply, as JSON Lines have it.
    fn send(&mut self, reply: &Value) -> Out;
    /// Closes the door, edits the graph, opens the door again, and looks at the session.
    fn edit(&mut self, graph: &str) -> Out;
    /// Takes an edit back, for the next session.
    fn restore(&mut self, graph: &str) {
        self.edit(graph);
    }
    /// Leaves the session.
    fn end(&mut self);
}

/// `Sessions`, called as functions.
pub(super) struct Library {
    sandbox: Sandbox,
    runtime: Runtime,
    store: Arc<MemoryStore>,
    sessions: Sessions,
    session: SessionId,
}

impl Library {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = Arc::new(MemoryStore::new());
        let sessions = Self::sessions(&sandbox, &store);
        Self { sandbox, runtime, store, sessions, session: SessionId::new("s") }
    }

    fn sessions(sandbox: &Sandbox, store: &Arc<MemoryStore>) -> Sessions {
        let project = Project::open(sandbox.path()).unwrap().compile();
        let program = project.program.unwrap_or_else(|| panic!("{:?}", project.diagnostics));
        let engine = Engine::new(Arc::clone(&program), deferred_predicates(&program)).unwrap();
        let policy = Policy::new().unbound(Unbound::Elsewhere);
        Sessions::new(engine, Bindings::none()).unwrap().policy(policy).store(Arc::clone(store) as Arc<dyn SessionStore>, "doors")
    }

    fn told(turn: Result<trellis_host::Turn, trellis_host::SendError>) -> Out {
        match turn {
            Ok(turn) => Out::of_turn(&serde_json::to_value(wire::Turn::from(&turn)).unwrap()),
            Err(refused) => Out::refused(refused.code()),
        }
    }
}

impl Door for Library {
    fn begin(&mut self, id: &str, context: &Map<String, Value>) -> Out {
        self.session = SessionId::new(id);
        let CoreValue::Map(context) = CoreValue::from_json(&Value::from(context.clone()).to_string()).unwrap() else {
            panic!("no mapping")
        };
        let start = Start { session: Some(self.session.clone()), context, ..Start::default() };
        Self::told(self.runtime.block_on(self.sessions.start(start)))
    }

    fn send(&mut self, reply: &Value) -> Out {
        let reply = wire::Reply::parse(&reply.to_string()).unwrap();
        Self::told(self.runtime.block_on(self.sessions.send(&self.session, reply)))
    }

    fn edit(&mut self, graph: &str) -> Out {
        self.sandbox.write(GRAPH, graph.as_bytes());
        self.sessions = Self::sessions(&self.sandbox, &self.store);
        Self::told(self.runtime.block_on(self.sessions.view(&self.session)))
    }

    fn end(&mut self) {}
}

/// `trellis run --json`.
pub(super) struct Lines {
    sandbox: Sandbox,
    session: String,
    open: Option<Open>,
}

impl Lines {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, session: String::new(), open: None }
    }

    /// Lines up to the next stop or refusal.
    fn told(&self) -> Out {
        let mut out = Out::default();
        loop {
            let line = self.open.as_ref().unwrap().json();
            let payload = &line["payload"];
            match line["type"].as_str().unwrap() {
                "RENDER_CONTENT" => out.said.push(payload.as_str().unwrap().to_owned()),
                "ERROR" => return Out::refused(payload["code"].as_str().unwrap()),
                // This call is carried out here: its child asks next.
                "CALL_TOOL" if payload.get("kind").is_some() => {}
                "REQUEST_INPUT" | "APPROVAL" | "CALL_TOOL" | "PREDICATE" | "NEEDS" | "CHANGED" | "END" => {
                    out.stop = line;
                    return out;
                }
                _ => {}
            }
        }
    }
}

impl Door for Lines {
    fn begin(&mut self, id: &str, context: &Map<String, Value>) -> Out {
        let context = Value::from(context.clone()).to_string();
        id.clone_into(&mut self.session);
        self.open = Some(Open::start(self.sandbox.command(&["run", "--json", ".", "--session", id, "--context", &context])));
        self.told()
    }

    fn edit(&mut self, graph: &str) -> Out {
        if let Some(open) = &mut self.open {
            open.end_input();
            open.code();
        }
        self.sandbox.write(GRAPH, graph.as_bytes());
        self.open = Some(Open::start(self.sandbox.command(&["run", "--json", ".", "--session", &self.session])));
        self.told()
    }

    fn restore(&mut self, graph: &str) {
        self.sandbox.write(GRAPH, graph.as_bytes());
    }

    fn send(&mut self, reply: &Value) -> Out {
        self.open.as_mut().unwrap().type_in(&reply.to_string());
        self.told()
    }

    fn end(&mut self) {
        self.open = None;
    }
}

/// `trellis serve`.
pub(super) struct Http {
    serving: Serving,
    session: String,
    sandbox: Sandbox,
}

impl Http {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self { serving: Serving::start(&sandbox, &[".", "--no-watch"]), session: String::new(), sandbox }
    }
}

impl Door for Http {
    fn begin(&mut self, id: &str, context: &Map<String, Value>) -> Out {
        id.clone_into(&mut self.session);
        Out::of_turn(&self.serving.post("/api/sessions", &json!({ "id": id, "context": context }).to_string(), ""))
    }

    fn send(&mut self, reply: &Value) -> Out {
        let mut reply = reply.clone();
        let header = reply.as_object_mut().unwrap().remove("seq").map(|seq| format!("-H 'If-Match: \"{seq}\"'"));
        let path = format!("/api/sessions/{}/turns", self.session);
        Out::of_turn(&self.serving.post(&path, &reply.to_string(), header.as_deref().unwrap_or_default()))
    }

    fn edit(&mut self, graph: &str) -> Out {
        self.serving.end();
        self.sandbox.write(GRAPH, graph.as_bytes());
        self.serving = Serving::start(&self.sandbox, &[".", "--no-watch"]);
        Out::of_turn(&self.serving.get(&format!("/api/sessions/{}", self.session), ""))
    }

    fn end(&mut self) {}
}

/// `trellis mcp`, whose client has no forms and may approve.
pub(super) struct Mcp {
    talk: Talk,
    session: Value,
    sandbox: Sandbox,
}

impl Mcp {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self { talk: Self::talk(&sandbox), session: Value::Null, sandbox }
    }

    fn talk(sandbox: &Sandbox) -> Talk {
        Talk::with(sandbox, &["mcp", ".", "--mcp-approve", "call", "--no-watch"], json!({}))
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Out {
        let called = self.talk.ask("tools/call", json!({ "name": name, "arguments": arguments }));
        let told = &called["result"]["structuredContent"];
        assert!(told.is_object(), "{called}");
        if let Some(session) = told.get("session") {
            self.session = session.clone();
        }
        Out::of_turn(told)
    }
}

impl Door for Mcp {
    fn begin(&mut self, _: &str, context: &Map<String, Value>) -> Out {
        self.call("doors", &Value::from(context.clone()))
    }

    fn send(&mut self, reply: &Value) -> Out {
        let mut arguments = reply.clone();
        arguments["session"] = self.session.clone();
        self.call("navigate", &arguments)
    }

    fn edit(&mut self, graph: &str) -> Out {
        self.talk.end();
        self.sandbox.write(GRAPH, graph.as_bytes());
        self.talk = Self::talk(&self.sandbox);
        let session = self.session.clone();
        self.call("render_state", &json!({ "session": session }))
    }

    fn end(&mut self) {}
}
