//! The Bot API of Telegram, as far as a bot of chats uses it (`core.telegram.org/bots/api`).

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::{Author, BOT, FakeFile, FakeMessage, HttpCall, HttpReply, ProviderEvent, Shared, Side, State, TOKEN, faulty, files};

/// The longest time that a question for news is held: no test waits for more.
const LONGEST: Duration = Duration::from_secs(2);

/// The number before that of the first update.
const FIRST_UPDATE: u64 = 500;

/// Puts a message among the updates.
pub(super) fn tell(state: &mut State, what: &str, n: u64) {
    let message = state.messages.iter().find(|message| message.n == n).map(|message| message_json(state, message));
    push(state, what, message);
}

/// Puts a reaction among the updates: what it was before, and what it is now.
pub(super) fn tell_reaction(state: &mut State, n: u64, author: Author, (before, after): (&[&str], &[&str])) {
    let Some(message) = state.messages.iter().find(|message| message.n == n).map(|message| message_json(state, message)) else { return };
    let types = |emoji: &[&str]| emoji.iter().map(|emoji| json!({ "type": "emoji", "emoji": emoji })).collect::<Vec<_>>();
    let (user, is_bot) = user(author);
    let reaction = json!({
        "chat": message["chat"],
        "message_id": n,
        "user": { "id": user, "is_bot": is_bot, "first_name": "Somebody" },
        "date": state.began,
        "old_reaction": types(before),
        "new_reaction": types(after),
    });
    push(state, "message_reaction", Some(reaction));
}

/// Puts something among the updates, under a number that none had before.
fn push(state: &mut State, what: &str, update: Option<Json>) {
    state.last_update = state.last_update.max(FIRST_UPDATE) + 1;
    let id = state.last_update;
    state.updates.push((id, json!({ "update_id": id, what: update })));
}

/// The id of a group.
pub(super) fn id(chat: u64) -> i64 {
    format!("-100{chat}").parse().unwrap_or_default()
}

/// The number of the chat with this id.
fn number(id: i64) -> u64 {
    id.to_string().trim_start_matches("-100").parse().unwrap_or_default()
}

fn user(author: Author) -> (u64, bool) {
    match author {
        Author::Person(user) => (user, false),
        Author::OtherBot => (98, true),
        Author::Own => (BOT, true),
    }
}

pub(super) fn answer(shared: &Shared, call: &HttpCall) -> HttpReply {
    let refused = |status: u16, why: &str| HttpReply::json(status, &json!({ "ok": false, "error_code": status, "description": why }));
    if let Some(path) = call.path.strip_prefix(&format!("/file/bot{TOKEN}/documents/")) {
        return files::fetch(&mut shared.lock(), call, path, "");
    }
    let Some(method) = call.path.strip_prefix(&format!("/bot{TOKEN}/")) else { return refused(401, "Unauthorized") };
    let side = if method.starts_with("send") { Side::Write } else { Side::Read };
    let is_counted = matches!(method, "sendMessage" | "sendDocument" | "getUpdates");
    let fault = if is_counted { shared.lock().fault(side, method) } else { None };
    let too_many = |seconds: u64| {
        let body = json!({ "ok": false, "error_code": 429, "description": format!("Too Many Requests: retry after {seconds}"), "parameters": { "retry_after": seconds } });
        HttpReply::json(429, &body)
    };
    faulty(fault, too_many, || {
        if method == "getUpdates" {
            return updates(shared, call).unwrap_or_else(|(status, why)| refused(status, why));
        }
        let mut state = shared.lock();
        match said(&mut state, method, call) {
            Ok(result) => HttpReply::json(200, &json!({ "ok": true, "result": result })),
            Err((status, why)) => refused(status, why),
        }
    })
}

fn updates(shared: &Shared, call: &HttpCall) -> Result<HttpReply, (u16, &'static str)> {
    let offset = call.body["offset"].as_u64().unwrap_or_default();
    let limit = usize::try_from(call.body["limit"].as_u64().unwrap_or(100)).unwrap_or(100);
    let until = Instant::now() + Duration::from_secs(call.body["timeout"].as_u64().unwrap_or_default()).min(LONGEST);
    let mut state = shared.lock();
    loop {
        if state.webhook {
            return Err((
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            ));
        }
        // A request confirms the updates before the requested one.
        state.updates.retain(|(id, _)| *id >= offset);
        let wait = until.saturating_duration_since(Instant::now());
        if !state.updates.is_empty() || wait.is_zero() {
            let is_wanted = |what: &str| call.body["allowed_updates"].as_array().is_some_and(|wanted| wanted.iter().any(|one| one == what));
            let has_reaction = |update: &Json| update.get("message_reaction").is_some();
            let updates = state.updates.iter().filter(|(_, update)| is_wanted("message_reaction") || !has_reaction(update));
            let updates: Vec<&Json> = updates.take(limit).map(|(_, update)| update).collect();
            if !updates.is_empty() {
                state.happens(ProviderEvent::Read(updates.len()));
            }
            return Ok(HttpReply::json(200, &json!({ "ok": true, "result": updates })));
        }
        state = shared.news.wait_timeout(state, wait).unwrap_or_else(std::sync::PoisonError::into_inner).0;
    }
}

fn said(state: &mut State, method: &str, call: &HttpCall) -> Result<Json, (u16, &'static str)> {
    let chat = |state: &State| {
        let chat = number(call.body["chat_id"].as_i64().unwrap_or_default());
        if state.gone.contains(&chat) { Err((400, "Bad Request: chat not found")) } else { Ok(chat) }
    };
    match method {
        "getMe" => Ok(json!({ "id": BOT, "is_bot": true, "first_name": "Fake", "username": "fake_bot" })),
        "getWebhookInfo" => Ok(json!({ "url": if state.webhook { "https://example.org/hook" } else { "" } })),
        "sendMessage" => {
            let text = call.body["text"].as_str().unwrap_or_default().to_owned();
            if text.is_empty() {
                return Err((400, "Bad Request: message text is empty"));
            }
            if text.encode_utf16().count() > 4096 {
                return Err((400, "Bad Request: message is too long"));
            }
            if call.body["parse_mode"] == "HTML" && text.matches('<').count() != text.matches("</").count() * 2 {
                return Err((400, "Bad Request: can't parse entities"));
            }
            let n = state.keep(chat(state)?, None, Author::Own, text, call.body.clone());
            Ok(json!({ "message_id": n, "date": state.began, "chat": call.body["chat_id"] }))
        }
        "sendDocument" => {
            let parts = call.parts();
            let field = |name: &str| parts.iter().find(|(field, ..)| field == name);
            let id: i64 = field("chat_id").and_then(|(.., id)| id.parse().ok()).unwrap_or_default();
            let chat = number(id);
            if state.gone.contains(&chat) {
                return Err((400, "Bad Request: chat not found"));
            }
            let Some((_, Some(name), text)) = field("document") else {
                return Err((400, "Bad Request: there is no document in the request"));
            };
            let n = state.keep(chat, None, Author::Own, String::new(), json!({ "chat_id": id }));
            let file = FakeFile::new(name, text);
            state.messages.iter_mut().filter(|message| message.n == n).for_each(|message| message.files = vec![file.clone()]);
            Ok(json!({ "message_id": n, "date": state.began, "chat": { "id": id } }))
        }
        "getFile" => {
            let id = call.body["file_id"].as_str().unwrap_or_default();
            let file = files::find(state, id).ok_or((400, "Bad Request: wrong file_id"))?;
            let path = file.address.clone().unwrap_or_else(|| format!("documents/{id}"));
            Ok(json!({ "file_id": id, "file_size": file.size(), "file_path": path }))
        }
        "sendChatAction" => {
            chat(state)?;
            state.typing += 1;
            Ok(json!(true))
        }
        "setMessageReaction" => {
            chat(state)?;
            state.reactions.push(call.body["message_id"].as_u64().unwrap_or_default());
            Ok(json!(true))
        }
        _ => Err((404, "Not Found")),
    }
}

fn message_json(state: &State, message: &FakeMessage) -> Json {
    let (user, is_bot) = user(message.author);
    let chat = if message.chat == 3 {
        json!({ "id": 3, "type": "private", "first_name": "Person" })
    } else {
        json!({ "id": id(message.chat), "type": "supergroup", "title": "A group" })
    };
    let from = json!({ "id": user, "is_bot": is_bot, "first_name": format!("Person {user}") });
    let mut json = json!({ "message_id": message.n, "date": state.began, "chat": chat, "from": from, "text": message.text });
    if let Some(file) = message.files.first() {
        json["document"] =
            json!({ "file_id": format!("{}-0", message.n), "file_name": file.name, "mime_type": file.kind, "file_size": file.size() });
        if let Some(text) = json.as_object_mut().and_then(|json| json.remove("text")).filter(|text| text != "") {
            json["caption"] = text;
        }
    }
    // A group without topics has replies in place of threads.
    let replied = message.thread.and_then(|root| state.messages.iter().find(|other| other.n == root));
    if let Some(replied) = replied {
        json["reply_to_message"] = message_json(state, replied);
    }
    json
}
