//! The Web API of Slack, as far as a bot of chats uses it (`docs.slack.dev/reference/methods`).

use serde_json::{Value as Json, json};

use super::{Author, BOT, FakeMessage, HttpCall, HttpReply, Shared, Side, State, TOKEN, faulty};

/// The name of a message.
pub(super) fn ts(began: u64, n: u64) -> String {
    format!("{}.{:06}", began + n / 1_000_000, n % 1_000_000)
}

pub(super) fn answer(shared: &Shared, call: &HttpCall) -> HttpReply {
    let mut state = shared.lock();
    let method = call.path.trim_start_matches("/api/");
    let side = if method == "chat.postMessage" { Side::Write } else { Side::Read };
    let fault = if method.starts_with("conversations.") || side == Side::Write { state.fault(side, method) } else { None };
    let too_many =
        |seconds: u64| HttpReply::json(429, &json!({ "ok": false, "error": "ratelimited" })).header("Retry-After", &seconds.to_string());
    faulty(fault, too_many, || HttpReply::json(200, &said(&mut state, method, call)))
}

fn said(state: &mut State, method: &str, call: &HttpCall) -> Json {
    let error = |name: &str| json!({ "ok": false, "error": name });
    if call.authorization != format!("Bearer {TOKEN}") {
        return error("invalid_auth");
    }
    if method == "auth.test" {
        return json!({ "ok": true, "user": "fake", "user_id": "U0099", "bot_id": "B0099", "team_id": "T1" });
    }
    let name = call.query.get("channel").map(String::as_str).or_else(|| call.body["channel"].as_str()).unwrap_or_default();
    let Some(chat) = name.strip_prefix(['C', 'D']).and_then(|number| number.parse().ok()).filter(|chat| !state.gone.contains(chat)) else {
        return error("channel_not_found");
    };
    match method {
        "conversations.history" => history(state, call, chat),
        "conversations.replies" => replies(state, call, chat),
        "chat.postMessage" => {
            let text = call.body["text"].as_str().unwrap_or_default().to_owned();
            if text.chars().count() > 40_000 {
                return error("msg_too_long");
            }
            let thread = call.body["thread_ts"].as_str().map(|ts| number(state, ts));
            let n = state.keep(chat, thread, Author::Own, text, call.body.clone());
            json!({ "ok": true, "channel": name, "ts": ts(state.began, n) })
        }
        "reactions.add" => {
            let n = number(state, call.body["timestamp"].as_str().unwrap_or_default());
            if call.body["name"] != "eyes" {
                return error("invalid_name");
            }
            if state.reactions.contains(&n) {
                return error("already_reacted");
            }
            state.reactions.push(n);
            json!({ "ok": true })
        }
        _ => error("unknown_method"),
    }
}

fn number(state: &State, name: &str) -> u64 {
    let (seconds, part) = name.split_once('.').unwrap_or((name, "0"));
    let (seconds, part): (u64, u64) = (seconds.parse().unwrap_or_default(), part.parse().unwrap_or_default());
    seconds.saturating_sub(state.began) * 1_000_000 + part
}

/// Newest first, without the replies in threads.
fn history(state: &State, call: &HttpCall, chat: u64) -> Json {
    let mut found: Vec<&FakeMessage> = state.messages.iter().filter(|message| message.chat == chat && message.thread.is_none()).collect();
    found.reverse();
    page(state, call, &found, false)
}

/// Oldest first, with the message that began the thread.
fn replies(state: &State, call: &HttpCall, chat: u64) -> Json {
    let root = number(state, call.query.get("ts").map_or("", String::as_str));
    let of_thread = |message: &&FakeMessage| message.chat == chat && (message.n == root || message.thread == Some(root));
    let found: Vec<&FakeMessage> = state.messages.iter().filter(of_thread).collect();
    if found.first().is_none_or(|first| first.n != root) {
        return json!({ "ok": false, "error": "thread_not_found" });
    }
    page(state, call, &found, true)
}

fn page(state: &State, call: &HttpCall, found: &[&FakeMessage], has_root: bool) -> Json {
    let oldest = call.query.get("oldest").map_or("0", String::as_str);
    let limit: usize = call.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(100);
    let start: usize = call.query.get("cursor").and_then(|cursor| cursor.strip_prefix("next=")?.parse().ok()).unwrap_or_default();
    let is_root = |message: &FakeMessage| has_root && message.thread.is_none();
    let newer: Vec<&&FakeMessage> = found.iter().filter(|message| is_root(message) || *ts(state.began, message.n) > *oldest).collect();
    let rows: Vec<Json> = newer.iter().skip(start).take(limit).map(|message| message_json(state, message)).collect();
    let end = start + rows.len();
    let has_more = end < newer.len();
    let next = if has_more { format!("next={end}") } else { String::new() };
    json!({ "ok": true, "messages": rows, "has_more": has_more, "response_metadata": { "next_cursor": next } })
}

fn message_json(state: &State, message: &FakeMessage) -> Json {
    let name = ts(state.began, message.n);
    let mut json = json!({ "type": "message", "ts": name, "text": message.text });
    match message.author {
        Author::Person(user) => {
            json["user"] = json!(format!("U00{user}"));
            json["user_profile"] = json!({ "display_name": format!("Person {user}"), "real_name": "" });
        }
        Author::OtherBot => {
            json["subtype"] = json!("bot_message");
            json["bot_id"] = json!("B0001");
        }
        Author::Own => {
            json["user"] = json!(format!("U00{BOT}"));
            json["bot_id"] = json!("B0099");
        }
    }
    if let Some(thread) = message.thread {
        json["thread_ts"] = json!(ts(state.began, thread));
    } else if state.messages.iter().any(|reply| reply.thread == Some(message.n)) {
        json["thread_ts"] = json!(name);
    }
    json
}
