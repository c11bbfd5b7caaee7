//! The messages of Discord, as far as they are used.

use serde::Deserialize;

use crate::message::Attachment;

#[derive(Debug, Deserialize)]
pub(super) struct DiscordMessage {
    pub(super) id: String,
    pub(super) r#type: i64,
    #[serde(default)]
    pub(super) content: String,
    pub(super) author: DiscordUser,
    pub(super) webhook_id: Option<String>,
    pub(super) referenced_message: Option<Box<Self>>,
    #[serde(default)]
    pub(super) attachments: Vec<DiscordFile>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DiscordFile {
    pub(super) filename: String,
    pub(super) content_type: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) url: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct DiscordReaction {
    pub(super) emoji: DiscordEmoji,
}

#[derive(Debug, Deserialize)]
pub(super) struct DiscordEmoji {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct DiscordUser {
    pub(super) id: String,
    #[serde(default)]
    pub(super) bot: bool,
    #[serde(default)]
    pub(super) username: String,
    pub(super) global_name: Option<String>,
}

impl DiscordFile {
    pub(super) fn attachment(self) -> Attachment {
        let Self { filename, content_type, size, url } = self;
        Attachment { name: filename, media_type: content_type, size, source: url, path: None, trouble: None }
    }
}
