//! A workspace with a copy of `graphs/orchestrator`, and a chat to talk in.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use trellis_host::Secrets;
use trellis_orchestrator::{
    Orchestrator, Up, UpError,
    channel::{Batch, Channel, ChannelError, Rendering},
    message::{ChatPlace, Incoming, Outgoing, now},
    settings,
    supervisor::Supervisor,
    workspace::{Workspace, WorkspaceError},
};

/// The longest time that anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a graph and a workspace.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// A world in which the model says this.
    pub(crate) fn new(model: &str) -> Self {
        let world = Self { folder: tempfile::tempdir().expect("a folder") };
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../graphs/orchestrator"), &world.graph());
        if !model.is_empty() {
            fs::write(world.graph().join("_model.yaml"), model).expect("written");
        }
        world
    }

    pub(crate) fn graph(&self) -> PathBuf {
        self.folder.path().join("graph")
    }

    /// A path in the workspace.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    pub(crate) async fn open(&self) -> Result<Orchestrator, UpError> {
        let workspace = Workspace::open(&self.at(""), &self.graph())?;
        let settings = settings(&workspace)?;
        Orchestrator::open(Up { graph: self.graph(), workspace, settings, secrets: Secrets::default() }).await
    }

    /// The same, once it is free: a program that another test starts holds every lock of this process for a moment.
    pub(crate) async fn opened(&self) -> Orchestrator {
        let free = async {
            loop {
                match self.open().await {
                    Err(UpError::Workspace(WorkspaceError::Held { .. })) => tokio::task::yield_now().await,
                    opened => return opened.expect("it opens"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, free).await.expect("it is free")
    }

    /// Stores messages as if they had been read one right after the other, by a program that died then.
    pub(crate) async fn store(&self, texts: &[&str]) {
        let orchestrator = self.opened().await;
        let at = now();
        let message = |(number, text): (u64, &&str)| Incoming {
            place: ChatPlace::new("terminal", "terminal"),
            id: format!("{at}-{number}"),
            sender: "ana".into(),
            sender_name: "Ana".into(),
            text: (*text).to_owned(),
            at,
            files: Vec::new(),
        };
        let messages = (0..).zip(texts).map(message).collect();
        orchestrator.hands().queue.store("terminal", messages, None, at).await.expect("stored");
    }

    /// Starts everything, with a chat on the channel of this name.
    pub(crate) async fn chat_on(&self, channel: &str) -> Chat {
        self.chat_among(channel, Vec::new()).await
    }

    /// The same, beside other channels.
    pub(crate) async fn chat_among(&self, channel: &str, others: Vec<Arc<dyn Channel>>) -> Chat {
        let orchestrator = self.opened().await;
        let (says, said) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            name: channel.to_owned(),
            said: AsyncMutex::new(said),
            heard: Mutex::default(),
            receipt: Mutex::new("1".into()),
            news: Notify::new(),
        });
        let channels: Vec<Arc<dyn Channel>> = others.into_iter().chain([Arc::clone(&shared) as Arc<dyn Channel>]).collect();
        let (end, supervisor) = (Arc::new(Notify::new()), Arc::clone(orchestrator.supervisor()));
        let ended = Arc::clone(&end);
        let running = tokio::spawn(async move {
            let stop = async move { ended.notified().await };
            orchestrator.run(channels, stop, |line| drop(writeln!(io::stderr(), "log: {line}"))).await
        });
        Chat { says: Some(says), shared, supervisor, end, running, seen: 0, count: now() }
    }

    /// Starts everything, with a chat that may approve.
    pub(crate) async fn chat(&self) -> Chat {
        self.chat_on("terminal").await
    }

    /// Everything that lies in the workspace, as far as a text stands in it: the names of those files.
    pub(crate) fn files_with(&self, text: &str) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![self.at("")]);
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes())) {
                    found.push(path.display().to_string());
                }
            }
        }
        found
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        // Runs in place have made it.
        if entry.file_name() == ".trellis" {
            continue;
        }
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).expect("copied") }
    }
}

struct Shared {
    name: String,
    said: AsyncMutex<mpsc::UnboundedReceiver<Vec<Incoming>>>,
    heard: Mutex<Vec<String>>,
    /// The name that messages get which are sent.
    receipt: Mutex<String>,
    news: Notify,
}

#[async_trait]
impl Channel for Shared {
    fn name(&self) -> &str {
        &self.name
    }

    fn grouping(&self) -> Duration {
        Duration::from_millis(30)
    }

    async fn read(&self, _: Option<&str>) -> Result<Batch, ChannelError> {
        match self.said.lock().await.recv().await {
            Some(messages) => Ok(Batch { messages, ..Batch::default() }),
            None => Ok(Batch { is_over: true, ..Batch::default() }),
        }
    }

    async fn send(&self, message: &Outgoing, _: Rendering) -> Result<String, ChannelError> {
        self.heard.lock().expect("no panic").push(message.text.clone());
        self.news.notify_one();
        Ok(self.receipt.lock().expect("no panic").clone())
    }
}

/// A chat with a running orchestrator.
pub(crate) struct Chat {
    says: Option<mpsc::UnboundedSender<Vec<Incoming>>>,
    shared: Arc<Shared>,
    pub(crate) supervisor: Arc<Supervisor>,
    end: Arc<Notify>,
    running: tokio::task::JoinHandle<Result<(), UpError>>,
    seen: usize,
    count: u64,
}

impl Chat {
    /// Says something.
    pub(crate) fn say(&mut self, text: &str) {
        self.say_at_once(&[text]);
    }

    /// Says something in another chat of the same channel.
    pub(crate) fn say_in(&mut self, chat: &str, text: &str) {
        self.count += 1;
        let (place, id) = (ChatPlace::new(&self.shared.name, chat), self.count.to_string());
        let message =
            Incoming { place, id, sender: "ana".into(), sender_name: "Ana".into(), text: text.to_owned(), at: now(), files: Vec::new() };
        self.says.as_ref().expect("it is open").send(vec![message]).expect("somebody listens");
    }

    /// Says several things that are read together.
    pub(crate) fn say_at_once(&mut self, texts: &[&str]) {
        let message = |text: &&str| {
            self.count += 1;
            let place = ChatPlace::new(&self.shared.name, "terminal");
            let (id, text) = (self.count.to_string(), (*text).to_owned());
            Incoming { place, id, sender: "ana".into(), sender_name: "Ana".into(), text, at: now(), files: Vec::new() }
        };
        let messages = texts.iter().map(message).collect();
        self.says.as_ref().expect("it is open").send(messages).expect("somebody listens");
    }

    /// The provider names what is sent from now on so.
    pub(crate) fn receipt(&self, receipt: &str) {
        receipt.clone_into(&mut self.shared.receipt.lock().expect("no panic"));
    }

    /// The next thing that is said here.
    pub(crate) async fn hear(&mut self) -> String {
        let next = async {
            loop {
                if let Some(text) = self.shared.heard.lock().expect("no panic").get(self.seen) {
                    return text.clone();
                }
                self.shared.news.notified().await;
            }
        };
        let text = tokio::time::timeout(PATIENCE, next).await.expect("something is said");
        self.seen += 1;
        text
    }

    /// Says something, and hears what is said next.
    pub(crate) async fn ask(&mut self, text: &str) -> String {
        self.say(text);
        self.hear().await
    }

    /// Waits for a message with these words; what is told beside it is passed over.
    pub(crate) async fn hear_of(&mut self, words: &str) -> String {
        loop {
            let said = self.hear().await;
            if said.contains(words) {
                return said;
            }
        }
    }

    /// Everything that was said here until now.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.shared.heard.lock().expect("no panic").clone()
    }

    /// Ends the chat: it runs until nothing is left to do.
    pub(crate) async fn leave(mut self) -> Vec<String> {
        drop(self.says.take());
        tokio::time::timeout(PATIENCE, &mut self.running).await.expect("it ends").expect("no panic").expect("it ends well");
        self.heard()
    }

    /// Tells it to stop, as a signal does.
    pub(crate) async fn stop(mut self) -> Vec<String> {
        self.end.notify_one();
        tokio::time::timeout(PATIENCE, &mut self.running).await.expect("it ends").expect("no panic").expect("it ends well");
        self.heard()
    }

    /// Breaks it off where it stands, as far as that can be done within one process.
    pub(crate) async fn kill(self) -> Vec<String> {
        self.running.abort();
        drop(self.running.await);
        self.shared.heard.lock().expect("no panic").clone()
    }
}
