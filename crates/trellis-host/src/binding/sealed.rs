//! Texts of project files that may hold secrets: `env` of processes, `env`, `headers` and `key` of servers and providers (language 9.2).

use std::collections::{BTreeMap, BTreeSet};

use trellis_core::{
    Mapping, ToolError, Value,
    language::SecretUse,
    scope::Scope,
    syntax::project::HostConfig,
    template::{DEFAULT_FUEL, RenderLimits},
};

use crate::secrets::{Mask, Secrets};

/// They read nothing, so the bounds are those of a file.
const LIMITS: RenderLimits = RenderLimits { output: 1 << 20, fuel: DEFAULT_FUEL };

/// A mapping of texts, or one text, with the places of their secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SealedTexts {
    texts: Value,
    secrets: Vec<SecretUse>,
}

impl SealedTexts {
    /// Reads the texts at a path of a project file, such as `env` or `servers.wiki.headers`; `written` is the value there.
    pub(super) fn read(config: &HostConfig, place: &str, written: Option<&Value>) -> Self {
        let Some(shape) = config.shape(place) else {
            return Self { texts: written.cloned().unwrap_or_default(), secrets: Vec::new() };
        };
        let mut secrets = Vec::new();
        let texts = shape.value.evaluate(&Scope::default(), LIMITS, &mut secrets);
        Self { texts: texts.ok().flatten().unwrap_or_default(), secrets }
    }

    /// The names of its secrets, each once.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.secrets.iter().map(|used| &*used.name).collect()
    }

    /// The texts with their secrets in place, and the mask of these.
    ///
    /// # Errors
    /// Code `secret`: one of them cannot be had.
    pub(super) fn fill(&self, secrets: &Secrets) -> Result<(BTreeMap<String, String>, Mask), ToolError> {
        let (filled, mask) = secrets.fill_in(self.texts.clone(), &self.secrets)?;
        let texts = filled.as_map().into_iter().flat_map(Mapping::iter);
        Ok((texts.map(|(name, value)| (name.to_string(), text(value))).collect(), mask))
    }

    /// The one text with its secrets in place, and the mask of these.
    ///
    /// # Errors
    /// Those of [`SealedTexts::fill`].
    #[cfg(feature = "model")]
    pub(super) fn fill_one(&self, secrets: &Secrets) -> Result<(String, Mask), ToolError> {
        let (filled, mask) = secrets.fill_in(self.texts.clone(), &self.secrets)?;
        Ok((text(&filled), mask))
    }
}

/// Returns a text, or the YAML form of an unquoted number or truth.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_json(), str::to_owned)
}
