//! Files that people send (orchestrator 3.10), and `request_file` (6).

use std::{fs, os::unix::fs::PermissionsExt as _};

use trellis_tests::providers::{FakeFile, FakeProvider, Fault, ProviderKind, Side};

use crate::{
    remote::{ALL, ANA},
    world::World,
};

/// A model that reads a file whose path it is told, and says everything that it hears.
const READS: &str = "
- when: { matches: '^read ' }
  reply: { tool_calls: [{ name: file.read, args: { path: \"{{ last.content | replace('read ', '') }}\" } }] }
- reply: { content: 'came: {{ last.content }}' }
";

/// The path in a text.
fn path_in(text: &str) -> String {
    let (_, rest) = text.split_once("- runtime/").expect("a path");
    format!("runtime/{}", rest.split(" (").next().unwrap_or_default())
}

// orchestrator 3.10, source 003.16: fetched with the token, stored under its own name with 0600; only the local path reaches the context, and the tools read it
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_reaches_the_model_as_a_path() {
    for kind in ALL {
        let (world, provider) = (World::new(READS), FakeProvider::start(kind));
        world.settle(&provider, "");
        let chat = world.remote(&provider).await;
        provider.fail(Side::File, &[Fault::Unavailable, Fault::Cut]);
        provider.post_files(3, ANA, "look at this", &[FakeFile::new("my notes.txt", "buy milk")]);
        let said = chat.hear(3, "came: look at this").await.text;
        let path = path_in(&said);
        assert!(path.starts_with(&format!("runtime/inbound-files/{}/c", provider.name())) && path.ends_with("-my_notes.txt"), "{path}");
        let address = provider.address().to_string();
        assert!(!said.contains("http") && !said.contains(&address) && said.contains("8 bytes"), "{said}");
        assert_eq!(fs::read_to_string(world.at(&path)).expect("there"), "buy milk");
        assert_eq!(fs::metadata(world.at(&path)).expect("there").permissions().mode() & 0o777, 0o600);
        let token = if kind == ProviderKind::Slack { "Bearer fake-token-1" } else { "" };
        assert_eq!(provider.fetched(), [token; 3], "{kind:?}");
        provider.post(3, ANA, &format!("read {path}"));
        chat.hear(3, "buy milk").await;
        chat.stop().await;
        assert_eq!(world.files_with(&address).iter().filter(|file| !file.ends_with("orchestrator.yaml")).count(), 0, "{kind:?}");
    }
}

// orchestrator 3.10: from no other host, no more than the limit, whatever the provider says; what fails is a note in the context
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_fetched_is_a_note() {
    for kind in ALL {
        let (world, provider, other) = (World::new(READS), FakeProvider::start(kind), FakeProvider::start(kind));
        world.settle(&provider, "limits: { attachment: 10B }\n");
        let chat = world.remote(&provider).await;
        let elsewhere = match kind {
            ProviderKind::Telegram => "../../etc/passwd".to_owned(),
            _ => format!("http://{}/files/1-0", other.address()),
        };
        for (words, file) in [
            ("elsewhere", FakeFile::new("a.txt", "x").at(&elsewhere)),
            ("large", FakeFile::new("b.txt", &"x".repeat(11))),
            ("lying", FakeFile::new("c.txt", &"x".repeat(1 << 20)).said_to_have(3)),
        ] {
            provider.post_files(3, ANA, words, &[file]);
            let said = chat.hear(3, &format!("came: {words}")).await.text;
            assert!(said.contains("not fetched: ") && !said.contains("runtime/"), "{kind:?}: {said}");
            assert!(!said.contains("http://"), "{kind:?}: {said}");
        }
        chat.stop().await;
        assert!(other.fetched().is_empty(), "{kind:?}");
        let of_chats = fs::read_dir(world.at(&format!("runtime/inbound-files/{}", provider.name()))).into_iter().flatten().flatten();
        let stored = of_chats.flat_map(|chat| fs::read_dir(chat.path())).flatten().count();
        assert_eq!(stored, 0, "{kind:?}");
    }
}

// orchestrator 3.3, 10.3: names of files are sealed, and no terminal obeys them
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_sealed_and_harmless() {
    let (world, provider) = (World::new(READS), FakeProvider::start(ProviderKind::Discord));
    world.settle(&provider, "");
    let chat = world.remote(&provider).await;
    let token = ["ghp_", &"a1B2".repeat(9)].concat();
    provider.post_files(3, ANA, "names", &[FakeFile::new(&format!("{token}\u{1b}[2J\u{202e}<b>.txt"), "x")]);
    let said = chat.hear(3, "came: names").await.text;
    assert!(!said.contains(&token) && !said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said:?}");
    chat.stop().await;
    let with_token = world.files_with(&token);
    assert!(with_token.is_empty(), "{with_token:?}");
}

/// A model that asks for a file, and says what came.
const ASKS: &str = "
- when: { matches: '^report' }
  reply: { tool_calls: [{ name: request_file, args: { what: 'the numbers of May' } }] }
- when: { matches: '^twice' }
  reply: { tool_calls: [{ name: request_file, args: { what: one } }, { name: request_file, args: { what: other } }] }
- reply: { content: 'came: {{ last.content }}' }
";

// orchestrator 6: asks the chat and waits for an attachment, also over a restart; what else is said meanwhile waits
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_a_file() {
    for kind in ALL {
        let (world, provider) = (World::new(ASKS), FakeProvider::start(kind));
        world.settle(&provider, "");
        let chat = world.remote(&provider).await;
        provider.post(3, ANA, "report");
        chat.hear(3, "Please send a file here: the numbers of May").await;
        // A stop waits for calls that run, so one provider is enough for that.
        let chat = if kind == ProviderKind::Slack {
            chat.stop().await;
            world.remote(&provider).await
        } else {
            chat
        };
        provider.post(3, ANA, "one moment");
        provider.post_files(3, ANA, "here they are", &[FakeFile::new("may.csv", "1,2,3")]);
        let said = chat.hear(3, "came: {").await.text;
        assert!(said.contains("may.csv") && said.contains("runtime/inbound-files/") && said.contains("here they are"), "{kind:?}: {said}");
        chat.hear(3, "came: one moment").await;
        chat.stop().await;
        assert_eq!(provider.sent().iter().filter(|message| message.text.contains("Please send a file")).count(), 1, "{kind:?}");
    }
}

// orchestrator 6: one at a time; a chat without files is told so at once
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_file_is_asked_for_at_a_time() {
    let (world, provider) = (World::new(ASKS), FakeProvider::start(ProviderKind::Slack));
    world.settle(&provider, "");
    let chat = world.remote(&provider).await;
    provider.post(3, ANA, "twice");
    chat.hear(3, "Please send a file here").await;
    provider.post_files(3, ANA, "", &[FakeFile::new("a.txt", "x")]);
    let said = chat.hear(3, "came: {").await.text;
    assert!(said.contains("too-many") || chat.said(3, "Please send").len() == 1, "{said}");
    chat.stop().await;
    let world = World::new(ASKS);
    let mut terminal = world.chat().await;
    assert!(terminal.ask("report").await.contains("nobody can send files in this chat"));
    terminal.leave().await;
}

// orchestrator 3.10: a file belongs to the chat that it was sent to, as its secrets do
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_another_chat_is_not_read() {
    let (world, provider) = (World::new(READS), FakeProvider::start(ProviderKind::Telegram));
    world.settle(&provider, "");
    let chat = world.remote(&provider).await;
    provider.post_files(3, ANA, "look at this", &[FakeFile::new("notes.txt", "buy milk")]);
    let path = path_in(&chat.hear(3, "came: look at this").await.text);
    provider.post(1, ANA, &format!("{} read {path}", provider.mention()));
    let said = chat.hear(1, "came: ").await.text;
    assert!(!said.contains("buy milk") && said.contains("error"), "{said}");
    provider.post(3, ANA, &format!("read {path}"));
    chat.hear(3, "buy milk").await;
    chat.stop().await;
}
