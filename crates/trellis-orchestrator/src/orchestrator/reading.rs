//! Reading a channel until it is over (orchestrator 4.1).

use std::{collections::BTreeSet, time::Duration};

use super::UpError;
use crate::{
    channel::{Channel, ChannelError},
    inbound::Receiver,
    queue::Queue,
};

/// The longest time that a channel is left alone which fails, if its provider wants no longer one.
const LONGEST: Duration = Duration::from_secs(60);

/// Reads a channel until it is over; one that fails is left alone for a while, longer each time. It stops no other.
pub(super) async fn read(
    channel: &dyn Channel,
    receiver: &Receiver,
    queue: &Queue,
    wake: impl Fn(),
    log: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), UpError> {
    let (mut wait, mut shown) = (Duration::from_secs(1), BTreeSet::new());
    loop {
        let cursor = queue.cursor(channel.name()).await?;
        match channel.read(cursor.as_deref()).await {
            Ok(batch) => {
                wait = Duration::from_secs(1);
                let (is_over, troubles) = (batch.is_over, batch.troubles.clone());
                receiver.take(channel.name(), batch, channel.grouping()).await?;
                wake();
                shown = told(channel.name(), &troubles, &shown, log);
                if is_over {
                    return Ok(());
                }
            }
            Err(error) => {
                shown = told(channel.name(), std::slice::from_ref(&error), &shown, log);
                // What a person has to mend may be mended meanwhile.
                if error.is_final && crate::config::Provider::named(channel.name()).is_none() {
                    return Ok(());
                }
                tokio::time::sleep(error.after.unwrap_or(wait)).await;
                wait = (wait * 2).min(LONGEST);
            }
        }
    }
}

/// Says each trouble once for as long as it lasts: all that last.
fn told(channel: &str, troubles: &[ChannelError], shown: &BTreeSet<String>, log: &(dyn Fn(&str) + Send + Sync)) -> BTreeSet<String> {
    let troubles: BTreeSet<String> = troubles.iter().map(|error| error.message.clone()).collect();
    troubles.difference(shown).for_each(|trouble| log(&format!("channel `{channel}`: {trouble}")));
    troubles
}
