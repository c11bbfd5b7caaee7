//! The settings of work without a message.

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::{Settings, reader::Reader};
use crate::{message::ChatPlace, schedule::Schedule};

/// The schedule of `HEARTBEAT.md`, and the chat for its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The time between two looks, in milliseconds.
    pub every: i64,
    /// The chat.
    pub place: ChatPlace,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { every: 30 * 60 * 1000, place: ChatPlace::new("terminal", "terminal") }
    }
}

/// Reads the section into the settings.
pub(super) fn read(reader: &mut Reader<'_>, settings: &mut Settings) {
    let mut heartbeat = Heartbeat::default();
    let is_set = reader.mapping("heartbeat", &["every", "chat"]).is_some();
    if let Some(every) = reader.text("heartbeat.every", &["heartbeat", "every"]) {
        match Schedule::every(every, Timestamp::UNIX_EPOCH) {
            Ok(Schedule::Every { every, .. }) => heartbeat.every = i64::try_from(every).unwrap_or(i64::MAX),
            _ => reader.report(
                "heartbeat.every",
                format!("`{every}` is no time between two looks"),
                "write `30s`, `10m`, `2h` or `1d`, at least 10s",
            ),
        }
    }
    if let Some(chat) = reader.text("heartbeat.chat", &["heartbeat", "chat"]) {
        match ChatPlace::named(chat) {
            Some(place) => heartbeat.place = place,
            None => reader.report(
                "heartbeat.chat",
                format!("`{chat}` is no chat"),
                "write `terminal`, or a channel and its chat, such as `slack:C0123`",
            ),
        }
    }
    // By default, it needs the terminal.
    settings.heartbeat = (is_set || settings.terminal).then_some(heartbeat);
}

/// The schema of the section `heartbeat`.
pub(super) fn heartbeat_schema() -> Json {
    json!({
        "type": ["object", "null"],
        "description": "When the agent looks at the open items of HEARTBEAT.md by itself",
        "additionalProperties": false,
        "properties": {
            "every": { "description": "The time between two looks, at least 10s", "type": "string", "pattern": "^[0-9]+[smhd]$", "default": "30m" },
            "chat": { "description": "Where it says what it found: terminal, or a channel and its chat", "type": "string", "pattern": "^(terminal|[a-z]+:.*\\S.*)$", "default": "terminal" }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CONFIG_FILE, read},
        Heartbeat,
    };
    use crate::message::ChatPlace;

    // orchestrator 1.4, 8.2
    #[test]
    fn a_heartbeat_has_a_time_and_a_chat() {
        let heartbeat = |text: &str| {
            let (settings, found) = read(CONFIG_FILE, text);
            let messages: Vec<String> = found.into_iter().map(|finding| finding.message.to_string()).collect();
            (settings.heartbeat, messages)
        };
        let set = Heartbeat { every: 7_200_000, place: ChatPlace::new("slack", "C0123") };
        assert_eq!(heartbeat("heartbeat: { every: 2h, chat: 'slack:C0123' }\n"), (Some(set), Vec::new()));
        assert_eq!(heartbeat("heartbeat:\n"), (Some(Heartbeat::default()), Vec::new()));
        assert_eq!(heartbeat("channels: {}\n"), (None, Vec::new()));
        let (_, found) = heartbeat("heartbeat: { every: 1s, chat: slack, chats: [] }\n");
        assert_eq!(found, ["`1s` is no time between two looks", "`slack` is no chat", "there is no key `heartbeat.chats`"]);
        assert_eq!(heartbeat("heartbeat: { every: 5, chat: [] }\n").1.len(), 2);
    }
}
