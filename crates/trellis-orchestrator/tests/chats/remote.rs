//! A running orchestrator on a fake provider.

use std::{
    fs,
    io::{self, Write as _},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::Notify;
use trellis_host::Secrets;
use trellis_orchestrator::{
    Orchestrator, Up, UpError,
    channel::{Batch, Capabilities, Channel, ChannelError, InboxFile, Rendering},
    message::{Attachment, ChatPlace, Outgoing},
    settings,
    tools::Hands,
    workspace::Workspace,
};
use trellis_tests::providers::{Author, FakeMessage, FakeProvider, ProviderKind, TOKEN};

use crate::world::{PATIENCE, World};

pub(crate) const ALL: [ProviderKind; 3] = [ProviderKind::Slack, ProviderKind::Telegram, ProviderKind::Discord];
/// The one who may approve.
pub(crate) const ANA: Author = Author::Person(1);
/// One who may not.
pub(crate) const BEN: Author = Author::Person(2);

/// A channel that collects messages for a moment only.
struct Quick(Arc<dyn Channel>);

#[async_trait]
impl Channel for Quick {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn grouping(&self) -> Duration {
        Duration::from_millis(30)
    }

    fn watch(&self, messages: Vec<(ChatPlace, String)>) {
        self.0.watch(messages);
    }

    async fn fetch(&self, file: &Attachment, into: InboxFile) -> Result<Attachment, ChannelError> {
        self.0.fetch(file, into).await
    }

    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError> {
        self.0.read(cursor).await
    }

    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError> {
        self.0.send(message, rendering).await
    }

    async fn react(&self, place: &ChatPlace, message: &str) -> Result<(), ChannelError> {
        self.0.react(place, message).await
    }

    async fn set_typing(&self, place: &ChatPlace) -> Result<(), ChannelError> {
        self.0.set_typing(place).await
    }
}

/// An orchestrator that runs.
pub(crate) struct Remote {
    pub(crate) provider: FakeProvider,
    pub(crate) hands: Arc<Hands>,
    end: Arc<Notify>,
    running: tokio::task::JoinHandle<Result<(), UpError>>,
}

impl World {
    /// Writes settings for a channel to a provider, on which Ana may approve; `more` are further lines.
    pub(crate) fn settle(&self, provider: &FakeProvider, more: &str) {
        let (name, ana) = (provider.name(), provider.user(1));
        let channel = provider.settings("{ secret: token }", "[\"*\"]");
        let text = format!("channels:\n  {name}: {channel}\napprovers: [\"{name}:{ana}\"]\n{more}");
        fs::create_dir_all(self.at("")).expect("made");
        fs::write(self.at("orchestrator.yaml"), text).expect("written");
    }

    /// Starts everything on a provider.
    pub(crate) async fn remote(&self, provider: &FakeProvider) -> Remote {
        let workspace = Workspace::open(&self.at(""), &self.graph()).expect("a workspace");
        let settings = settings(&workspace).expect("settings");
        let secrets = Secrets::new(|name| (name == "token").then(|| TOKEN.to_owned()));
        let open = async || loop {
            let up = Up { graph: self.graph(), workspace: workspace.clone(), settings: settings.clone(), secrets: secrets.clone() };
            match Orchestrator::open(up).await {
                Err(UpError::Workspace(_)) => tokio::task::yield_now().await,
                opened => return opened.expect("it opens"),
            }
        };
        let orchestrator = tokio::time::timeout(PATIENCE, open()).await.expect("it is free");
        let channels = orchestrator.remote_channels().expect("channels");
        let channels: Vec<Arc<dyn Channel>> = channels.into_iter().map(|channel| Arc::new(Quick(channel)) as Arc<dyn Channel>).collect();
        let hands = Arc::clone(orchestrator.hands());
        let end = Arc::new(Notify::new());
        let ended = Arc::clone(&end);
        let running = tokio::spawn(async move {
            let stop = async move { ended.notified().await };
            orchestrator.run(channels, stop, |line| drop(writeln!(io::stderr(), "log: {line}"))).await
        });
        let remote = Remote { provider: provider.clone(), hands, end, running };
        // A message before the first poll is not for the agent.
        remote
            .until_it("has looked", async |remote: &Remote| {
                remote.hands.queue.cursor(remote.provider.name()).await.expect("asked").is_some() || remote.provider.name() == "telegram"
            })
            .await;
        remote
    }
}

impl Remote {
    /// Waits until something is so.
    pub(crate) async fn until_it(&self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, waiting).await.is_ok(),
            "{}: it never {what}: {:#?}",
            self.provider.name(),
            self.provider.sent()
        );
    }

    /// The messages of the agent in a chat that have these words.
    pub(crate) fn said(&self, chat: u64, words: &str) -> Vec<FakeMessage> {
        self.provider.sent().into_iter().filter(|message| message.chat == chat && message.text.contains(words)).collect()
    }

    /// Waits for a message of the agent in a chat with these words: the newest.
    pub(crate) async fn hear(&self, chat: u64, words: &str) -> FakeMessage {
        self.until_it(&format!("says `{words}`"), async |remote: &Self| !remote.said(chat, words).is_empty()).await;
        self.said(chat, words).pop().expect("it is said")
    }

    /// Tells it to stop, as a signal does.
    pub(crate) async fn stop(mut self) {
        self.end.notify_one();
        tokio::time::timeout(PATIENCE, &mut self.running).await.expect("it ends").expect("no panic").expect("it ends well");
    }
}
