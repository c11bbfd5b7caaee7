//! The lines `$ …`: how a session begins.

use trellis_base::{
    id::{NodeId, SessionId},
    value::{Mapping, Value},
};
use trellis_engine::state::State;

/// One choice about how a session begins.
#[derive(Clone, Debug)]
pub enum Beginning {
    /// `$ after TITLE`: the author lines of this case first.
    After(String),
    /// `$ at NODE`.
    At(NodeId),
    /// `$ by hand`.
    ByHand,
    /// `$ context {…}`.
    Context(Mapping),
    /// `$ limit N`: the greatest size of an input, in bytes.
    Limit(u64),
    /// `$ locale NAME`.
    Locale(String),
    /// `$ session NAME`; `-` is none.
    Session(Option<SessionId>),
    /// `$ state {…}`.
    State(Box<State>),
}

impl Beginning {
    /// Reads a line by its first word and what stands behind it; `file` reads a file that it names.
    ///
    /// # Errors
    /// It means nothing: the reason.
    pub fn read(what: &str, value: &str, file: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, String> {
        let json = || if value.starts_with('{') { Ok(value.to_owned()) } else { file(value) };
        Ok(match what {
            "after" => Self::After(value.to_owned()),
            "at" => Self::At(NodeId::from(value)),
            "by" if value == "hand" => Self::ByHand,
            "context" => match json().and_then(|text| Value::from_json(&text).map_err(|error| error.to_string())) {
                Ok(Value::Map(context)) => Self::Context(context),
                Ok(_) => return Err(format!("`{value}` is no JSON mapping")),
                Err(error) => return Err(format!("`{value}`: {error}")),
            },
            "limit" => Self::Limit(value.parse().map_err(|_| format!("`{value}` is no number of bytes"))?),
            "locale" => Self::Locale(value.to_owned()),
            "session" => Self::Session(Some(SessionId::from(value)).filter(|_| value != "-")),
            "state" => match json().and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
                Ok(state) => Self::State(Box::new(state)),
                Err(error) => return Err(format!("`{value}` is no state: {error}")),
            },
            other => return Err(format!("`$ {other}` is no way to begin: after, at, by hand, context, limit, locale, session, state")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_that_means_nothing_says_why() {
        let read = |what: &str, value: &str| Beginning::read(what, value, &|path| Err(format!("no {path}")));
        assert!(matches!(read("context", "{\"a\": 1}"), Ok(Beginning::Context(context)) if context.len() == 1));
        assert!(matches!(read("session", "-"), Ok(Beginning::Session(None))));
        let wrong = |what: &str, value: &str| read(what, value).map(drop).unwrap_err();
        assert_eq!(wrong("context", "a.json"), "`a.json`: no a.json");
        assert!(wrong("context", "{").starts_with("`{`: ") && wrong("state", "{}").starts_with("`{}` is no state: "));
        assert_eq!(wrong("limit", "ten"), "`ten` is no number of bytes");
        assert!(wrong("by", "heart").starts_with("`$ by` is no way to begin: after") && read("by", "hand").is_ok());
    }
}
