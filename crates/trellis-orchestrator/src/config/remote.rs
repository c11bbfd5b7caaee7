//! The settings of a channel over a network (orchestrator 1.4, 3.1, 4).

use std::{collections::BTreeSet, ops::RangeInclusive, time::Duration};

use trellis_core::{Code, Mapping, Value};

use super::reader::{Reader, with_article};

/// A provider of chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Slack.
    Slack,
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Slack, Self::Telegram, Self::Discord];

    /// Its name in settings and keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Telegram => "telegram",
            Self::Discord => "discord",
        }
    }

    /// The provider of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }

    /// Returns the URL of its interface.
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Slack => "https://slack.com/api",
            Self::Telegram => "https://api.telegram.org",
            Self::Discord => "https://discord.com/api/v10",
        }
    }

    /// Characters of one message at most.
    pub fn part(self) -> usize {
        match self {
            Self::Slack => 3200,
            Self::Telegram => 3500,
            Self::Discord => 2000,
        }
    }

    /// Returns whether the settings must name the chats: Telegram delivers every message to its bot.
    fn names_chats(self) -> bool {
        self != Self::Telegram
    }

    /// Messages that one answer may have at most.
    pub(super) fn most_rows(self) -> i64 {
        match self {
            Self::Slack => 999,
            Self::Telegram | Self::Discord => 100,
        }
    }
}

/// The place of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// In a variable of the environment.
    Env(String),
    /// In the vault, or another source of secrets.
    Secret(String),
}

/// The settings of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// The provider.
    pub provider: Provider,
    /// Its token.
    pub token: TokenSource,
    /// The chats that are read.
    pub read: Vec<String>,
    /// The allowed chats and people; `*` is everybody.
    pub allow: Vec<String>,
    /// The URL of its interface, without a slash at its end.
    pub base_url: String,
    /// The time between two reads.
    pub poll: Duration,
    /// Messages that one answer may have.
    pub rows: usize,
}

/// The keys of such a channel.
const KEYS: [&str; 6] = ["token", "read", "allow", "base_url", "poll", "rows"];
/// The shortest and the longest time between two reads, in milliseconds.
const POLL: RangeInclusive<u64> = 10..=3_600_000;

impl Reader<'_> {
    /// Those who may approve: `provider:user`.
    pub(super) fn approvers(&mut self) -> BTreeSet<String> {
        let listed = self.texts("approvers", self.config.get("approvers"));
        for (at, who) in listed.iter().enumerate() {
            let is_one = who.split_once(':').is_some_and(|(of, user)| Provider::named(of).is_some() && !user.is_empty() && user != "*");
            if !is_one {
                let message = format!("`{who}` is nobody who can approve");
                self.report(&format!("approvers.{at}"), message, "write `PROVIDER:USER`, such as `slack:U0123`; the terminal always may");
            }
        }
        listed.into_iter().collect()
    }

    /// The settings of a channel, as far as they are sound.
    pub(super) fn remote(&mut self, provider: Provider) -> Option<RemoteSettings> {
        let place = format!("channels.{}", provider.as_str());
        let empty = Mapping::default();
        let keys = if provider.names_chats() { KEYS.to_vec() } else { KEYS.into_iter().filter(|key| *key != "read").collect() };
        let settings = self.mapping(&place, &keys).unwrap_or(&empty);
        let at = |key: &str| format!("{place}.{key}");
        let token = self.token(&place, settings.get("token"));
        let read = if provider.names_chats() { self.texts(&at("read"), settings.get("read")) } else { Vec::new() };
        if provider.names_chats() && read.is_empty() {
            self.report(&at("read"), format!("`{}` names no chat", at("read")), "list the ids of the chats that the agent reads");
        }
        let allow = self.texts(&at("allow"), settings.get("allow"));
        if allow.is_empty() {
            let help = "list ids of chats and people, or write `[\"*\"]` for everybody";
            self.report(&place, format!("`{place}` says in `allow` who is heard"), help);
        }
        let base_url = self.base_url(&at("base_url"), settings.get("base_url"), provider);
        let poll = self.time(&at("poll"), settings.get("poll"), POLL, Duration::from_secs(2));
        let rows = self.number(&at("rows"), settings.get("rows"), 1..=provider.most_rows()).unwrap_or(30);
        Some(RemoteSettings { provider, token: token?, read, allow, base_url, poll, rows })
    }

    /// A token is not written into the file: `{env: NAME}` or `{secret: NAME}`.
    fn token(&mut self, place: &str, value: Option<&Value>) -> Option<TokenSource> {
        let path = format!("{place}.token");
        let help = "write `{ env: NAME }` for a variable, or `{ secret: NAME }` for a secret of the vault";
        let named = value.and_then(|value| match value {
            Value::Map(source) if source.len() == 1 => {
                let text = |key: &str| source.get(key).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
                text("env").map(TokenSource::Env).or_else(|| text("secret").map(TokenSource::Secret))
            }
            _ => None,
        });
        if named.is_none() {
            match value {
                Some(Value::Text(_)) => {
                    let message = format!("`{path}` names a variable or a secret, and holds none");
                    self.find(Code::SecretExposed, &path, message, help.to_owned());
                }
                Some(_) => self.report(&path, format!("`{path}` takes `env` or `secret` with a name"), help),
                None => self.report(place, format!("`{place}` needs a `token`"), help),
            }
        }
        named
    }

    fn base_url(&mut self, place: &str, value: Option<&Value>, provider: Provider) -> String {
        match value {
            None | Some(Value::Null) => provider.base_url().to_owned(),
            Some(Value::Text(url)) if is_protected(url) => url.trim_end_matches('/').to_owned(),
            Some(_) => {
                let message = format!("`{place}` takes a URL of `https`, or of `http` on this machine");
                self.report(place, message, "leave it out for that of the provider");
                provider.base_url().to_owned()
            }
        }
    }

    /// A time within bounds, which are in milliseconds; the default if there is none.
    pub(super) fn time(&mut self, place: &str, value: Option<&Value>, within: RangeInclusive<u64>, default: Duration) -> Duration {
        let text = match value {
            None | Some(Value::Null) => return default,
            Some(Value::Text(text)) => text,
            Some(other) => {
                self.report(place, format!("`{place}` takes a time, not {}", with_article(other.kind())), "write `2s` or `1m`");
                return default;
            }
        };
        let millis = millis(text).filter(|millis| within.contains(millis));
        if millis.is_none() {
            let (least, most) = (written_as(*within.start()), written_as(*within.end()));
            self.report(place, format!("`{place}` takes a time from `{least}` to `{most}`"), "write `2s` or `1m`");
        }
        millis.map_or(default, Duration::from_millis)
    }
}

/// Milliseconds as they are written: `10ms`, `1s`, `720h`.
fn written_as(millis: u64) -> String {
    [("h", 3_600_000), ("m", 60_000), ("s", 1000)]
        .into_iter()
        .find(|(_, unit)| millis.is_multiple_of(*unit))
        .map_or_else(|| format!("{millis}ms"), |(name, unit)| format!("{}{name}", millis / unit))
}

/// Milliseconds of `500ms`, `2s`, `1m` or `1h`.
fn millis(text: &str) -> Option<u64> {
    let unit = text.find(|char: char| !char.is_ascii_digit())?;
    let number: u64 = text[..unit].parse().ok()?;
    let factor = match &text[unit..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Returns whether requests to a URL are encrypted or stay on this machine.
fn is_protected(url: &str) -> bool {
    let rest = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => return !rest.is_empty() && !rest.starts_with('/') && !rest.contains(['?', '#', '@']),
        (None, Some(rest)) => rest,
        (None, None) => return false,
    };
    let host = rest.split('/').next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    !rest.contains(['?', '#', '@']) && (name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, expected) in [("500ms", Some(500)), ("2s", Some(2000)), ("1m", Some(60_000)), ("2", None), ("s", None), ("-1s", None)] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }

    // a token is encrypted on its way, and sent to no other host than the one that is shown
    #[test]
    fn a_token_is_sent_protected() {
        for url in ["https://slack.com/api", "http://127.0.0.1:8080", "http://[::1]:1/a", "http://localhost/x"] {
            assert!(is_protected(url), "{url}");
        }
        for url in ["http://slack.com/api", "http://127.0.0.1.evil.example", "ftp://a", "https://", "https://a@b", "http://localhost@b/"] {
            assert!(!is_protected(url), "{url}");
        }
    }
}
