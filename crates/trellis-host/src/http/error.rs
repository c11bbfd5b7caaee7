//! Errors of the client as errors of calls, with the codes of 9.4.

use std::error::Error;

use trellis_core::ToolError;

/// No response came.
pub(super) fn sending(origin: &str, error: &(dyn Error + 'static)) -> ToolError {
    if let Some(tls) = cause::<rustls::Error>(error) {
        return ToolError::coded("tls", format!("no trust in `{origin}`: {}", distrust(tls))).finally();
    }
    let connects = error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect);
    if connects { no_connection(origin, error) } else { receiving(origin, error) }
}

/// Returns the error of a refused connection.
pub(super) fn no_connection(origin: &str, error: &(dyn Error + 'static)) -> ToolError {
    ToolError::coded("connect", format!("no connection to `{origin}`: {}", last(error)))
}

/// The answer broke off.
pub(super) fn receiving(origin: &str, error: &(dyn Error + 'static)) -> ToolError {
    ToolError::coded("cut", format!("the answer of `{origin}` broke off: {}", last(error)))
}

/// The reason of a failed handshake in words.
fn distrust(error: &rustls::Error) -> String {
    use rustls::{CertificateError as Certificate, Error as Tls};
    match error {
        Tls::InvalidCertificate(Certificate::UnknownIssuer) => {
            "its certificate is signed by nobody known; `ca` names a PEM file to trust".to_owned()
        }
        Tls::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => "its certificate has expired".to_owned(),
        Tls::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            "its certificate is not valid yet".to_owned()
        }
        Tls::InvalidCertificate(Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }) => {
            "its certificate is for another name".to_owned()
        }
        Tls::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        error => error.to_string(),
    }
}

/// An error of a type among the causes of another. An error of input and output hands its own cause on only by `get_ref`.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(here) = next {
        if let Some(found) = here.downcast_ref() {
            return Some(found);
        }
        next = match here.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => here.source(),
        };
    }
    None
}

/// The cause behind all others: those before it repeat the URL.
fn last(error: &(dyn Error + 'static)) -> String {
    let mut here = error;
    while let Some(next) = here.source() {
        here = next;
    }
    here.to_string()
}
