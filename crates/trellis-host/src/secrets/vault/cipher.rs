//! One value, sealed under its name.

use aes_gcm::{
    Aes256Gcm, KeyInit, Nonce,
    aead::{Aead, Generate, Payload},
};
use zeroize::Zeroizing;

use super::super::SecretText;

/// Bytes of a master key.
pub(super) const KEY: usize = 32;

type GcmNonce = Nonce<<Aes256Gcm as aes_gcm::aead::AeadCore>::NonceSize>;

/// Returns a fresh nonce, and the value sealed with it; `None` if the system has no random bytes.
pub(super) fn seal(key: &[u8; KEY], name: &str, value: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let nonce = GcmNonce::try_generate().ok()?;
    let data = Aes256Gcm::new(key.into()).encrypt(&nonce, Payload { msg: value.as_bytes(), aad: name.as_bytes() }).ok()?;
    Some((nonce.to_vec(), data))
}

/// The value, if it was sealed with this key under this name.
pub(super) fn open(key: &[u8; KEY], name: &str, nonce: &[u8], data: &[u8]) -> Option<SecretText> {
    let nonce = GcmNonce::try_from(nonce).ok()?;
    let value = Zeroizing::new(Aes256Gcm::new(key.into()).decrypt(&nonce, Payload { msg: data, aad: name.as_bytes() }).ok()?);
    std::str::from_utf8(&value).ok().map(|text| SecretText::new(text.to_owned()))
}

/// Returns a fresh master key; `None` if the system has no random bytes.
pub(super) fn fresh_key() -> Option<Zeroizing<[u8; KEY]>> {
    <[u8; KEY]>::try_generate().ok().map(Zeroizing::new)
}
