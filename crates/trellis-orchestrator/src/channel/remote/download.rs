//! Files that people send, fetched from their provider and from nowhere else (orchestrator 3.10).
//!
//! **Invariant:** each request, also one that a redirect asks for, goes to a host of the provider or to the one of `base_url`.

use std::{fmt, time::Duration};

use tokio::time::timeout;
use trellis_host::http::{HttpClient, HttpRequest, HttpResponse};
use url::Url;

use super::{
    api::{ANSWER_TIMEOUT, failure},
    multipart::Content,
};
use crate::{
    channel::{ChannelError, InboxError, InboxFile, Reach},
    message::Attachment,
};

/// The time that a whole file may take.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(180);
/// Redirects that are followed.
const MAX_FILE_REDIRECTS: usize = 3;

/// Fetches files.
pub(super) struct Downloads {
    client: HttpClient,
    base: Option<Url>,
    hosts: &'static [&'static str],
    /// The value of the header that names the token, where files need one.
    authorization: Option<String>,
}

impl Downloads {
    /// Fetches from these hosts of a provider, and from the one of its interface.
    pub(super) fn new(base_url: &str, hosts: &'static [&'static str], authorization: Option<String>) -> Self {
        Self { client: HttpClient::new(), base: Url::parse(base_url).ok(), hosts, authorization }
    }

    /// Returns whether an address belongs to the provider.
    pub(super) fn admits(&self, url: &Url) -> bool {
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_base = self.base.as_ref().is_some_and(|base| base.origin() == url.origin());
        let is_host = url.scheme() == "https" && url.port().is_none() && url.host_str().is_some_and(|host| self.hosts.contains(&host));
        is_plain && (is_base || is_host)
    }

    /// Fetches a file from an address.
    pub(super) async fn fetch(&self, url: &str, file: &Attachment, into: InboxFile) -> Result<Attachment, ChannelError> {
        let late = |_| Err(ChannelError::new("timeout", "the file does not come"));
        timeout(DOWNLOAD_TIMEOUT, self.receive(url, file, into)).await.unwrap_or_else(late)
    }

    async fn receive(&self, url: &str, file: &Attachment, mut into: InboxFile) -> Result<Attachment, ChannelError> {
        let mut response = self.response(url).await?;
        let kind = response.media_type();
        let is_page = |kind: Option<&str>| kind.is_some_and(|kind| kind == "text/html");
        if is_page(kind.as_deref()) && self.authorization.is_some() && !is_page(file.media_type.as_deref()) {
            return Err(ChannelError::new("missing_scope", "a page came in its place: the token lacks the scope for files").finally());
        }
        while let Some(bytes) = timeout(ANSWER_TIMEOUT, response.chunk()).await.map_err(|_| stall_error())?.map_err(failure)? {
            into.write(&bytes).map_err(storage_error)?;
        }
        let finished = tokio::task::spawn_blocking(move || into.finish()).await;
        let (path, length) = finished.map_err(|error| ChannelError::new("io", error.to_string()))?.map_err(storage_error)?;
        let media_type = file.media_type.clone().or(kind);
        Ok(Attachment { name: file.name.clone(), media_type, size: Some(length), path: Some(path), ..Attachment::default() })
    }

    /// Puts a file at an address that the provider named for it.
    pub(super) async fn put(&self, url: &str, content: Content) -> Result<(), ChannelError> {
        if !Url::parse(url).is_ok_and(|url| self.admits(&url)) {
            return Err(ChannelError::new("elsewhere", "the provider wants the file on a host that is not its own").finally());
        }
        let request = HttpRequest::new("POST", url).and_then(|request| request.header("content-type", &content.kind)).map_err(failure)?;
        let sending = timeout(DOWNLOAD_TIMEOUT, self.client.send(request.body(content.bytes))).await;
        // Nobody sees a file that is not shared, so it can be uploaded again.
        let sent = sending.map_err(|_| stall_error())?.map_err(|error| failure(error).reaching(Reach::Refused))?;
        match sent.status() {
            200..=299 => Ok(()),
            status => Err(ChannelError::new(&format!("http-{status}"), format!("the file is refused with status {status}"))),
        }
    }

    /// The answer at an address, through redirects.
    async fn response(&self, url: &str) -> Result<HttpResponse, ChannelError> {
        let elsewhere =
            || ChannelError::new("elsewhere", "the file lies on a host that is not the provider's, so it is not fetched").finally();
        let mut url = Url::parse(url).map_err(|_| elsewhere())?;
        for _ in 0..=MAX_FILE_REDIRECTS {
            if !self.admits(&url) {
                return Err(elsewhere());
            }
            let mut request = HttpRequest::new("GET", url.as_str()).map_err(failure)?;
            if let Some(authorization) = &self.authorization {
                request = request.header("authorization", authorization).map_err(failure)?;
            }
            let response = timeout(ANSWER_TIMEOUT, self.client.send(request)).await.map_err(|_| stall_error())?.map_err(failure)?;
            let target = match (response.status(), response.header("location")) {
                (200..=299, _) => return Ok(response),
                (300..=399, Some(location)) => url.join(location).map_err(|_| elsewhere())?,
                (status, _) => {
                    let error = ChannelError::new(&format!("http-{status}"), format!("the provider answers with status {status}"));
                    return Err(if matches!(status, 408 | 429 | 500..) { error } else { error.finally() });
                }
            };
            url = target;
        }
        Err(ChannelError::new("redirect", "the provider redirects again and again").finally())
    }
}

fn stall_error() -> ChannelError {
    ChannelError::new("timeout", "the file does not come")
}

fn storage_error(error: InboxError) -> ChannelError {
    let code = if matches!(error, InboxError::TooLarge { .. }) { "too_large" } else { "io" };
    ChannelError::new(code, error.to_string()).finally()
}

impl fmt::Debug for Downloads {
    /// Does not show the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downloads").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 3.10: only the provider's own hosts, or that of `base_url`
    #[test]
    fn only_the_hosts_of_the_provider_are_asked() {
        let downloads = Downloads::new("http://127.0.0.1:8080/api", &["files.slack.com"], None);
        let admits = |url: &str| downloads.admits(&Url::parse(url).expect("a URL"));
        for url in ["https://files.slack.com/a/b?c=d", "http://127.0.0.1:8080/elsewhere"] {
            assert!(admits(url), "{url}");
        }
        for url in [
            "http://files.slack.com/a",
            "https://files.slack.com:8443/a",
            "https://files.slack.com.evil.example/a",
            "https://evil.example/files.slack.com",
            "https://ana@files.slack.com/a",
            "https://ana:b@files.slack.com/a",
            "http://127.0.0.1:8081/a",
            "https://127.0.0.1:8080/a",
            "http://169.254.169.254/latest/meta-data",
            "file:///etc/passwd",
        ] {
            assert!(!admits(url), "{url}");
        }
    }
}
