//! A fake endpoint of language models: it speaks the chat completions of OpenAI, and a script says what it answers.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value as Json, json};

use super::server::{HttpCall, HttpReply, serve};

/// An answer of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelAnswer {
    /// A text.
    Text(String),
    /// Calls of tools: name and arguments.
    Calls(Vec<(String, Json)>),
}

/// A question to the model.
#[derive(Clone, Debug)]
pub struct ModelQuestion {
    /// The whole body of the request.
    pub body: Json,
}

impl ModelQuestion {
    /// The text of the last message of a role; empty where there is none.
    pub fn last(&self, role: &str) -> &str {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        messages.iter().rev().find(|message| message["role"] == role).and_then(|message| message["content"].as_str()).unwrap_or_default()
    }

    /// The results of tools behind the last message of the user.
    pub fn results(&self) -> Vec<&str> {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let behind = messages.iter().rposition(|message| message["role"] == "user").map_or(0, |at| at + 1);
        messages[behind..].iter().filter(|message| message["role"] == "tool").filter_map(|message| message["content"].as_str()).collect()
    }
}

/// An endpoint that runs until the process ends.
#[derive(Clone, Debug)]
pub struct FakeModel {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Json>>>,
}

impl FakeModel {
    /// Starts one that answers so.
    pub fn start(answer: impl Fn(&ModelQuestion) -> ModelAnswer + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, count) = (Arc::clone(&asked), AtomicU64::new(0));
        let address = serve(move |call: HttpCall| {
            if call.method == "GET" {
                return HttpReply::json(200, &json!({ "object": "list", "data": [{ "id": "fake", "object": "model" }] }));
            }
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(call.body.clone());
            let number = count.fetch_add(1, Ordering::Relaxed);
            let question = ModelQuestion { body: call.body };
            let answer = answer(&question);
            whole(number, &answer)
        });
        Self { address, asked }
    }

    /// The base of its URLs.
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests that it got, in order.
    pub fn requests(&self) -> Vec<Json> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The calls of an answer as the wire has them.
fn calls(number: u64, answer: &ModelAnswer) -> Option<Json> {
    let ModelAnswer::Calls(calls) = answer else { return None };
    let call = |(index, (name, args)): (usize, &(String, Json))| {
        let function = json!({ "name": name, "arguments": args.to_string() });
        json!({ "id": format!("call_{number}_{index}"), "type": "function", "function": function })
    };
    Some(calls.iter().enumerate().map(call).collect())
}

fn whole(number: u64, answer: &ModelAnswer) -> HttpReply {
    let mut message = json!({ "role": "assistant", "content": null });
    let finish = match answer {
        ModelAnswer::Text(text) => {
            message["content"] = json!(text);
            "stop"
        }
        ModelAnswer::Calls(_) => {
            message["tool_calls"] = calls(number, answer).unwrap_or_default();
            "tool_calls"
        }
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    HttpReply::json(
        200,
        &json!({ "id": format!("answer-{number}"), "object": "chat.completion", "model": "fake", "choices": [choice], "usage": usage }),
    )
}
