//! What the environment says about exporting (`OTEL_*`, as OpenTelemetry names and means them).

use std::{env, time::Duration};

use opentelemetry_http::Request;
use opentelemetry_sdk::Resource;

/// How long a request may take where nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A variable that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{variable}` {why}")]
pub struct BadSetting {
    /// Its name.
    pub variable: &'static str,
    /// What is wrong with it; without its value, which may be secret.
    pub why: String,
}

/// What the exporter does not read by itself.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) timeout: Duration,
    pub(super) resource: Resource,
}

impl Settings {
    /// Nothing, where nothing is to be exported.
    ///
    /// # Errors
    /// A variable says what is not possible.
    pub(super) fn from_env() -> Result<Option<Self>, BadSetting> {
        let endpoint = said("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| said("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let is_off = said("OTEL_SDK_DISABLED").is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"));
        let Some((variable, endpoint)) = endpoint.filter(|_| !is_off) else { return Ok(None) };
        match said("OTEL_TRACES_EXPORTER") {
            Some((_, exporter)) if exporter == "none" => return Ok(None),
            Some((variable, exporter)) if exporter != "otlp" => {
                return bad(variable, "names an exporter that is not here: `otlp` and `none` are");
            }
            _ => {}
        }
        let protocol = said("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| said("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if let Some((variable, _)) = protocol.filter(|(_, protocol)| protocol != "http/protobuf") {
            return bad(variable, "names a protocol that is not here: `http/protobuf` is");
        }
        let address = Request::post(&*endpoint).body(()).ok().map(|request| request.into_parts().0.uri);
        match address.as_ref().and_then(|address| Some((address.scheme_str()?, address.host()?))) {
            Some(("http", _)) => {}
            Some(("https", _)) if cfg!(feature = "telemetry-tls") => {}
            Some(("https", _)) => return bad(variable, "begins with `https`, which was left out when this program was built"),
            _ => return bad(variable, "is no address: `http://localhost:4318` is one"),
        }
        Ok(Some(Self { timeout: timeout()?, resource: resource() }))
    }
}

fn bad<T>(variable: &'static str, why: &str) -> Result<T, BadSetting> {
    Err(BadSetting { variable, why: why.to_owned() })
}

/// A variable that is set, and not to nothing.
fn said(variable: &'static str) -> Option<(&'static str, String)> {
    let value = env::var_os(variable).filter(|value| !value.is_empty())?;
    Some((variable, value.to_string_lossy().into_owned()))
}

fn timeout() -> Result<Duration, BadSetting> {
    match said("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").or_else(|| said("OTEL_EXPORTER_OTLP_TIMEOUT")) {
        None => Ok(TIMEOUT),
        Some((variable, value)) => match value.parse() {
            Ok(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
            _ => bad(variable, "is no number of milliseconds"),
        },
    }
}

/// Who says it: `OTEL_SERVICE_NAME`, then `service.name` of `OTEL_RESOURCE_ATTRIBUTES`, then `trellis`.
fn resource() -> Resource {
    let named = said("OTEL_SERVICE_NAME").map(|(_, name)| name);
    let listed =
        said("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|(_, list)| list.split(',').any(|entry| entry.trim().starts_with("service.name=")));
    let resource = Resource::builder();
    match (named, listed) {
        (Some(name), _) => resource.with_service_name(name).build(),
        (None, true) => resource.build(),
        (None, false) => resource.with_service_name("trellis").build(),
    }
}
