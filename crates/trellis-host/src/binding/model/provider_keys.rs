//! The keys of providers and of the links of a role, as they are written.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;

use super::request::{LimitKey, SchemaSupport};
use crate::binding::{
    config::{ConfigReader, Wait, given},
    variable::TextOrVariable,
};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProviderKeys {
    #[serde(deserialize_with = "given")]
    pub(super) openai: Option<TextOrVariable>,
    #[serde(deserialize_with = "given")]
    pub(super) process: Option<Vec<String>>,
    #[serde(deserialize_with = "given")]
    pub(super) scripted: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    pub(super) headless: Option<HeadlessProgram>,
    #[serde(deserialize_with = "given")]
    pub(super) args: Option<Vec<String>>,
    #[serde(deserialize_with = "given")]
    pub(super) own_shell: Option<OwnShell>,
    #[serde(deserialize_with = "given")]
    pub(super) key: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    #[serde(deserialize_with = "given")]
    pub(super) ca: Option<PathBuf>,
    pub(super) schema: SchemaSupport,
    pub(super) limit_key: LimitKey,
    pub(super) extra: BTreeMap<String, serde_json::Value>,
    pub(super) env: BTreeMap<String, serde_json::Value>,
    #[serde(deserialize_with = "given")]
    pub(super) cwd: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    pub(super) grace: Option<Wait>,
    #[serde(deserialize_with = "given")]
    pub(super) timeout: Option<Wait>,
}

/// A program with a model of its own, which answers a prompt without a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum HeadlessProgram {
    Claude,
    Codex,
}

/// The word by which somebody accepts that a program has a shell of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OwnShell {
    Accept,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LinkKeys {
    #[serde(deserialize_with = "given")]
    pub(super) provider: Option<String>,
    #[serde(deserialize_with = "given")]
    pub(super) model: Option<TextOrVariable>,
    #[serde(deserialize_with = "given")]
    pub(super) max_tokens: Option<u64>,
    #[serde(deserialize_with = "given")]
    pub(super) temperature: Option<f64>,
}

/// Reports numbers that no endpoint takes.
pub(super) fn check_numbers(reader: &mut ConfigReader<'_>, around: &str, max_tokens: Option<u64>, temperature: Option<f64>) {
    if max_tokens == Some(0) {
        reader.report(&format!("{around}max_tokens"), "`max_tokens` takes a number from 1 on".to_owned(), None);
    }
    if temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        reader.report(&format!("{around}temperature"), "`temperature` takes a number from 0 to 2".to_owned(), None);
    }
}
