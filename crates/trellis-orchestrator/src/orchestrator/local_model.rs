//! A model on this machine that is started with the rest: it is healthy once its list of models answers (orchestrator 5.1).

use std::{
    env,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
    sync::Mutex as AsyncMutex,
};
use trellis_host::http::{HttpClient, HttpRequest};

use crate::{
    config::StartedModel,
    supervisor::{Daemon, DaemonError},
};

/// The time between two checks whether it answers.
const MODEL_INTERVAL: Duration = Duration::from_millis(250);
/// The time in which it ends by itself.
const MODEL_GRACE: Duration = Duration::from_secs(5);

/// The service of a model.
pub(super) struct ModelDaemon {
    name: String,
    model: StartedModel,
    client: HttpClient,
    child: AsyncMutex<Option<Child>>,
    /// The last line of its error output.
    complaint: Arc<Mutex<String>>,
}

impl ModelDaemon {
    pub(super) fn new(model: StartedModel) -> Self {
        let name = format!("provider-{}", model.provider);
        Self { name, model, client: HttpClient::new(), child: AsyncMutex::default(), complaint: Arc::default() }
    }

    async fn answers(&self) -> Result<(), DaemonError> {
        let url = format!("{}/models", self.model.base.trim_end_matches('/'));
        let request = HttpRequest::new("GET", &url).map_err(|error| DaemonError::of(error.message))?;
        let response = self.client.send(request).await.map_err(|error| DaemonError::of(error.message))?;
        match response.status() {
            200..300 => Ok(()),
            status => Err(DaemonError::of(format!("`GET /models` answers {status}"))),
        }
    }

    fn spawn(&self) -> Result<Child, DaemonError> {
        let [program, args @ ..] = &self.model.command[..] else { return Err(DaemonError::of("there is no command")) };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(trellis_host::secrets::is_withheld)) {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|error| DaemonError::of(format!("`{program}` cannot be started: {error}")))?;
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(listen(stderr, Arc::clone(&self.complaint)));
        }
        Ok(child)
    }

    fn end_error(&self, how: impl std::fmt::Display) -> DaemonError {
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        DaemonError::of(format!("it ended ({how}){}{complaint}", if complaint.is_empty() { "" } else { ": " }))
    }
}

#[async_trait]
impl Daemon for ModelDaemon {
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&self) -> Result<(), DaemonError> {
        self.stop().await;
        *self.child.lock().await = Some(self.spawn()?);
        loop {
            if self.answers().await.is_ok() {
                return Ok(());
            }
            if let Some(Ok(Some(status))) = self.child.lock().await.as_mut().map(Child::try_wait) {
                return Err(self.end_error(status));
            }
            tokio::time::sleep(MODEL_INTERVAL).await;
        }
    }

    async fn run(&self) -> Result<(), DaemonError> {
        loop {
            match self.child.lock().await.as_mut().map(Child::try_wait) {
                Some(Ok(None)) => {}
                Some(Ok(Some(status))) => return Err(self.end_error(status)),
                Some(Err(error)) => return Err(DaemonError::of(error)),
                None => return Err(self.end_error("it was stopped")),
            }
            tokio::time::sleep(MODEL_INTERVAL).await;
        }
    }

    async fn health(&self) -> Result<(), DaemonError> {
        self.answers().await
    }

    async fn stop(&self) {
        let Some(mut child) = self.child.lock().await.take() else { return };
        let Some(group) = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else { return };
        // It may be gone already.
        let _ = kill_process_group(group, Signal::TERM);
        let _ = tokio::time::timeout(MODEL_GRACE, child.wait()).await;
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Stores the last line of the error output.
async fn listen(stderr: ChildStderr, complaint: Arc<Mutex<String>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let line: String = line.trim().chars().take(300).collect();
        if !line.is_empty() {
            *complaint.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}
