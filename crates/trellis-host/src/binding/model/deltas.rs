//! A model's text, told while it is written (language 9.21).

use crate::{
    binding::{CallContext, Delta},
    secrets::{Mask, MaskStream},
};

/// The text of one call, from any provider.
pub(super) struct Deltas<'j> {
    context: &'j CallContext,
    is_on: bool,
    stream: Option<MaskStream>,
    /// True if some text was reported that another provider's text revokes.
    is_sent: bool,
}

impl<'j> Deltas<'j> {
    /// Creates the deltas of a call; they report nothing if there is no watcher.
    pub(super) fn new(context: &'j CallContext, is_on: bool) -> Self {
        Self { context, is_on: is_on && context.is_watched(), stream: None, is_sent: false }
    }

    /// A provider begins to speak; `mask` hides its secrets as well.
    pub(super) fn begin(&mut self, mask: &Mask) {
        self.stream = Some(mask.stream());
        if std::mem::take(&mut self.is_sent) {
            self.context.delta(Delta { text: "".into(), is_reset: true });
        }
    }

    /// Reports the next text, except for the possible beginning of a secret.
    pub(super) fn push(&mut self, text: &str) {
        let Some(stream) = self.stream.as_mut().filter(|_| self.is_on) else { return };
        let text = stream.push(text);
        self.tell(text);
    }

    /// Reports the retained text, if the text is whole.
    pub(super) fn end(&mut self) {
        let Some(stream) = self.stream.take().filter(|_| self.is_on) else { return };
        let text = stream.finish();
        self.tell(text);
    }

    fn tell(&mut self, text: String) {
        if !text.is_empty() {
            self.is_sent = true;
            self.context.delta(Delta { text: text.into(), is_reset: false });
        }
    }
}
