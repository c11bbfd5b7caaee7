//! The Web API of Slack, as far as a bot of chats uses it (`docs.slack.dev/reference/methods`).

use serde_json::{Value as Json, json};

use super::{Author, BOT, FakeFile, FakeMessage, HttpCall, HttpReply, ProviderEvent, Shared, Side, State, TOKEN, faulty, files};

/// The name of a message.
pub(super) fn ts(began: u64, n: u64) -> String {
    format!("{}.{:06}", began + n / 1_000_000, n % 1_000_000)
}

pub(super) fn answer(shared: &Shared, call: &HttpCall) -> HttpReply {
    let mut state = shared.lock();
    if let Some(id) = call.path.strip_prefix("/files/") {
        return files::fetch(&mut state, call, id, &format!("Bearer {TOKEN}"));
    }
    if call.path.starts_with("/upload/") {
        let text = String::from_utf8_lossy(&call.raw).into_owned();
        let Some((_, file)) = state.uploads.iter_mut().find(|(id, _)| call.path == format!("/upload/{id}")) else {
            return HttpReply::text(404, "");
        };
        file.text = text;
        return HttpReply::text(200, "OK");
    }
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
    if method == "users.info" {
        let user = call.query.get("user").map(String::as_str).unwrap_or_default();
        return json!({ "ok": true, "user": { "id": user, "is_bot": matches!(user, "U0098" | "U0099") } });
    }
    if method == "files.getUploadURLExternal" {
        let (Some(name), Some(_)) = (call.query.get("filename"), call.query.get("length").and_then(|length| length.parse::<usize>().ok()))
        else {
            return error("invalid_arguments");
        };
        let id = format!("F{}", state.requests.len() + state.uploads.len());
        state.uploads.push((id.clone(), FakeFile::new(name, "")));
        let address = state.address.map(|address| address.to_string()).unwrap_or_default();
        return json!({ "ok": true, "file_id": id, "upload_url": format!("http://{address}/upload/{id}") });
    }
    if method == "files.completeUploadExternal" {
        return complete(state, call);
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
            let is_refused = text.chars().count() > 40_000 || state.refused.as_ref().is_some_and(|words| text.contains(&**words));
            state.happens(ProviderEvent::Sent(!is_refused));
            if is_refused {
                return error("msg_too_long");
            }
            let thread = call.body["thread_ts"].as_str().map(|ts| number(state, ts));
            let n = state.keep(chat, thread, Author::Own, text, call.body.clone());
            json!({ "ok": true, "channel": name, "ts": ts(state.began, n) })
        }
        "reactions.get" => {
            let n = number(state, call.query.get("timestamp").map_or("", String::as_str));
            if !state.messages.iter().any(|message| message.n == n) {
                return error("message_not_found");
            }
            json!({ "ok": true, "type": "message", "channel": name, "message": { "ts": ts(state.began, n), "reactions": reactions(state, n) } })
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

/// The reactions to a message, by the names that Slack has for them.
fn reactions(state: &State, n: u64) -> Vec<Json> {
    let names = [
        ("👍", "+1"),
        ("👍🏽", "+1::skin-tone-4"),
        ("✅", "white_check_mark"),
        ("👎", "-1"),
        ("⏳", "hourglass_flowing_sand"),
        ("🚫", "no_entry_sign"),
        ("🛑", "octagonal_sign"),
    ];
    let reaction = |(_, author, emoji): &(u64, Author, String)| {
        let name = names.iter().find(|(known, _)| known == emoji).map_or("tada", |(_, name)| name);
        json!({ "name": name, "users": [user(*author)], "count": 1 })
    };
    state.others.iter().filter(|(of, ..)| *of == n).map(reaction).collect()
}

fn user(author: Author) -> String {
    match author {
        Author::Person(user) => format!("U00{user}"),
        Author::OtherBot => "U0098".to_owned(),
        Author::Own => format!("U00{BOT}"),
    }
}

/// Shares a file that was put in its place.
fn complete(state: &mut State, call: &HttpCall) -> Json {
    let id = call.body["files"][0]["id"].as_str().unwrap_or_default();
    let Some(at) = state.uploads.iter().position(|(known, _)| known == id) else {
        return json!({ "ok": false, "error": "file_not_found" });
    };
    let chat = call.body["channel_id"].as_str().and_then(|chat| chat.trim_start_matches(['C', 'D']).parse().ok()).unwrap_or_default();
    let thread = call.body["thread_ts"].as_str().map(|ts| number(state, ts));
    let (_, file) = state.uploads.remove(at);
    let n = state.keep(chat, thread, Author::Own, String::new(), call.body.clone());
    state.messages.iter_mut().filter(|message| message.n == n).for_each(|message| message.files = vec![file.clone()]);
    json!({ "ok": true, "files": call.body["files"] })
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
    if !rows.is_empty() && !has_root {
        state.happens(ProviderEvent::Read(rows.len()));
    }
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
            let name = state.names.get(&user).cloned().unwrap_or_else(|| format!("Person {user}"));
            json["user_profile"] = json!({ "display_name": name, "real_name": "" });
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
    let address = state.address.map(|address| address.to_string()).unwrap_or_default();
    let file = |(at, file): (usize, &FakeFile)| {
        let url = file.address.clone().unwrap_or_else(|| format!("http://{address}/files/{}-{at}", message.n));
        json!({ "id": format!("F{at}"), "name": file.name, "mimetype": file.kind, "size": file.size(), "mode": "hosted", "url_private_download": url })
    };
    if !message.files.is_empty() {
        json["subtype"] = json!("file_share");
        json["files"] = message.files.iter().enumerate().map(file).collect();
    }
    if let Some(thread) = message.thread {
        json["thread_ts"] = json!(ts(state.began, thread));
    } else if state.messages.iter().any(|reply| reply.thread == Some(message.n)) {
        json["thread_ts"] = json!(name);
    }
    json
}
