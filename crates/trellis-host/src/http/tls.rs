//! Trust in the other side: the roots of the system, and those of a PEM file.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use trellis_core::ToolError;

/// The bytes of a PEM file; none where no file is named.
pub(super) fn read(ca: Option<&Path>) -> Result<Vec<u8>, ToolError> {
    let Some(ca) = ca else { return Ok(Vec::new()) };
    let pem = std::fs::read(ca).map_err(|error| no_trust(format!("the CA file `{}` cannot be read: {error}", ca.display())))?;
    if pem.is_empty() { Err(no_trust(format!("the CA file `{}` is empty", ca.display()))) } else { Ok(pem) }
}

/// Finds out if a PEM file can be read and trusted.
///
/// # Errors
/// `tls`.
pub fn check_ca(ca: &Path) -> Result<(), ToolError> {
    certificates(&read(Some(ca))?).map(drop)
}

/// A configuration that trusts the system's roots and the certificates of a PEM text. The empty text has none.
pub(super) fn config(pem: &[u8]) -> Result<ClientConfig, ToolError> {
    let provider = provider();
    let verifier = Verifier::new_with_extra_roots(certificates(pem)?, Arc::clone(&provider)).map_err(|error| match error {
        rustls::Error::General(_) => no_trust(
            "this system has no CA certificates: install them (Debian: `apt-get install ca-certificates`), set `SSL_CERT_FILE`, or name a \
             PEM file with `ca`"
                .to_owned(),
        ),
        error => no_trust(format!("the CA certificates cannot be taken: {error}")),
    })?;
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.map_err(|error| no_trust(error.to_string()))?.dangerous();
    Ok(config.with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ToolError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| no_trust(format!("the CA file is no PEM file: {error}")))?;
    if found.is_empty() && !pem.is_empty() {
        return Err(no_trust("the CA file has no certificate".to_owned()));
    }
    Ok(found)
}

/// Returns a configuration without any trusted root, for connections without TLS: the client requires one.
pub(super) fn without_roots() -> Result<ClientConfig, ToolError> {
    let versions = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = versions.map_err(|error| no_trust(error.to_string()))?;
    Ok(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn no_trust(message: String) -> ToolError {
    ToolError::coded("tls", message).finally()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_pem_file_is_told() {
        for (pem, why) in [
            (&b"hello"[..], "the CA file has no certificate"),
            (b"-----BEGIN CERTIFICATE-----\nAAAA\n", "the CA file is no PEM file"),
            (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "the CA certificates cannot be taken"),
        ] {
            let error = config(pem).unwrap_err();
            assert!(error.is_final && error.message.starts_with(why), "{error:?}");
        }
        let error = read(Some(Path::new("/nowhere/ca.pem"))).unwrap_err();
        assert!(error.message.starts_with("the CA file `/nowhere/ca.pem` cannot be read"), "{error:?}");
    }
}
