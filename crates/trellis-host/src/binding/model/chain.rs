//! The chain of a role: which providers are asked, in which order, and for how long (language 9.22).

use std::time::Duration;

use tokio::time::Instant;
use trellis_core::{ToolError, Value, engine::ToolErrorKind};

use super::{
    Model, code,
    provider::{ChainLink, ReadyKind, ReadyLink},
};
use crate::binding::kind::{Notice, Obstacle};

/// The links of a chain that may be asked, in order, and the fate of the others.
pub(super) struct Chain<'l> {
    pub(super) ready: Vec<ReadyLink<'l>>,
    /// The providers that are not set up, with the missing settings.
    pub(super) passed: Vec<(&'l str, String)>,
}

impl Model {
    /// Looks up the settings that the providers need. A scripted one is used only if no other is set up.
    pub(super) fn chain(&self) -> Chain<'_> {
        let (mut ready, mut passed) = (Vec::new(), Vec::new());
        for link in &self.chain {
            match link.ready(&self.secrets) {
                Ok(link) => ready.push(link),
                Err(missing) => passed.push((&*link.provider.name, missing)),
            }
        }
        if ready.iter().any(|link| !link.is_scripted()) {
            ready.retain(|link| !link.is_scripted());
        }
        Chain { ready, passed }
    }

    /// The variable by which somebody gave an address to a provider of the chain, if nothing of the chain answers there: another provider must not answer
    /// in its place. One that answers there without a key is not another one.
    pub(super) fn unanswered_variable(&self, place: usize) -> Option<&str> {
        let variable = self.chain[place].variable()?;
        let answers = |link: &ChainLink| link.variable() == Some(variable) && link.ready(&self.secrets).is_ok();
        (!self.chain.iter().any(answers)).then_some(variable)
    }

    /// A provider to which somebody gave an address here, and nothing else that it needs.
    pub(super) fn half_set_up(&self) -> Option<Obstacle> {
        self.chain.iter().enumerate().find_map(|(place, link)| {
            let (variable, missing) = (self.unanswered_variable(place)?, link.ready(&self.secrets).err()?);
            let name = &link.provider.name;
            let why = format!("the provider `{name}` has an address, by `{variable}`, and is not set up otherwise: {missing}");
            Some(Obstacle::new("model.role", why).help(format!("set what is missing, or unset `{variable}`")).about(name))
        })
    }

    /// The role, and how it is answered, where the provider is not the first of the role.
    pub(super) fn stand_in(&self) -> Option<Notice> {
        let Chain { ready, passed } = self.chain();
        let (answers, first) = (ready.first()?.name(), self.chain.first()?);
        if *answers == *first.provider.name {
            return None;
        }
        let how = if ready[0].is_scripted() { " (scripted replies)" } else { "" };
        let why = passed.iter().find(|(name, _)| *name == first.provider.name).map(|(_, why)| format!("; {why}")).unwrap_or_default();
        let answered = format!("answered by `{answers}`{how}, since `{}` is not set up{why}", first.provider.name);
        Some(Notice::StandIn { role: self.role.to_string(), answered })
    }
}

impl Chain<'_> {
    /// The remedy that sets a provider up, as the end of a sentence.
    pub(super) fn remedy(&self) -> String {
        let alternatives: Vec<String> = self.passed.iter().map(|(name, missing)| format!("for `{name}`: {missing}")).collect();
        alternatives.join("; ")
    }
}

impl ReadyLink<'_> {
    pub(super) fn is_scripted(&self) -> bool {
        matches!(self.kind, ReadyKind::Scripted(_))
    }
}

/// Time that is left to a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remaining(Option<Instant>);

impl Remaining {
    pub(super) fn of(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    /// Returns the time of the next provider: its own, else an equal share of the time that is left with those behind it.
    pub(super) fn share(self, link: &ChainLink, providers: usize) -> Option<Duration> {
        let left = self.0.map(|end| end.saturating_duration_since(Instant::now()));
        let share = left.map(|left| left / u32::try_from(providers.max(1)).unwrap_or(u32::MAX));
        match (link.provider.timeout, left) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (Some(own), None) => Some(own),
            (None, _) => share,
        }
    }

    pub(super) fn is_over(self) -> bool {
        self.0.is_some_and(|end| end <= Instant::now())
    }
}

/// Returns whether the next provider is tried after an error.
pub(super) fn goes_on(error: &ToolError) -> bool {
    let status = |code: &str| code.strip_prefix("http-").and_then(|status| status.parse::<u16>().ok());
    error.kind == ToolErrorKind::Timeout
        || code(error).is_some_and(|code| matches!(code, "connect" | "cut") || matches!(status(code), Some(408 | 425 | 429 | 500..=599)))
}

/// An entry of `meta.tried`.
pub(super) fn tried(provider: &str, code: &str) -> Value {
    Value::map([("provider", provider), ("code", code)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_is_tried_after_what_passes_and_after_nothing_else() {
        // language 9.22
        for on in ["connect", "cut", "http-408", "http-425", "http-429", "http-500", "http-503", "http-599"] {
            assert!(goes_on(&ToolError::coded(on, "x")), "{on}");
        }
        for ends in
            ["tls", "http-400", "http-401", "refused", "length", "malformed_json", "secret", "content-type", "too-large", "no-reply"]
        {
            assert!(!goes_on(&ToolError::coded(ends, "x")), "{ends}");
        }
        assert!(goes_on(&ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new("x") }) && !goes_on(&ToolError::new("x")));
    }
}
