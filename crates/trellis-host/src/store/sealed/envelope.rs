//! One sealed text: `{"sealed":1,"key":"k-3fa90c1d","wrapped":"…","data":"…"}`.
//!
//! `data` is the text under a data key, `wrapped` the data key under the key of that name: XChaCha20-Poly1305, each with a random nonce of 24 bytes
//! before it, in Base64. The data authenticated with `data` are its session, whether it is a record or a snapshot, and its number: a text that was
//! moved elsewhere does not open.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Generate, Payload},
};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::keys::{self, Keys};

/// The beginning of every sealed text.
const ENVELOPE_START: &str = "{\"sealed\":";

/// The version that is written.
const ENVELOPE_VERSION: u64 = 1;

/// The place of a text.
#[derive(Clone, Copy)]
pub(super) enum SealedPlace<'a> {
    Record(&'a str, u64),
    /// With the number of the first record that is not in it.
    Snapshot(&'a str, u64),
}

impl SealedPlace<'_> {
    /// Returns the authenticated data: one text for each place.
    fn bound(self) -> Vec<u8> {
        match self {
            Self::Record(session, seq) => format!("trellis record {seq} {session}").into_bytes(),
            Self::Snapshot(session, next) => format!("trellis snapshot {next} {session}").into_bytes(),
        }
    }

    pub(super) fn said(self) -> String {
        match self {
            Self::Record(session, seq) => format!("record {seq} of session `{session}`"),
            Self::Snapshot(session, _) => format!("the snapshot of session `{session}`"),
        }
    }
}

/// The reason why a text cannot be opened.
pub(super) enum Closed {
    /// No key of this file opens it.
    Key(String),
    /// It was written by a newer version.
    Newer(u64),
    /// It was changed, or moved elsewhere.
    Changed(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    sealed: u64,
    key: &'a str,
    wrapped: &'a str,
    data: &'a str,
}

/// Seals the texts of one write, with one data key.
pub(super) struct Sealer {
    cipher: XChaCha20Poly1305,
    /// Everything before the data.
    front: String,
}

impl Sealer {
    /// Returns `None` if the system has no random bytes.
    pub(super) fn new(keys: &Keys) -> Option<Self> {
        let (bytes, cipher) = keys::fresh()?;
        let (name, key) = keys.newest();
        let wrapped = seal(key, &*bytes, &wrapping(name))?;
        Some(Self { cipher, front: format!("{ENVELOPE_START}{ENVELOPE_VERSION},\"key\":\"{name}\",\"wrapped\":\"{wrapped}\",\"data\":\"") })
    }

    pub(super) fn seal(&self, text: &str, place: SealedPlace<'_>) -> Option<Arc<str>> {
        let data = seal(&self.cipher, text.as_bytes(), &place.bound())?;
        Some(format!("{}{data}\"}}", self.front).into())
    }
}

/// Returns whether a text is sealed, and not with the newest key.
pub(super) fn is_outdated(text: &str, keys: &Keys) -> bool {
    serde_json::from_str::<Envelope<'_>>(text).map_or(true, |envelope| envelope.key != &**keys.newest().0)
}

/// Returns the name of the key that opens a text; `None` if it was never sealed.
pub(super) fn key_of(text: &str) -> Option<Arc<str>> {
    text.starts_with(ENVELOPE_START)
        .then(|| serde_json::from_str::<Envelope<'_>>(text).map_or_else(|_| "".into(), |envelope| envelope.key.into()))
}

/// Opens a sealed text; one that never was sealed is returned unchanged.
pub(super) fn open(text: &Arc<str>, place: SealedPlace<'_>, keys: &Keys) -> Result<Arc<str>, Closed> {
    if !text.starts_with(ENVELOPE_START) {
        return Ok(Arc::clone(text));
    }
    let changed = || Closed::Changed(format!("{} was changed after it was sealed, or was put there from elsewhere", place.said()));
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|_| version(text).map_or_else(changed, Closed::Newer))?;
    if envelope.sealed != ENVELOPE_VERSION {
        return Err(Closed::Newer(envelope.sealed));
    }
    let (name, file) = (envelope.key, keys.file().display());
    let key = keys.find(name).ok_or_else(|| {
        Closed::Key(format!(
            "{} is sealed with the key `{name}`, which is not in {file}: add its line there, after the first",
            place.said()
        ))
    })?;
    let wrapped = unseal(key, envelope.wrapped, &wrapping(name)).map(Zeroizing::new).ok_or_else(|| {
        Closed::Key(format!(
            "the key `{name}` of {file} does not open {}: it is another key of that name, or the text was changed",
            place.said()
        ))
    })?;
    let cipher = XChaCha20Poly1305::new_from_slice(&wrapped).map_err(|_| changed())?;
    let text = unseal(&cipher, envelope.data, &place.bound()).and_then(|text| String::from_utf8(text).ok()).ok_or_else(changed)?;
    Ok(text.into())
}

/// The version of a text whose other parts this version does not know.
fn version(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Versioned {
        sealed: u64,
    }
    serde_json::from_str::<Versioned>(text).ok().map(|versioned| versioned.sealed).filter(|version| *version > ENVELOPE_VERSION)
}

/// A wrapped key belongs to the name of the key that wraps it.
fn wrapping(name: &str) -> Vec<u8> {
    format!("trellis key {name}").into_bytes()
}

fn seal(key: &XChaCha20Poly1305, text: &[u8], bound: &[u8]) -> Option<String> {
    let nonce = XNonce::try_generate().ok()?;
    let sealed = key.encrypt(&nonce, Payload { msg: text, aad: bound }).ok()?;
    Some(STANDARD.encode([nonce.as_slice(), &sealed].concat()))
}

fn unseal(key: &XChaCha20Poly1305, text: &str, bound: &[u8]) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (nonce, sealed) = bytes.split_at_checked(24)?;
    key.decrypt(&XNonce::try_from(nonce).ok()?, Payload { msg: sealed, aad: bound }).ok()
}
