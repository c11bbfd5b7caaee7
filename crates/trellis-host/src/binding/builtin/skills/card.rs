//! A card: the file of a skill, as it is written and as it is used (language 11.9).

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde::Deserialize;
use trellis_core::{
    Diagnostic, Mapping, Value,
    schema::Schema,
    span::Span,
    syntax::{duration, project::HostConfig},
};

use super::{manifest, paths};
use crate::binding::{
    config::{ConfigReader, Wait, given},
    frontmatter,
    job::span,
};

/// The default time for all commands of a skill together.
const COMMANDS_TIMEOUT: Duration = Duration::from_secs(30);

/// The name of the frontmatter in messages.
const FRONTMATTER: &str = "frontmatter";

/// A skill without mistakes.
#[derive(Debug)]
pub(super) struct SkillCard {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    args: Option<Value>,
    required_inputs: Option<Schema>,
    pub(super) dry_run_supported: bool,
    rollback: Option<String>,
    /// The risk of a run, from 0 to 100.
    risk: Option<f64>,
    /// Paths below the workspace, as written.
    pub(super) backup: Vec<String>,
    pub(super) check: Option<Vec<String>>,
    pub(super) run: Vec<String>,
    pub(super) dry_run: Option<Vec<String>>,
    pub(super) verify: Option<Vec<String>>,
    pub(super) timeout: Duration,
    /// The text below the frontmatter.
    pub(super) text: String,
}

/// A mistake in a card, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CardMistake {
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Its place in the frontmatter.
    pub(super) span: Span,
}

/// The frontmatter.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CardKeys {
    #[serde(deserialize_with = "given")]
    title: Option<String>,
    tags: Vec<String>,
    #[serde(deserialize_with = "given")]
    args: Option<Value>,
    #[serde(deserialize_with = "given")]
    required_inputs: Option<Value>,
    #[serde(deserialize_with = "given")]
    dry_run_supported: Option<bool>,
    #[serde(deserialize_with = "given")]
    rollback: Option<String>,
    #[serde(deserialize_with = "given")]
    risk: Option<f64>,
    backup: Vec<String>,
    #[serde(deserialize_with = "given")]
    check: Option<Vec<String>>,
    #[serde(deserialize_with = "given")]
    run: Option<Vec<String>>,
    #[serde(deserialize_with = "given")]
    dry_run: Option<Vec<String>>,
    #[serde(deserialize_with = "given")]
    verify: Option<Vec<String>>,
    #[serde(deserialize_with = "given")]
    timeout: Option<Wait>,
}

impl SkillCard {
    /// Reads a card. Its paths must stay below `workspace`, and apart from `state`, the folder of the backups.
    ///
    /// # Errors
    /// All its mistakes.
    pub(super) fn parse(id: &str, source: &str, workspace: &Path, state: &Path) -> Result<Self, Vec<CardMistake>> {
        let (front, text) = frontmatter::split(source);
        let config = mapping(&front).map_err(|mistake| vec![mistake])?;
        let (HostConfig { spans, .. }, _) = HostConfig::parse(FRONTMATTER, &front);
        let mut found = Vec::new();
        let keys = read(&config, &spans, &mut found);
        let mut mistake = |place: &str, message: String, help: &str| {
            let span = spans.get(place).copied().unwrap_or(Span::at(0));
            found.push(CardMistake { message, help: Some(help.to_owned()), span });
        };
        if keys.title.as_ref().is_none_or(|title| title.trim().is_empty())
            && config.get("title").is_none_or(|title| title.as_str().is_some())
        {
            mistake("title", "it has no `title`".to_owned(), "write `title: …` in its frontmatter, between two lines `---`");
        }
        if !config.contains("run") {
            mistake("", "it has no `run`".to_owned(), "write `run: [./bin/tool]`, the command that does the work");
        }
        let commands = [("check", &keys.check), ("run", &keys.run), ("dry_run", &keys.dry_run), ("verify", &keys.verify)];
        for (key, _) in
            commands.into_iter().filter(|(_, command)| command.as_ref().is_some_and(|words| words.first().is_none_or(String::is_empty)))
        {
            mistake(
                key,
                format!("`{key}` names no command"),
                "write the command and its arguments as a list of texts: `[./bin/tool, --fast]`",
            );
        }
        if keys.timeout.as_ref().is_some_and(|timeout| timeout.0.is_zero()) {
            mistake("timeout", "`timeout` is no time at all".to_owned(), "write one such as `30s`");
        }
        if keys.risk.is_some_and(|risk| !(0.0..=100.0).contains(&risk)) {
            mistake("risk", "`risk` is no number from 0 to 100".to_owned(), "write one such as `risk: 5`");
        }
        for path in &keys.backup {
            if let Err(why) = paths::resolve(workspace, state, path) {
                mistake(
                    "backup",
                    format!("`backup` names `{path}`, which {why}"),
                    "name files and folders below the workspace, such as `logs`",
                );
            }
        }
        let required_inputs = keys.required_inputs.as_ref().map(Schema::new).transpose().unwrap_or_else(|error| {
            let message = format!("`required_inputs` is no JSON Schema: `{}`: {}", error.path, error.message);
            mistake(
                "required_inputs",
                message,
                "write one such as `{type: object, required: [days], properties: {days: {type: integer}}}`",
            );
            None
        });
        let CardKeys { title, tags, args, dry_run_supported, rollback, risk, backup, check, run, dry_run, verify, timeout, .. } = keys;
        let (Some(title), Some(run), true) = (title, run, found.is_empty()) else { return Err(found) };
        Ok(Self {
            id: id.to_owned(),
            title: title.trim().to_owned(),
            tags,
            args,
            required_inputs,
            dry_run_supported: dry_run_supported.unwrap_or(dry_run.is_some()),
            rollback,
            risk,
            backup,
            check,
            run,
            dry_run,
            verify,
            timeout: timeout.map_or(COMMANDS_TIMEOUT, |timeout| timeout.0),
            text: text.trim().to_owned(),
        })
    }

    /// Lists the problems of arguments, a line each.
    pub(super) fn problems(&self, args: &Mapping) -> Vec<String> {
        let Some(schema) = &self.required_inputs else { return Vec::new() };
        schema.breaches(&Value::Map(args.clone())).iter().map(ToString::to_string).collect()
    }

    /// Returns the card as `skills.card` gives it; keys that are not written are left out.
    pub(super) fn to_value(&self) -> Value {
        let texts = |texts: &Vec<String>| Value::list(texts.iter().map(|text| Value::text(text.as_str())));
        let written = [
            ("args", self.args.clone()),
            ("required_inputs", self.required_inputs.as_ref().map(|schema| schema.source().clone())),
            ("rollback", self.rollback.as_deref().map(Value::text)),
            ("risk", self.risk.map(Value::Float)),
            ("check", self.check.as_ref().map(texts)),
            ("dry_run", self.dry_run.as_ref().map(texts)),
            ("verify", self.verify.as_ref().map(texts)),
        ];
        let always = [
            ("skill_id", Value::text(self.id.as_str())),
            ("title", Value::text(self.title.as_str())),
            ("tags", texts(&self.tags)),
            ("dry_run_supported", Value::Bool(self.dry_run_supported)),
            ("backup", texts(&self.backup)),
            ("run", texts(&self.run)),
            ("timeout", Value::text(span(self.timeout))),
            ("text", Value::text(self.text.as_str())),
        ];
        Value::map(always.into_iter().chain(written.into_iter().filter_map(|(key, value)| Some((key, value?)))))
    }
}

/// The frontmatter as a mapping; none is an empty one.
fn mapping(front: &str) -> Result<Mapping, CardMistake> {
    let mistake = |message: String| CardMistake {
        message,
        help: Some("write `key: value` lines between two lines `---`".to_owned()),
        span: Span::at(0),
    };
    match serde_yaml::from_str::<Value>(front) {
        Ok(Value::Map(keys)) => Ok(keys),
        Ok(Value::Null) => Ok(Mapping::default()),
        Ok(other) => Err(mistake(format!("its frontmatter is {}, no mapping", other.kind()))),
        Err(error) => Err(mistake(format!("its frontmatter is no YAML: {error}"))),
    }
}

fn read(config: &Mapping, spans: &BTreeMap<String, Span>, found: &mut Vec<CardMistake>) -> CardKeys {
    let path = FRONTMATTER.into();
    let mut reader = ConfigReader {
        config,
        spans: &spans.iter().map(|(key, span)| (format!("{FRONTMATTER}.{key}"), *span)).collect(),
        shapes: &BTreeMap::new(),
        prefix: FRONTMATTER,
        around: Span::at(0),
        path: &path,
        found: Vec::new(),
    };
    let keys = reader.read(|key, value| match key {
        "check" | "run" | "dry_run" | "verify" => {
            Some("write the command and its arguments as a list of texts: `[./bin/tool, --fast]`".to_owned())
        }
        "tags" | "backup" => Some("write a list of texts: `[logs]`".to_owned()),
        "timeout" => Some(duration::help(value)),
        _ => None,
    });
    let mistake = |found: Diagnostic| {
        let span = found.place.map_or(Span::at(0), |place| place.span);
        CardMistake { message: found.message, help: found.help, span }
    };
    found.extend(reader.found.into_iter().map(mistake));
    keys
}

/// Returns the mistakes of a card, each with its place in the text, its message and its help.
pub(in crate::binding) fn card_mistakes(name: &str, text: &str, workspace: &Path, home: &Path) -> Vec<(Span, String, Option<String>)> {
    let id = name.strip_suffix(".md").unwrap_or(name);
    let Err(mistakes) = SkillCard::parse(id, text, workspace, &manifest::state_below(home)) else { return Vec::new() };
    let (front, _) = frontmatter::split(text);
    let from = if front.is_empty() { 0 } else { text.find(&*front).unwrap_or(0) };
    let moved = |span: Span| Span::new(from + span.start as usize, from + span.end as usize);
    mistakes.into_iter().map(|CardMistake { message, help, span }| (moved(span), message, help)).collect()
}
