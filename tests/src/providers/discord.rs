//! The HTTP API of Discord, as far as a bot of chats uses it (`discord.com/developers/docs`).

use serde_json::{Value as Json, json};

use super::{Author, BOT, FakeFile, FakeMessage, HttpCall, HttpReply, Shared, Side, State, TOKEN, faulty, files};

/// The id of a message: its moment, and its number.
pub(super) fn snowflake(began: u64, n: u64) -> u64 {
    ((began * 1000 - 1_420_070_400_000) << 22) + n
}

pub(super) fn answer(shared: &Shared, call: &HttpCall) -> HttpReply {
    let mut state = shared.lock();
    if let Some(id) = call.path.strip_prefix("/attachments/") {
        return files::fetch(&mut state, call, id, "");
    }
    let path = call.path.trim_start_matches("/api/v10/");
    let is_messages = path.ends_with("/messages");
    let side = if call.method == "POST" { Side::Write } else { Side::Read };
    let fault = if is_messages { state.fault(side, path) } else { None };
    let too_many = |seconds: u64| {
        let body = json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": false });
        HttpReply::json(429, &body).header("Retry-After", &seconds.to_string()).header("X-RateLimit-Scope", "user")
    };
    faulty(fault, too_many, || {
        said(&mut state, path, call).unwrap_or_else(|(status, code, why)| HttpReply::json(status, &json!({ "code": code, "message": why })))
    })
}

type Refusal = (u16, i64, &'static str);

fn said(state: &mut State, path: &str, call: &HttpCall) -> Result<HttpReply, Refusal> {
    if call.authorization != format!("Bot {TOKEN}") {
        return Err((401, 0, "401: Unauthorized"));
    }
    let parts: Vec<&str> = path.split('/').collect();
    if let ["users", "@me"] = parts[..] {
        return Ok(HttpReply::json(200, &json!({ "id": format!("90{BOT}"), "username": "fake", "bot": true })));
    }
    if let ["applications", "@me"] = parts[..] {
        let flags = if state.without_content { 0 } else { 1 << 19 };
        return Ok(HttpReply::json(200, &json!({ "id": "1", "flags": flags })));
    }
    let ["channels", chat, rest @ ..] = &parts[..] else { return Err((404, 0, "404: Not Found")) };
    let chat = chat.strip_prefix("70").and_then(|chat| chat.parse::<u64>().ok()).filter(|chat| !state.gone.contains(chat));
    let chat = chat.ok_or((404, 10003, "Unknown Channel"))?;
    match (&*call.method, rest) {
        ("GET", []) => Ok(HttpReply::json(200, &json!({ "id": chat, "type": if chat == 3 { 1 } else { 0 } }))),
        ("GET", ["messages"]) => Ok(HttpReply::json(200, &messages(state, call, chat))),
        ("POST", ["messages"]) => create(state, call, chat),
        ("GET", ["messages", id]) => {
            let n = number(state, id);
            let message = state.messages.iter().find(|message| message.n == n).ok_or((404, 10008, "Unknown Message"))?;
            let mut json = message_json(state, message);
            let reaction =
                |(_, _, emoji): &(u64, Author, String)| json!({ "emoji": { "id": null, "name": emoji }, "count": 1, "me": false });
            json["reactions"] = state.others.iter().filter(|(of, ..)| *of == n).map(reaction).collect();
            Ok(HttpReply::json(200, &json))
        }
        ("GET", ["messages", id, "reactions", emoji]) => {
            let (n, emoji) = (number(state, id), super::server::decoded(emoji));
            let of = state.others.iter().filter(|(of, _, what)| *of == n && *what == emoji);
            let users: Vec<Json> = of.map(|(_, author, _)| user_json(*author)).collect();
            Ok(HttpReply::json(200, &json!(users)))
        }
        ("POST", ["typing"]) => {
            state.typing += 1;
            Ok(HttpReply::text(204, ""))
        }
        ("PUT", ["messages", id, "reactions", "%F0%9F%91%80", "@me"]) => {
            let n = number(state, id);
            state.reactions.push(n);
            Ok(HttpReply::text(204, ""))
        }
        _ => Err((405, 0, "405: Method Not Allowed")),
    }
}

fn number(state: &State, id: &str) -> u64 {
    id.parse::<u64>().unwrap_or_default().saturating_sub(snowflake(state.began, 0))
}

/// Those right behind `after`, newest first.
fn messages(state: &State, call: &HttpCall, chat: u64) -> Json {
    let limit: usize = call.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(50);
    let of_chat = |message: &&FakeMessage| message.chat == chat;
    let mut found: Vec<&FakeMessage> = match call.query.get("after").and_then(|after| after.parse::<u64>().ok()) {
        Some(after) => {
            let newer = |message: &&FakeMessage| snowflake(state.began, message.n) > after;
            state.messages.iter().filter(of_chat).filter(newer).take(limit).collect()
        }
        None => state.messages.iter().filter(of_chat).rev().take(limit).collect(),
    };
    found.sort_by_key(|message| std::cmp::Reverse(message.n));
    found.into_iter().map(|message| message_json(state, message)).collect()
}

fn create(state: &mut State, call: &HttpCall, chat: u64) -> Result<HttpReply, Refusal> {
    let parts = call.parts();
    let payload = parts.iter().find(|(field, ..)| field == "payload_json").and_then(|(.., json)| serde_json::from_str::<Json>(json).ok());
    let body = payload.unwrap_or_else(|| call.body.clone());
    let files = parts.iter().filter_map(|(field, name, text)| {
        let name = name.as_ref().filter(|_| field.starts_with("files["))?;
        Some(FakeFile::new(name, text))
    });
    let files: Vec<FakeFile> = files.collect();
    let content = body["content"].as_str().unwrap_or_default().to_owned();
    if content.is_empty() && files.is_empty() {
        return Err((400, 50006, "Cannot send an empty message"));
    }
    if content.chars().count() > 2000 {
        return Err((400, 50035, "Invalid Form Body"));
    }
    let nonce = &body["nonce"];
    if nonce.as_str().is_some_and(|nonce| nonce.len() > 25) {
        return Err((400, 50035, "Invalid Form Body"));
    }
    let is_known = |message: &&FakeMessage| body["enforce_nonce"] == true && message.body["nonce"] == *nonce && message.chat == chat;
    let known = state.messages.iter().find(is_known).map(|message| message.n);
    let n = known.unwrap_or_else(|| state.keep(chat, None, Author::Own, content, body.clone()));
    state.messages.iter_mut().filter(|message| message.n == n).for_each(|message| message.files.clone_from(&files));
    let message = json!({ "id": snowflake(state.began, n).to_string(), "channel_id": chat.to_string() });
    Ok(HttpReply::json(200, &message).header("X-RateLimit-Remaining", "4").header("X-RateLimit-Reset-After", "1.5"))
}

fn user_json(author: Author) -> Json {
    let (user, is_bot) = match author {
        Author::Person(user) => (user, false),
        Author::OtherBot => (98, true),
        Author::Own => (BOT, true),
    };
    json!({ "id": format!("90{user}"), "username": format!("person{user}"), "global_name": format!("Person {user}"), "bot": is_bot })
}

fn message_json(state: &State, message: &FakeMessage) -> Json {
    let author = user_json(message.author);
    let address = state.address.map(|address| address.to_string()).unwrap_or_default();
    let file = |(at, file): (usize, &FakeFile)| {
        let url = file.address.clone().unwrap_or_else(|| format!("http://{address}/attachments/{}-{at}", message.n));
        json!({ "id": at.to_string(), "filename": file.name, "content_type": file.kind, "size": file.size(), "url": url })
    };
    let files: Vec<Json> = message.files.iter().enumerate().map(file).collect();
    let content = if state.without_content { "" } else { &*message.text };
    let replied = message.thread.and_then(|root| state.messages.iter().find(|other| other.n == root));
    let mut json = json!({
        "id": snowflake(state.began, message.n).to_string(),
        "type": if replied.is_some() { 19 } else { 0 },
        "content": content,
        "author": author,
        "attachments": files,
    });
    if let Some(replied) = replied {
        json["referenced_message"] = message_json(state, replied);
    }
    json
}
