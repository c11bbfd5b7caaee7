//! `policy:` and `budget:` of the outermost graph become a chain and bounds, or findings at their places (language 11.3, 11.4, 11.6).

use std::path::Path;

use serde::Deserialize;
use trellis_core::{
    Code, Diagnostic, Mapping, Program, Value,
    diagnostic::{FilePath, did_you_mean},
    path::KeyPath,
    schema::Schema,
    span::Span,
    syntax::project::HostConfig,
};

use super::{
    Bindings, Host, absolute,
    config::{ConfigReader, Wait, given},
};
use crate::policy::{Budget, CallPattern, Otherwise, PolicyChain, PolicyProvider, ScoreLock, score::FileGlob};

/// The settings that bound the sessions of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionSettings {
    pub(super) policy: PolicyChain,
    pub(super) budget: Budget,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BudgetKeys {
    #[serde(deserialize_with = "given")]
    calls: Option<u64>,
    #[serde(deserialize_with = "given")]
    tokens: Option<u64>,
}

/// The keys of a provider. Lists and scores are decoded apart, so that each of their mistakes has its place.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PolicyKeys {
    #[serde(deserialize_with = "given")]
    forced: Option<ForcedKeys>,
    block: Option<serde::de::IgnoredAny>,
    ask: Option<serde::de::IgnoredAny>,
    allow: Option<serde::de::IgnoredAny>,
    #[serde(rename = "else", deserialize_with = "given")]
    otherwise: Option<String>,
    #[serde(deserialize_with = "given")]
    tool: Option<String>,
    score: Option<serde::de::IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ForcedKeys {
    #[serde(deserialize_with = "given")]
    env: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ScoreKeys {
    #[serde(deserialize_with = "given")]
    files: Option<String>,
    #[serde(deserialize_with = "given")]
    field: Option<KeyPath>,
    #[serde(deserialize_with = "given")]
    verdict: Option<KeyPath>,
    #[serde(deserialize_with = "given")]
    at: Option<KeyPath>,
    #[serde(deserialize_with = "given")]
    max_age: Option<Wait>,
    #[serde(deserialize_with = "given")]
    max_age_env: Option<String>,
    #[serde(deserialize_with = "given")]
    block_below: Option<f64>,
    #[serde(deserialize_with = "given")]
    auto_above: Option<f64>,
    #[serde(deserialize_with = "given")]
    risk: Option<KeyPath>,
    #[serde(deserialize_with = "given")]
    risk_below: Option<f64>,
    #[serde(deserialize_with = "given")]
    future: Option<Wait>,
}

impl SessionSettings {
    /// The settings of a program whose root folder is `folder`. A policy with a mistake lets nothing run.
    pub(super) fn new(program: &Program, folder: &Path, host: &Host) -> (Self, Vec<Diagnostic>) {
        let mut settings = Self::default();
        let mut found = Vec::new();
        for config in &program.root().host {
            let read = Self::read(config, folder, host, &mut found);
            if !read.policy.is_empty() {
                settings.policy = read.policy;
            }
            if read.budget != Budget::default() {
                settings.budget = read.budget;
            }
        }
        (settings, found)
    }

    /// The settings of one file.
    pub(super) fn read(config: &HostConfig, folder: &Path, host: &Host, found: &mut Vec<Diagnostic>) -> Self {
        let before = found.len();
        let mut policy = match config.get("policy") {
            Some(Value::List(providers)) => {
                let mut chain = ChainReader { config, around: Span::at(0), found };
                chain.read("policy", providers.iter(), &absolute(folder), host)
            }
            _ => PolicyChain::default(),
        };
        if found.len() > before {
            policy = PolicyChain::faulty();
        }
        let budget = match config.get("budget") {
            Some(Value::Map(budget)) => {
                let mut reader = ConfigReader::new(config, budget, "budget", Span::at(0));
                let help = |_: &str, _: &str| Some("write a whole number: `budget: {calls: 100, tokens: 50000}`".to_owned());
                let BudgetKeys { calls, tokens } = reader.read(help);
                found.append(&mut reader.found);
                Budget { calls, tokens }
            }
            _ => Budget::default(),
        };
        Self { policy, budget }
    }
}

impl Bindings {
    /// Findings about tools that a policy asks and that nothing here carries out: it would hold every call (language 11.3).
    pub fn unbound_policy_tools(&self, program: &Program) -> Vec<Diagnostic> {
        let policies = program.root().host.iter().map(|config| (program.root(), config, "policy"));
        let deciding = program.graphs().iter().flat_map(|graph| {
            let bound = graph.bindings.values().filter(|binding| binding.config.get("chain").is_some());
            bound.map(move |binding| (graph, &binding.config, "chain"))
        });
        let mut found = Vec::new();
        for (graph, config, key) in policies.chain(deciding) {
            let Some(Value::List(providers)) = config.get(key) else { continue };
            for (at, provider) in providers.iter().enumerate() {
                let Some(name) = provider.get("tool").and_then(Value::as_str) else { continue };
                if self.binds(&graph.root, name) || self.is_faulty(&graph.root, name) {
                    continue;
                }
                let span = config.span(&format!("{key}.{at}.tool")).unwrap_or(Span::at(0));
                let help = did_you_mean(name, graph.bindings.keys().map(|known| &**known));
                let help = help.unwrap_or_else(|| format!("bind it: `bindings: {{{name}: {{process: [./{name}]}}}}`"));
                let message = format!("`{name}` is asked by a policy, but nothing here carries it out");
                found.push(Diagnostic::new(Code::UnboundTool, &config.path, span, message).help(help));
            }
        }
        found
    }
}

/// Reads a chain of providers, of `policy` or of the builtin `policy.decide`.
pub(super) struct ChainReader<'r> {
    /// The values around it, with their places.
    pub(super) config: &'r HostConfig,
    /// The place of parts without a span.
    pub(super) around: Span,
    pub(super) found: &'r mut Vec<Diagnostic>,
}

impl ChainReader<'_> {
    /// The providers at `key`. Each mistake is a finding.
    pub(super) fn read<'v>(&mut self, key: &str, items: impl Iterator<Item = &'v Value>, folder: &Path, host: &Host) -> PolicyChain {
        let read = items.enumerate().filter_map(|(at, item)| self.provider(&format!("{key}.{at}"), item));
        PolicyChain::new(read.collect(), folder, host.environment.clone())
    }

    fn provider(&mut self, place: &str, item: &Value) -> Option<PolicyProvider> {
        const KINDS: &str = "a provider is one of `forced`, `block`, `ask`, `allow`, `tool` and `score`";
        let config = self.config;
        let Value::Map(keys) = item else {
            let empty = Mapping::new();
            let mut reader = ConfigReader::new(config, &empty, place, self.around);
            reader.report("", format!("`{place}` takes a mapping, not {}", item.kind()), Some(KINDS.to_owned()));
            self.found.append(&mut reader.found);
            return None;
        };
        let mut reader = ConfigReader::new(config, keys, place, self.around);
        let read = reader.read::<PolicyKeys>(provider_help);
        let kinds = keys.keys().filter(|key| ["forced", "block", "ask", "allow", "tool", "score"].contains(&&***key));
        let mut kinds: Vec<_> = kinds.cloned().collect();
        // In the order of the file.
        kinds.sort_by_key(|key| config.spans.get(&format!("{place}.{key}")).map(|span| span.start));
        let (first, second) = (kinds.first(), kinds.get(1));
        if let (Some(first), Some(second)) = (first, second) {
            reader.report(second, format!("`{place}` has `{first}` and `{second}`"), Some(format!("{KINDS}; write an item for each")));
        }
        if first.is_none() && reader.found.is_empty() {
            reader.report("", format!("`{place}` names no provider"), Some(KINDS.to_owned()));
        }
        let first = first.map(|kind| &**kind);
        let otherwise = otherwise(&mut reader, first, read.otherwise.as_deref());
        let provider = match first {
            Some(list @ ("block" | "ask" | "allow")) => patterns(&mut reader, list, keys.get(list)).map(|patterns| match list {
                "block" => PolicyProvider::Block(patterns),
                "ask" => PolicyProvider::Ask(patterns),
                _ => PolicyProvider::Allow(patterns, otherwise),
            }),
            Some("score") => score(&mut reader, config, keys.get("score")).map(|score| PolicyProvider::Score(Box::new(score))),
            Some("tool") => read.tool.map(|name| PolicyProvider::Tool(name.into())),
            Some("forced") => {
                let variable = read.forced.and_then(|forced| forced.env);
                if variable.is_none() && reader.found.is_empty() {
                    reader.report("forced", "`forced` names no variable".to_owned(), provider_help("forced", ""));
                }
                variable.map(|variable| PolicyProvider::Forced(variable.into()))
            }
            _ => None,
        };
        self.found.append(&mut reader.found);
        provider
    }
}

fn provider_help(key: &str, _: &str) -> Option<String> {
    match key {
        "forced" => Some("name a variable: `forced: {env: FORCE_DECISION}`".to_owned()),
        "tool" => Some("name a tool that `bindings` has: `tool: house_gate`".to_owned()),
        "else" => Some("`else` takes `ask`, `block` or `pass`".to_owned()),
        _ => None,
    }
}

fn otherwise(reader: &mut ConfigReader<'_>, kind: Option<&str>, text: Option<&str>) -> Otherwise {
    if let (Some(_), Some(kind)) = (text, kind.filter(|kind| *kind != "allow")) {
        reader.report("else", format!("`else` stands beside `allow`, not beside `{kind}`"), None);
    }
    match text {
        Some("ask") => Otherwise::Ask,
        Some("block") => Otherwise::Block,
        None | Some("pass") => Otherwise::Pass,
        Some(other) => {
            let help = did_you_mean(other, ["ask", "block", "pass"]);
            reader.report("else", format!("`else` takes `ask`, `block` or `pass`, not `{other}`"), help);
            Otherwise::Pass
        }
    }
}

const PATTERN: &str = "a pattern is a glob such as `mail.*`, or `{tool: GLOB, args: JSON Schema}`; `graph:PATH` names a child";

/// The patterns of a list.
fn patterns(reader: &mut ConfigReader<'_>, list: &str, value: Option<&Value>) -> Option<Vec<CallPattern>> {
    let Some(Value::List(items)) = value else {
        let met = value.map_or("nothing", Value::kind);
        reader.report(list, format!("`{list}` takes a list of patterns, not {met}"), Some(PATTERN.to_owned()));
        return None;
    };
    Some(items.iter().enumerate().filter_map(|(at, item)| pattern(reader, &format!("{list}.{at}"), item)).collect())
}

fn pattern(reader: &mut ConfigReader<'_>, place: &str, item: &Value) -> Option<CallPattern> {
    let (glob, args) = match item {
        Value::Text(glob) => (Some((place.to_owned(), glob)), None),
        Value::Map(keys) => {
            for unknown in keys.keys().filter(|key| !matches!(&***key, "tool" | "args")) {
                let help = did_you_mean(unknown, ["tool", "args"]).unwrap_or_else(|| PATTERN.to_owned());
                reader.report(&format!("{place}.{unknown}"), format!("`{place}` has no key `{unknown}`"), Some(help));
            }
            let glob = match keys.get("tool") {
                Some(Value::Text(glob)) => Some((format!("{place}.tool"), glob)),
                _ => None,
            };
            (glob, keys.get("args"))
        }
        _ => (None, None),
    };
    let Some((at, glob)) = glob else {
        reader.report(place, format!("`{place}` names no tool"), Some(PATTERN.to_owned()));
        return None;
    };
    let pattern = match CallPattern::new(glob) {
        Ok(pattern) => pattern,
        Err(why) => {
            reader.report(&at, format!("`{glob}` is no glob: {why}"), Some(PATTERN.to_owned()));
            return None;
        }
    };
    match args.map(Schema::new) {
        None => Some(pattern),
        Some(Ok(args)) => Some(pattern.args(args)),
        Some(Err(error)) => {
            reader.report(&format!("{place}.args"), format!("`{place}.args` is no JSON Schema: {error}"), None);
            None
        }
    }
}

fn score(around: &mut ConfigReader<'_>, config: &HostConfig, value: Option<&Value>) -> Option<ScoreLock> {
    let Some(Value::Map(keys)) = value else {
        let met = value.map_or("nothing", Value::kind);
        around.report("score", format!("`score` takes a mapping, not {met}"), None);
        return None;
    };
    let prefix = format!("{}.score", around.prefix);
    let mut reader = ConfigReader::new(config, keys, &prefix, around.around);
    let read = reader.read::<ScoreKeys>(score_help);
    for (needed, example) in [("files", "logs/health_*.json"), ("field", "score"), ("risk", "risk_score")] {
        if !keys.contains(needed) {
            reader.report("", format!("`score` has no `{needed}`"), Some(format!("write it, such as `{needed}: {example}`")));
        }
    }
    let files = read.files.as_deref().and_then(|files| match FileGlob::new(files) {
        Ok(glob) => Some(glob),
        Err(why) => {
            reader.report("files", format!("`{files}` is no glob: {why}"), None);
            None
        }
    });
    let is_sound = reader.found.is_empty();
    around.found.append(&mut reader.found);
    let minutes = |wait: Option<Wait>, minutes: u64| wait.map_or(std::time::Duration::from_secs(minutes * 60), |wait| wait.0);
    is_sound.then_some(())?;
    Some(ScoreLock {
        files: files?,
        field: read.field?,
        verdict: read.verdict,
        at: read.at,
        max_age: minutes(read.max_age, 60),
        max_age_env: read.max_age_env.map(Into::into),
        block_below: read.block_below.unwrap_or(80.0),
        auto_above: read.auto_above.unwrap_or(90.0),
        risk: read.risk?,
        risk_below: read.risk_below.unwrap_or(10.0),
        future: minutes(read.future, 2),
    })
}

fn score_help(key: &str, _: &str) -> Option<String> {
    match key {
        "max_age" | "future" => Some("write a number and a unit: `60m`".to_owned()),
        "field" | "verdict" | "at" | "risk" => Some("write a dotted path: `health.score`".to_owned()),
        "block_below" | "auto_above" | "risk_below" => Some("write a number".to_owned()),
        _ => None,
    }
}

/// Returns the findings for which [`SessionSettings::new`] would refuse a file.
pub(super) fn check(config: &HostConfig, path: &FilePath) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let config = HostConfig { path: path.clone(), ..config.clone() };
    SessionSettings::read(&config, Path::new(""), &Host::new(), &mut found);
    found
}
