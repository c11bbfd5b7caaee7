//! Sessions over HTTP: `POST /sessions`, then `POST /sessions/ID` with what the answer asks for.
//!
//! `cargo run -p example-http`, then
//!
//! ```sh
//! curl -X POST localhost:8080/sessions
//! curl -X POST localhost:8080/sessions/s1 -d '{"input": "marinara", "seq": 1}'
//! curl -X POST localhost:8080/sessions/s1 -d '{"approve": true}'
//! ```
//!
//! Each answer has the `seq` of its question. An input that names it is taken by that question: sent twice, or when something else is asked by now, it
//! is answered with 412 and with what is asked.
//!
//! Everything between two requests is the matter of [`Sessions`]; this file only says the same in HTTP.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use serde_json::{Value as Wire, json};
use trellis_core::{Engine, Input, Mapping, Predicates, SessionId, SignalName, Start, ToolError, Value};
use trellis_host::{Bindings, CallContext, Reply, SendError, Sent, Sessions, Stop, Turn};
use trellis_project::Project;

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/graph");

type Answer = Result<Json<Wire>, (StatusCode, String)>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    Ok(axum::serve(listener, router()?).await?)
}

fn router() -> Result<Router, Box<dyn Error>> {
    let program = Project::open(GRAPH)?.compile().program.ok_or("the graph has mistakes; `trellis check` shows them")?;
    let sessions = Sessions::new(Engine::new(program, Predicates::new())?, Bindings::none().function("bake", bake))?;
    let routes = Router::new().route("/sessions", post(start)).route("/sessions/{id}", get(view).post(send));
    Ok(routes.with_state(Arc::new(sessions)))
}

async fn start(State(sessions): State<Arc<Sessions>>) -> Answer {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let session = SessionId::new(format!("s{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    answer(sessions.start(Start { session: Some(session), ..Start::default() }).await)
}

async fn view(State(sessions): State<Arc<Sessions>>, Path(id): Path<String>) -> Answer {
    answer(sessions.view(&SessionId::new(id)).await)
}

async fn send(State(sessions): State<Arc<Sessions>>, Path(id): Path<String>, body: String) -> Answer {
    let refuse = |why: &str| Err((StatusCode::BAD_REQUEST, format!("{why}\n")));
    let Ok(Value::Map(body)) = Value::from_json(&body) else { return refuse("the body is a JSON object") };
    let reply = match (body.get("input"), body.get("approve"), body.get("signal")) {
        (Some(input), None, None) => Reply::Input(Input::Value(input.clone())),
        (None, Some(Value::Bool(yes)), None) => Reply::Approve { call: None, yes: *yes },
        (None, None, Some(Value::Text(signal))) => Reply::Input(Input::Signal(SignalName::new(&**signal))),
        _ => return refuse("the body has one of `input`, `approve`, `signal`"),
    };
    let expected = match body.get("seq") {
        None => None,
        Some(Value::Int(seq)) if *seq >= 0 => Some(seq.unsigned_abs()),
        Some(_) => return refuse("`seq` is the number of a question"),
    };
    answer(sessions.send(&SessionId::new(id), Sent { expected, reply }).await)
}

/// A turn as JSON, or why there is none.
fn answer(turn: Result<Turn, SendError>) -> Answer {
    match turn {
        Ok(turn) => Ok(Json(wire(&turn))),
        Err(SendError::Stale(turn) | SendError::TooLate(turn)) => Err((StatusCode::PRECONDITION_FAILED, wire(&turn).to_string())),
        Err(error @ SendError::Unknown(_)) => Err((StatusCode::NOT_FOUND, format!("{error}\n"))),
        Err(error) => Err((StatusCode::CONFLICT, format!("{error}\n"))),
    }
}

fn wire(turn: &Turn) -> Wire {
    let (stop, about) = match &turn.stop {
        Stop::Ask { request, .. } => ("ask", json!(request)),
        Stop::Held { call, .. } => ("approve", json!(call)),
        Stop::Call { call, .. } => ("call", json!(call)),
        Stop::Ended(ended) => ("ended", json!(ended)),
        Stop::Running { .. } | Stop::Sleeping { .. } => ("busy", Wire::Null),
        // This graph has no predicates of the host and is not edited while it runs.
        Stop::Predicate { .. } | Stop::Keys { .. } | Stop::Changed { .. } => ("stuck", Wire::Null),
    };
    json!({ "session": turn.session, "seq": turn.asked, "said": turn.said, stop: about })
}

/// The tool.
fn bake(_: &CallContext, args: Mapping) -> Result<Value, ToolError> {
    match args.get("pizza").and_then(Value::as_str) {
        Some("margherita") => Ok(Value::map([("minutes", Value::Int(9))])),
        Some(_) => Ok(Value::map([("minutes", Value::Int(7))])),
        None => Err(ToolError::new("`pizza` is a text")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;

    /// One request over a real socket: the status and the body.
    async fn request(port: u16, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let length = body.len();
        let text = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    #[tokio::test]
    async fn a_pizza_is_ordered_over_http() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, router().unwrap()).await });
        let turn = |(status, body): (u16, String)| (status, serde_json::from_str::<Wire>(&body).unwrap());
        let (_, asked) = turn(request(port, "POST", "/sessions", "").await);
        assert_eq!((asked["said"][0].as_str(), &asked["ask"]["input_type"]), (Some("# Pizza\n\nWhich one?\n"), &json!("choice")));
        let path = format!("/sessions/{}", asked["session"].as_str().unwrap());
        let refused = request(port, "POST", &path, r#"{"input": "calzone"}"#).await;
        assert_eq!(refused.0, 409, "{}", refused.1);
        assert_eq!(request(port, "POST", &path, "calzone").await.0, 400);
        assert_eq!(request(port, "GET", "/sessions/nobody", "").await.0, 404);
        let order = format!(r#"{{"input": "marinara", "seq": {}}}"#, asked["seq"]);
        let (_, held) = turn(request(port, "POST", &path, &order).await);
        assert_eq!(held["approve"]["approve"]["ask"], "Bake a marinara?");
        assert_eq!(turn(request(port, "GET", &path, "").await).1["approve"], held["approve"], "a session can be looked at again");
        let (status, again) = turn(request(port, "POST", &path, &order).await);
        assert_eq!((status, &again["approve"]), (412, &held["approve"]), "a click that comes twice counts once");
        let (status, ended) = turn(request(port, "POST", &path, r#"{"approve": true}"#).await);
        assert_eq!((status, &ended["ended"]["output"]), (200, &json!({ "pizza": "marinara", "minutes": 7 })));
    }
}
