//! A chat that is busy: people who write, a model that follows a script, and the program between them.

use std::{
    cell::Cell,
    fs::{self, File},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use trellis_tests::providers::{Author, FakeModel, FakeProvider, ModelAnswer, ModelQuestion, ProviderEvent, ProviderKind, TOKEN};

use super::Row;
use crate::{
    sandbox::{Running, Sandbox},
    up::sandbox,
};

/// Messages of a round.
const MESSAGES: u64 = 30;
/// Messages that are posted at the beginning of a life.
const AT_ONCE: u64 = 5;
/// Memories of a round that are made shorter.
const MEMORIES: u64 = 4;
/// The text of a message that is refused for good.
const REFUSED: &str = "refuse me";
const ANA: Author = Author::Person(1);

/// Something that is seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Read,
    /// The model is asked.
    Asked,
    /// It asked for a command.
    Tool,
    /// It said what the chat is to be told.
    Replied,
    Sent,
    Refused,
    /// The model of the memory is asked.
    Memory,
}

/// The request of a message to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Answer,
    /// Its answer cannot be sent.
    Refuse,
    Remember,
    Command,
}

impl Wish {
    pub(super) fn of(number: u64) -> Self {
        match number % 5 {
            0 => Self::Refuse,
            1 => Self::Remember,
            2 => Self::Command,
            _ => Self::Answer,
        }
    }
}

/// A message that somebody posted: its number, and that of its thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) number: u64,
    pub(super) chat: u64,
    pub(super) root: u64,
}

/// Chance (xorshift64*).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self((u64::from(now.subsec_nanos()) << 20) | now.as_secs() | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % bound.max(1)
    }
}

pub(super) struct Shop {
    pub(super) provider: FakeProvider,
    pub(super) sandbox: Sandbox,
    pub(super) posted: Vec<Posted>,
    /// Days with a fact each that are to go into the memory.
    pub(super) facts: u64,
    model: FakeModel,
    moments: Receiver<Moment>,
    count: u64,
    commands: Cell<u64>,
}

/// Returns the answer of the model.
fn answer(question: &ModelQuestion, tell: &Sender<Moment>) -> ModelAnswer {
    // Nobody listens where a test has failed.
    let tell = |moment| tell.send(moment).unwrap_or_default();
    let work = || thread::sleep(Duration::from_millis(10));
    if question.last("system").contains("You keep the memory") {
        tell(Moment::Memory);
        work();
        return ModelAnswer::Text(String::new());
    }
    tell(Moment::Asked);
    work();
    let asked = question.last("user");
    let digits = asked.rsplit_once("number ").map_or("", |(_, rest)| rest);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    let number: u64 = digits.parse().unwrap_or_default();
    let call = |name: &str, args| ModelAnswer::Calls(vec![(name.to_owned(), args)]);
    match Wish::of(number) {
        Wish::Remember if question.results().is_empty() => call("memory_append", json!({ "text": format!("note {number}.") })),
        Wish::Command if question.results().is_empty() => {
            tell(Moment::Tool);
            call("shell", json!({ "command": format!("sleep 0.02; echo {number} >> ran") }))
        }
        wish => {
            tell(Moment::Replied);
            let refused = if wish == Wish::Refuse { REFUSED } else { "" };
            ModelAnswer::Text(format!("answer {number}. {refused}"))
        }
    }
}

impl Shop {
    pub(super) fn new() -> Self {
        let provider = FakeProvider::start(ProviderKind::Slack);
        let (tell, moments) = channel();
        let (told, events) = channel();
        provider.tell(told);
        provider.refuse(REFUSED);
        let telling = tell.clone();
        thread::spawn(move || {
            for event in events {
                let moment = match event {
                    ProviderEvent::Read(_) => Moment::Read,
                    ProviderEvent::Sent(true) => Moment::Sent,
                    ProviderEvent::Sent(false) => Moment::Refused,
                };
                if telling.send(moment).is_err() {
                    return;
                }
            }
        });
        let model = FakeModel::start(move |question| answer(question, &tell));
        let sandbox = sandbox("");
        // Nobody is there to approve.
        let graph = fs::read_to_string(sandbox.path().join("graph/trellis.yaml")).unwrap();
        assert!(graph.contains("ask: [shell, "), "the policy of the graph has another form");
        sandbox.write("graph/trellis.yaml", graph.replace("ask: [shell, ", "ask: [").as_bytes());
        let channel = provider.settings("{ env: CHAT_TOKEN }", "[\"*\"]").replace("poll: 20ms, rows: 3", "poll: 50ms, rows: 30");
        let settings = format!("channels:\n  slack: {channel}\napprovers: [\"slack:{}\"]\n", provider.user(1));
        sandbox.write("workspace/orchestrator.yaml", settings.as_bytes());
        let shop = Self { provider, sandbox, posted: Vec::new(), facts: 0, model, moments, count: 0, commands: Cell::default() };
        shop.open();
        shop
    }

    /// Has the program look at the chats once: what was said before that is not for it.
    fn open(&self) {
        let mut up = self.start();
        let began = Instant::now();
        while self.ask("select count(*) from cursors") != Some(1) {
            self.is_alive(&mut up);
            assert!(began.elapsed() < Duration::from_secs(120), "it does not store what it saw: {}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
        self.kill(up);
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.sandbox.path().join("workspace").join(path)
    }

    /// Starts the program, and waits until it looks at its chats; what happened before is forgotten.
    pub(super) fn start(&self) -> Running {
        while self.moments.try_recv().is_ok() {}
        let looks = || self.provider.requests("conversations.history");
        let before = looks();
        let mut up = self.spawn();
        let began = Instant::now();
        while looks() == before {
            self.is_alive(&mut up);
            assert!(began.elapsed() < Duration::from_secs(120), "it does not look: {}", self.log());
            thread::sleep(Duration::from_millis(1));
        }
        up
    }

    fn spawn(&self) -> Running {
        let log = File::options().create(true).append(true).open(self.sandbox.path().join("log")).unwrap();
        let mut command = self.sandbox.command(&["up", "graph"]);
        command.env("CHAT_TOKEN", TOKEN).env("TRELLIS_MODEL_BASE_URL", self.model.base()).env_remove("TRELLIS_SECRET_MODEL");
        Running::start(command.stdout(Stdio::null()).stderr(log))
    }

    /// Posts some messages more, and now and then has the memory made shorter.
    pub(super) fn post(&mut self, chance: &mut Chance) {
        for _ in 0..AT_ONCE.min(MESSAGES - self.count) {
            self.count += 1;
            let chat = 1 + chance.below(2);
            let root = self.provider.post(chat, ANA, &format!("{} number {}, please", self.provider.mention(), self.count));
            self.posted.push(Posted { number: self.count, chat, root });
        }
        if self.facts < MEMORIES && self.count > 0 {
            self.facts += 1;
            let day = format!("workspace/memory/2020-02-{:02}.md", self.facts);
            self.sandbox.write(&day, format!("- 10:00 fact {}.\n", self.facts).as_bytes());
            self.consolidate();
        }
    }

    fn consolidate(&self) {
        self.provider.post(3, ANA, "!memory consolidate");
        self.commands.set(self.commands.get() + 1);
    }

    /// Waits for the moment of a row; whether it came.
    pub(super) fn wait_for(&self, row: Row, until: Instant, up: &mut Child) -> bool {
        let meant = match row {
            Row::Begun => return self.wait_for_run(until, up),
            Row::Read | Row::Stored => Moment::Read,
            Row::Model => Moment::Asked,
            Row::Tool => Moment::Tool,
            Row::Replied => Moment::Replied,
            Row::Sending => Moment::Sent,
            Row::Dead => Moment::Refused,
            Row::Memory => Moment::Memory,
        };
        loop {
            match self.moments.recv_timeout(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(100))) {
                Ok(moment) if moment == meant => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            self.is_alive(up);
            if Instant::now() >= until {
                return false;
            }
        }
    }

    /// Waits until a message is given to a session: the session begins right behind that.
    fn wait_for_run(&self, until: Instant, up: &mut Child) -> bool {
        let taken = || self.ask("select count(*) from inbound where state != 'new'").unwrap_or_default();
        let before = taken();
        while Instant::now() < until {
            if taken() > before {
                return true;
            }
            self.is_alive(up);
            thread::sleep(Duration::from_micros(500));
        }
        false
    }

    /// A number from the queue; none while it is not there, or is being made.
    pub(super) fn ask(&self, query: &str) -> Option<i64> {
        let queue = Connection::open_with_flags(self.at("runtime/queue.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        queue.query_row(query, [], |row| row.get(0)).ok()
    }

    fn is_alive(&self, up: &mut Child) {
        let ended = up.try_wait().unwrap();
        assert!(ended.is_none(), "it ended by itself: {ended:?}\n{}", self.log());
    }

    pub(super) fn kill(&self, mut up: Running) {
        self.is_alive(&mut up);
        drop(up);
    }

    /// Returns whether everything was posted, read and dealt with.
    pub(super) fn is_over(&self) -> bool {
        let posted = i64::try_from(self.count + self.commands.get()).unwrap_or(i64::MAX);
        let read = format!("select count(*) from inbound where sender = '{}'", self.provider.user(1));
        let open = "select (select count(*) from inbound where state != 'done')
                    + (select count(*) from outbox where state in ('queued', 'sending'))";
        self.count == MESSAGES && self.ask(&read) == Some(posted) && self.ask(open) == Some(0)
    }

    /// Lets the program do what is left, and ends it in good order.
    pub(super) fn finish(&self) {
        let mut up = self.start();
        self.until_over(&mut up);
        // A day that came while the memory was made shorter waits for the next time.
        self.consolidate();
        self.until_over(&mut up);
        assert!(Command::new("kill").args(["-TERM", &up.id().to_string()]).status().unwrap().success());
        assert_eq!(up.wait().unwrap().code(), Some(0), "{}", self.log());
    }

    fn until_over(&self, up: &mut Child) {
        let began = Instant::now();
        while !self.is_over() {
            self.is_alive(up);
            assert!(began.elapsed() < Duration::from_secs(120), "it does not come to an end: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the log of the program's failures.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.sandbox.path().join("log")).unwrap_or_default()
    }
}
