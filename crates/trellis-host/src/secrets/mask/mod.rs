//! Masks: `***` for secrets in texts, values and streams, in each form in which a secret may come back (language 9.9).

mod forms;
mod stream;
#[cfg(test)]
mod tests;
mod value;

use std::{borrow::Cow, fmt, sync::Arc};

use trellis_core::ToolError;
use zeroize::Zeroizing;

pub use self::stream::MaskStream;
pub(crate) use self::stream::{Masker, StreamEnd};

/// The text in the place of a secret.
const MASK: &str = "***";

/// In bytes. Shorter secrets are not masked: they would be found everywhere.
pub(crate) const SHORTEST: usize = 4;

/// The texts to be masked.
///
/// ```
/// use trellis_core::Value;
/// use trellis_host::secrets::Mask;
///
/// let mask = Mask::of_secrets(["hunter2"]);
/// assert_eq!(mask.text("401 for hunter2, aHVudGVyMg=="), "401 for ***, ***");
/// assert_eq!(mask.value(Value::map([("hunter2", Value::from(["hunter2", "ok"]))])).to_json(), r#"{"***":["***","ok"]}"#);
/// ```
#[derive(Clone, Default)]
pub struct Mask(Arc<MaskedTexts>);

#[derive(Clone, Default)]
struct MaskedTexts {
    /// By their first byte; of one first byte the longest first.
    texts: Vec<Zeroizing<Vec<u8>>>,
    /// For each first byte, where its texts begin and end.
    begins: Vec<(usize, usize)>,
}

impl Mask {
    /// Masks these secrets: verbatim, in Base64, percent-encoded and as JSON writes them; but for those of fewer than four bytes.
    pub fn of_secrets<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Self {
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST);
        Self::of_forms(long.flat_map(forms::of_secret).collect())
    }

    /// Adds these texts verbatim and as JSON writes them, but for those of fewer than four bytes.
    #[must_use]
    pub fn and_texts(self, texts: impl IntoIterator<Item = String>) -> Self {
        let long = texts.into_iter().filter(|text| text.len() >= SHORTEST);
        let mut all: Vec<_> = long.flat_map(|text| forms::of_text(&text)).collect();
        if all.is_empty() {
            return self;
        }
        all.extend(self.0.texts.iter().cloned());
        Self::of_forms(all)
    }

    /// Masks the texts of both.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        if self.is_empty() {
            return other.clone();
        }
        Self::of_forms(self.0.texts.iter().chain(&other.0.texts).cloned().collect())
    }

    fn of_forms(mut texts: Vec<Zeroizing<Vec<u8>>>) -> Self {
        texts.retain(|text| text.len() >= SHORTEST);
        texts.sort_by(|one, other| one[0].cmp(&other[0]).then(other.len().cmp(&one.len())).then_with(|| one.cmp(other)));
        texts.dedup();
        if texts.is_empty() {
            return Self::default();
        }
        let mut begins = vec![(0, 0); 256];
        for (at, text) in texts.iter().enumerate() {
            let (start, end) = &mut begins[usize::from(text[0])];
            if *end == 0 {
                *start = at;
            }
            *end = at + 1;
        }
        Self(Arc::new(MaskedTexts { texts, begins }))
    }

    /// A text that is all there, without secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut stream = self.stream();
        let masked = stream.push(text) + &stream.finish();
        if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
    }

    /// An error without secrets: its message, its code and its data.
    pub fn error(&self, error: ToolError) -> ToolError {
        if self.is_empty() {
            return error;
        }
        ToolError {
            message: self.text(&error.message).into_owned(),
            code: error.code.map(|code| self.value(code)),
            data: error.data.map(|data| self.value(data)),
            ..error
        }
    }

    /// A text that comes in pieces.
    pub fn stream(&self) -> MaskStream {
        MaskStream::new(self.clone())
    }

    /// Returns whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.0.texts.is_empty()
    }

    /// The masked texts that begin with a byte, the longest first.
    fn beginning_with(&self, first: u8) -> &[Zeroizing<Vec<u8>>] {
        let (start, end) = self.0.begins.get(usize::from(first)).copied().unwrap_or_default();
        &self.0.texts[start..end]
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}
