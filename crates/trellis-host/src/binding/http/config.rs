//! `http:` as it is written (language 9.10, 9.11).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny},
};
use trellis_core::template::Shape;

use super::{
    Http, RequestBody,
    url::{UrlTemplate, no_base},
};
use crate::{
    binding::{
        config::{ConfigReader, Plain, Wait, given},
        kind::{Carrier, Site},
        variable::TextOrVariable,
    },
    http::{HttpRequest, unprotected},
};

/// The header that carries the key of a call, as servers in use take it.
const IDEMPOTENCY: &str = "Idempotency-Key";

/// Headers that the client makes itself.
const OWN_HEADERS: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];

/// The formats of the body of a success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResponseFormat {
    /// By its content type.
    #[default]
    Auto,
    Json,
    Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HttpBinding {
    #[serde(deserialize_with = "given")]
    http: Option<HttpConfig>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HttpConfig {
    #[serde(deserialize_with = "given")]
    base: Option<TextOrVariable>,
    #[serde(deserialize_with = "given")]
    get: Option<String>,
    #[serde(deserialize_with = "given")]
    head: Option<String>,
    #[serde(deserialize_with = "given")]
    post: Option<String>,
    #[serde(deserialize_with = "given")]
    put: Option<String>,
    #[serde(deserialize_with = "given")]
    patch: Option<String>,
    #[serde(deserialize_with = "given")]
    delete: Option<String>,
    query: BTreeMap<String, IgnoredAny>,
    headers: BTreeMap<String, IgnoredAny>,
    #[serde(deserialize_with = "given")]
    json: Option<IgnoredAny>,
    #[serde(deserialize_with = "given")]
    form: Option<BTreeMap<String, IgnoredAny>>,
    #[serde(deserialize_with = "given")]
    text: Option<Plain>,
    response: ResponseFormat,
    accept: Vec<StatusCode>,
    redirects: u32,
    idempotency: KeyHeader,
    #[serde(deserialize_with = "given")]
    ca: Option<PathBuf>,
    /// Read with the limits of all kinds.
    #[serde(rename = "max_wait", deserialize_with = "given")]
    _max_wait: Option<Wait>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            base: None,
            get: None,
            head: None,
            post: None,
            put: None,
            patch: None,
            delete: None,
            query: BTreeMap::new(),
            headers: BTreeMap::new(),
            json: None,
            form: None,
            text: None,
            response: ResponseFormat::Auto,
            accept: Vec::new(),
            redirects: 0,
            idempotency: KeyHeader(Some(IDEMPOTENCY.to_owned())),
            ca: None,
            _max_wait: None,
        }
    }
}

/// A status of HTTP, from 100 to 599.
struct StatusCode(u16);

impl<'de> Deserialize<'de> for StatusCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let status = u64::deserialize(deserializer)?;
        let known = u16::try_from(status).ok().filter(|status| (100..600).contains(status));
        known.map(Self).ok_or_else(|| D::Error::custom(format!("`{status}` is no status of HTTP, which go from 100 to 599")))
    }
}

/// The name of a header, or none for `false`.
struct KeyHeader(Option<String>);

impl<'de> Deserialize<'de> for KeyHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(text) = Plain::deserialize(deserializer)?;
        match &*text {
            "false" => Ok(Self(None)),
            "true" => Ok(Self(Some(IDEMPOTENCY.to_owned()))),
            name => match header_mistake(name) {
                Some(why) => Err(D::Error::custom(format!("`http.idempotency` takes the name of a header or `false`: {why}"))),
                None => Ok(Self(Some(text))),
            },
        }
    }
}

/// Reads `http:`.
pub(in crate::binding) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    http(reader, site).map(Carrier::new)
}

fn http(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Http> {
    let help = |_: &str, _: &str| Some("write a method with its URL: `http: { get: \"https://…\" }`".to_owned());
    let HttpBinding { http } = reader.read(help);
    let config = http?;
    let shape = reader.shape("http")?.value.clone();
    let (key, method) = method(reader, site, &config)?;
    let url = url(reader, &config, &shape, key)?;
    for (key, what) in [("base", config.base.as_ref().and_then(TextOrVariable::written).map(str::to_owned)), (key, url.origin())] {
        if let Some(host) = what.as_deref().and_then(unprotected) {
            let message = format!("calls of `{}` go unencrypted to `{host}`", site.tool);
            reader.warn(&format!("http.{key}"), message, "write `https://`");
        }
    }
    for name in config.headers.keys() {
        if let Some(why) = header_mistake(name) {
            reader.report(&format!("http.headers.{name}"), why, Some("leave it out, or give it another name".to_owned()));
        }
    }
    let body = body(reader, &config, &shape, key);
    let of = |key: &str| shape.get(key).map(|shape| shape.value.clone());
    Some(Http {
        client: site.host.http.clone(),
        secrets: site.host.secrets.clone(),
        method,
        base: config.base,
        url,
        query: of("query"),
        headers: of("headers"),
        body,
        response: config.response,
        accept: config.accept.into_iter().map(|status| status.0).collect(),
        redirects: config.redirects,
        idempotency: config.idempotency.0.filter(|_| !matches!(key, "get" | "head")),
        ca: config.ca.map(|ca| site.folder.join(ca)),
    })
}

/// The one method: its key, and its name on the wire.
fn method(reader: &mut ConfigReader<'_>, site: &Site<'_>, config: &HttpConfig) -> Option<(&'static str, &'static str)> {
    let all = [
        (&config.get, "get", "GET"),
        (&config.head, "head", "HEAD"),
        (&config.post, "post", "POST"),
        (&config.put, "put", "PUT"),
        (&config.patch, "patch", "PATCH"),
        (&config.delete, "delete", "DELETE"),
    ];
    let mut given = all.into_iter().filter(|(url, ..)| url.is_some()).map(|(_, key, name)| (key, name));
    match (given.next(), given.next()) {
        (Some(one), None) => Some(one),
        (Some((one, _)), Some((other, _))) => {
            let message = format!("`{one}` and `{other}` exclude each other: a call is one request");
            reader.report(&format!("http.{other}"), message, Some("keep one of them".to_owned()));
            None
        }
        (None, _) => {
            let help = "add one of `get`, `head`, `post`, `put`, `patch`, `delete`, such as `get: \"/people/{{ id }}\"`";
            reader.report("http", format!("the binding `{}` names no method", site.tool), Some(help.to_owned()));
            None
        }
    }
}

fn url(reader: &mut ConfigReader<'_>, config: &HttpConfig, shape: &Shape, key: &str) -> Option<UrlTemplate> {
    let written = shape.get(key)?;
    let url = match &written.value {
        Shape::Text(template) => UrlTemplate::Pieces(template.clone()),
        Shape::Literal(text) => UrlTemplate::Fixed(text.as_str()?.to_owned()),
        // Mistakes that the core has found.
        Shape::Expression(_) | Shape::List(_) | Shape::Map(_) => return None,
    };
    let place = format!("http.{key}");
    if let Some((span, message, help)) = url.mistake() {
        match span {
            Some(span) => reader.report_at(span, message, help),
            None => reader.report(&place, message, Some(help.to_owned())),
        }
        return None;
    }
    match (&config.base, url.is_relative()) {
        (None, true) => {
            let help = "add `base: \"https://…\"`, or write the whole URL";
            reader.report(&place, "the URL begins with `/`, and there is no `base`".to_owned(), Some(help.to_owned()));
        }
        (Some(_), false) => {
            let help = "leave `base` out, or begin the URL with `/`";
            reader.report("http.base", format!("`base` is not used: `{key}` has a whole URL"), Some(help.to_owned()));
        }
        _ => {}
    }
    if let Some(why) = config.base.as_ref().and_then(TextOrVariable::written).and_then(no_base) {
        reader.report("http.base", format!("it is no base of URLs: {why}"), Some("write `https://host/path`".to_owned()));
    }
    Some(url)
}

fn body(reader: &mut ConfigReader<'_>, config: &HttpConfig, shape: &Shape, method: &str) -> RequestBody {
    let given = [("json", config.json.is_some()), ("form", config.form.is_some()), ("text", config.text.is_some())];
    let mut given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
    let key = given.next();
    if let (Some(one), Some(other)) = (key, given.next()) {
        let message = format!("`{one}` and `{other}` exclude each other: a request has one body");
        reader.report(&format!("http.{other}"), message, Some("keep one of them".to_owned()));
    }
    if let Some(key) = key
        && matches!(method, "get" | "head")
    {
        reader.report(&format!("http.{key}"), format!("a request of `{method}` has no body"), Some("write it as `query`".to_owned()));
    }
    let written = key.and_then(|key| Some((key, shape.get(key)?.value.clone())));
    match written {
        Some(("json", shape)) => RequestBody::Json(shape),
        Some(("form", shape)) => RequestBody::Form(shape),
        Some((_, shape)) => RequestBody::Text(shape),
        None if matches!(method, "post" | "put" | "patch") => {
            let named: BTreeSet<Arc<str>> = shape.reads().iter().map(|read| Arc::from(&**read.path.root())).collect();
            RequestBody::ArgumentsBut(named)
        }
        None => RequestBody::None,
    }
}

/// Returns the reason why a header cannot have this name.
fn header_mistake(name: &str) -> Option<String> {
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Some(format!("`{name}` is made by the client"));
    }
    HttpRequest::new("GET", "https://localhost").and_then(|request| request.header(name, "")).err().map(|error| error.message)
}
