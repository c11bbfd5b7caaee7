//! Fake providers of chats: servers on this machine that answer as the public documents of Slack, Telegram and Discord say, and fail when they are told to.

mod discord;
mod events;
mod files;
mod model;
mod server;
mod slack;
mod telegram;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::Value as Json;

use self::server::{HttpCall, HttpReply};
pub use self::{
    events::ProviderEvent,
    files::FakeFile,
    model::{FakeModel, ModelAnswer, ModelQuestion},
};

/// The token that all of them take.
pub const TOKEN: &str = "fake-token-1";
/// The number of the user that the bot is.
const BOT: u64 = 99;

/// The kind of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Slack.
    Slack,
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
}

/// A failure of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too many requests: none may come for so many seconds.
    TooMany(u64),
    /// 503.
    Unavailable,
    /// It is carried out, and the answer breaks off in its middle.
    Cut,
}

/// The requests that a failure is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those that read messages.
    Read,
    /// Those that send messages.
    Write,
    /// Those that fetch a file.
    File,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The person of this number.
    Person(u64),
    /// Another bot.
    OtherBot,
    /// The bot itself.
    Own,
}

/// A message as the provider keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeMessage {
    /// Its number, which grows.
    pub n: u64,
    /// The chat, by its number: 1 and 2 are groups, 3 is direct.
    pub chat: u64,
    /// The number of the message that began its thread.
    pub thread: Option<u64>,
    /// Its author.
    pub author: Author,
    /// Its text, as the provider got it.
    pub text: String,
    /// Everything that the bot sent with it.
    pub body: Json,
    /// The files that came with it.
    pub files: Vec<FakeFile>,
}

/// A provider that runs until the process ends.
#[derive(Clone, Debug)]
pub struct FakeProvider {
    kind: ProviderKind,
    address: SocketAddr,
    state: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<FakeMessage>,
    /// The number of the last update of Telegram.
    last_update: u64,
    /// The updates of Telegram that nobody has confirmed.
    updates: Vec<(u64, Json)>,
    faults: Vec<(Side, Fault)>,
    /// Until when nobody may ask.
    held: [Option<Instant>; 3],
    early: usize,
    gone: BTreeSet<u64>,
    reactions: Vec<u64>,
    /// The reactions of others: the message, the person, and the reaction.
    others: Vec<(u64, Author, String)>,
    /// The headers that name a token, of the requests that fetched files.
    fetched: Vec<String>,
    /// Files that the bot sent and has not shared.
    uploads: Vec<(String, FakeFile)>,
    address: Option<SocketAddr>,
    typing: usize,
    requests: Vec<String>,
    webhook: bool,
    without_content: bool,
    count: u64,
    began: u64,
    /// The names of people that were given to them.
    names: BTreeMap<u64, String>,
    /// Words of messages that are refused for good.
    refused: Option<String>,
    listener: Option<Sender<ProviderEvent>>,
}

impl FakeProvider {
    /// Starts one.
    pub fn start(kind: ProviderKind) -> Self {
        let shared = Arc::new(Shared::default());
        shared.lock().began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let state = Arc::clone(&shared);
        let address = server::serve(move |call| match kind {
            ProviderKind::Slack => slack::answer(&state, &call),
            ProviderKind::Telegram => telegram::answer(&state, &call),
            ProviderKind::Discord => discord::answer(&state, &call),
        });
        shared.lock().address = Some(address);
        Self { kind, address, state: shared }
    }

    /// Returns the address at which it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its name in settings.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ProviderKind::Slack => "slack",
            ProviderKind::Telegram => "telegram",
            ProviderKind::Discord => "discord",
        }
    }

    /// The keys of settings of a channel to it, in the braces of YAML; it reads all three chats.
    pub fn settings(&self, token: &str, allow: &str) -> String {
        let path = ["/api", "", "/api/v10"][self.kind as usize];
        let read = match self.kind {
            ProviderKind::Telegram => String::new(),
            _ => format!("read: [\"{}\", \"{}\", \"{}\"], ", self.chat(1), self.chat(2), self.chat(3)),
        };
        format!("{{ token: {token}, {read}allow: {allow}, base_url: \"http://{}{path}\", poll: 20ms, rows: 3 }}", self.address)
    }

    /// The id of a chat.
    pub fn chat(&self, chat: u64) -> String {
        match self.kind {
            ProviderKind::Slack if chat == 3 => "D003".to_owned(),
            ProviderKind::Slack => format!("C00{chat}"),
            ProviderKind::Telegram if chat == 3 => "3".to_owned(),
            ProviderKind::Telegram => telegram::id(chat).to_string(),
            ProviderKind::Discord => format!("70{chat}"),
        }
    }

    /// The id of a person.
    pub fn user(&self, user: u64) -> String {
        match self.kind {
            ProviderKind::Slack => format!("U00{user}"),
            ProviderKind::Telegram => user.to_string(),
            ProviderKind::Discord => format!("90{user}"),
        }
    }

    /// The words that call the bot.
    pub fn mention(&self) -> String {
        match self.kind {
            ProviderKind::Slack | ProviderKind::Discord => format!("<@{}>", self.user(BOT)),
            ProviderKind::Telegram => "@fake_bot".to_owned(),
        }
    }

    /// The id of a message.
    pub fn id(&self, n: u64) -> String {
        match self.kind {
            ProviderKind::Slack => slack::ts(self.state.lock().began, n),
            ProviderKind::Telegram => n.to_string(),
            ProviderKind::Discord => discord::snowflake(self.state.lock().began, n).to_string(),
        }
    }

    /// Somebody writes something: its number.
    pub fn post(&self, chat: u64, author: Author, text: &str) -> u64 {
        self.post_in(chat, None, author, text)
    }

    /// The same in a thread.
    pub fn post_in(&self, chat: u64, thread: Option<u64>, author: Author, text: &str) -> u64 {
        let mut state = self.state.lock();
        let n = state.keep(chat, thread, author, text.to_owned(), Json::Null);
        if self.kind == ProviderKind::Telegram {
            telegram::tell(&mut state, "message", n);
        }
        self.state.news.notify_all();
        n
    }

    /// Somebody sends files, with a text or without one: the number of the message.
    pub fn post_files(&self, chat: u64, author: Author, text: &str, files: &[FakeFile]) -> u64 {
        let mut state = self.state.lock();
        let n = state.keep(chat, None, author, text.to_owned(), Json::Null);
        state.messages.iter_mut().filter(|message| message.n == n).for_each(|message| message.files = files.to_vec());
        if self.kind == ProviderKind::Telegram {
            telegram::tell(&mut state, "message", n);
        }
        self.state.news.notify_all();
        n
    }

    /// Somebody reacts to a message with an emoji.
    pub fn react(&self, n: u64, author: Author, emoji: &str) {
        self.react_at_once(n, &[(author, emoji)]);
    }

    /// Several people react to a message at once.
    pub fn react_at_once(&self, n: u64, reactions: &[(Author, &str)]) {
        let mut state = self.state.lock();
        for (author, emoji) in reactions {
            state.others.push((n, *author, (*emoji).to_owned()));
            if self.kind == ProviderKind::Telegram {
                telegram::tell_reaction(&mut state, n, *author, (&[], &[emoji]));
            }
        }
        self.state.news.notify_all();
    }

    /// Somebody takes a reaction back.
    pub fn take_back(&self, n: u64, author: Author, emoji: &str) {
        let mut state = self.state.lock();
        state.others.retain(|(of, who, what)| (*of, *who, &**what) != (n, author, emoji));
        if self.kind == ProviderKind::Telegram {
            telegram::tell_reaction(&mut state, n, author, (&[emoji], &[]));
        }
        self.state.news.notify_all();
    }

    /// The headers that name a token, of the requests that fetched files.
    pub fn fetched(&self) -> Vec<String> {
        self.state.lock().fetched.clone()
    }

    /// Somebody changes what they wrote.
    pub fn edit(&self, n: u64, text: &str) {
        let mut state = self.state.lock();
        if let Some(message) = state.messages.iter_mut().find(|message| message.n == n) {
            text.clone_into(&mut message.text);
        }
        if self.kind == ProviderKind::Telegram {
            telegram::tell(&mut state, "edited_message", n);
        }
        self.state.news.notify_all();
    }

    /// Somebody deletes what they wrote.
    pub fn delete(&self, n: u64) {
        self.state.lock().messages.retain(|message| message.n != n);
    }

    /// A chat is gone, or the bot was removed from it.
    pub fn vanish(&self, chat: u64) {
        self.state.lock().gone.insert(chat);
    }

    /// The next requests fail, one with each fault.
    pub fn fail(&self, side: Side, faults: &[Fault]) {
        self.state.lock().faults.extend(faults.iter().map(|fault| (side, *fault)));
    }

    /// A person gets a name (Slack).
    pub fn call(&self, user: u64, name: &str) {
        self.state.lock().names.insert(user, name.to_owned());
    }

    /// Everything that was said and is there, oldest first.
    pub fn messages(&self) -> Vec<FakeMessage> {
        self.state.lock().messages.clone()
    }

    /// No message is refused any more (Slack).
    pub fn take_all(&self) {
        self.state.lock().refused = None;
    }

    /// Messages with these words are refused for good (Slack).
    pub fn refuse(&self, words: &str) {
        self.state.lock().refused = Some(words.to_owned());
    }

    /// A webhook is set, so that nobody can read.
    pub fn set_webhook(&self) {
        self.state.lock().webhook = true;
    }

    /// The bot gets no texts.
    pub fn withhold_content(&self) {
        self.state.lock().without_content = true;
    }

    /// Returns the messages that the bot has sent, oldest first.
    pub fn sent(&self) -> Vec<FakeMessage> {
        self.state.lock().messages.iter().filter(|message| message.author == Author::Own && !message.body.is_null()).cloned().collect()
    }

    /// The messages that the bot has reacted to.
    pub fn reactions(&self) -> Vec<u64> {
        self.state.lock().reactions.clone()
    }

    /// Returns the number of times that the bot has shown that it writes.
    pub fn typing(&self) -> usize {
        self.state.lock().typing
    }

    /// The number of requests that came although the provider wanted to be left alone.
    pub fn early(&self) -> usize {
        self.state.lock().early
    }

    /// Returns the number of requests for a path whose name has these words.
    pub fn requests(&self, words: &str) -> usize {
        self.state.lock().requests.iter().filter(|request| request.contains(words)).count()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, chat: u64, thread: Option<u64>, author: Author, text: String, body: Json) -> u64 {
        self.count += 1;
        self.messages.push(FakeMessage { n: self.count, chat, thread, author, text, body, files: Vec::new() });
        self.count
    }

    /// The fault that a request meets, if one was asked for. One that comes too early is counted.
    fn fault(&mut self, side: Side, path: &str) -> Option<Fault> {
        self.requests.push(path.to_owned());
        let held = self.held[side as usize];
        if held.is_some_and(|until| Instant::now() < until) {
            self.early += 1;
        }
        let at = self.faults.iter().position(|(of, _)| *of == side)?;
        let (_, fault) = self.faults.remove(at);
        if let Fault::TooMany(seconds) = fault {
            self.held[side as usize] = Instant::now().checked_add(Duration::from_secs(seconds));
        }
        Some(fault)
    }
}

/// A request that does something, with the fault that it meets.
fn faulty(fault: Option<Fault>, too_many: impl FnOnce(u64) -> HttpReply, act: impl FnOnce() -> HttpReply) -> HttpReply {
    match fault {
        Some(Fault::TooMany(seconds)) => too_many(seconds),
        Some(Fault::Unavailable) => HttpReply::text(503, "<html>no server is there</html>"),
        Some(Fault::Cut) => act().cut(),
        None => act(),
    }
}
