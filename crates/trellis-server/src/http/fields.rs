//! Bodies: one object whose keys are known, each of a kind.

use trellis_core::{Mapping, Value, diagnostic::did_you_mean};

use crate::trouble::{Code, Trouble};

/// The keys of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Mapping);

impl Fields {
    /// Reads a body; one that is empty has no keys.
    ///
    /// # Errors
    /// It is no JSON, or no object.
    pub(crate) fn read(body: &[u8]) -> Result<Value, Trouble> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Map(Mapping::new()));
        }
        let text = std::str::from_utf8(body).map_err(|_| Trouble::new(Code::BadJson, "the body is not UTF-8"))?;
        Value::from_json(text).map_err(|error| Trouble::new(Code::BadJson, format!("the body is no JSON: {error}")))
    }

    /// A body that is an object with no other keys than these.
    ///
    /// # Errors
    /// It is none, or has others.
    pub(crate) fn of(body: Value, known: &[&str]) -> Result<Self, Trouble> {
        let fields = match body {
            Value::Map(fields) => fields,
            other => return Err(Trouble::request("", format!("the body is an object, not {}", other.kind()))),
        };
        if let Some((key, _)) = fields.iter().find(|(key, _)| !known.contains(&&***key)) {
            return Err(unknown("key", key, known).at(format!("/{key}")));
        }
        Ok(Self(fields))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Trouble> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.to_string())),
            Some(other) => Err(wrong(key, "a text", other)),
        }
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<u64>, Trouble> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong(key, "a number from 0", value)),
        }
    }

    pub(crate) fn mapping(&self, key: &str) -> Result<Option<Mapping>, Trouble> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Map(entries)) => Ok(Some(entries.clone())),
            Some(other) => Err(wrong(key, "an object", other)),
        }
    }

    /// A value, null included.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Returns a required value.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn needed<T>(key: &str, value: Option<T>) -> Result<T, Trouble> {
        value.ok_or_else(|| Trouble::request(format!("/{key}"), format!("`{key}` is missing")))
    }
}

/// Something that nothing here is called.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> Trouble {
    let help = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match known {
        [] => format!("there is no {what} here"),
        known => format!("there is {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    });
    Trouble::new(Code::BadRequest, format!("unknown {what} `{name}`; {help}"))
}

fn wrong(key: &str, wanted: &str, got: &Value) -> Trouble {
    Trouble::request(format!("/{key}"), format!("`{key}` is {wanted}, not {}", got.kind()))
}
