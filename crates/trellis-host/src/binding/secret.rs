//! Secrets in arguments (language 3.6): filled in just before a tool runs, and kept out of every message.

use std::{collections::BTreeSet, fmt, sync::Arc};

use trellis_core::{Mapping, ToolError, Value, state::PendingCall};

use super::mask::SHORTEST;

type Resolve = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where the values of secrets come from.
#[derive(Clone)]
pub struct Secrets(Arc<Resolve>);

impl Secrets {
    /// Secrets that `resolve` knows by name.
    pub fn new(resolve: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(resolve))
    }

    /// Secrets from the environment: `api-key` is `TRELLIS_SECRET_API_KEY`.
    pub fn from_env() -> Self {
        Self::new(|name| std::env::var(env_name(name)).ok())
    }

    /// The secrets of a call that are too short to be masked, each once.
    pub(super) fn unmasked<'c>(&self, call: &'c PendingCall) -> BTreeSet<&'c str> {
        let is_short = |name: &str| (self.0)(name).is_some_and(|value| value.len() < SHORTEST);
        call.secrets.iter().map(|secret| &*secret.name).filter(|name| is_short(name)).collect()
    }

    /// The call's arguments with its secrets in place, and the values that no message may show.
    pub(super) fn fill(&self, call: &PendingCall) -> Result<(Mapping, Vec<String>), ToolError> {
        let mut values = Vec::with_capacity(call.secrets.len());
        for secret in &call.secrets {
            let value = (self.0)(&secret.name).ok_or_else(|| {
                let name = &secret.name;
                ToolError::new(format!("the secret `{name}` is not known here; set `{}`", env_name(name)))
            })?;
            values.push(value);
        }
        let mut args = Value::Map(call.args.clone());
        // From the back, so that the offsets before stay true.
        for (secret, value) in call.secrets.iter().zip(&values).rev() {
            insert(&mut args, &secret.pointer, secret.offset, value)
                .ok_or_else(|| ToolError::new(format!("the secret `{}` has no place in the arguments", secret.name)))?;
        }
        match args {
            Value::Map(args) => Ok((args, values)),
            _ => Err(ToolError::new("the arguments are no mapping")),
        }
    }
}

/// The call's arguments as people may see them: secrets as `{{secret:name}}`.
pub fn shown(call: &PendingCall) -> Mapping {
    let names = Secrets::new(|name| Some(format!("{{{{secret:{name}}}}}")));
    names.fill(call).map_or_else(|_| call.args.clone(), |(args, _)| args)
}

impl Default for Secrets {
    /// Knows none.
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// What the variables that hold secrets begin with.
const PREFIX: &str = "TRELLIS_SECRET_";

/// The credentials of the program itself, and what may hold some: the store's address its password, the collector's address and headers a token.
/// `docs/reference/projects.md` names them.
const CREDENTIALS: [&str; 10] = [
    "TRELLIS_STORE",
    "TRELLIS_KEY_FILE",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    "OTEL_EXPORTER_OTLP_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
];

/// Whether tools do not inherit this variable.
pub(super) fn is_withheld(variable: &str) -> bool {
    variable.starts_with(PREFIX) || CREDENTIALS.contains(&variable)
}

fn env_name(name: &str) -> String {
    let upper = name.chars().map(|char| if char.is_alphanumeric() { char.to_ascii_uppercase() } else { '_' });
    PREFIX.chars().chain(upper).collect()
}

/// Inserts `value` at a byte offset of the text at a JSON pointer.
fn insert(args: &mut Value, pointer: &str, offset: usize, value: &str) -> Option<()> {
    let mut here = args;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        here = match here {
            Value::Map(entries) => entries.get_mut(&part)?,
            Value::List(items) => items.get_mut(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    let text = here.as_str()?;
    let (before, after) = text.split_at_checked(offset)?;
    *here = Value::from(format!("{before}{value}{after}"));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &str, secrets: &str) -> PendingCall {
        let json = format!(
            r#"{{"id":"c","name":"t","role":"do","node":"n","args":{args},"secrets":{secrets},"idempotency_key":"k","attempt":1}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn secrets_stand_where_they_were_written_also_two_in_one_text() {
        let call = call(
            r#"{"auth":" and !","list":["é"]}"#,
            r#"[{"pointer":"/auth","offset":0,"name":"one"},{"pointer":"/auth","offset":5,"name":"two"},{"pointer":"/list/0","offset":2,"name":"one"}]"#,
        );
        let secrets = Secrets::new(|name| Some(format!("<{name}>")));
        let (args, _) = secrets.fill(&call).unwrap();
        assert_eq!(Value::from(args).to_json(), r#"{"auth":"<one> and <two>!","list":["é<one>"]}"#);
        assert_eq!(shown(&call).get("auth").unwrap().as_str(), Some("{{secret:one}} and {{secret:two}}!"));
    }

    #[test]
    fn an_unknown_secret_is_named_with_its_remedy() {
        let error = Secrets::default().fill(&call(r#"{"a":""}"#, r#"[{"pointer":"/a","offset":0,"name":"api-key"}]"#)).unwrap_err();
        assert_eq!(error.message, "the secret `api-key` is not known here; set `TRELLIS_SECRET_API_KEY`");
    }

    #[test]
    fn what_the_program_itself_needs_is_withheld_from_tools() {
        for variable in ["TRELLIS_SECRET_KEY", "TRELLIS_STORE", "TRELLIS_KEY_FILE", "OTEL_EXPORTER_OTLP_HEADERS"] {
            assert!(is_withheld(variable), "{variable}");
        }
        assert!(!is_withheld("PATH") && !is_withheld("TRELLIS_MAX_INPUT_SIZE"));
        let reference = include_str!("../../../../docs/reference/projects.md");
        for variable in CREDENTIALS {
            assert!(reference.contains(&format!("`{variable}`")), "the reference does not name `{variable}`");
        }
    }
}
