//! Arguments with their secrets in place, just before a call runs.

use std::collections::BTreeSet;

#[cfg(any(feature = "mcp", feature = "model", feature = "processes"))]
use trellis_core::language::SecretUse;
use trellis_core::{Mapping, ToolError, Value, state::PendingCall};

use super::{Mask, SHORTEST, SecretText, Secrets};

/// The arguments of a call with its secrets in them.
pub(crate) struct FilledCall {
    pub(crate) args: Mapping,
    /// The values that were filled in.
    pub(crate) mask: Mask,
    /// The names of those that are too short to be masked, each once.
    pub(crate) unmasked: BTreeSet<Box<str>>,
}

impl Secrets {
    /// Fills the secrets of a call into its arguments.
    ///
    /// # Errors
    /// A secret cannot be had, or has no place in the arguments; the code is `secret`.
    pub(crate) fn fill(&self, call: &PendingCall) -> Result<FilledCall, ToolError> {
        let found = call.secrets.iter().map(|secret| self.find(&secret.name));
        let values = found.collect::<Result<Vec<SecretText>, _>>()?;
        let short = call.secrets.iter().zip(&values).filter(|(_, value)| value.len() < SHORTEST);
        let unmasked = short.map(|(secret, _)| secret.name.as_ref().into()).collect();
        let args = filled(call, values.iter().map(|value| &***value))?;
        Ok(FilledCall { args, mask: Mask::of_secrets(values.iter().map(|value| &***value)), unmasked })
    }

    /// Fills secrets into a value; returns also their mask.
    ///
    /// # Errors
    /// A secret cannot be had, or has no place in the value; the code is `secret`.
    #[cfg(any(feature = "mcp", feature = "model", feature = "processes"))]
    pub(crate) fn fill_in(&self, mut value: Value, uses: &[SecretUse]) -> Result<(Value, Mask), ToolError> {
        let texts = uses.iter().map(|used| Ok(self.find(&used.name)?)).collect::<Result<Vec<SecretText>, ToolError>>()?;
        // From the back, so that the offsets before stay true.
        for (used, text) in uses.iter().zip(&texts).rev() {
            insert(&mut value, &used.pointer, used.offset, text).ok_or_else(|| no_place(&used.name))?;
        }
        Ok((value, Mask::of_secrets(texts.iter().map(|text| &***text))))
    }
}

/// The call's arguments as people may see them: secrets as `{{secret:name}}`.
pub fn shown(call: &PendingCall) -> Mapping {
    let names: Vec<String> = call.secrets.iter().map(|secret| format!("{{{{secret:{}}}}}", secret.name)).collect();
    filled(call, names.iter().map(String::as_str)).unwrap_or_else(|_| call.args.clone())
}

/// The call's arguments with a text for each of its secrets.
fn filled<'v>(call: &PendingCall, values: impl DoubleEndedIterator<Item = &'v str> + ExactSizeIterator) -> Result<Mapping, ToolError> {
    let mut args = Value::Map(call.args.clone());
    // From the back, so that the offsets before stay true.
    for (secret, value) in call.secrets.iter().zip(values).rev() {
        insert(&mut args, &secret.pointer, secret.offset, value).ok_or_else(|| no_place(&secret.name))?;
    }
    match args {
        Value::Map(args) => Ok(args),
        _ => Err(no_place("")),
    }
}

fn no_place(name: &str) -> ToolError {
    ToolError::coded("secret", format!("the secret `{name}` has no place in the arguments")).finally()
}

/// Inserts `value` at a byte offset of the text at a JSON pointer.
pub(crate) fn insert(args: &mut Value, pointer: &str, offset: usize, value: &str) -> Option<()> {
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
    *here = Value::from([before, value, after].concat());
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
        let filled = secrets.fill(&call).unwrap();
        assert_eq!(Value::from(filled.args).to_json(), r#"{"auth":"<one> and <two>!","list":["é<one>"]}"#);
        assert_eq!(filled.mask.text("<one> <two>"), "*** ***");
        assert_eq!(shown(&call).get("auth").unwrap().as_str(), Some("{{secret:one}} and {{secret:two}}!"));
    }

    // language 9.4: a secret of one byte
    #[test]
    fn what_cannot_be_filled_in_is_an_error_of_its_own_code_and_what_is_short_is_named() {
        let call = call(r#"{"a":""}"#, r#"[{"pointer":"/a","offset":0,"name":"api-key"},{"pointer":"/a","offset":0,"name":"api-key"}]"#);
        let error = Secrets::default().fill(&call).err().unwrap();
        assert_eq!(
            error.message,
            "the secret `api-key` is not known here; set `TRELLIS_SECRET_API_KEY`, or run `trellis secret set api-key`"
        );
        assert_eq!((error.code, error.is_final), (Some(Value::text("secret")), true));
        let filled = Secrets::new(|_| Some("x".into())).fill(&call).unwrap();
        assert_eq!(filled.unmasked.iter().map(|name| &**name).collect::<Vec<_>>(), ["api-key"]);
        assert_eq!(filled.mask.text("x"), "x");
    }
}
