//! Clients over HTTP that send a request again until it is answered.

use std::{
    io::{BufRead, BufReader},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use ureq::{Agent, Body, http::Response};

/// The rest before a request is sent again.
const REST: Duration = Duration::from_millis(10);
/// The time after which a request that hangs has failed.
const PATIENCE: Duration = Duration::from_secs(120);
/// Answers of a server that is not there yet, or not any more: the same request is sent again.
const AGAIN: [u16; 3] = [202, 429, 503];

/// Asks several servers of one store, each time another one.
pub(super) struct Client {
    agent: Agent,
    ports: Vec<u16>,
    asked: usize,
    token: &'static str,
    /// Requests that were sent again.
    pub(super) again: usize,
}

impl Client {
    pub(super) fn new(ports: &[u16], token: &'static str) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().new_agent();
        Self { agent, ports: ports.to_vec(), asked: 0, token, again: 0 }
    }

    fn url(&mut self, path: &str) -> String {
        self.asked += 1;
        format!("http://127.0.0.1:{}{path}", self.ports[self.asked % self.ports.len()])
    }

    /// Sends a request once; nothing, if no server answers.
    pub(super) fn once(&mut self, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Option<Response<Body>> {
        let (url, bearer) = (self.url(path), format!("Bearer {}", self.token));
        let answer = match body {
            Some(body) => {
                let request = self.agent.post(&url).header("authorization", bearer).header("content-type", "application/json");
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send(body.to_string())
            }
            None => {
                let request = self.agent.get(&url).header("authorization", bearer);
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).call()
            }
        };
        answer.ok()
    }

    /// Sends a request until it is answered for good.
    pub(super) fn ask(&mut self, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Value {
        loop {
            if let Some(mut answer) = self.once(path, headers, body) {
                let (status, text) = (answer.status().as_u16(), answer.body_mut().read_to_string());
                // A server that was killed may have sent a part of it.
                let json = text.ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
                match json {
                    Some(json) if status < 300 && status != 202 => return json,
                    Some(json) if !AGAIN.contains(&status) && json["code"] != "in-progress" => panic!("{path}: {status}: {json}"),
                    _ => {}
                }
            }
            self.again += 1;
            thread::sleep(REST);
        }
    }

    /// Takes one turn of a session, however often it must be sent; `seq` is the number that was seen, and becomes that of the next turn.
    pub(super) fn turn(&mut self, session: &str, key: &str, seq: &mut u64, input: &str) {
        let tag = format!("\"{seq}\"");
        let headers = [("idempotency-key", key), ("if-match", &*tag)];
        let turn = self.ask(&format!("/api/sessions/{session}/turns"), &headers, Some(&json!({ "input": input })));
        *seq = turn["seq"].as_u64().unwrap_or_else(|| panic!("no turn: {turn}"));
    }

    /// Follows a session until `is_over` and returns the numbers of the records that came, over however many streams.
    pub(super) fn follow(&mut self, session: &str, until: u64, is_over: &AtomicBool) -> Vec<u64> {
        let mut seen: Vec<u64> = Vec::new();
        while seen.last().is_none_or(|last| *last < until) {
            let since = seen.last().map_or_else(|| "0".to_owned(), u64::to_string);
            let Some(answer) = self.once(&format!("/api/sessions/{session}/events"), &[("last-event-id", &since)], None) else {
                thread::sleep(REST);
                continue;
            };
            for line in BufReader::new(answer.into_body().into_reader()).lines() {
                let Ok(line) = line else { break };
                seen.extend(line.strip_prefix("id: ").and_then(|id| id.parse::<u64>().ok()));
                if seen.last().is_some_and(|last| *last >= until) {
                    break;
                }
            }
            assert!(!is_over.load(Ordering::Acquire) || !seen.is_empty(), "nothing came of {session}");
        }
        seen
    }
}
