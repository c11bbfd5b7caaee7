//! `orchestrator.yaml`: the settings of a workspace, read strictly (orchestrator 1.4).
//!
//! **Invariant:** every mistake of the file is a finding at its place; a key that is not carried out is one of them.

mod hands;
mod reader;
mod remote;
mod schema;

use std::collections::BTreeSet;

use trellis_core::{Diagnostic, Value, diagnostic::FilePath, syntax::project::HostConfig};

use self::reader::Reader;
pub use self::{
    hands::Heartbeat,
    remote::{Provider, RemoteSettings, TokenSource},
    schema::schema,
};
use crate::{message::Incoming, texts::Language};

/// The name of the file.
pub const FILE: &str = "orchestrator.yaml";

/// The settings of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The language of the fixed texts.
    pub language: Language,
    /// The name of the agent: `agents/NAME.md` says who it is.
    pub agent: String,
    /// Names by which the agent is also called where several people talk.
    pub aliases: Vec<String>,
    /// Whether it answers everything there.
    pub auto_reply: bool,
    /// The number of runs at once, over all chats.
    pub runs: usize,
    /// Whether there is a chat in the terminal.
    pub terminal: bool,
    /// The channels over a network.
    pub remote: Vec<RemoteSettings>,
    /// Those who may approve calls, as `provider:user`.
    pub approvers: BTreeSet<String>,
    /// Tokens of the messages for the model.
    pub context_tokens: usize,
    /// When the agent looks at `HEARTBEAT.md`; nothing where it does not.
    pub heartbeat: Option<Heartbeat>,
    /// Hosts, some with a port, that `web` reads whatever address they have.
    pub web_private: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            language: Language::English,
            agent: "main".to_owned(),
            aliases: Vec::new(),
            auto_reply: false,
            runs: 16,
            terminal: true,
            remote: Vec::new(),
            approvers: BTreeSet::new(),
            context_tokens: 24_000,
            heartbeat: Some(Heartbeat::default()),
            web_private: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether the person who wrote a message may approve calls (orchestrator 3.6): in the terminal always, elsewhere only those who are named.
    pub fn may_approve(&self, message: &Incoming) -> bool {
        let provider = &message.place.provider;
        provider == "terminal" || self.approvers.contains(&format!("{provider}:{}", message.sender))
    }

    /// The channels on which nobody may approve anything.
    pub fn without_approvers(&self) -> impl Iterator<Item = Provider> {
        let has = |provider: Provider| self.approvers.iter().any(|who| who.split_once(':').is_some_and(|(of, _)| of == provider.as_str()));
        self.remote.iter().map(|remote| remote.provider).filter(move |provider| !has(*provider))
    }
}

/// Keys that are planned and do nothing yet; each is refused with this reason.
const PLANNED: &[(&str, &str)] = &[
    ("providers", "so far models are set up in `trellis.yaml` of the graph"),
    ("roles", "so far models are set up in `trellis.yaml` of the graph"),
    ("tools.shell", "so far the policy in `trellis.yaml` of the graph says which lines are held"),
    ("tools.file", "so far files lie in `files/` of the workspace"),
    ("channels.web", "so far the channels are `terminal`, `slack`, `telegram` and `discord`"),
    ("limits.attachment", "so far no channel has attachments"),
];

/// Reads the file. The settings are those of its sound keys; with an error among the findings they are not to be used.
pub fn read(path: impl Into<FilePath>, text: &str) -> (Settings, Vec<Diagnostic>) {
    let (config, found) = HostConfig::parse(path, text);
    let mut reader = Reader { config: &config, found };
    let mut settings = Settings::default();
    reader.keys("", &config.values, &["locale", "agent", "channels", "approvers", "tools", "heartbeat", "limits"]);
    if let Some(locale) = reader.text("locale", &["locale"]) {
        match Language::named(locale) {
            Some(language) => settings.language = language,
            None => reader.report("locale", format!("there are no texts in `{locale}`"), "write `en` or `ko`"),
        }
    }
    if let Some(agent) = reader.mapping("agent", &["name", "aliases", "auto_reply", "runs"]) {
        settings.agent = reader.name(agent).unwrap_or(settings.agent);
        settings.aliases = reader.texts("agent.aliases", agent.get("aliases"));
        settings.auto_reply = reader.truth("agent.auto_reply", agent.get("auto_reply"));
        settings.runs = reader.number("agent.runs", agent.get("runs"), 1..=1000).unwrap_or(settings.runs);
    }
    if let Some(channels) = reader.mapping("channels", &["terminal", "slack", "telegram", "discord"]) {
        settings.terminal = channels.contains("terminal");
        reader.mapping("channels.terminal", &[]);
        let named = Provider::ALL.into_iter().filter(|provider| channels.contains(provider.as_str()));
        settings.remote = named.filter_map(|provider| reader.remote(provider)).collect();
    }
    settings.approvers = reader.approvers();
    if let Some(limits) = reader.mapping("limits", &["context_tokens"]) {
        let tokens = reader.number("limits.context_tokens", limits.get("context_tokens"), 1000..=10_000_000);
        settings.context_tokens = tokens.unwrap_or(settings.context_tokens);
    }
    hands::read(&mut reader, &mut settings);
    reader.secrets("", &Value::Map(config.values.clone()));
    let mut found = reader.found;
    found.sort_by(|one, other| one.order().cmp(&other.order()));
    (settings, found)
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;
    use crate::workspace::DEFAULT_SETTINGS;

    /// The findings as `line: message`.
    fn found(text: &str) -> Vec<String> {
        let (_, found) = read(FILE, text);
        let line = |finding: &Diagnostic| {
            let span = finding.place.as_ref().expect("a place").span;
            text[..span.start as usize].lines().count().max(1)
        };
        found.iter().map(|finding| format!("{}: {}", line(finding), finding.message)).collect()
    }

    // orchestrator 1.4
    #[test]
    fn the_default_file_says_the_defaults() {
        assert_eq!(read(FILE, DEFAULT_SETTINGS), (Settings::default(), Vec::new()));
        assert_eq!(read(FILE, ""), (Settings::default(), Vec::new()));
    }

    // orchestrator 1.4
    #[test]
    fn every_mistake_is_found_at_once_at_its_place() {
        let text = "locale: fr\nagent: { name: a/b, runs: 0, nam: x }\nchannels:\n  slack: { token: xoxb-123456789012-abcdefghijkl }\n\
                    limits: []\nroles: {}\nlocal: en\n";
        let expected = [
            "1: there are no texts in `fr`",
            "2: `a/b` is no name of an agent",
            "2: `agent.runs` takes a whole number from 1 to 1000",
            "2: there is no key `agent.nam`",
            "4: `channels.slack.read` names no chat",
            "4: `channels.slack` says in `allow` who is heard",
            "4: `channels.slack.token` names a variable or a secret, and holds none",
            "5: `limits` takes a mapping, not a list",
            "6: `roles` does nothing yet",
            "7: there is no key `local`",
        ];
        assert_eq!(found(text), expected);
    }

    // orchestrator 1.4, 3.6
    #[test]
    fn channels_and_approvers_are_read_strictly() {
        let text = "channels:\n  telegram:\n    token: { env: \"\" }\n    read: [C1]\n    poll: 5\n    rows: 101\n    base_url: http://example.org\n\
                    approvers: [ana, \"irc:ana\", \"slack:*\", \"slack:U1\"]\nagent: { aliases: agent, auto_reply: maybe }\n";
        let expected = [
            "3: `channels.telegram` says in `allow` who is heard",
            "3: `channels.telegram.token` takes `env` or `secret` with a name",
            "4: there is no key `channels.telegram.read`",
            "5: `channels.telegram.poll` takes a time, not an integer",
            "6: `channels.telegram.rows` takes a whole number from 1 to 100",
            "7: `channels.telegram.base_url` takes a URL of `https`, or of `http` on this machine",
            "8: `ana` is nobody who can approve",
            "8: `irc:ana` is nobody who can approve",
            "8: `slack:*` is nobody who can approve",
            "9: `agent.aliases` takes a list, not a text",
            "9: `agent.auto_reply` takes `true` or `false`, not a text",
        ];
        assert_eq!(found(text), expected);
        let text = "channels: { slack: { token: { env: T }, read: [C1], allow: [7] } }\napprovers: [\"slack:U1\"]\n";
        let (settings, found) = read(FILE, text);
        assert!(found.is_empty() && !settings.terminal && settings.remote[0].allow == ["7"], "{found:?}");
        assert_eq!(settings.without_approvers().count(), 0);
        let said = |provider: &str, sender: &str| Incoming {
            place: crate::message::ChatPlace::new(provider, "c"),
            id: "1".into(),
            sender: sender.into(),
            sender_name: "slack:U1".into(),
            text: String::new(),
            at: 0,
        };
        let may = [("slack", "U1"), ("slack", "U2"), ("telegram", "U1"), ("terminal", "anybody")]
            .map(|(provider, sender)| settings.may_approve(&said(provider, sender)));
        assert_eq!(may, [true, false, false, true]);
    }

    #[test]
    fn what_is_no_yaml_is_one_finding() {
        assert_eq!(found("agent: [").len(), 1);
        assert_eq!(found("- a\n").len(), 1);
    }

    #[test]
    fn the_schema_has_every_key_and_no_other() {
        let keys = |place: &str| -> Vec<String> {
            let schema = schema();
            let object = schema.pointer(place).and_then(Json::as_object).expect("properties");
            object.keys().cloned().collect()
        };
        assert_eq!(keys("/properties"), ["agent", "approvers", "channels", "heartbeat", "limits", "locale", "tools"]);
        assert_eq!(keys("/properties/channels/properties"), ["discord", "slack", "telegram", "terminal"]);
        for (path, _) in PLANNED {
            let pointer = format!("/properties/{}", path.replace('.', "/properties/"));
            assert!(schema().pointer(&pointer).is_none(), "{path} is planned, and the schema has it");
        }
    }
}
