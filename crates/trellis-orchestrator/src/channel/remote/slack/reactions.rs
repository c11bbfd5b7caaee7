//! Reactions to the messages that ask about a call: `reactions.get` for each (orchestrator 3.5).

use std::sync::PoisonError;

use serde::Deserialize;

use super::{Slack, SlackUser};
use crate::channel::{Batch, ChannelError, Reaction};

/// Users that are remembered.
const MAX_USERS: usize = 10_000;

#[derive(Debug, Deserialize)]
struct SlackReaction {
    name: String,
    #[serde(default)]
    users: Vec<String>,
}

impl Slack {
    /// Adds the reactions to a few of the watched messages. Messages that are gone have no reactions.
    pub(super) async fn reactions(&self, me: &SlackUser, batch: &mut Batch) {
        for (place, message) in self.watched.next_few() {
            match self.reactions_to(&place.chat, &message).await {
                Ok(reactions) => {
                    for SlackReaction { name, users } in reactions {
                        for sender in users {
                            if sender != me.id && self.hearing.allows(&place.chat, &sender) && !self.is_bot(&sender).await {
                                let (place, message) = (place.clone(), message.clone());
                                batch.reactions.push(Reaction { place, message, sender, name: name.clone() });
                            }
                        }
                    }
                }
                Err(error) if matches!(&*error.code, "message_not_found" | "bad_timestamp" | "no_reaction") => {}
                Err(error) => batch.troubles.push(error),
            }
        }
    }

    async fn reactions_to(&self, chat: &str, message: &str) -> Result<Vec<SlackReaction>, ChannelError> {
        let mut answer = self.get_in_time("reactions.get", &[("channel", chat), ("timestamp", message), ("full", "true")]).await?;
        Ok(serde_json::from_value(answer["message"]["reactions"].take()).unwrap_or_default())
    }

    /// Returns whether a user is a bot. Where Slack does not say so, `approvers` alone decides who may approve.
    async fn is_bot(&self, user: &str) -> bool {
        let known = self.bots.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied();
        if let Some(is_bot) = known {
            return is_bot;
        }
        let Ok(answer) = self.get_in_time("users.info", &[("user", user)]).await else { return false };
        let is_bot = answer["user"]["is_bot"] == true;
        let mut bots = self.bots.lock().unwrap_or_else(PoisonError::into_inner);
        if bots.len() >= MAX_USERS {
            bots.clear();
        }
        bots.insert(user.to_owned(), is_bot);
        is_bot
    }
}
