//! The settings of tools, and of what the agent does by itself.

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use trellis_core::Value;

use super::{
    Settings,
    reader::{Reader, with_article},
};
use crate::{message::ChatPlace, schedule::Schedule};

/// When the agent looks at `HEARTBEAT.md`, and where it says what it found.
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

/// Reads the sections into the settings.
pub(super) fn read(reader: &mut Reader<'_>, settings: &mut Settings) {
    reader.mapping("tools", &["web"]);
    if let Some(web) = reader.mapping("tools.web", &["allow_private"]) {
        settings.web_private = web.get("allow_private").map(|hosts| hosts_of(reader, hosts)).unwrap_or_default();
    }
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
    // Without a word about it, it needs the terminal.
    settings.heartbeat = (is_set || settings.terminal).then_some(heartbeat);
}

/// The hosts of a list, each a name or an address, perhaps with a port.
fn hosts_of(reader: &mut Reader<'_>, value: &Value) -> Vec<String> {
    const PLACE: &str = "tools.web.allow_private";
    let Value::List(hosts) = value else {
        reader.report(PLACE, format!("`{PLACE}` takes a list of hosts, not {}", with_article(value.kind())), "write `[wiki.internal]`");
        return Vec::new();
    };
    let mut read = Vec::new();
    for (at, host) in hosts.iter().enumerate() {
        match host.as_str().and_then(host_of) {
            Some(host) => read.push(host),
            None => {
                let message = format!("`{}` is no host", host.to_json());
                reader.report(
                    &format!("{PLACE}.{at}"),
                    message,
                    "write a name or an address, such as `wiki.internal` or `\"10.0.0.7:8080\"`",
                );
            }
        }
    }
    read
}

/// A host in the form in which URLs have it; nothing where a text is none.
fn host_of(text: &str) -> Option<String> {
    let url = url::Url::parse(&format!("https://{text}")).ok()?;
    let host = url.host_str()?;
    let is_host_alone = url.path() == "/" && !text.ends_with('/') && url.query().is_none() && url.fragment().is_none();
    let is_plain = url.username().is_empty() && url.password().is_none() && !text.contains(['@', '*', '\\']);
    (is_host_alone && is_plain).then(|| match text.rsplit_once(':') {
        // 443 is the port that a URL leaves out.
        Some((_, port)) if !text.ends_with(']') => format!("{host}:{port}"),
        _ => host.to_owned(),
    })
}

/// The schema of the section `tools`.
pub(super) fn tools_schema() -> Json {
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": {
            "web": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "properties": {
                    "allow_private": {
                        "description": "Hosts, perhaps with a port, that are read also where their address is not public",
                        "type": "array",
                        "items": { "type": "string", "minLength": 1 },
                        "default": []
                    }
                }
            }
        }
    })
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
        super::{FILE, read},
        Heartbeat,
    };
    use crate::message::ChatPlace;

    // orchestrator 1.4, 8.2
    #[test]
    fn a_heartbeat_has_a_time_and_a_chat() {
        let heartbeat = |text: &str| {
            let (settings, found) = read(FILE, text);
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

    // orchestrator 1.4, 6
    #[test]
    fn hosts_are_read_as_urls_have_them() {
        let (settings, found) =
            read(FILE, "tools: { web: { allow_private: [Wiki.Internal, \"10.0.0.7:8080\", \"[::1]:443\", \"127.1\"] } }\n");
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(settings.web_private, ["wiki.internal", "10.0.0.7:8080", "[::1]:443", "127.0.0.1"]);
        let text = "tools: { web: { allow_private: [a/b, \"*\", \"ana@wiki\", 7, \"http://wiki\", \"\"] }, shell: { mode: ask } }\n";
        let (_, found) = read(FILE, text);
        let messages: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
        let hosts = ["`\"a/b\"`", "`\"*\"`", "`\"ana@wiki\"`", "`7`", "`\"http://wiki\"`", "`\"\"`"];
        let mut expected: Vec<String> = hosts.iter().map(|host| format!("{host} is no host")).collect();
        expected.push("`tools.shell` does nothing yet".to_owned());
        assert_eq!(messages, expected);
        let (_, found) = read(FILE, "tools: { web: { allow_private: wiki, private: [] } }\n");
        let messages: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
        assert_eq!(messages, ["`tools.web.allow_private` takes a list of hosts, not a text", "there is no key `tools.web.private`"]);
    }
}
