//! Settings of the environment for exporting (`OTEL_*`, as OpenTelemetry names and means them).

use std::{env, time::Duration};

use opentelemetry_http::Request;
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfig, BatchConfigBuilder, Sampler},
};

/// The default duration of a request, in milliseconds.
const EXPORT_TIMEOUT_MS: u64 = 10_000;
/// The number of spans that may wait, the number that are sent at once, and the time for which those wait, in milliseconds.
const MAX_WAITING_SPANS: u64 = 2048;
const MAX_SPANS_PER_REQUEST: u64 = 512;
const DELAY: u64 = 5000;

/// A variable that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{variable}` {why}")]
#[non_exhaustive]
pub struct BadSetting {
    /// Its name.
    pub variable: &'static str,
    /// The mistake; without the value, which may be secret.
    pub why: String,
}

/// The settings of the environment, and those that are ignored.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) timeout: Duration,
    pub(super) resource: Resource,
    pub(super) sampler: Sampler,
    pub(super) batches: BatchConfig,
    pub(super) ignored: Vec<BadSetting>,
}

impl Settings {
    /// Returns `None` if there is nothing to export.
    ///
    /// # Errors
    /// A variable has an impossible value.
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
        let mut ignored = Ignored::default();
        if let Some((variable, _)) = said("OTEL_SDK_DISABLED").filter(|(_, value)| !value.eq_ignore_ascii_case("false")) {
            ignored.note(variable, "is neither `true` nor `false`");
        }
        ignored.pairs("OTEL_EXPORTER_OTLP_HEADERS");
        ignored.pairs("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
        ignored.pairs("OTEL_RESOURCE_ATTRIBUTES");
        let timeout = said("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").or_else(|| said("OTEL_EXPORTER_OTLP_TIMEOUT"));
        let timeout = ignored.number(timeout, EXPORT_TIMEOUT_MS);
        let (sampler, batches) = (ignored.sampler(), ignored.batches());
        let timeout = Duration::from_millis(timeout);
        Ok(Some(Self { timeout, resource: resource(), sampler, batches, ignored: ignored.0 }))
    }
}

/// Variables that say how, not where: one that cannot be followed counts as not set, as OpenTelemetry wants it.
#[derive(Default)]
struct Ignored(Vec<BadSetting>);

impl Ignored {
    fn note(&mut self, variable: &'static str, why: &str) {
        self.0.push(BadSetting { variable, why: why.to_owned() });
    }

    /// A number above 0.
    fn number(&mut self, said: Option<(&'static str, String)>, otherwise: u64) -> u64 {
        let Some((variable, value)) = said else { return otherwise };
        value.parse().ok().filter(|&number| number > 0).unwrap_or_else(|| {
            self.note(variable, "is no number above 0");
            otherwise
        })
    }

    /// Checks a list of pairs. The exporter reads it itself, and leaves out malformed entries.
    fn pairs(&mut self, variable: &'static str) {
        let is_pair = |entry: &str| {
            let (key, value) = entry.split_once('=').unwrap_or_default();
            let is_encoded = |after: &str| after.get(..2).is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
            !key.trim().is_empty() && !value.trim().is_empty() && value.split('%').skip(1).all(is_encoded)
        };
        let list = said(variable).map(|(_, list)| list).unwrap_or_default();
        if !list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).all(is_pair) {
            self.note(variable, "has an entry that is no `key=value`, percent-encoded");
        }
    }

    /// Returns the sampler. No span here has a parent elsewhere, so samplers based on the parent are like the others.
    fn sampler(&mut self) -> Sampler {
        let Some((variable, name)) = said("OTEL_TRACES_SAMPLER") else { return Sampler::AlwaysOn };
        match name.strip_prefix("parentbased_").unwrap_or(&name) {
            "always_on" => Sampler::AlwaysOn,
            "always_off" => Sampler::AlwaysOff,
            "traceidratio" => Sampler::TraceIdRatioBased(self.share()),
            _ => {
                self.note(variable, "names a sampler that is not here: `always_on`, `always_off` and `traceidratio` are");
                Sampler::AlwaysOn
            }
        }
    }

    fn share(&mut self) -> f64 {
        let Some((variable, share)) = said("OTEL_TRACES_SAMPLER_ARG") else { return 1.0 };
        share.parse().ok().filter(|share| (0.0..=1.0).contains(share)).unwrap_or_else(|| {
            self.note(variable, "is no share from 0 to 1");
            1.0
        })
    }

    fn batches(&mut self) -> BatchConfig {
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let queue = size(self.number(said("OTEL_BSP_MAX_QUEUE_SIZE"), MAX_WAITING_SPANS));
        let batch = size(self.number(said("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), MAX_SPANS_PER_REQUEST)).min(queue);
        let delay = Duration::from_millis(self.number(said("OTEL_BSP_SCHEDULE_DELAY"), DELAY));
        BatchConfigBuilder::default().with_max_queue_size(queue).with_max_export_batch_size(batch).with_scheduled_delay(delay).build()
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

/// Returns the resource: `OTEL_SERVICE_NAME`, then `service.name` of `OTEL_RESOURCE_ATTRIBUTES`, then `trellis`.
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
