//! `orchestrator.yaml`: the settings of a workspace, read strictly (orchestrator 1.4).
//!
//! **Invariant:** every mistake in the file is a finding at its place, and so is a key without effect.

mod hands;
mod models;
mod reactions;
mod reader;
mod remote;
mod schema;
mod tools;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    time::Duration,
};

use trellis_core::{Diagnostic, Value, diagnostic::FilePath, syntax::project::HostConfig};

pub(crate) use self::models::without_models;
use self::reader::Reader;
pub use self::{
    hands::Heartbeat,
    models::{HeadlessModel, ModelSettings, StartedModel},
    reactions::{Reactions, Sign},
    remote::{Provider, RemoteSettings, TokenSource},
    schema::schema,
    tools::{Sandbox, ShellMode, ShellSettings},
};
use crate::{message::Incoming, texts::Language};

/// The name of the file.
pub const CONFIG_FILE: &str = "orchestrator.yaml";

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
    /// True if it answers every message there.
    pub auto_reply: bool,
    /// The number of runs at once, over all chats.
    pub runs: usize,
    /// True if there is a chat in the terminal.
    pub terminal: bool,
    /// True if there is a chat in the browser.
    pub web: bool,
    /// The channels over a network.
    pub remote: Vec<RemoteSettings>,
    /// Those who may approve calls, as `provider:user`.
    pub approvers: BTreeSet<String>,
    /// The reactions that ask for something.
    pub reactions: Reactions,
    /// Bytes of a file that somebody sends.
    pub attachment: u64,
    /// Tokens of the messages for the model.
    pub context_tokens: usize,
    /// The time for which a message waits for a channel that fails.
    pub delivery: Duration,
    /// The time for which a held call waits for a decision.
    pub approval: Duration,
    /// The schedule of `HEARTBEAT.md`; `None` if it is not used.
    pub heartbeat: Option<Heartbeat>,
    /// Models of this workspace.
    pub models: ModelSettings,
    /// Hosts, some with a port, that `web` reads whatever address they have.
    pub web_private: Vec<String>,
    /// The mode and the sandbox of the shell.
    pub shell: ShellSettings,
    /// The folder of files, below the workspace.
    pub files: String,
    /// The names of the secrets that tools may open besides those of the chat, by tool.
    pub secrets: BTreeMap<String, BTreeSet<String>>,
}

impl Settings {
    /// The variables that hold tokens of channels and keys of models. No tool inherits them.
    pub fn credentials(&self) -> impl Iterator<Item = &str> {
        let tokens = self.remote.iter().filter_map(|remote| match &remote.token {
            TokenSource::Env(name) => Some(&**name),
            TokenSource::Secret(_) => None,
        });
        tokens.chain(self.models.variables())
    }
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
            web: true,
            remote: Vec::new(),
            approvers: BTreeSet::new(),
            reactions: Reactions::default(),
            attachment: 20 << 20,
            context_tokens: 24_000,
            delivery: Duration::from_secs(24 * 3600),
            approval: Duration::from_secs(3600),
            heartbeat: Some(Heartbeat::default()),
            models: ModelSettings::default(),
            web_private: Vec::new(),
            shell: ShellSettings::default(),
            files: "files".to_owned(),
            secrets: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Returns whether the person who wrote a message may approve calls (orchestrator 3.6): in the terminal always, elsewhere only the named ones.
    pub fn may_approve(&self, message: &Incoming) -> bool {
        self.is_approver(&message.place.provider, &message.sender)
    }

    /// Returns whether a person of a channel may approve calls.
    pub fn is_approver(&self, provider: &str, person: &str) -> bool {
        provider == "terminal" || self.approvers.contains(&format!("{provider}:{person}"))
    }

    /// The milliseconds for which a call waits for a decision.
    pub(crate) fn patience(&self) -> u64 {
        u64::try_from(self.approval.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns whether a tool may open a secret in every chat.
    pub fn may_open(&self, tool: &str, name: &str) -> bool {
        self.secrets.get(tool).is_some_and(|names| names.contains(name))
    }

    /// The channels without approvers.
    pub fn without_approvers(&self) -> impl Iterator<Item = Provider> {
        let has = |provider: Provider| self.approvers.iter().any(|who| who.split_once(':').is_some_and(|(of, _)| of == provider.as_str()));
        self.remote.iter().map(|remote| remote.provider).filter(move |provider| !has(*provider))
    }
}

/// The shortest and the longest time that something waits for a channel or a person, in milliseconds: a second, 30 days.
const WAIT: RangeInclusive<u64> = 1000..=30 * 24 * 3600 * 1000;

/// Keys that are planned and do nothing yet; each is refused with this reason.
const PLANNED: &[(&str, &str)] = &[];

/// Reads the file. The settings are those of its sound keys; if there is an error among the findings, do not use them.
pub fn read(path: impl Into<FilePath>, text: &str) -> (Settings, Vec<Diagnostic>) {
    let (config, found) = HostConfig::parse(path, text);
    let mut reader = Reader { config: &config, found };
    let mut settings = Settings::default();
    reader.keys(
        "",
        &config.values,
        &["locale", "agent", "channels", "approvers", "reactions", "providers", "roles", "tools", "heartbeat", "limits"],
    );
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
    if let Some(channels) = reader.mapping("channels", &["terminal", "web", "slack", "telegram", "discord"]) {
        settings.terminal = channels.contains("terminal");
        settings.web = channels.contains("web");
        reader.mapping("channels.terminal", &[]);
        reader.mapping("channels.web", &[]);
        let named = Provider::ALL.into_iter().filter(|provider| channels.contains(provider.as_str()));
        settings.remote = named.filter_map(|provider| reader.remote(provider)).collect();
    }
    settings.approvers = reader.approvers();
    settings.reactions = reader.reactions();
    if let Some(limits) = reader.mapping("limits", &["attachment", "context_tokens", "delivery", "approval"]) {
        settings.attachment = reader.bytes("limits.attachment", limits.get("attachment")).unwrap_or(settings.attachment);
        let tokens = reader.number("limits.context_tokens", limits.get("context_tokens"), 1000..=10_000_000);
        settings.context_tokens = tokens.unwrap_or(settings.context_tokens);
        settings.delivery = reader.time("limits.delivery", limits.get("delivery"), WAIT, settings.delivery);
        settings.approval = reader.time("limits.approval", limits.get("approval"), WAIT, settings.approval);
    }
    tools::read(&mut reader, &mut settings);
    hands::read(&mut reader, &mut settings);
    settings.models = models::read(&mut reader);
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
        let (_, found) = read(CONFIG_FILE, text);
        let line = |finding: &Diagnostic| {
            let span = finding.place.as_ref().expect("a place").span;
            text[..span.start as usize].lines().count().max(1)
        };
        found.iter().map(|finding| format!("{}: {}", line(finding), finding.message)).collect()
    }

    // orchestrator 1.4
    #[test]
    fn the_default_file_says_the_defaults() {
        assert_eq!(read(CONFIG_FILE, DEFAULT_SETTINGS), (Settings::default(), Vec::new()));
        assert_eq!(read(CONFIG_FILE, ""), (Settings::default(), Vec::new()));
    }

    // orchestrator 1.3, 1.4: a new workspace can be in Korean, with the same keys
    #[test]
    fn the_default_file_is_in_both_languages() {
        let korean = include_str!("../../defaults/ko/orchestrator.yaml");
        assert_eq!(read(CONFIG_FILE, korean), (Settings { language: Language::Korean, ..Settings::default() }, Vec::new()));
        let keys = |text: &str| {
            text.lines()
                .filter_map(|line| line.trim_start_matches("# ").split_once(": ").filter(|(key, _)| key.chars().all(char::is_alphabetic)))
                .map(|(key, _)| key.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(korean), keys(DEFAULT_SETTINGS));
    }

    // orchestrator 1.4
    #[test]
    fn every_mistake_is_found_at_once_at_its_place() {
        let text = "locale: fr\nagent: { name: a/b, runs: 0, nam: x }\nchannels:\n  slack: { token: xoxb-123456789012-abcdefghijkl }\n\
                    limits: []\nroles: []\nlocal: en\n";
        let expected = [
            "1: there are no texts in `fr`",
            "2: `a/b` is no name of an agent",
            "2: `agent.runs` takes a whole number from 1 to 1000",
            "2: there is no key `agent.nam`",
            "4: `channels.slack.read` names no chat",
            "4: `channels.slack` says in `allow` who is heard",
            "4: `channels.slack.token` names a variable or a secret, and holds none",
            "5: `limits` takes a mapping, not a list",
            "6: `roles` takes a mapping by name, not a list",
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
        let (settings, found) = read(CONFIG_FILE, text);
        assert!(found.is_empty() && !settings.terminal && settings.remote[0].allow == ["7"], "{found:?}");
        assert_eq!(settings.without_approvers().count(), 0);
        let said = |provider: &str, sender: &str| Incoming {
            place: crate::message::ChatPlace::new(provider, "c"),
            id: "1".into(),
            sender: sender.into(),
            sender_name: "slack:U1".into(),
            text: String::new(),
            at: 0,
            files: Vec::new(),
        };
        let may = [("slack", "U1"), ("slack", "U2"), ("telegram", "U1"), ("terminal", "anybody")]
            .map(|(provider, sender)| settings.may_approve(&said(provider, sender)));
        assert_eq!(may, [true, false, false, true]);
    }

    // orchestrator 4.2: providers are asked and push nothing, so there are no keys for events, webhooks and gateways
    #[test]
    fn nothing_is_pushed_by_a_provider() {
        for (channel, key) in [
            ("slack", "signing_secret"),
            ("slack", "app_token"),
            ("slack", "events"),
            ("telegram", "webhook"),
            ("discord", "gateway"),
            ("discord", "public_key"),
        ] {
            let found = found(&format!("channels:\n  {channel}: {{ token: {{ env: T }}, allow: [\"*\"], {key}: x }}\n"));
            let expected = format!("2: there is no key `channels.{channel}.{key}`");
            assert!(found.contains(&expected), "{found:#?}");
        }
    }

    // a configuration with every field wrong at once
    #[test]
    fn every_field_that_is_wrong_is_found_at_once() {
        let text = "locale: 5\nagent: { name: \"\", aliases: {}, auto_reply: 1, runs: -1 }\nchannels:\n  terminal: [x]\n  web: 7\n  slack: { token: \"\", \
                    read: [], allow: [[]], base_url: ftp://x, poll: 1d, rows: 0 }\n  telegram: { token: { env: A, secret: b }, allow: {}, poll: 1ms }\n  \
                    discord: []\n  irc: {}\napprovers: { a: b }\nproviders:\n  one: {}\n  two: { openai: \"https://a.example\", process: [x] }\n  \
                    three: { openai: not a url, key: sk-abcdefghijklmnopqrstuvwxyz123456 }\n  four: { headless: gemini }\n  five: { start: [], openai: \
                    \"http://127.0.0.1:1\" }\n  six: 6\nroles:\n  agent: []\n  memory: [{ provider: one, temperature: 3 }, 7]\ntools: { web: { \
                    allow_private: [\"*\"] }, webs: {} }\nheartbeat: { every: never, chat: \"\" }\nlimits: { context_tokens: 1 }\n";
        let places = [
            "`locale`",
            "`` is no name of an agent",
            "`agent.aliases`",
            "`agent.auto_reply`",
            "`agent.runs`",
            "`channels.terminal`",
            "`channels.web`",
            "`channels.slack.token`",
            "`channels.slack.read`",
            "`channels.slack.allow`",
            "`channels.slack.base_url`",
            "`channels.slack.poll`",
            "`channels.slack.rows`",
            "`channels.telegram.token`",
            "`channels.telegram.allow`",
            "`channels.telegram.poll`",
            "`channels.discord`",
            "`channels.irc`",
            "`approvers`",
            "`one`",
            "`two`",
            "`providers.three.key`",
            "`not a url`",
            "`providers.five.start`",
            "`providers.six`",
            "`roles.agent`",
            "`roles.memory.1`",
            "`temperature`",
            "`\"*\"` is no host",
            "`tools.webs`",
            "`never`",
            "`limits.context_tokens`",
        ];
        let found = found(text);
        for place in places {
            assert!(found.iter().any(|finding| finding.contains(place)), "{place}: {found:#?}");
        }
        assert!(!found.iter().any(|finding| finding.contains("sk-abc")), "{found:#?}");
    }

    // orchestrator 1.4, 5.1: models of the workspace, also under the names of the source
    #[test]
    fn models_are_read_with_their_secrets_elsewhere() {
        let text = "providers:\n  openrouter: { key: { secret: openrouter } }\n  phi4_local: { start: [llama-server, --port, \"8080\"] }\n  \
                    claude_code:\n  chatgpt: { own_shell: accept }\n  mine: { openai: \"https://a.example/v1\", key: { env: MY_KEY }, headers: { x: \
                    { secret: other } } }\nroles:\n  agent: [{ provider: openrouter, model: m }, { provider: phi4_local, model: phi4 }, { provider: \
                    chatgpt }]\n  memory: [{ provider: newcomer }]\n";
        let (settings, found) = read(CONFIG_FILE, text);
        assert!(found.is_empty(), "{found:?}");
        let started = StartedModel {
            provider: "phi4_local".to_owned(),
            base: "http://127.0.0.1:8080/v1".to_owned(),
            command: ["llama-server", "--port", "8080"].map(str::to_owned).into(),
        };
        assert_eq!(settings.models.started, [started]);
        let headless = [("claude_code", "claude"), ("chatgpt", "codex")];
        let headless = headless.map(|(provider, program)| HeadlessModel { provider: provider.to_owned(), program: program.to_owned() });
        assert!(headless.iter().all(|model| settings.models.headless.contains(model)) && settings.models.headless.len() == 2);
        assert!(!settings.models.is_empty() && settings.models.models(std::path::Path::new("/w")).is_some());
        // The providers of the graph are checked once there is a graph.
        let models = settings.models.models(std::path::Path::new("/w")).expect("models");
        let missing: Vec<String> = models.check_with(&[]).into_iter().map(|finding| finding.message).collect();
        assert_eq!(missing, ["there is no provider `newcomer`"]);
        assert!(read(CONFIG_FILE, "locale: en\n").0.models.is_empty());
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
        let all = ["agent", "approvers", "channels", "heartbeat", "limits", "locale", "providers", "reactions", "roles", "tools"];
        assert_eq!(keys("/properties"), all);
        assert_eq!(keys("/properties/channels/properties"), ["discord", "slack", "telegram", "terminal", "web"]);
        for (path, _) in PLANNED {
            let pointer = format!("/properties/{}", path.replace('.', "/properties/"));
            assert!(schema().pointer(&pointer).is_none(), "{path} is planned, and the schema has it");
        }
    }
}
