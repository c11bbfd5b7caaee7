//! The messages of Telegram, as far as they are used.

use serde::Deserialize;

use crate::message::Attachment;

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<Message>,
    pub(super) message_reaction: Option<MessageReaction>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageReaction {
    pub(super) chat: Chat,
    pub(super) message_id: i64,
    /// `None` if a chat reacts rather than a person.
    pub(super) user: Option<Sender>,
    #[serde(default)]
    pub(super) old_reaction: Vec<ReactionType>,
    #[serde(default)]
    pub(super) new_reaction: Vec<ReactionType>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ReactionType {
    /// `None` for a custom one.
    pub(super) emoji: Option<String>,
}

/// A file, in whichever of its forms.
#[derive(Debug, Deserialize)]
pub(super) struct FileOf {
    pub(super) file_id: String,
    pub(super) file_name: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) file_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
    pub(super) from: Option<Sender>,
    pub(super) chat: Chat,
    pub(super) date: u64,
    pub(super) text: Option<String>,
    pub(super) caption: Option<String>,
    pub(super) reply_to_message: Option<Box<Message>>,
    pub(super) document: Option<FileOf>,
    pub(super) audio: Option<FileOf>,
    pub(super) video: Option<FileOf>,
    pub(super) voice: Option<FileOf>,
    pub(super) video_note: Option<FileOf>,
    /// One picture in several sizes, the largest last.
    #[serde(default)]
    pub(super) photo: Vec<FileOf>,
}

impl Message {
    /// The files of the message. Telegram sends each in a message of its own.
    pub(super) fn take_files(&mut self) -> Vec<Attachment> {
        let forms = [
            (self.document.take(), "file"),
            (self.audio.take(), "audio.mp3"),
            (self.video.take(), "video.mp4"),
            (self.voice.take(), "voice.ogg"),
            (self.video_note.take(), "video.mp4"),
            (self.photo.pop(), "photo.jpg"),
        ];
        let of = |(file, name): (Option<FileOf>, &str)| {
            let FileOf { file_id, file_name, mime_type, file_size } = file?;
            let name = file_name.unwrap_or_else(|| name.to_owned());
            Some(Attachment { name, media_type: mime_type, size: file_size, source: file_id, path: None, trouble: None })
        };
        forms.into_iter().filter_map(of).collect()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Sender {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) is_bot: bool,
    #[serde(default)]
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) r#type: String,
}
