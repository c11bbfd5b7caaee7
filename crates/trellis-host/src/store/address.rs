//! The address of a server, as people write it: the part for its client, our own parameters, and the part that may be shown.

use std::sync::Arc;

use super::StoreError;

/// An address that was taken apart.
pub(super) struct Address {
    /// Without the parameter that is ours.
    pub(super) url: String,
    /// Our parameter, if present.
    pub(super) own: Option<String>,
    /// Without the user, the password and the parameters: for errors.
    pub(super) shown: Arc<str>,
}

impl Address {
    /// Takes `url` apart; `own` is the name of our parameter: letters, digits, `_` and `-`.
    pub(super) fn new(url: &str, own: &str) -> Result<Self, StoreError> {
        let (front, query) = url.split_once('?').unwrap_or((url, ""));
        let shown = shown(front);
        let (mine, rest): (Vec<_>, Vec<_>) = query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| {
            let name = pair.split('=').next();
            name == Some(own)
        });
        let mine = mine.last().map(|pair| pair.split_once('=').unwrap_or_default().1.to_owned());
        if let Some(name) = &mine
            && (name.is_empty() || name.len() > 48 || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)))
        {
            return Err(StoreError::Spec(format!("`{own}` of {shown} takes up to 48 letters, digits, `_` and `-`")));
        }
        let url = if rest.is_empty() { front.to_owned() } else { format!("{front}?{}", rest.join("&")) };
        Ok(Self { url, own: mine, shown })
    }

    /// It is no address that the client understands; its own message could hold a part of the address.
    pub(super) fn malformed(&self, expected: &str) -> StoreError {
        StoreError::Spec(format!("{} is no address like `{expected}`", self.shown))
    }
}

/// Everything before the last `@` may be a part of the password; of a text that is no address, everything but its kind.
fn shown(front: &str) -> Arc<str> {
    let Some((scheme, rest)) = front.split_once("://") else {
        let kind = front.split_once(':').map_or(front, |(kind, _)| kind);
        return format!("`{kind}:…`").into();
    };
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{place}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_shown_holds_no_secret_however_odd_the_address() {
        for (url, shown) in [
            ("redis://:p%40ss@host:1/2?prefix=a", "redis://host:1/2"),
            ("postgres://me:p@ss/w@host/db?sslmode=disable&schema=s", "postgres://host/db"),
            ("redis://host", "redis://host"),
            ("postgres://host/db?password=hidden", "postgres://host/db"),
            ("redis:me:p@ss", "`redis:…`"),
            ("redis", "`redis:…`"),
        ] {
            assert_eq!(&*Address::new(url, "x").unwrap().shown, shown, "{url}");
        }
    }

    #[test]
    fn our_parameter_is_taken_out_and_must_be_a_name() {
        let address = Address::new("redis://h/0?protocol=resp3&prefix=one", "prefix").unwrap();
        assert_eq!((&*address.url, address.own.as_deref()), ("redis://h/0?protocol=resp3", Some("one")));
        assert_eq!(Address::new("redis://h", "prefix").unwrap().own, None);
        for name in ["", "a:b", "a b", "\"", &"x".repeat(49)] {
            assert!(Address::new(&format!("redis://h?prefix={name}"), "prefix").is_err(), "{name}");
        }
    }
}
