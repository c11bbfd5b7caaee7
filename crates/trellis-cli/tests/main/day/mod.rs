//! A day in the life of an agent (orchestrator 10.4): one story over a fake Slack and a model that follows a script, with the program killed in the middle of
//! it. `docs/orchestrator.md` tells it; afterwards everything that was written is searched for the secrets that were said (orchestrator 3.3).

mod leaks;
mod story;

use std::{
    fs::{self, File},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use trellis_tests::providers::{Author, FakeFile, FakeMessage, FakeModel, FakeProvider, ModelAnswer, ModelQuestion, ProviderKind, TOKEN};

use self::story::Story;
use crate::{
    sandbox::{Running, Sandbox},
    up::sandbox,
};

const ANA: Author = Author::Person(1);
const BEN: Author = Author::Person(2);
/// The password that Ana pastes.
const PASSWORD: &str = "Tulip-Harbour-93!x";
/// The token of the dashboard.
const DASHBOARD: &str = "0123456789abcdef0123456789abcdef";
/// Words that this provider refuses in a message.
const TOO_LONG: &str = "word for word";

/// A running program with its chat.
struct Day {
    sandbox: Sandbox,
    provider: FakeProvider,
    model: FakeModel,
}

/// Returns the answer of the model.
fn answer(question: &ModelQuestion) -> ModelAnswer {
    let (said, results) = (question.last("user"), question.results());
    let call = |name: &str, args: Value| (name.to_owned(), args);
    if said.contains("deploy the shop") {
        let Some(came) = results.iter().find(|result| result.contains("bytes")) else {
            // The model has a reference, and hands it on.
            let secret =
                said.find("{{secret:").map(|at| &said[at..]).and_then(|rest| rest.split_inclusive("}}").next()).unwrap_or_default();
            let note = json!({ "text": "Ana has the shop deployed on Wednesdays" });
            let deploy = json!({ "command": format!("echo deployed with $(printf %s {secret} | wc -c) bytes of password >> deployed; cat deployed") });
            return ModelAnswer::Calls(vec![call("memory_append", note), call("shell", deploy)]);
        };
        let line = came.split("\"output\":\"").nth(1).and_then(|rest| rest.split("\\n").next()).unwrap_or_default();
        return ModelAnswer::Text(format!("Done: {line}."));
    }
    if said.contains("the whole log") {
        return ModelAnswer::Text(format!("Here it is, {TOO_LONG}."));
    }
    if results.is_empty() {
        // Whatever is said is written down in every place that there is.
        let line = said.lines().next().unwrap_or_default();
        let kept = json!({ "key": format!("what was said {}", question.body["messages"].to_string().len()), "value": line });
        // A file would get the values of references, as a command does (orchestrator 6.1).
        let file = json!({ "path": "said.txt", "text": said.replace("{{secret:", "{{the secret ") });
        return ModelAnswer::Calls(vec![
            call("memory_append", json!({ "text": said })),
            call("decisions_add", kept),
            call("file_write", file),
        ]);
    }
    ModelAnswer::Text(format!("I wrote down: {said}"))
}

impl Day {
    fn begin() -> Self {
        let (provider, model, sandbox) = (FakeProvider::start(ProviderKind::Slack), FakeModel::start(answer), sandbox(""));
        provider.refuse(TOO_LONG);
        // A name is said too (orchestrator 3.3).
        provider.call(1, "Ana");
        provider.call(2, "Ben ghp_0123456789abcdefghijABCDEFGHIJ987654");
        let channel = provider.settings("{ env: CHAT_TOKEN }", "[\"*\"]").replace("rows: 3", "rows: 30");
        let settings = format!("channels:\n  slack: {channel}\napprovers: [\"slack:{}\"]\n", provider.user(1));
        sandbox.write("workspace/orchestrator.yaml", settings.as_bytes());
        Self { sandbox, provider, model }
    }

    fn up(&self) -> Running {
        let log = File::options().create(true).append(true).open(self.sandbox.path().join("log")).unwrap();
        let mut command = self.sandbox.command(&["up", "graph"]);
        command
            .env("CHAT_TOKEN", TOKEN)
            .env("TRELLIS_TOKEN", DASHBOARD)
            .env("TRELLIS_MODEL_BASE_URL", self.model.base())
            .env_remove("TRELLIS_SECRET_MODEL");
        Running::start(command.stdout(Stdio::null()).stderr(log))
    }

    /// Ana says something to the agent in a group, in the thread of a message if there is one.
    fn says(&self, thread: Option<u64>, text: &str) -> u64 {
        self.provider.post_in(1, thread, ANA, &format!("{} {text}", self.provider.mention()))
    }

    /// Returns a request to the dashboard of the program that began last.
    fn curl(&self, method: &str, path: &str) -> Command {
        let log = fs::read_to_string(self.sandbox.path().join("log")).unwrap();
        let address = log.lines().rev().find_map(|line| line.strip_prefix("dashboard  ")).unwrap();
        let address = address.split_once("/#").map_or(address.trim_end_matches('/'), |(address, _)| address);
        let head = format!("Authorization: Bearer {DASHBOARD}");
        let mut curl = Command::new("curl");
        curl.args(["-s", "-f", "-X", method, "-H", &head, "-H", "Content-Type: application/json", &format!("{address}{path}")]);
        curl
    }

    fn ask(&self, method: &str, path: &str) -> String {
        self.answer(method, path, &[])
    }

    fn answer(&self, method: &str, path: &str, options: &[&str]) -> String {
        let ran = self.curl(method, path).args(options).output().unwrap();
        assert!(ran.status.success(), "{method} {path}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// Writes down what the dashboard tells of while it goes on.
    fn listen(&self) -> Running {
        let stream = File::create(self.sandbox.path().join("stream")).unwrap();
        Running::start(self.curl("GET", "/api/events").arg("-N").stdout(stream).stderr(Stdio::null()))
    }

    /// Returns every answer and event of the dashboard, with the heads of its answers.
    fn shown(&self, listener: Running) -> Vec<(String, String)> {
        drop(listener);
        let stream = fs::read_to_string(self.sandbox.path().join("stream")).unwrap();
        let mut paths: Vec<String> =
            ["/metrics", "/healthz", "/readyz", "/api/state", "/api/approvals", "/api/dead-letters", "/api/graphs", "/api/secrets"]
                .map(str::to_owned)
                .into();
        let sessions: Value = serde_json::from_str(&self.ask("GET", "/api/sessions?limit=500")).unwrap();
        let ids = sessions["items"].as_array().unwrap().iter().map(|head| head["session"].as_str().unwrap());
        let pages = ["", "/records?limit=500", "/path", "/export"];
        paths.extend(ids.flat_map(|id| pages.map(|page| format!("/api/sessions/{id}{page}"))));
        let pages = paths.into_iter().map(|path| (path.clone(), self.answer("GET", &path, &["-i"])));
        let shown: Vec<(String, String)> = pages.chain([("/api/events".to_owned(), stream)]).collect();
        // Where nothing is shown, nothing is hidden.
        let is_shown = |path: &str, part: &str| shown.iter().any(|(place, text)| place.contains(path) && text.contains(part));
        for (path, part) in [
            ("/metrics", "trellis_"),
            ("/api/events", "event: session"),
            ("/api/state", "slack"),
            ("/records", "{{secret:inbound.slack."),
            ("/export", "{{secret:inbound.slack."),
        ] {
            assert!(is_shown(path, part), "{path} never shows `{part}`");
        }
        shown
    }

    /// Waits until the agent has sent a message with these words.
    fn hears(&self, words: &str) -> FakeMessage {
        let began = Instant::now();
        loop {
            if let Some(message) = self.provider.sent().into_iter().find(|message| message.text.contains(words)) {
                return message;
            }
            let log = || fs::read_to_string(self.sandbox.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(120), "`{words}` never comes: {:#?}\n{}", self.provider.sent(), log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn times(&self, words: &str) -> usize {
        self.provider.sent().iter().filter(|message| message.text.contains(words)).count()
    }

    /// The files of the memory, one behind the other.
    fn memory(&self) -> String {
        let entries = fs::read_dir(self.sandbox.path().join("workspace/memory")).unwrap().flatten();
        entries.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
    }

    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.path().join("workspace").join(path)).unwrap_or_default()
    }

    /// A number from the queue.
    fn count(&self, query: &str) -> i64 {
        let path = self.sandbox.path().join("workspace/runtime/queue.db");
        let queue = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        queue.query_row(query, [], |row| row.get(0)).unwrap()
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(300), "{what} never comes: {:#?}", self.provider.sent());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

// orchestrator 10.4: the whole product, driven once
#[test]
fn a_day_in_the_life() {
    let day = Day::begin();
    let mut story = Story::default();

    // Messages before the start of the agent are not for it.
    let first = day.up();
    day.until("a look", || day.provider.requests("conversations.history") > 3);

    // A password is pasted, and a tool waits for Ana.
    let plan = FakeFile::new("plan.txt", "Blue first, then green.\n");
    let asked = format!("{} deploy the shop, please. The password is {PASSWORD}", day.provider.mention());
    let root = day.provider.post_files(1, ANA, &asked, &[plan]);
    let question = day.hears("May I run this?");
    assert!(question.text.contains("{{secret:inbound.slack.c") && !question.text.contains(PASSWORD), "3.3: {question:?}");
    assert_eq!((question.chat, question.thread), (1, Some(root)), "4: Slack answers in the thread");
    assert!(day.file("files/deployed").is_empty(), "6.2: it waits");
    assert!(day.memory().contains("has the shop deployed"), "6.2: what nobody need approve does not wait");
    assert!(
        day.files().iter().any(|(name, text)| name.ends_with("plan.txt") && text == "Blue first, then green.\n"),
        "4.2: the file is here"
    );
    day.provider.post_in(1, Some(root), BEN, "yes");
    day.hears("you may not decide about that");
    // Slack's messages are known to be there, so that nothing comes again.
    let waiting = "select count(*) from outbox where state in ('queued', 'sending')";
    day.until("the acknowledgement", || day.count(waiting) == 0);

    // The machine fails. After the next start the question still counts, and Ana answers it with a thumb.
    drop(first);
    let mut second = day.up();
    day.provider.react(question.n, ANA, "👍");
    let done = day.hears("Done: deployed with");
    assert!(done.text.contains(&format!("{} bytes", PASSWORD.len())), "6.1: the tool had the value: {done:?}");
    assert_eq!((done.chat, done.thread, day.times("Done: deployed with")), (1, Some(root), 1), "7.2: once, in its thread");
    assert_eq!(day.file("files/deployed").lines().count(), 1, "6.2: it ran once");

    // Schedules, where clocks change in the night.
    day.says(Some(root), "!cron add at 2060-03-28T02:30 tz=Europe/Berlin \"The report of the night\"");
    let gap = day.hears("at 2060-03-28T02:30");
    assert!(gap.text.contains("→ 2060-03-28 03:00 CEST"), "8.1: in a gap it comes at its end: {gap:?}");
    day.says(Some(root), "!cron add at 2060-10-31T02:30 tz=Europe/Berlin \"The other report\"");
    let twice = day.hears("at 2060-10-31T02:30");
    assert!(twice.text.contains("→ 2060-10-31 02:30 CEST"), "8.1: a repeated hour fires once: {twice:?}");

    // An answer that Slack does not take is a dead letter.
    let asked = day.says(None, "tell me the whole log");
    let letter =
        format!("select count(*) from outbox where state = 'dead' and thread = '{}' and code = 'msg_too_long'", day.provider.id(asked));
    day.until("the dead letter", || day.count(&letter) == 1);
    assert_eq!(day.times(TOO_LONG), 0);

    day.provider.take_all();
    let n = day.count(&letter.replacen("count(*)", "n", 1));
    day.ask("POST", &format!("/api/outbox/{n}/retry"));
    day.hears(TOO_LONG);

    story.end(&day.provider);
    story.is_told();
    let (corpus, listener) = (leaks::corpus(), day.listen());
    day.paste(&corpus);
    let shown = day.shown(listener);
    assert!(Command::new("kill").args(["-TERM", &second.id().to_string()]).status().unwrap().success());
    assert_eq!(second.wait().unwrap().code(), Some(0));
    let values = corpus.into_iter().chain([PASSWORD.to_owned(), "ghp_0123456789abcdefghijABCDEFGHIJ987654".to_owned()]);
    let found = leaks::search(&day, &shown, &values.collect::<Vec<_>>());
    assert!(found.is_empty(), "3.3: {} places with secrets: {found:#?}", found.len());
}

impl Day {
    /// The files that people sent, with their texts.
    fn files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        leaks::files(&self.sandbox.path().join("workspace/runtime/inbound-files"), &mut |path, bytes| {
            found.push((path.display().to_string(), String::from_utf8_lossy(bytes).into_owned()));
        });
        found
    }

    /// Ben pastes every secret of the corpus into a direct chat.
    fn paste(&self, corpus: &[String]) {
        let lines = leaks::lines();
        assert_eq!((lines.len(), corpus.len()), (200, 200));
        for line in &lines {
            self.provider.post(3, BEN, line);
        }
        let read = "select count(*) from inbound where chat = 'D003' and state = 'done'";
        // A busy machine has its time for each part.
        for part in 1..=10 {
            self.until("a part of the paste", || self.count(read) >= 20 * part);
        }
        self.until("the end of the paste", || self.count("select count(*) from outbox where state in ('queued', 'sending')") == 0);
    }
}
