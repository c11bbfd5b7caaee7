//! The steps of a message in, each by itself.

use std::{sync::Arc, time::Duration};

use trellis_core::{Dialect, Document, Source};
use trellis_host::secrets::Vault;

use super::*;
use crate::{
    channel::Batch,
    message::{ChatPlace, Incoming},
    queue::{InboundRow, Queue},
    seal::{Sealer, references},
    texts::Language,
    workspace::{History, Workspace},
};

// orchestrator 3.7: `/` or `!`, any case, NFKC, a shell's quotes, `/x@bot`
#[test]
fn commands_are_read_as_they_are_typed() {
    let read = |text: &str| command(text).map(|command| (command.name, command.args.join("|")));
    let is = |name: &str, args: &str| Some((name.to_owned(), args.to_owned()));
    assert_eq!(read("/help"), is("help", ""));
    assert_eq!(read("  !Help  status "), is("help", "status"));
    assert_eq!(read("/status@my_bot now"), is("status", "now"));
    assert_eq!(read("／ｈｅｌｐ"), is("help", ""));
    assert_eq!(read("/중지"), is("중지", ""));
    assert_eq!(read(r#"/cron add "0 9 * * *" 'it''s' a\ b "c \" d""#), is("cron", r#"add|0 9 * * *|its|a b|c " d"#));
    assert_eq!(read("/x 'not closed"), is("x", "not closed"));
    assert_eq!(read("/x \"\" $HOME `id`"), is("x", "|$HOME|`id`"));
    for text in ["help", "/", "/ help", "/usr/bin is full", "!!", "a /help", "//"] {
        assert_eq!(read(text), None, "{text}");
    }
}

// orchestrator 3.6, source 003.4.4.1: these words, alone or with an id of six characters or more
#[test]
fn answers_are_single_words() {
    let read = |text: &str| answer(text).map(|answer| (answer.decision, answer.id.unwrap_or_default()));
    for (text, decision) in [
        ("yes", Decision::Approve),
        ("OK.", Decision::Approve),
        ("네", Decision::Approve),
        ("승인", Decision::Approve),
        ("no", Decision::Deny),
        ("거절", Decision::Deny),
        ("아니오", Decision::Deny),
        ("later", Decision::Defer),
        ("보류", Decision::Defer),
        ("cancel", Decision::Cancel),
        ("취소", Decision::Cancel),
    ] {
        assert_eq!(read(text), Some((decision, String::new())), "{text}");
    }
    assert_eq!(read("yes ab12cd34"), Some((Decision::Approve, "ab12cd34".to_owned())));
    assert_eq!(read("no `ab12cd`"), Some((Decision::Deny, "ab12cd".to_owned())));
    for text in ["yes please", "yes ab12", "no way", "yes ab12cd now", "", "yessir", "ok then"] {
        assert_eq!(read(text), None, "{text}");
    }
}

fn row(n: i64, sender: &str, text: &str, stored: u64) -> InboundRow {
    let place = ChatPlace::new("slack", "C1");
    let (id, text, sender_name) = (n.to_string(), text.to_owned(), sender.to_owned());
    let message = Incoming { place, id, sender: sender.to_owned(), sender_name, text, at: stored, files: Vec::new() };
    InboundRow { n, message, stored, run: None, asked: None, is_talk: false, is_done: false }
}

/// The groups that are complete, as their texts, and when the next one is.
fn groups(rows: Vec<InboundRow>, now: u64) -> (Vec<String>, Option<u64>) {
    let (groups, due) = group_rows(rows, now, |_| Duration::from_millis(3500));
    (groups.iter().map(|group| group.text().replace('\n', "+")).collect(), due)
}

// orchestrator 3.4, source 003.4.2.2: 3.5 s after the first, 8 messages, one sender; never across a command or an approval
#[test]
fn messages_that_belong_together_are_one_group() {
    let talk = |texts: &[(&str, u64)]| -> Vec<InboundRow> { (1..).zip(texts).map(|(n, (text, at))| row(n, "ana", text, *at)).collect() };
    assert_eq!(groups(talk(&[("a", 0), ("b", 1000)]), 3499), (vec![], Some(3500)));
    assert_eq!(groups(talk(&[("a", 0), ("b", 3500)]), 3500), (vec!["a+b".into()], None));
    assert_eq!(groups(talk(&[("a", 0), ("b", 3501)]), 3600), (vec!["a".into()], Some(7001)));
    assert_eq!(groups(talk(&[("a", 0), ("/help", 1), ("b", 2)]), 10), (vec!["a".into(), "/help".into()], Some(3502)));
    assert_eq!(groups(talk(&[("a", 0), ("yes", 1)]), 10), (vec!["a".into(), "yes".into()], None));
    // One that came too late for its question begins a run, and what comes next may be an answer.
    let mut late = talk(&[("a", 0), ("b", 1)]);
    late[0].asked = Some(3);
    assert_eq!(groups(late, 4000).0, ["a", "b"]);
    // A command parts them also when it was taken before them.
    let mut parted = talk(&[("a", 0), ("/help", 1), ("b", 2)]);
    parted[1].run = Some("chat-1".to_owned());
    assert_eq!(groups(parted.clone(), 10), (vec!["a".into()], Some(3502)));
    assert_eq!(groups(parted, 3502), (vec!["a".into(), "b".into()], None));
    let many: Vec<(&str, u64)> = (0..10).map(|at| ("m", at)).collect();
    assert_eq!(groups(talk(&many), 20), (vec!["m+m+m+m+m+m+m+m".into()], Some(3508)));
    // The clock was set back: what came in its future waits for nothing (orchestrator 8.3).
    assert_eq!(groups(talk(&[("a", 3_600_000)]), 100), (vec!["a".into()], None));
    let two = vec![row(1, "ana", "a", 0), row(2, "bob", "b", 1), row(3, "ana", "c", 2)];
    assert_eq!(groups(two, 5000).0, ["a", "b", "c"]);
    let mut elsewhere = row(2, "ana", "b", 1);
    elsewhere.message.place.thread = Some("t".to_owned());
    assert_eq!(groups(vec![row(1, "ana", "a", 0), elsewhere, row(3, "ana", "c", 2)], 5000).0, ["a+c", "b"]);
}

// orchestrator 2.2: a group has the same name after every restart
#[test]
fn the_name_of_a_session_follows_from_its_first_message() {
    let (first, second) = (row(1, "ana", "a", 0), row(2, "ana", "b", 1));
    let group = |rows: Vec<InboundRow>| Group { kind: Kind::Talk, rows }.session();
    assert_eq!(group(vec![first.clone()]), group(vec![first.clone(), second.clone()]));
    assert_ne!(group(vec![first]), group(vec![second]));
}

fn file(path: &str, text: &str) -> Arc<Document> {
    Arc::new(Document::parse(&Source::text(path, text), Dialect::default()))
}

// orchestrator 2.1: commands are nodes of the graph
#[test]
fn commands_are_declared_by_nodes() {
    let table = CommandTable::of(&[
        file(
            "commands/greet.md",
            "---\nx-aliases: [hi, 안녕]\nx-args: NAME\nx-help: { en: says hello, ko: 인사합니다 }\nx-who: approver\n---\n",
        ),
        file("commands/reply.md", "---\nto: done\n---\n"),
        file("greet.md", "---\nx-help: { en: elsewhere }\n---\n"),
    ]);
    assert_eq!(table.find("hi").map(|command| (&*command.name, command.who)), Some(("greet", Who::Approver)));
    assert_eq!(table.find("reply"), None);
    assert_eq!(table.names("greet"), ["greet", "hi", "안녕"]);
    assert_eq!(table.list(Language::English).lines().nth(1), Some("- `/greet` `NAME` says hello (also `/hi`, `/안녕`)"));
    assert!(table.list(Language::Korean).contains("인사합니다"));
}

/// The commands of a graph in which `secret` has these aliases.
fn commands_with(aliases: &str) -> CommandTable {
    CommandTable::of(&[file("commands/secret.md", &format!("---\nx-aliases: [{aliases}]\nx-help: {{ en: keeps secrets }}\n---\n"))])
}

fn receiver() -> (tempfile::TempDir, Arc<Vault>, Queue, Receiver) {
    let commands = LiveCommands::default();
    commands.learn(commands_with("비밀"));
    receiver_with(commands)
}

fn receiver_with(commands: LiveCommands) -> (tempfile::TempDir, Arc<Vault>, Queue, Receiver) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let vault = Arc::new(Vault::open_with_key_file(&at("secrets.json"), &at("master.key")).expect("a vault"));
    let queue = Queue::open(&at("queue.db")).expect("a queue");
    let workspace = Workspace::open(&at("workspace"), std::path::Path::new("/nowhere")).expect("a workspace");
    let receiver = Receiver::new(queue.clone(), Sealer::new(Arc::clone(&vault)), commands, History::of(&workspace));
    (folder, vault, queue, receiver)
}

fn batch(texts: &[&str]) -> Batch {
    let message = |(at, text): (u64, &&str)| Incoming { at, id: at.to_string(), ..row(0, "ana", text, at).message };
    Batch { messages: (1000..).zip(texts).map(message).collect(), cursor: Some("c".to_owned()), ..Batch::default() }
}

// orchestrator 3, source 003.4.5.1: sealing stands before all that stores; orchestrator 3.3: in one batch and over two
#[tokio::test]
async fn nothing_is_stored_before_it_is_sealed() {
    let (folder, _, queue, receiver) = receiver();
    let window = Duration::from_millis(3500);
    receiver.take("slack", batch(&["my password is", "hunter2", "card 4111 1111 1111 1111"]), window).await.expect("taken");
    let texts: Vec<String> = queue.waiting().await.expect("rows").into_iter().map(|row| row.message.text).collect();
    assert_eq!(texts[0], "my password is");
    assert!(texts[1].starts_with("{{secret:inbound.slack.") && texts[2].starts_with("card {{secret:"), "{texts:?}");
    for entry in std::fs::read_dir(folder.path()).expect("files").flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).expect("read");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter2") && !text.contains("4111 1111"), "{}", entry.path().display());
    }
}

#[tokio::test]
async fn an_announcement_counts_over_two_batches() {
    let (_folder, _, queue, receiver) = receiver();
    let window = Duration::from_millis(80);
    let one = batch(&["비밀번호는", "hunter2"]);
    let (first, second) = (one.messages[0].clone(), one.messages[1].clone());
    for message in [first, second] {
        receiver.take("slack", Batch { messages: vec![message], ..Batch::default() }, window).await.expect("taken");
    }
    let texts: Vec<String> = queue.waiting().await.expect("rows").into_iter().map(|row| row.message.text).collect();
    assert!(texts[1].contains(".password."), "{texts:?}");
}

// orchestrator 3.7: the sealer takes VALUE whole, whatever it looks like
#[tokio::test]
async fn the_value_of_a_secret_is_sealed_whatever_it_looks_like() {
    let (_folder, vault, queue, receiver) = receiver();
    let typed = ["/secret set wiki plain words", "!비밀 set x 'one two'", "/secret ls", "/secret set y"];
    receiver.take("slack", batch(&typed), Duration::ZERO).await.expect("taken");
    let texts: Vec<String> = queue.waiting().await.expect("rows").into_iter().map(|row| row.message.text).collect();
    for (text, value) in [(&texts[0], "plain words"), (&texts[1], "one two")] {
        let names = references(text);
        assert_eq!(vault.get(&names[0]).expect("it opens").expect("it is there").as_str(), value);
        assert!(!text.contains(value), "{text}");
    }
    assert!(texts[1].starts_with("/비밀 set x {{secret:"), "{}", texts[1]);
    assert_eq!(texts[2..], ["/secret ls", "/secret set y"]);
}

// orchestrator 3.7: also in capitals, mistyped, or without its sign; what shows or removes stays as it is, and so does every other command
#[tokio::test]
async fn the_value_of_a_mistyped_setter_is_sealed() {
    let (folder, _, queue, receiver) = receiver();
    let typed = [
        "/secret Set db hunter2",
        "/SECRET SET db hunter2",
        "/secret add db hunter2 hunter2",
        "/secret db hunter2",
        "/secrets set db hunter2",
        "/sercet set db hunter2",
        "/secretset x db hunter2",
        "!비밀번 set db hunter2",
        "secret set db hunter2",
        "/ secret set db hunter2",
    ];
    receiver.take("slack", batch(&typed), Duration::ZERO).await.expect("taken");
    let rows = queue.waiting().await.expect("rows");
    let texts: Vec<&str> = rows.iter().map(|row| &*row.message.text).collect();
    assert!(texts[..2].iter().all(|text| text.starts_with("/secret set db {{secret:")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("hunter2") && text.contains("{{secret:")), "{texts:?}");
    for entry in std::fs::read_dir(folder.path()).expect("files").flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).expect("read");
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{}", entry.path().display());
    }
    let plain = [
        "/secret LS all of them",
        "/secret rm one two",
        "/secret list",
        "/status set a word",
        "the secret set is small",
        "/memory search a word",
    ];
    let mut others = batch(&plain);
    others.messages.iter_mut().for_each(|message| message.id += "-plain");
    receiver.take("slack", others, Duration::ZERO).await.expect("taken");
    let rows = queue.waiting().await.expect("rows");
    assert_eq!(rows[typed.len()..].iter().map(|row| &*row.message.text).collect::<Vec<_>>(), plain);
}

// orchestrator 1.6: an alias that the graph got while it runs sets secrets too
#[tokio::test]
async fn an_alias_that_is_new_sets_secrets() {
    let commands = LiveCommands::default();
    commands.learn(commands_with("비밀"));
    let (_folder, _, queue, receiver) = receiver_with(commands.clone());
    commands.learn(commands_with("keep"));
    receiver.take("slack", batch(&["/keep set db hunter2"]), Duration::ZERO).await.expect("taken");
    let text = queue.waiting().await.expect("rows")[0].message.text.clone();
    assert!(text.starts_with("/keep set db {{secret:"), "{text}");
}
