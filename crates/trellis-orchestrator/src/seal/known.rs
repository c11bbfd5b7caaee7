//! Secrets that are recognised by their form alone: keys of vendors, private keys, passwords in addresses.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::SecretKind;

/// Forms that vendors document. A group `v` is the value; without one it is the whole match.
const FORMS: &[(SecretKind, &str)] = &[
    (
        SecretKind::PrivateKey,
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    (SecretKind::PrivateKey, r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    (SecretKind::PrivateKey, r"\bPuTTY-User-Key-File-[23]: [\s\S]*?Private-MAC: [0-9a-f]+"),
    // OpenAI, Anthropic, OpenRouter and others with the same form.
    (SecretKind::Token, r"\bsk-[A-Za-z0-9_-]{16,}"),
    (SecretKind::Token, r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    (SecretKind::Token, r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    (SecretKind::Token, r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    (SecretKind::Token, r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    (SecretKind::Token, r"\bgl(?:pat|rt|dt|oas)-[A-Za-z0-9_.-]{16,}"),
    (SecretKind::Token, r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    (SecretKind::Token, r"\bxapp-[0-9]-[A-Za-z0-9-]{10,}"),
    (SecretKind::Token, r"\bhooks\.slack\.com/services/(?P<v>T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,})"),
    (SecretKind::Token, r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    (SecretKind::Token, r"\bAIza[A-Za-z0-9_-]{35}"),
    (SecretKind::Token, r"\bya29\.[A-Za-z0-9_-]{20,}"),
    (SecretKind::Token, r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    (SecretKind::Token, r"\bnpm_[A-Za-z0-9]{30,}"),
    (SecretKind::Token, r"\bpypi-[A-Za-z0-9_-]{30,}"),
    (SecretKind::Token, r"\bhf_[A-Za-z0-9]{20,}"),
    (SecretKind::Token, r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    (SecretKind::Token, r"\bkey-[0-9a-f]{32}\b"),
    (SecretKind::Token, r"\bdo[opr]_v1_[0-9a-f]{40,}"),
    (SecretKind::Token, r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    (SecretKind::Token, r"\bhvs\.[A-Za-z0-9_-]{20,}"),
    (SecretKind::Token, r"\bdckr_pat_[A-Za-z0-9_-]{20,}"),
    (SecretKind::Token, r"\blin_api_[A-Za-z0-9]{30,}"),
    (SecretKind::Token, r"\b(?:secret|ntn)_[A-Za-z0-9]{40,}"),
    (SecretKind::Token, r"\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b"),
    (SecretKind::Token, r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    (SecretKind::Token, r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    (SecretKind::Token, r"(?i)\bBearer\s+(?P<v>[A-Za-z0-9._~+/=-]{16,})"),
    (SecretKind::Token, r"(?i)\bAuthorization:\s*Token\s+(?P<v>[A-Za-z0-9._~+/=-]{8,})"),
    // A name and a password.
    (SecretKind::Password, r"(?i)\bAuthorization:\s*Basic\s+(?P<v>[A-Za-z0-9._~+/=-]{8,})"),
    (SecretKind::Password, r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,64}:(?P<v>[^\s/@]{3,128})@"),
];

static REGEXES: LazyLock<Vec<(SecretKind, Regex)>> = LazyLock::new(|| {
    let compiled = FORMS.iter().map(|(kind, form)| Regex::new(form).map(|regex| (*kind, regex)));
    compiled.collect::<Result<_, _>>().unwrap_or_else(|error| unreachable!("the forms are tested: {error}"))
});

/// The secrets of a text that have such a form.
pub(super) fn known(text: &str) -> impl Iterator<Item = (SecretKind, Range<usize>)> {
    REGEXES.iter().flat_map(move |(kind, regex)| {
        regex.captures_iter(text).filter_map(move |found| {
            let value = found.name("v").or_else(|| found.get(0))?;
            Some((*kind, value.range()))
        })
    })
}
