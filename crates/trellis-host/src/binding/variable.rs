//! A text of a project file that may come from a variable of the environment instead: `https://…`, or `{ env: NAME, default: https://… }`.

use std::{env, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

/// A text, or the variable that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextOrVariable {
    Text(String),
    Variable { env: String, default: Option<String> },
}

impl TextOrVariable {
    /// The text as far as the file has it.
    pub(super) fn written(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Variable { default, .. } => default.as_deref(),
        }
    }

    /// Its value now. An empty variable is an unset one.
    ///
    /// # Errors
    /// The variable that is not set and has no default.
    pub(super) fn value(&self) -> Result<String, &str> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Variable { env, default } => match variable(env) {
                Some(value) => Ok(value),
                None => default.clone().ok_or(env),
            },
        }
    }

    /// The value of its variable, with the variable's name; `None` where the file's own text counts.
    pub(super) fn in_environment(&self) -> Option<(&str, String)> {
        match self {
            Self::Text(_) => None,
            Self::Variable { env, .. } => Some((env, variable(env)?)),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

impl<'de> Deserialize<'de> for TextOrVariable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = TextOrVariable;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or `{ env: NAME, default: … }`")
            }
            fn visit_str<E>(self, text: &str) -> Result<TextOrVariable, E> {
                Ok(TextOrVariable::Text(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<TextOrVariable, A::Error> {
                let (mut env, mut default) = (None, None);
                while let Some(key) = entries.next_key::<String>()? {
                    match &*key {
                        "env" => env = Some(entries.next_value()?),
                        "default" => default = Some(entries.next_value()?),
                        other => return Err(A::Error::unknown_field(other, &["env", "default"])),
                    }
                }
                let env = env.ok_or_else(|| A::Error::missing_field("env"))?;
                Ok(TextOrVariable::Variable { env, default })
            }
        }
        deserializer.deserialize_any(Either)
    }
}
