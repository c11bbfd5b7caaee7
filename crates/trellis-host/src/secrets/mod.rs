//! Secrets (language 11.1): looked up by name, filled into the arguments of a call just before it runs (language 3.6), and removed from all output.
//!
//! ```text
//! Secrets::chain: environment ─▶ vault ─▶ SecretError     a call with places ──fill──▶ arguments + Mask
//! ```
//!
//! **Invariant:** the value of a secret is in no message; an error of this module holds names and places of files.

mod fill;
mod mask;
mod name;
mod named;
#[cfg(feature = "vault")]
mod vault;
mod withheld;

use std::{fmt, sync::Arc};

use trellis_core::ToolError;
use zeroize::Zeroizing;

#[cfg(feature = "vault")]
pub use self::vault::{MAX_VALUE, Vault, VaultEntry, VaultError};
pub use self::{
    fill::shown,
    mask::{Mask, MaskStream},
    name::{is_name, variable},
    named::{named_by_host, named_in},
    withheld::{is_withheld, withhold},
};
pub(crate) use self::{
    fill::{FilledCall, insert},
    mask::{Masker, SHORTEST, StreamEnd},
    named::calls_in,
};

/// The value of a secret; its bytes are overwritten when it is dropped.
pub type SecretText = Zeroizing<String>;

type Lookup = dyn Fn(&str) -> Result<Option<SecretText>, SecretError> + Send + Sync;
type Listing = dyn Fn() -> Result<Vec<SecretName>, SecretError> + Send + Sync;

/// A source of secrets.
///
/// ```
/// use trellis_host::Secrets;
///
/// let secrets = Secrets::chain([Secrets::from_env(), Secrets::new(|name| (name == "crm").then(|| "hunter2".to_owned()))]);
/// assert_eq!(secrets.find("crm").unwrap().as_str(), "hunter2");
/// assert!(secrets.find("wiki").unwrap_err().to_string().contains("TRELLIS_SECRET_WIKI"));
/// ```
#[derive(Clone)]
pub struct Secrets {
    lookup: Arc<Lookup>,
    listing: Arc<Listing>,
}

/// The name of a secret that a source has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName {
    /// The name.
    pub name: Arc<str>,
    /// The moment at which its value was set, in milliseconds since 1970.
    pub set: u64,
}

/// A secret that is not available; the message names it, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// No source knows the name.
    #[error("the secret `{name}` is not known here; set `{variable}`, or run `trellis secret set {name}`", name = .0, variable = variable(.0))]
    Unknown(Arc<str>),
    /// The name is none that a secret can have.
    #[error("`{0}` is no name of a secret: 1 to 64 of a-z, 0-9, `.`, `_` and `-`, a letter or digit first")]
    Name(Arc<str>),
    /// A source cannot be read, or holds something else.
    #[error("the secret `{name}` cannot be read: {why}")]
    Unreadable {
        /// The name of the secret.
        name: Arc<str>,
        /// The mistake of the source, and its remedy.
        why: Arc<str>,
    },
    /// The names of a source cannot be listed.
    #[error("the names of secrets cannot be listed: {0}")]
    Unlisted(Arc<str>),
}

impl Secrets {
    /// Secrets that `resolve` knows by name.
    pub fn new(resolve: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::fallible(move |name| Ok(resolve(name).map(Zeroizing::new)))
    }

    /// Looks up secrets by `resolve`, which may fail: an error is returned unchanged, and no other source is asked.
    pub fn fallible(resolve: impl Fn(&str) -> Result<Option<SecretText>, SecretError> + Send + Sync + 'static) -> Self {
        Self { lookup: Arc::new(resolve), listing: Arc::new(|| Ok(Vec::new())) }
    }

    /// Adds a list of the names.
    #[must_use]
    pub fn listed(self, listing: impl Fn() -> Result<Vec<SecretName>, SecretError> + Send + Sync + 'static) -> Self {
        Self { listing: Arc::new(listing), ..self }
    }

    /// Secrets from the environment: `api-key` is `TRELLIS_SECRET_API_KEY`.
    pub fn from_env() -> Self {
        Self::fallible(|name| match std::env::var(variable(name)) {
            Ok(value) => Ok(Some(Zeroizing::new(value))),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => {
                let why = format!("`{}` is not UTF-8", variable(name)).into();
                Err(SecretError::Unreadable { name: name.into(), why })
            }
        })
    }

    /// The first of these that knows a name has its value.
    pub fn chain(sources: impl IntoIterator<Item = Self>) -> Self {
        let sources: Arc<[Self]> = sources.into_iter().collect();
        let listed = Arc::clone(&sources);
        let first = move |name: &str| {
            for source in &*sources {
                if let Some(value) = (source.lookup)(name)? {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        };
        Self::fallible(first).listed(move || {
            let mut names = Vec::new();
            for source in &*listed {
                names.extend(source.names()?);
            }
            Ok(names)
        })
    }

    /// The names that the sources can list, in their order; variables of the environment are not among them.
    ///
    /// # Errors
    /// A source cannot be read.
    pub fn names(&self) -> Result<Vec<SecretName>, SecretError> {
        (self.listing)()
    }

    /// The value of a secret.
    ///
    /// # Errors
    /// The name is none, no source knows it, or one that was asked cannot be read.
    pub fn find(&self, name: &str) -> Result<SecretText, SecretError> {
        if !is_name(name) {
            return Err(SecretError::Name(name.into()));
        }
        (self.lookup)(name)?.ok_or_else(|| SecretError::Unknown(name.into()))
    }
}

impl From<SecretError> for ToolError {
    fn from(error: SecretError) -> Self {
        Self::coded("secret", error.to_string()).finally()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn one(known: &'static str, value: &'static str) -> Secrets {
        Secrets::new(move |name| (name == known).then(|| value.to_owned()))
    }

    // language 11.1
    #[test]
    fn the_first_source_that_knows_a_name_wins_and_an_error_ends_the_search() {
        let broken = Secrets::fallible(|name| match name {
            "c" => Err(SecretError::Unreadable { name: name.into(), why: "closed".into() }),
            _ => Ok(None),
        });
        let secrets = Secrets::chain([one("a", "1"), broken, one("a", "2"), one("b", "3"), one("c", "4")]);
        assert_eq!((&**secrets.find("a").unwrap(), &**secrets.find("b").unwrap()), ("1", "3"));
        assert_eq!(secrets.find("c").unwrap_err().to_string(), "the secret `c` cannot be read: closed");
        assert_eq!(secrets.find("d").unwrap_err(), SecretError::Unknown("d".into()));
        let listed = |name: &str| {
            one("", "").listed({
                let name = Arc::from(name);
                move || Ok(vec![SecretName { name: Arc::clone(&name), set: 7 }])
            })
        };
        let names = Secrets::chain([listed("a"), one("b", "2"), listed("c")]).names().unwrap();
        assert_eq!(names.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(secrets.find("No/Name").unwrap_err(), SecretError::Name("No/Name".into()));
    }
}
