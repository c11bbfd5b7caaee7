//! Reactions to the messages that ask about a call: the message for each, and the people for each of its reactions (orchestrator 3.5).

use super::{
    Discord,
    types::{DiscordEmoji, DiscordReaction, DiscordUser},
};
use crate::{
    channel::{Batch, ChannelError, Reaction, remote::api::percent_encode},
    message::ChatPlace,
};

impl Discord {
    /// Adds the reactions to a few of the watched messages. Messages that are gone have no reactions.
    pub(super) async fn reactions(&self, me: &str, batch: &mut Batch) {
        for (place, message) in self.watched.next_few() {
            match self.reactions_to(&place, &message, me).await {
                Ok(reactions) => batch.reactions.extend(reactions),
                Err(error) if error.code == "message_not_found" => {}
                Err(error) => batch.troubles.push(error),
            }
        }
    }

    async fn reactions_to(&self, place: &ChatPlace, message: &str, me: &str) -> Result<Vec<Reaction>, ChannelError> {
        let path = format!("channels/{}/messages/{message}", place.chat);
        let mut found = self.get_in_time(&path, &[]).await?;
        let on_it: Vec<DiscordReaction> = serde_json::from_value(found["reactions"].take()).unwrap_or_default();
        let mut reactions = Vec::new();
        for DiscordReaction { emoji: DiscordEmoji { id, name } } in on_it {
            if self.reactions.sign(&name).is_none() {
                continue;
            }
            let emoji = id.map_or_else(|| name.clone(), |id| format!("{name}:{id}"));
            let users = self.get_in_time(&format!("{path}/reactions/{}", percent_encode(&emoji)), &[("limit", "100")]).await?;
            let users: Vec<DiscordUser> = serde_json::from_value(users).unwrap_or_default();
            let people = users.into_iter().filter(|user| !user.bot && user.id != me && self.hearing.allows(&place.chat, &user.id));
            reactions.extend(people.map(|user| Reaction {
                place: place.clone(),
                message: message.to_owned(),
                sender: user.id,
                name: name.clone(),
            }));
        }
        Ok(reactions)
    }
}
