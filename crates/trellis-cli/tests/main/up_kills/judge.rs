//! The state of chat, queue and files after the kills.

use std::{collections::BTreeMap, fs};

use rusqlite::Connection;
use serde_json::Value;

use super::shop::{Posted, Shop, Wish};

/// The findings.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Everything that must not be; empty when all is well.
    pub(super) flaws: Vec<String>,
    pub(super) messages: usize,
    /// Messages that came again, with a mark.
    pub(super) marked: usize,
    /// Calls of tools that were made again.
    pub(super) repeated: usize,
}

pub(super) fn judge(shop: &Shop) -> Verdict {
    let mut verdict = Verdict { messages: shop.posted.len(), ..Verdict::default() };
    let dead = dead_letters(shop);
    for posted in &shop.posted {
        answers(shop, *posted, &dead, &mut verdict);
    }
    notes(shop, &mut verdict);
    memory(shop, &mut verdict);
    histories(shop, &mut verdict);
    verdict
}

/// An answer came at least once into its thread, and at most once without a mark; or it is one dead letter.
fn answers(shop: &Shop, posted: Posted, dead: &[(String, String)], verdict: &mut Verdict) {
    let words = format!("answer {}.", posted.number);
    let sent: Vec<_> = shop.provider.sent().into_iter().filter(|message| message.text.contains(&words)).collect();
    let letters = dead.iter().filter(|(text, _)| text.contains(&words)).count();
    if Wish::of(posted.number) == Wish::Refuse {
        if letters != 1 || !sent.is_empty() {
            verdict.flaws.push(format!("number {}: {letters} dead letters, {sent:?}", posted.number));
        }
        return;
    }
    let marked = sent.iter().filter(|message| message.text.starts_with("(again) ")).count();
    verdict.marked += marked;
    if sent.is_empty() || sent.len() - marked > 1 || letters > 0 {
        verdict.flaws.push(format!("number {}: sent {} times, {marked} of them marked, {letters} dead letters", posted.number, sent.len()));
    }
    if sent.iter().any(|message| (message.chat, message.thread) != (posted.chat, Some(posted.root))) {
        verdict.flaws.push(format!("number {}: not in its thread: {sent:?}", posted.number));
    }
}

/// The dead letters of the queue: text and code.
fn dead_letters(shop: &Shop) -> Vec<(String, String)> {
    let queue = Connection::open(shop.sandbox.path().join("workspace/runtime/queue.db")).unwrap();
    let mut statement = queue.prepare("select text, coalesce(code, '') from outbox where state = 'dead'").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Checks that the notes of the tools are there. A command that was cut off is not run again by itself, so that it may have left nothing, and its thread
/// is told; a line of the memory stands there once, since its call has a key.
fn notes(shop: &Shop, verdict: &mut Verdict) {
    let workspace = shop.sandbox.path().join("workspace");
    let days = fs::read_dir(workspace.join("memory")).unwrap().flatten().map(|entry| entry.path());
    let memory: String = days.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect();
    let ran = fs::read_to_string(workspace.join("files/ran")).unwrap_or_default();
    for posted in &shop.posted {
        let times = match Wish::of(posted.number) {
            Wish::Remember => memory.matches(&format!("note {}.", posted.number)).count(),
            Wish::Command => ran.lines().filter(|line| *line == posted.number.to_string()).count(),
            Wish::Answer | Wish::Refuse => continue,
        };
        let is_told =
            || shop.provider.sent().iter().any(|message| message.thread == Some(posted.root) && message.text.contains("was cut off"));
        match times {
            0 if Wish::of(posted.number) == Wish::Command && is_told() => {}
            0 => verdict.flaws.push(format!("number {}: its tool left nothing", posted.number)),
            2.. if Wish::of(posted.number) == Wish::Remember => {
                verdict.flaws.push(format!("number {}: noted {times} times", posted.number));
            }
            times => verdict.repeated += times - 1,
        }
    }
}

/// The memory is whole, and has each fact once.
fn memory(shop: &Shop, verdict: &mut Verdict) {
    let memory = fs::read_to_string(shop.sandbox.path().join("workspace/memory/MEMORY.md")).unwrap();
    for fact in 1..=shop.facts {
        let times = memory.matches(&format!("fact {fact}.")).count();
        if times != 1 {
            verdict.flaws.push(format!("fact {fact} stands in the memory {times} times: {memory}"));
        }
    }
}

/// Each line of each history can be read, and each message has one text.
fn histories(shop: &Shop, verdict: &mut Verdict) {
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for entry in fs::read_dir(shop.sandbox.path().join("workspace/runtime/sessions")).unwrap().flatten() {
        for line in fs::read_to_string(entry.path()).unwrap().lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                // A line that was cut off is closed, and its message noted anew.
                continue;
            };
            let (id, text) = (line["id"].as_str().unwrap_or_default(), line["text"].as_str().unwrap_or_default());
            let before = said.insert(id.to_owned(), text.to_owned());
            if before.is_some_and(|before| before != text) {
                verdict.flaws.push(format!("the message {id} is there with two texts"));
            }
        }
    }
    for posted in &shop.posted {
        let words = format!("number {}, please", posted.number);
        if !said.values().any(|text| text.contains(&words)) {
            verdict.flaws.push(format!("number {} is not in its history", posted.number));
        }
    }
}
