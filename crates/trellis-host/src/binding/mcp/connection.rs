//! One connection to a server, from the handshake to its end.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    Peer, RoleClient, Service,
    model::{
        ClientCapabilities, ClientConfig, ClientResult, ErrorCode, ErrorData, Implementation, ProtocolVersion, ServerNotification,
        ServerRequest, SubscriptionFilter,
    },
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService},
    transport::{StreamableHttpClientTransport, Transport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use tokio::{sync::Mutex, time::timeout};
use trellis_core::{Mapping, ToolError, Value};

use super::{
    super::process::Process,
    config::{Era, Reach, ServerConfig},
    failure::{self, lost},
    process::{LastWords, ServerProcess},
    stdio::{MAX_LINE, Stdio},
    tap::{Tap, Tapped},
    tools::ToolList,
};
use crate::{Secrets, http::HttpClient, secrets::Mask};

/// Time for a handshake; a mute server needs ten seconds of it before it is taken for an old one.
const CONNECT: Duration = Duration::from_secs(30);

/// A connection. It ends when it is closed, or when the server goes away.
pub(super) struct Connection {
    server: Arc<str>,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, NoCapabilities>>>,
    tap: Arc<Tap>,
    words: LastWords,
    tools: Mutex<Option<Arc<ToolList>>>,
    mask: Mask,
    closes_requests: bool,
}

/// The reason why there is no connection.
pub(super) struct NotConnected {
    pub(super) error: ToolError,
    /// True if a server was connected, and vanished.
    pub(super) died: bool,
}

impl NotConnected {
    fn new(error: ToolError) -> Self {
        Self { error, died: false }
    }
}

impl Connection {
    /// Connects to a server, which is started where it is a process.
    pub(super) async fn open(config: &ServerConfig, secrets: &Secrets, http: &HttpClient) -> Result<Self, NotConnected> {
        let (tap, words) = (Arc::new(Tap::default()), LastWords::default());
        let (service, mask) = match &config.reach {
            Reach::Process(process, env) => {
                let (env, mask) = env.fill(secrets).map_err(NotConnected::new)?;
                let process = Process { env, ..process.clone() };
                let started = ServerProcess::start(process.bare_command(), config.grace, words.clone());
                let (running, stdin, stdout) = started.map_err(|error| {
                    let why = process.refusal(&error);
                    NotConnected::new(ToolError::coded("connect", format!("the server `{}` cannot start: {why}", config.name)))
                })?;
                let transport = Tapped::new(Stdio::new(running, stdin, stdout, words.clone()), Arc::clone(&tap));
                (handshake(transport, config, &words).await, mask)
            }
            Reach::Url(url, headers) => {
                let (headers, mask) = headers.fill(secrets).map_err(NotConnected::new)?;
                let settings = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(as_headers(headers)?);
                let settings = settings.max_sse_event_size(MAX_LINE).max_json_response_size(MAX_LINE);
                let client = http.client(url, None).map_err(NotConnected::new)?;
                let transport = StreamableHttpClientTransport::with_client(client, settings);
                (handshake(Tapped::new(transport, Arc::clone(&tap)), config, &words).await, mask)
            }
        };
        let service = service.map_err(|not| NotConnected { error: mask.error(not.error), ..not })?;
        let peer = service.peer().clone();
        let is_modern = peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize());
        if is_modern {
            tokio::spawn(follow_changes(peer.clone()));
        }
        Ok(Self {
            server: Arc::clone(&config.name),
            peer,
            service: Mutex::new(Some(service)),
            tap,
            words,
            tools: Mutex::default(),
            mask,
            closes_requests: is_modern && matches!(config.reach, Reach::Url(..)),
        })
    }

    /// The server's own tools, read where that was not done since the list changed.
    pub(super) async fn tools(&self) -> Result<Arc<ToolList>, ToolError> {
        let mut tools = self.tools.lock().await;
        if self.tap.take_change() {
            *tools = None;
        }
        if let Some(tools) = &*tools {
            return Ok(Arc::clone(tools));
        }
        let read = tokio::select! {
            read = ToolList::read(&self.peer) => read.map_err(|error| self.failed(error)),
            () = self.tap.end().cancelled() => Err(self.gone(true)),
        };
        Ok(Arc::clone(tools.insert(Arc::new(read?))))
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(super) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Masks the values of the server's secrets.
    pub(super) fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Returns whether a request that is cancelled gets no answer any more.
    pub(super) fn closes_requests(&self) -> bool {
        self.closes_requests
    }

    /// Returns whether nothing can be asked over it any more.
    pub(super) fn is_over(&self) -> bool {
        self.tap.end().is_cancelled() || self.peer.is_transport_closed()
    }

    /// Returns the error of a call at the end of the connection; `is_alone` if no other was under way.
    pub(super) fn gone(&self, is_alone: bool) -> ToolError {
        let error = match self.words.too_long() {
            Some(limit) if is_alone => failure::too_long(&self.server, limit),
            Some(limit) => lost(&self.server, &format!("sent a line of more than {limit} bytes")),
            None => lost(&self.server, &self.words.last_words()),
        };
        self.mask.error(error)
    }

    /// Returns the error of a failed request; a connection that is of no use any more ends.
    pub(super) fn failed(&self, error: rmcp::ServiceError) -> ToolError {
        let (error, is_over) = failure::of_service(&self.server, error);
        if is_over {
            self.tap.end().cancel();
        }
        self.mask.error(error)
    }

    /// Facts for people: the server and its version.
    pub(super) fn facts(&self) -> Value {
        let mut facts: Mapping = [("server", Value::text(&*self.server))].into_iter().collect();
        if let Some(info) = self.peer.peer_info() {
            if let Some(implementation) = &info.server_info {
                facts.insert("version".into(), format!("{} {}", implementation.name, implementation.version).into());
            }
            facts.insert("protocol".into(), info.protocol_version.as_str().into());
        }
        facts.into()
    }

    /// Closes it, in good order.
    pub(super) async fn close(&self) {
        if let Some(service) = self.service.lock().await.take() {
            let _ = service.cancel().await;
        }
    }
}

/// The client as a server sees it: one without capabilities (language 9.16).
struct NoCapabilities;

impl Service<RoleClient> for NoCapabilities {
    async fn handle_request(&self, request: ServerRequest, _: RequestContext<RoleClient>) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client declared no capability", None)),
        }
    }

    async fn handle_notification(&self, _: ServerNotification, _: NotificationContext<RoleClient>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("trellis", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// Greets a server by the protocol of its era.
async fn handshake<T>(
    transport: Tapped<T>,
    config: &ServerConfig,
    words: &LastWords,
) -> Result<RunningService<RoleClient, NoCapabilities>, NotConnected>
where
    T: Transport<RoleClient> + 'static,
{
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let mode = match config.era {
        Era::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(ProtocolVersion::V_2025_11_25) },
        Era::Modern => ClientLifecycleMode::Discover { preferred_versions },
        Era::Legacy => ClientLifecycleMode::Initialize,
    };
    match timeout(CONNECT, NoCapabilities.serve_with_lifecycle(transport, mode)).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(unwelcome(&config.name, error, words)),
        Err(_) => Err(NotConnected::new(ToolError::coded("connect", format!("the server `{}` did not answer within 30s", config.name)))),
    }
}

/// Returns the error of a failed handshake.
fn unwelcome(server: &str, error: ClientInitializeError, words: &LastWords) -> NotConnected {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            let (error, died) = failure::of_transport(server, &*error.error);
            NotConnected { error: if died { lost(server, &words.last_words()) } else { error }, died }
        }
        ClientInitializeError::ConnectionClosed(_) => match words.too_long() {
            Some(limit) => NotConnected { error: failure::too_long(server, limit), died: true },
            None => NotConnected { error: lost(server, &words.last_words()), died: true },
        },
        ClientInitializeError::JsonRpcError(error) => NotConnected::new(failure::rpc(error)),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => unwelcome(server, *fallback, words),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            let message = format!("the server `{server}` speaks {}, and `era: modern` is 2026-07-28", theirs.join(", "));
            NotConnected::new(failure::rpc(ErrorData::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, message, None)).finally())
        }
        other => {
            let message = format!("the server `{server}` does not speak MCP: {other}");
            NotConnected::new(ToolError::coded("malformed_json", message).finally())
        }
    }
}

/// Listens to changes of the list of a server of 2026, which reports them only to listeners; the tap records them.
async fn follow_changes(peer: Peer<RoleClient>) {
    let tells = peer.peer_info().and_then(|info| info.capabilities.tools.as_ref()?.list_changed).unwrap_or_default();
    if tells && let Ok(mut changes) = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await {
        while let Ok(Some(_)) = changes.next().await {}
    }
}

fn as_headers(texts: BTreeMap<String, String>) -> Result<HashMap<HeaderName, HeaderValue>, NotConnected> {
    let header = |(name, value): (String, String)| {
        let refused = || NotConnected::new(ToolError::coded("header", format!("the header `{name}` may not have this value")).finally());
        let mut value = HeaderValue::from_str(&value).map_err(|_| refused())?;
        value.set_sensitive(true);
        Ok((HeaderName::try_from(&name).map_err(|_| refused())?, value))
    };
    texts.into_iter().map(header).collect()
}
