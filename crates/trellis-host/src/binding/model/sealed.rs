//! Texts of providers that may name secrets: `key`, `headers` and `env` (world 9.2).

use trellis_core::Value;

use crate::secrets::{SecretError, SecretText, Secrets};

/// A text with places for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SealedText(pub(super) String);

impl SealedText {
    /// The text with its secrets in place; each value joins `used`.
    ///
    /// # Errors
    /// A secret cannot be had.
    pub(super) fn fill(&self, secrets: &Secrets, used: &mut Vec<SecretText>) -> Result<String, SecretError> {
        let (mut filled, mut rest) = (String::new(), &*self.0);
        while let Some((before, name, after)) = next(rest) {
            let value = secrets.find(name)?;
            filled.push_str(before);
            filled.push_str(&value);
            used.push(value);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The first secret of a text: what stands before it, its name, what stands behind it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (inner, after) = rest.split_once("}}")?;
    Some((before, inner.trim().strip_prefix("secret:")?.trim(), after))
}

impl From<&Value> for SealedText {
    /// Text, and what YAML makes of an unquoted number or truth.
    fn from(value: &Value) -> Self {
        Self(value.as_str().map_or_else(|| value.to_json(), str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_filled_in_and_remembered() {
        let secrets = Secrets::new(|name| (name == "crm").then(|| "hunter2".to_owned()));
        let mut used = Vec::new();
        let mut fill = |text: &str| SealedText(text.to_owned()).fill(&secrets, &mut used);
        assert_eq!(fill("Bearer {{secret:crm}}!{{ secret:crm }}").unwrap(), "Bearer hunter2!hunter2");
        assert_eq!(fill("{ plain }").unwrap(), "{ plain }");
        assert!(fill("{{secret:wiki}}").unwrap_err().to_string().contains("wiki"));
        assert_eq!(used.len(), 2);
    }
}
