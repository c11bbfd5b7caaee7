//! The queue as a crash leaves it, and as a second start finds it (orchestrator 9).

use super::*;
use crate::message::{ChatPlace, Incoming, Outgoing};

fn open() -> (tempfile::TempDir, Queue) {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = Queue::open(&folder.path().join("queue.db")).expect("a queue");
    (folder, queue)
}

fn incoming(id: &str, text: &str, at: u64) -> Incoming {
    let (sender, place) = ("ana".to_owned(), ChatPlace::new("slack", "C1"));
    Incoming { place, id: id.to_owned(), sender: sender.clone(), sender_name: sender, text: text.to_owned(), at, files: Vec::new() }
}

fn outgoing(chat: &str, key: &str) -> Outgoing {
    Outgoing::new(ChatPlace::new("slack", chat), key, key)
}

// orchestrator 3.2, source 003.4.2.1: each message once; 9: the cursor stands with the messages
#[tokio::test]
async fn a_message_that_is_read_twice_is_stored_once() {
    let (folder, queue) = open();
    let batch = vec![incoming("1", "hello", 10), incoming("2", "you", 20)];
    let stored = queue.store("slack", batch.clone(), Some("2".to_owned()), 30).await.expect("stored");
    assert_eq!(stored, Stored { new: 2, known: 0 });
    drop(queue);
    let queue = Queue::open(&folder.path().join("queue.db")).expect("again");
    assert_eq!(queue.cursor("slack").await.expect("a cursor").as_deref(), Some("2"));
    let stored = queue.store("slack", [batch, vec![incoming("3", "!", 30)]].concat(), None, 40).await.expect("stored");
    assert_eq!(stored, Stored { new: 1, known: 2 });
    let waiting = queue.waiting().await.expect("rows");
    assert_eq!(waiting.iter().map(|row| &*row.message.text).collect::<Vec<_>>(), ["hello", "you", "!"]);
    assert_eq!(queue.cursor("telegram").await.expect("none"), None);
}

// orchestrator 3.2, source 003.4.2.1: a message is known for a day, among 50,000 others
#[tokio::test]
async fn a_message_is_known_for_a_day() {
    let (_folder, queue) = open();
    let first = incoming("first", "hello", 10);
    queue.store("slack", vec![first.clone()], None, 10).await.expect("stored");
    let n = queue.waiting().await.expect("rows")[0].n;
    queue.settle(vec![n]).await.expect("settled");
    let others = (0..50_000).map(|id| incoming(&id.to_string(), "you", 20)).collect();
    assert_eq!(queue.store("slack", others, None, 20).await.expect("stored").new, 50_000);
    queue.forget(10 + 24 * 3_600_000).await.expect("looked at");
    let stored = queue.store("slack", vec![first], None, 10 + 24 * 3_600_000).await.expect("stored");
    assert_eq!(stored, Stored { new: 0, known: 1 });
}

// orchestrator 9: a row is taken by one session, and done with it
#[tokio::test]
async fn a_message_belongs_to_one_session() {
    let (_folder, queue) = open();
    queue.store("slack", vec![incoming("1", "hello", 10)], None, 10).await.expect("stored");
    let n = queue.waiting().await.expect("rows")[0].n;
    queue.take(vec![n], "chat-a", None).await.expect("taken");
    queue.take(vec![n], "chat-b", None).await.expect("no harm");
    assert!(queue.waiting().await.expect("rows").is_empty());
    assert_eq!(queue.taken_rows().await.expect("rows")[0].run.as_deref(), Some("chat-a"));
    // orchestrator 2.2: one that came too late for its question waits again, and is known as such
    queue.release(vec![n]).await.expect("released");
    queue.take(vec![n], "chat-a", Some(7)).await.expect("taken");
    queue.release(vec![n]).await.expect("released");
    let late = &queue.waiting().await.expect("rows")[0];
    assert_eq!((late.is_waiting(), late.asked), (true, Some(7)));
    queue.take(vec![n], "chat-a", None).await.expect("taken");
    assert!(queue.end_run("chat-a").await.expect("ended"));
    assert!(!queue.end_run("chat-a").await.expect("was ended before"));
    assert_eq!(queue.of_run("chat-a").await.expect("a row").expect("still known").message.id, "1");
    // orchestrator 9.2: 30 days later it is forgotten
    assert_eq!(queue.forget(10 + 29 * 24 * 3_600_000).await.expect("kept"), 0);
    assert_eq!(queue.forget(11 + 30 * 24 * 3_600_000).await.expect("forgotten"), 1);
}

// orchestrator 3.4: what was taken between messages that wait parts them; what came before or elsewhere does not
#[tokio::test]
async fn what_was_taken_between_is_seen() {
    let (_folder, queue) = open();
    let mut elsewhere = incoming("4", "/help", 10);
    elsewhere.place.chat = "C2".to_owned();
    let all = [incoming("1", "/help", 10), incoming("2", "a", 10), incoming("3", "/status", 10), elsewhere, incoming("5", "b", 10)];
    queue.store("slack", all.to_vec(), None, 10).await.expect("stored");
    let seen = async || {
        let rows = queue.waiting().await.expect("rows");
        rows.iter().map(|row| (row.message.id.clone(), row.is_waiting())).collect::<Vec<_>>()
    };
    for n in [1, 3, 4] {
        queue.take(vec![n], &format!("chat-{n}"), None).await.expect("taken");
    }
    let parted = [("2".to_owned(), true), ("3".to_owned(), false), ("5".to_owned(), true)];
    assert_eq!(seen().await, parted);
    queue.end_run("chat-3").await.expect("ended");
    assert_eq!(seen().await, parted);
}

// orchestrator 9.1: only its owner reads it, also one that others could read before
#[tokio::test]
async fn a_queue_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("queue.db");
    std::fs::write(&file, "").expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("set");
    let queue = Queue::open(&file).expect("opened");
    queue.store("slack", vec![incoming("1", "hello", 10)], None, 10).await.expect("stored");
    for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
        let mode = folder.path().join(name).metadata().expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

// much conversation hides no command, no decision and no other chat; a text that is no decision after all makes room for those behind it
#[tokio::test]
async fn each_chat_is_looked_at() {
    let (_folder, queue) = open();
    let many = |text: &'static str| (0..2001).map(move |id| incoming(&format!("{text}-{id}"), text, 10));
    queue.store("slack", many("a line of a log").collect(), None, 10).await.expect("stored");
    queue.store("slack", vec![incoming("s", "/stop", 11)], None, 11).await.expect("stored");
    queue.store("slack", many("ok").collect(), None, 12).await.expect("stored");
    queue.store("slack", vec![incoming("y", "yes ab12cd34", 13)], None, 13).await.expect("stored");
    let elsewhere = Incoming { place: ChatPlace::new("slack", "C2"), ..incoming("e", "hello", 14) };
    queue.store("slack", vec![elsewhere], None, 14).await.expect("stored");
    let rows = queue.waiting().await.expect("rows");
    assert!(rows.len() < 1000 && rows.is_sorted_by_key(|row| row.n), "{}", rows.len());
    let has = |rows: &[InboundRow], id: &str| rows.iter().any(|row| row.message.id == id);
    assert!(has(&rows, "s") && has(&rows, "e") && !has(&rows, "y"));
    let words = async || {
        let rows = queue.waiting().await.expect("rows").into_iter().filter(|row| row.message.text == "ok" && !row.is_talk);
        rows.map(|row| row.n).collect::<Vec<_>>()
    };
    let mut looks = 0;
    while let words = words().await
        && !words.is_empty()
    {
        queue.are_talk(words).await.expect("noted");
        looks += 1;
    }
    assert!(looks > 1 && has(&queue.waiting().await.expect("rows"), "y"));
}

#[tokio::test]
async fn what_somebody_said_before_is_theirs_and_recent() {
    let (_folder, queue) = open();
    queue.store("slack", vec![incoming("1", "my password is", 1000)], None, 1000).await.expect("stored");
    let later = incoming("2", "hunter2", 2000);
    assert_eq!(queue.said_before(&later, 500).await.expect("asked").as_deref(), Some("my password is"));
    assert_eq!(queue.said_before(&later, 1500).await.expect("asked"), None);
    let other = Incoming { sender: "eve".to_owned(), ..later };
    assert_eq!(queue.said_before(&other, 500).await.expect("asked"), None);
}

// orchestrator 7.1: one key, one row; 7.2: order within a chat, and no chat waits for another
#[tokio::test]
async fn the_outbox_keeps_the_order_of_each_chat() {
    let (_folder, queue) = open();
    let first = queue.post(outgoing("C1", "a"), 1).await.expect("posted");
    assert_eq!(queue.post(outgoing("C1", "a"), 2).await.expect("posted"), first);
    queue.post(outgoing("C1", "b"), 3).await.expect("posted");
    queue.post(outgoing("C2", "c"), 4).await.expect("posted");
    let keys = async |now| queue.sendable(now).await.expect("rows").into_iter().map(|row| row.message.key).collect::<Vec<_>>();
    assert_eq!(keys(10).await, ["a", "c"]);
    queue.begin_sending(first).await.expect("begun");
    assert_eq!(keys(10).await, ["c"]);
    queue.note_unsent(first, "http-503", "later", Some(100)).await.expect("put back");
    assert_eq!(keys(10).await, ["c"], "what comes behind a row that waits, waits");
    assert_eq!(queue.next_due().await.expect("a time"), Some(4), "nor is it looked at before");
    assert_eq!(keys(100).await, ["a", "c"]);
    queue.note_sent(first, "ts", 101).await.expect("sent");
    assert_eq!(keys(100).await, ["b", "c"]);
    assert!(!queue.is_flushed().await.expect("asked"));
    let row = queue.row_by_key("a").await.expect("a row").expect("it is there");
    assert_eq!((row.state, row.attempts, row.error), (RowState::Sent, 1, None));
    assert_eq!(queue.forget_sent(102 + 7 * 24 * 3_600_000).await.expect("forgotten"), 1);
}

// orchestrator 8.3: a message that was queued before the clock was set back is sent now
#[tokio::test]
async fn a_clock_that_is_set_back_holds_nothing_up() {
    let (_folder, queue) = open();
    queue.post(outgoing("C1", "a"), 3_600_000).await.expect("posted");
    assert_eq!(queue.sendable(100).await.expect("rows").len(), 1);
}

// orchestrator 9, row "after sending, before the acknowledgement is stored": sent again, marked, once
#[tokio::test]
async fn what_may_have_been_sent_is_marked() {
    let (folder, queue) = open();
    let n = queue.post(outgoing("C1", "hello"), 1).await.expect("posted");
    queue.begin_sending(n).await.expect("begun");
    drop(queue);
    for _ in 0..2 {
        let queue = Queue::open(&folder.path().join("queue.db")).expect("again");
        queue.recover("(again) ").await.expect("recovered");
        let rows = queue.sendable(10).await.expect("rows");
        assert_eq!(rows[0].message.text, "(again) hello");
        queue.begin_sending(n).await.expect("begun");
    }
}

// orchestrator 3.6: all of a question is seen, and messages before it are known
#[tokio::test]
async fn a_question_is_seen_when_all_of_it_is_sent() {
    let (_folder, queue) = open();
    assert_eq!(queue.question("ask:c1").await.expect("none"), QuestionState::Unseen);
    queue.store("slack", vec![incoming("1", "ok", 10)], None, 10).await.expect("stored");
    let mut rows = Vec::new();
    for key in ["ask:c1:1", "ask:c1", "ask:c10"] {
        rows.push(queue.post(outgoing("C1", key), 1).await.expect("posted"));
    }
    let mut seen = Vec::new();
    for n in &rows[..2] {
        queue.begin_sending(*n).await.expect("begun");
        seen.push(queue.question("ask:c1").await.expect("asked"));
        queue.note_sent(*n, "ts", 11).await.expect("sent");
        seen.push(queue.question("ask:c1").await.expect("asked"));
        queue.store("slack", vec![incoming(&format!("yes-{n}"), "yes", 20)], None, 20).await.expect("stored");
    }
    let expected = [
        QuestionState::Unseen,
        QuestionState::Unseen,
        QuestionState::Underway { heard: 2 },
        QuestionState::Seen { heard: 2, receipt: "ts".into() },
    ];
    assert_eq!(seen, expected);
    queue.note_unsent(rows[0], "blocked", "no", None).await.expect("noted");
    assert_eq!(queue.question("ask:c1").await.expect("asked"), QuestionState::Unseen);
}

// orchestrator 9.1: rows of an older program stay in use; no earlier message answers a question from then
#[tokio::test]
async fn a_queue_of_an_older_program_is_brought_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("queue.db");
    let connection = Connection::open(&file).expect("open");
    connection.execute_batch(TABLES).expect("made");
    let rows = "insert into inbound values (7, 'k', 'slack', 'C1', '', '1', 'ana', 'ana', 'ok', 1, 1, 'new', null);
                insert into outbox (key, provider, chat, text, state, due, queued) values ('ask:c1', 'slack', 'C1', '?', 'sent', 1, 1);";
    connection.execute_batch(rows).expect("written");
    connection.pragma_update(None, "user_version", 1).expect("set");
    drop(connection);
    for _ in 0..2 {
        let queue = Queue::open(&file).expect("a queue");
        assert_eq!(queue.waiting().await.expect("rows")[0].n, 7);
        assert_eq!(queue.question("ask:c1").await.expect("asked"), QuestionState::Seen { heard: 7, receipt: String::new() });
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_dead_with_its_reason() {
    let (_folder, queue) = open();
    let n = queue.post(outgoing("C1", "hello"), 1).await.expect("posted");
    queue.begin_sending(n).await.expect("begun");
    queue.note_unsent(n, "channel_not_found", "no such chat", None).await.expect("noted");
    let dead = queue.in_state(RowState::Dead).await.expect("rows");
    assert_eq!(dead[0].error, Some(("channel_not_found".to_owned(), "no such chat".to_owned())));
    assert!(queue.is_flushed().await.expect("asked"));
}

// orchestrator 9.1: a newer form is refused, untouched
#[test]
fn a_queue_of_a_newer_program_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("queue.db");
    drop(Queue::open(&file).expect("a queue"));
    let connection = Connection::open(&file).expect("open");
    connection.pragma_update(None, "user_version", 99).expect("set");
    drop(connection);
    let error = Queue::open(&file).expect_err("refused");
    assert!(error.to_string().contains("newer program (form 99"), "{error}");
    std::fs::write(&file, "this is no database, and longer than a header of one would be").expect("written");
    assert!(matches!(Queue::open(&file), Err(QueueError::Damaged { .. })));
}

#[tokio::test]
async fn settings_belong_to_a_chat() {
    let (_folder, queue) = open();
    queue.set("slack", "C1", "render", "plain").await.expect("set");
    queue.set("slack", "C1", "render", "markdown").await.expect("set");
    assert_eq!(queue.setting("slack", "C1", "render").await.expect("read").as_deref(), Some("markdown"));
    assert_eq!(queue.setting("slack", "C2", "render").await.expect("read"), None);
}

// orchestrator 6.2: the time of a call begins when its question has arrived, with all of its parts; one that never will counts from its last attempt
#[tokio::test]
async fn a_call_waits_from_its_question_on() {
    let (_folder, queue) = open();
    let place = ChatPlace::new("slack", "C1");
    queue.hold("run", &place, vec!["c1".to_owned()]).await.expect("held");
    let waiting = async || queue.waiting_calls().await.expect("asked").swap_remove(0);
    let WaitingCall { since, arrived, .. } = waiting().await;
    assert_eq!(arrived, Some(since));
    let (early, late) = (since + 1_000, since + 3_600_000);
    let part = queue.post(outgoing("C1", "ask:c1:1"), early).await.expect("posted");
    let last = queue.post(outgoing("C1", "ask:c1"), early).await.expect("posted");
    queue.note_sent(part, "1", early).await.expect("noted");
    queue.note_unsent(last, "http-503", "unavailable", Some(early)).await.expect("noted");
    assert_eq!((waiting().await.since, waiting().await.arrived), (since, None));
    queue.note_sent(last, "2", late).await.expect("noted");
    assert_eq!(waiting().await.arrived, Some(late));
    queue.note_unsent(last, "blocked", "blocked", None).await.expect("noted");
    assert_eq!(waiting().await.arrived, Some(early));
}

// orchestrator 6.2: the time of a call that was put off begins when it is asked about again; what was asked once is known
#[tokio::test]
async fn a_call_that_was_put_off_waits_from_the_next_question_on() {
    let (_folder, queue) = open();
    queue.hold("run", &ChatPlace::new("slack", "C1"), vec!["c1".to_owned()]).await.expect("held");
    let arrived = async || queue.waiting_calls().await.expect("asked").swap_remove(0).arrived;
    let (early, late) = (arrived().await.expect("a time") + 1_000, 7_200_000 + arrived().await.expect("a time"));
    let first = queue.post(outgoing("C1", "ask:c1"), early).await.expect("posted");
    queue.note_sent(first, "1", early).await.expect("noted");
    assert_eq!(arrived().await, Some(early));
    queue.ask_again("c1", late).await.expect("put off");
    assert_eq!(arrived().await, None);
    let second = queue.post(outgoing("C1", "ask:c1:again-1"), late).await.expect("posted");
    queue.note_asking_again("c1").await.expect("noted");
    assert_eq!(arrived().await, None);
    queue.note_sent(second, "2", late).await.expect("noted");
    assert_eq!(arrived().await, Some(late));
    assert!(queue.was_asked("c1").await.expect("looked up") && !queue.was_asked("c2").await.expect("looked up"));
}

// orchestrator 6.2: whoever was asked beside the chat is known when the call waits no more
#[tokio::test]
async fn those_who_were_asked_elsewhere_are_known() {
    let (_folder, queue) = open();
    queue.hold("run", &ChatPlace::new("slack", "C1"), vec!["c1".to_owned(), "c2".to_owned()]).await.expect("held");
    for (chat, key) in [("U1", "up:c1:1:where"), ("U1", "up:c1:1:1"), ("U2", "up:c1:2:1"), ("U1", "up:c2:1:1")] {
        queue.post(outgoing(chat, key), 1).await.expect("posted");
    }
    queue.note_telling("c1").await.expect("noted");
    let over = async |waiting: &[&str]| {
        let waiting = waiting.iter().map(|call| (*call).to_owned()).collect();
        let over = queue.asked_elsewhere("run", waiting).await.expect("asked");
        over.into_iter().map(|(call, place)| format!("{call} {}", place.chat)).collect::<Vec<_>>()
    };
    assert_eq!(over(&["c1", "c2"]).await, [""; 0]);
    assert_eq!(over(&["c2"]).await, ["c1 U1", "c1 U2"]);
    assert_eq!(over(&[]).await, ["c1 U1", "c1 U2"]);
}

// orchestrator 3.5: reactions are looked for where the question stands, also beside the chat of its call
#[tokio::test]
async fn reactions_are_looked_for_where_somebody_was_asked() {
    let (_folder, queue) = open();
    queue.hold("run", &ChatPlace::new("telegram", "7"), vec!["c1".to_owned()]).await.expect("held");
    let row = queue.post(outgoing("U1", "up:c1:1:1"), 1).await.expect("posted");
    queue.note_sent(row, "ts", 2).await.expect("noted");
    assert_eq!(queue.awaited_messages("slack").await.expect("asked"), [(ChatPlace::new("slack", "U1"), "ts".to_owned())]);
    assert_eq!(queue.awaited_messages("telegram").await.expect("asked"), []);
}
