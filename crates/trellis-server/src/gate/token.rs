//! Tokens: the sender of a request, and its rights. Only digests are stored; they are compared in constant time.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};
use tokio::sync::watch;

use super::rights::{Right, Rights};
use crate::digest::hex;

/// The shortest token that a person may choose.
const MIN_TOKEN: usize = 32;

/// Everybody, where no token is needed.
const ANYONE: &str = "anyone";

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Its rights.
    pub(crate) rights: Rights,
    /// The token, as people call it.
    pub(crate) label: Arc<str>,
}

/// The tokens that a server takes.
#[derive(Clone)]
pub struct Tokens(Arc<Source>);

enum Source {
    /// No token is needed.
    Open,
    /// One token with every right.
    One(KnownToken),
    /// Those of a file, and the times at which it was read again.
    File(PathBuf, RwLock<Vec<KnownToken>>, watch::Sender<()>),
}

/// The token of a stream, with the rights that it had when the stream began. A file of tokens may be read again while it lasts.
#[derive(Clone)]
pub(crate) struct Admission {
    tokens: Tokens,
    digest: Option<TokenDigest>,
    rights: Rights,
    reloads: watch::Receiver<()>,
}

impl Admission {
    /// Returns whether the token is still one, and has all of these rights.
    pub(crate) fn is_valid(&self) -> bool {
        let now = self.tokens.caller_of(self.digest.as_ref());
        now.is_some_and(|now| Right::ALL.into_iter().all(|right| now.rights.has(right) || !self.rights.has(right)))
    }

    /// Waits until the token is none any more, or has lost a right. May be dropped and called again.
    pub(crate) async fn revoked(&mut self) {
        while self.is_valid() {
            if self.reloads.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

/// The SHA-256 of a token, in words: these compare faster than bytes.
type TokenDigest = [u64; 4];

struct KnownToken {
    digest: TokenDigest,
    rights: Rights,
    label: Arc<str>,
}

/// Tokens that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadTokens {
    /// A chosen token is too short to be one.
    #[error("a token has {MIN_TOKEN} characters or more")]
    Short,
    /// The file cannot be read.
    #[error("`{path}` cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The cause.
        error: std::io::Error,
    },
    /// Others may read the file.
    #[error("`{0}` can be read by others: `chmod 600` it")]
    Open(String),
    /// The file has no line with a token.
    #[error("`{0}` has no token, so nobody could do anything: write a line with the SHA-256 of one, its rights and a label")]
    Empty(String),
    /// A line is none.
    #[error("`{path}`, line {line}: {why}")]
    Line {
        /// The file.
        path: String,
        /// Its line, from 1.
        line: usize,
        /// The description of the mistake.
        why: String,
    },
    /// The system has no randomness.
    #[error("no random token can be made: {0}")]
    Random(String),
}

impl Tokens {
    /// A new random token of 256 bits with every right, and the tokens that take it.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn random() -> Result<(String, Self), BadTokens> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| BadTokens::Random(error.to_string()))?;
        let token = hex(&bytes);
        Ok((token.clone(), Self::known(&token)))
    }

    /// Creates one token with every right, of a given text.
    ///
    /// # Errors
    /// It is too short.
    pub fn chosen(token: &str) -> Result<Self, BadTokens> {
        if token.chars().count() < MIN_TOKEN {
            return Err(BadTokens::Short);
        }
        Ok(Self::known(token))
    }

    fn known(token: &str) -> Self {
        Self(Arc::new(Source::One(KnownToken { digest: token_digest(token), rights: Rights::all(), label: "local".into() })))
    }

    /// Requires no token: everybody who reaches the server may do everything.
    pub fn none() -> Self {
        Self(Arc::new(Source::Open))
    }

    /// The tokens of a file: a line each has the SHA-256 of a token in hexadecimal, its rights with commas between, and a label. Without rights it has
    /// `chat`.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, a line is none, or there is no line.
    pub fn of_file(path: &Path) -> Result<Self, BadTokens> {
        let known = read(path)?;
        Ok(Self(Arc::new(Source::File(path.to_owned(), RwLock::new(known), watch::Sender::new(())))))
    }

    /// Reads the file again, if there is one; where it cannot be read, the tokens stay. Streams of a token that is none any more, or has lost a
    /// right, end.
    ///
    /// # Errors
    /// As [`Tokens::of_file`].
    pub fn reload(&self) -> Result<(), BadTokens> {
        if let Source::File(path, known, reloads) = &*self.0 {
            let read = read(path)?;
            *known.write().unwrap_or_else(PoisonError::into_inner) = read;
            reloads.send_replace(());
        }
        Ok(())
    }

    /// Returns the rights that every token of this label has; none if there is no such token.
    pub fn rights_of(&self, label: &str) -> Rights {
        let of = |known: &[KnownToken]| {
            let mut rights = known.iter().filter(|known| &*known.label == label).map(|known| known.rights);
            let first = rights.next().unwrap_or_default();
            rights.fold(first, |all, other| Right::ALL.into_iter().filter(|right| all.has(*right) && other.has(*right)).collect())
        };
        match &*self.0 {
            Source::Open if label == ANYONE => Rights::all(),
            Source::Open => Rights::default(),
            Source::One(known) => of(std::slice::from_ref(known)),
            Source::File(_, known, _) => of(&known.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Returns the labels whose tokens all have a right, each once.
    pub fn labels_with(&self, right: Right) -> Vec<String> {
        let mut labels: Vec<String> = match &*self.0 {
            Source::Open => vec![ANYONE.to_owned()],
            Source::One(known) => vec![known.label.to_string()],
            Source::File(_, known, _) => {
                known.read().unwrap_or_else(PoisonError::into_inner).iter().map(|known| known.label.to_string()).collect()
            }
        };
        labels.sort_unstable();
        labels.dedup();
        labels.retain(|label| self.rights_of(label).has(right));
        labels
    }

    /// Returns the owner of this token; without a token, anyone if none is needed.
    pub(super) fn caller(&self, token: Option<&str>) -> Option<Caller> {
        self.caller_of(token.map(token_digest).as_ref())
    }

    /// Returns what holds for a stream that begins now, with a token that had these rights.
    pub(super) fn admission(&self, token: Option<&str>, rights: Rights) -> Admission {
        Admission { tokens: self.clone(), digest: token.map(token_digest), rights, reloads: self.reloads() }
    }

    /// Returns what changes whenever the tokens were read again. Only those of a file are.
    pub(crate) fn reloads(&self) -> watch::Receiver<()> {
        match &*self.0 {
            Source::File(_, _, reloads) => reloads.subscribe(),
            Source::Open | Source::One(_) => watch::channel(()).1,
        }
    }

    fn caller_of(&self, digest: Option<&TokenDigest>) -> Option<Caller> {
        match &*self.0 {
            Source::Open => Some(Caller { rights: Rights::all(), label: ANYONE.into() }),
            Source::One(known) => owner(std::slice::from_ref(known), digest?),
            Source::File(_, known, _) => owner(&known.read().unwrap_or_else(PoisonError::into_inner), digest?),
        }
    }
}

/// Returns the owner of the token with this digest. All are compared, so that the time does not reveal a near match.
fn owner(known: &[KnownToken], digest: &TokenDigest) -> Option<Caller> {
    let mut found = u32::MAX;
    for (at, known) in (0_u32..).zip(known) {
        found.conditional_assign(&at, known.digest.ct_eq(digest));
    }
    let KnownToken { rights, label, .. } = known.get(usize::try_from(found).ok()?)?;
    Some(Caller { rights: *rights, label: Arc::clone(label) })
}

fn read(path: &Path) -> Result<Vec<KnownToken>, BadTokens> {
    let shown = || path.display().to_string();
    let unreadable = |error| BadTokens::Unreadable { path: shown(), error };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
            return Err(BadTokens::Open(shown()));
        }
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let known: Vec<_> =
        lines.map(|(line, text)| known(text).map_err(|why| BadTokens::Line { path: shown(), line, why })).collect::<Result<_, _>>()?;
    if known.is_empty() { Err(BadTokens::Empty(shown())) } else { Ok(known) }
}

fn known(line: &str) -> Result<KnownToken, String> {
    let mut words = line.split_whitespace();
    let (digest, rights, label) = match (words.next(), words.next(), words.next(), words.next()) {
        (Some(digest), Some(rights), Some(label), None) => (digest, rights, label),
        (Some(digest), Some(label), None, None) => (digest, Right::Chat.as_str(), label),
        _ => return Err("a line is the SHA-256 of a token, its rights with commas between, and a label".to_owned()),
    };
    let right = |name| {
        Right::named(name).ok_or_else(|| format!("there is no right `{name}`; there are read, walk, approve, operate, metrics, chat"))
    };
    let rights = rights.split(',').map(right).collect::<Result<_, _>>()?;
    let digest = unhex(digest).ok_or("the first word is a SHA-256: 64 digits of hexadecimal")?;
    Ok(KnownToken { digest: in_words(digest), rights, label: label.into() })
}

fn token_digest(token: &str) -> TokenDigest {
    in_words(Sha256::digest(token.as_bytes()).into())
}

fn in_words(bytes: [u8; 32]) -> TokenDigest {
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_be_bytes(words[at]))
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Admission")
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every right is given by name, and only the digest is stored.
    #[test]
    fn a_line_gives_rights_to_a_digest() {
        let line = format!("{} read,walk ana", hex(&Sha256::digest("t")));
        let token = known(&line).unwrap_or_else(|why| panic!("{why}"));
        assert!(token.rights.has(Right::Walk) && !token.rights.has(Right::Approve) && &*token.label == "ana");
        let token = known(&format!("{} ana", hex(&Sha256::digest("t")))).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(Right::ALL.map(|right| token.rights.has(right)), [false, false, false, false, false, true]);
        for (line, why) in [("x read ana", "SHA-256"), (&*format!("{} fly ana", "0".repeat(64)), "no right `fly`"), ("x", "a line is")] {
            assert!(known(line).err().is_some_and(|message| message.contains(why)), "{line}");
        }
    }

    /// The holder of a label has the rights of every token of that label.
    #[test]
    fn a_label_has_the_rights_of_all_its_tokens() {
        let line = |token: &str, rights: &str| {
            known(&format!("{} {rights} ana", hex(&Sha256::digest(token)))).unwrap_or_else(|why| panic!("{why}"))
        };
        let file = vec![line("a", "read,walk,approve"), line("b", "read,walk")];
        let tokens = Tokens(Arc::new(Source::File(PathBuf::new(), RwLock::new(file), watch::Sender::new(()))));
        let may = |tokens: &Tokens, label: &str| Right::ALL.map(|right| tokens.rights_of(label).has(right));
        assert_eq!(may(&tokens, "ana"), [true, true, false, false, false, false]);
        assert_eq!(may(&tokens, "bo"), [false; 6]);
        assert_eq!((may(&Tokens::none(), ANYONE), may(&Tokens::known("t"), "local")), ([true; 6], [true; 6]));
    }

    #[test]
    fn a_token_that_is_too_short_is_none() {
        assert!(matches!(Tokens::chosen("password"), Err(BadTokens::Short)));
        let tokens = Tokens::chosen(&"x".repeat(32)).unwrap_or_else(|error| panic!("{error}"));
        assert!(tokens.caller(Some(&"x".repeat(32))).is_some());
        assert!(tokens.caller(Some(&"x".repeat(33))).is_none() && tokens.caller(None).is_none());
    }
}
