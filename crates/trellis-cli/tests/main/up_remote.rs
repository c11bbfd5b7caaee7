//! `trellis up` with chats over a network, against fake providers (orchestrator 10.2, 10.4).

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use trellis_tests::providers::{Author, FakeProvider, ProviderKind, TOKEN};

use crate::{
    sandbox::{Running, Sandbox},
    up::{RUNS, sandbox},
};

const ANA: Author = Author::Person(1);
const BEN: Author = Author::Person(2);

/// A workspace with a channel to a provider, whose token is in a variable, and on which Ana may approve.
fn workspace(provider: &FakeProvider) -> Sandbox {
    let sandbox = sandbox(RUNS);
    let (name, channel) = (provider.name(), provider.settings("{ env: CHAT_TOKEN }", "[\"*\"]"));
    let settings = format!("channels:\n  {name}: {channel}\napprovers: [\"{name}:{}\"]\n", provider.user(1));
    sandbox.write("workspace/orchestrator.yaml", settings.as_bytes());
    sandbox
}

fn up(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(&[&["up", "graph"], args].concat());
    command.env_remove("TRELLIS_MODEL_BASE_URL").env("CHAT_TOKEN", TOKEN);
    command
}

fn start(sandbox: &Sandbox) -> Running {
    Running::start(up(sandbox, &[]).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what} never comes");
        thread::sleep(Duration::from_millis(10));
    }
}

// orchestrator 9, the table; 3.6: who may approve; 7.2: the answer once, in the thread
#[test]
fn an_answer_comes_once_into_its_thread_over_kills() {
    let provider = FakeProvider::start(ProviderKind::Slack);
    let sandbox = workspace(&provider);
    let rounds = |count: usize| {
        let before = provider.requests("conversations.history");
        until("another look", || provider.requests("conversations.history") >= before + 3 * count);
    };
    let said = |words: &str| provider.sent().iter().filter(|message| message.text.contains(words)).count();
    let first = start(&sandbox);
    rounds(2);
    let root = provider.post(1, ANA, &format!("{} run echo x >> log; cat log", provider.mention()));
    // The message is stored, and its run begins in a few seconds.
    rounds(2);
    drop(first);
    let second = start(&sandbox);
    until("the question", || said("May I run this?") > 0);
    provider.post_in(1, Some(root), BEN, "yes");
    until("the refusal", || said("you may not decide about that") > 0);
    drop(second);
    assert!(!sandbox.path().join("workspace/files/log").exists());
    let mut third = start(&sandbox);
    provider.post_in(1, Some(root), ANA, "yes");
    until("the answer", || said("came:") > 0);
    assert!(Command::new("kill").args(["-TERM", &third.id().to_string()]).status().unwrap().success());
    assert_eq!(third.wait().unwrap().code(), Some(0));
    let sent = provider.sent();
    assert!(sent.iter().all(|message| (message.chat, message.thread) == (1, Some(root))), "{sent:?}");
    for words in ["May I run this?", "you may not decide about that", "`shell` runs.", "came:"] {
        // A message that a kill may have cut off is marked, and no other comes twice.
        let marks: Vec<bool> =
            sent.iter().filter(|message| message.text.contains(words)).map(|message| message.text.starts_with("(again) ")).collect();
        let is_killed = matches!(words, "May I run this?" | "you may not decide about that");
        assert!(!marks.is_empty() && marks.iter().filter(|mark| !**mark).count() <= 1, "{words}: {sent:?}");
        assert!(is_killed || marks == [false], "{words}: {sent:?}");
    }
    assert_eq!(fs::read_to_string(sandbox.path().join("workspace/files/log")).unwrap(), "x\n");
    assert_eq!(provider.reactions(), [root]);
}

// orchestrator 3.2: an edit changes the history, sealed; 3.6: a word from before the question decides nothing, also where it is read behind it; 3.1: a direct chat
#[test]
fn a_word_from_before_the_question_is_conversation() {
    let provider = FakeProvider::start(ProviderKind::Telegram);
    let sandbox = workspace(&provider);
    let said = |words: &str| provider.sent().iter().filter(|message| message.text.contains(words)).count();
    let running = start(&sandbox);
    let first = provider.post(3, ANA, "run touch done");
    provider.post(3, ANA, "yes");
    until("the question", || said("May I run this?") > 0);
    provider.post(3, ANA, "/status");
    until("where it stands", || said("waits for an approval of") > 0);
    assert!(!sandbox.path().join("workspace/files/done").exists());
    provider.post(3, ANA, "yes");
    until("the answer", || said("came: {") > 0);
    assert!(sandbox.path().join("workspace/files/done").exists() && provider.typing() > 0);
    provider.edit(first, "run touch it, please. The key is sk-abcdefghijklmnop1234");
    provider.post(3, ANA, "/sessions");
    until("what was edited", || said("run touch it, please. The key is {{secret:inbound.telegram.c") > 0);
    drop(running);
}

// orchestrator 1.1: `--check` asks the providers, and says everything at once; 3.6: nobody may approve
#[test]
fn a_check_asks_the_providers() {
    let providers = [ProviderKind::Slack, ProviderKind::Telegram, ProviderKind::Discord].map(FakeProvider::start);
    let sandbox = sandbox(RUNS);
    let channels: String = providers
        .iter()
        .map(|provider| format!("  {}: {}\n", provider.name(), provider.settings("{ env: CHAT_TOKEN }", "[\"*\"]")))
        .collect();
    sandbox.write("workspace/orchestrator.yaml", format!("channels:\n{channels}").as_bytes());
    let check = |token: &str| {
        let mut command = up(&sandbox, &["--check"]);
        command.env("CHAT_TOKEN", token);
        crate::sandbox::finish(command.spawn().unwrap())
    };
    let ran = check(TOKEN);
    assert_eq!((ran.code, &*ran.out), (Some(0), "nothing is in the way\n"), "{}", ran.err);
    for provider in &providers {
        let warning = format!(
            "warning: channel `{0}`: nobody may approve calls there; list people in `approvers`, such as `{0}:USER`",
            provider.name()
        );
        assert!(ran.err.contains(&warning), "{}", ran.err);
    }
    let ran = check("hunter2-hunter2");
    assert!(ran.code == Some(1) && !ran.err.contains("hunter2"), "{}", ran.err);
    assert_eq!(ran.err.matches("error: channel `").count(), 3, "{}", ran.err);
    let ran = check("");
    assert_eq!((ran.code, ran.err.matches("the variable `CHAT_TOKEN` is not set").count()), (Some(1), 3), "{}", ran.err);
    let mut command = up(&sandbox, &[]);
    command.env_remove("CHAT_TOKEN");
    let ran = crate::sandbox::finish(command.spawn().unwrap());
    assert!(ran.code == Some(2) && ran.err.contains("the variable `CHAT_TOKEN` is not set"), "{}", ran.err);
    let ran = sandbox.trellis(&["up", "graph", "--channel", "terminal", "--channel", "slack", "--workspace", "other"]);
    assert!(ran.code == Some(2) && ran.err.contains("channel `slack` is not set up"), "{}", ran.err);
}
