//! Reads a channel until it ends (orchestrator 4.1).

use std::{collections::BTreeSet, time::Duration};

use super::UpError;
use crate::{
    channel::{Batch, Channel, ChannelError, ChannelTroubles, Inbox, InboxError},
    inbound::Receiver,
    message::{Attachment, ChatPlace, now},
    queue::{Queue, QueueError},
};

/// The longest pause of a failing channel, if its provider asks for none that is longer.
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Attempts to fetch a file.
const FETCH_ATTEMPTS: u32 = 3;
/// Time between two of them, if its provider asks for none.
const FETCH_RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Files of one message.
const MAX_ATTACHMENTS: usize = 20;

/// Reads a channel until it is over; one that fails pauses for a while, longer each time. It stops no other.
pub(super) async fn read(
    channel: &dyn Channel,
    receiver: &Receiver,
    queue: &Queue,
    inbox: &Inbox,
    wake: impl Fn(),
    (present, log): (&ChannelTroubles, &(dyn Fn(&str) + Send + Sync)),
) -> Result<(), UpError> {
    let (mut wait, mut shown) = (Duration::from_secs(1), BTreeSet::new());
    loop {
        let cursor = queue.cursor(channel.name()).await?;
        channel.watch(queue.awaited_messages(channel.name()).await?);
        match channel.read(cursor.as_deref()).await {
            Ok(mut batch) => {
                fetch(channel, receiver, inbox, &mut batch).await?;
                wait = Duration::from_secs(1);
                let (is_over, troubles) = (batch.is_over, batch.troubles.clone());
                receiver.take(channel.name(), batch, channel.grouping()).await?;
                wake();
                shown = report_new(channel.name(), &troubles, &shown, log);
                present.work(channel.name(), troubles.first().map(|trouble| trouble.message.clone()));
                if is_over {
                    return Ok(());
                }
            }
            Err(error) => {
                shown = report_new(channel.name(), std::slice::from_ref(&error), &shown, log);
                present.fail(channel.name(), error.message.clone(), now());
                // An error that a person must mend may be mended meanwhile.
                if error.is_final && crate::config::Provider::named(channel.name()).is_none() {
                    return Ok(());
                }
                tokio::time::sleep(error.after.unwrap_or(wait)).await;
                wait = (wait * 2).min(MAX_BACKOFF);
            }
        }
    }
}

/// Fetches the files of new messages. If a file cannot be fetched, its reason is stored in its place.
async fn fetch(channel: &dyn Channel, receiver: &Receiver, inbox: &Inbox, batch: &mut Batch) -> Result<(), QueueError> {
    for message in batch.messages.iter_mut().filter(|message| !message.files.is_empty()) {
        if receiver.knows(message).await? {
            continue;
        }
        for (at, file) in message.files.iter_mut().enumerate() {
            // The name becomes a part of its path.
            file.name = receiver.sealed_name(&message.place, &file.name).await?;
            if at >= MAX_ATTACHMENTS {
                file.trouble = Some(format!("a message brings at most {MAX_ATTACHMENTS} files"));
            }
            if file.trouble.is_none() && file.path.is_none() {
                *file = fetch_file(channel, inbox, &message.place, file).await;
            }
        }
    }
    Ok(())
}

/// Fetches a file into the workspace; returns it with its path, or with the reason why there is none.
async fn fetch_file(channel: &dyn Channel, inbox: &Inbox, place: &ChatPlace, file: &Attachment) -> Attachment {
    let failed = |why: String| Attachment { trouble: Some(why), source: String::new(), ..file.clone() };
    if file.size.is_some_and(|size| size > inbox.limit()) {
        return failed(InboxError::TooLarge { limit: inbox.limit() }.to_string());
    }
    let mut attempt = 1;
    loop {
        let into = match inbox.begin(place, &file.name) {
            Ok(into) => into,
            Err(error) => return failed(error.to_string()),
        };
        match channel.fetch(file, into).await {
            Ok(file) => return file,
            Err(error) if !error.is_final && attempt < FETCH_ATTEMPTS => {
                tokio::time::sleep(error.after.unwrap_or(FETCH_RETRY_PAUSE).min(MAX_BACKOFF)).await;
                attempt += 1;
            }
            Err(error) => return failed(error.message),
        }
    }
}

/// Reports each new trouble once; returns all present ones.
fn report_new(channel: &str, troubles: &[ChannelError], shown: &BTreeSet<String>, log: &(dyn Fn(&str) + Send + Sync)) -> BTreeSet<String> {
    let troubles: BTreeSet<String> = troubles.iter().map(|error| error.message.clone()).collect();
    troubles.difference(shown).for_each(|trouble| log(&format!("channel `{channel}`: {trouble}")));
    troubles
}
