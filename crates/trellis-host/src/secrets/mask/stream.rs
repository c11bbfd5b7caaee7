//! Secrets in streams: masked before a stream is cut, stored or shown.
//!
//! A stream comes in pieces, and a secret may begin in one and end in another. [`Masker`] retains the possible beginning of a secret until
//! enough of the stream has come to decide. So no consumer of its output, whether it cuts lines or keeps an end, ever has a part of a secret.
//!
//! **Invariant:** the retained text is shorter than the longest form of a secret; everything else is passed on at once.

use std::fmt;

use zeroize::Zeroizing;

use super::{MASK, Mask, SHORTEST};

/// Masks a stream of bytes.
pub(crate) struct Masker {
    mask: Mask,
    /// The end of the stream so far, which may be the beginning of a secret.
    held: Zeroizing<Vec<u8>>,
    /// The number of bytes of `held` that belong to a secret that is masked already.
    covered: usize,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// All of it came.
    Whole,
    /// There was more, which was not read. If it ends inside of a secret, the beginning of that is masked.
    Cut,
}

/// The relation of the beginning of a text to a secret.
enum Match {
    /// A match of this many bytes.
    Whole(usize),
    /// It is the beginning of one.
    Begun,
    None,
}

impl Masker {
    pub(crate) fn new(mask: Mask) -> Self {
        Self { mask, held: Zeroizing::default(), covered: 0 }
    }

    /// Takes the next piece of the stream and passes on the part that cannot belong to an unfinished secret.
    pub(crate) fn push(&mut self, piece: &[u8], take: &mut dyn FnMut(&[u8])) {
        if self.mask.is_empty() {
            return take(piece);
        }
        self.held.extend_from_slice(piece);
        let settled = self.settle(None, take);
        self.held.drain(..settled);
        self.covered = self.covered.saturating_sub(settled);
    }

    /// Passes the retained text on.
    pub(crate) fn finish(&mut self, end: StreamEnd, take: &mut dyn FnMut(&[u8])) {
        self.settle(Some(end), take);
        self.held.clear();
        self.covered = 0;
    }

    /// Passes on the part that no later byte can change, all of it at the end; returns its length.
    fn settle(&mut self, end: Option<StreamEnd>, take: &mut dyn FnMut(&[u8])) -> usize {
        let (mut at, mut plain) = (0, self.covered);
        while at < self.held.len() {
            let rest = &self.held[at..];
            let length = match (self.mask.find(rest, end.is_some()), end) {
                (Match::Whole(length), _) => length,
                (Match::Begun, None) => break,
                (Match::Begun, Some(StreamEnd::Cut)) if rest.len() >= SHORTEST => rest.len(),
                (Match::Begun | Match::None, _) => 0,
            };
            if length > 0 {
                // One secret may begin inside of another: both go under one mask.
                if at >= self.covered {
                    take(&self.held[plain..at]);
                    take(MASK.as_bytes());
                }
                self.covered = self.covered.max(at + length);
                plain = self.covered;
            }
            at += 1;
        }
        if plain < at {
            take(&self.held[plain..at]);
        }
        at
    }
}

impl Mask {
    /// The longest secret that the text begins with. While more of the text may come (`!is_over`), a longer secret that may still come counts first.
    fn find(&self, text: &[u8], is_over: bool) -> Match {
        let mut is_begun = false;
        for secret in text.first().into_iter().flat_map(|first| self.beginning_with(*first)) {
            if text.starts_with(secret) {
                return Match::Whole(secret.len());
            }
            if secret.starts_with(text) {
                is_begun = true;
                if !is_over {
                    break;
                }
            }
        }
        if is_begun { Match::Begun } else { Match::None }
    }
}

/// Masks a text that comes in pieces, such as the answer of a model while it is written.
///
/// ```
/// use trellis_host::secrets::Mask;
///
/// let mut stream = Mask::of_secrets(["hunter2"]).stream();
/// assert_eq!(stream.push("the key is hun"), "the key is ");
/// // The last letter could begin the secret again.
/// assert_eq!(stream.push("ter2, th"), "***, t");
/// assert_eq!(stream.finish(), "h");
/// ```
pub struct MaskStream(Masker);

impl MaskStream {
    pub(super) fn new(mask: Mask) -> Self {
        Self(Masker::new(mask))
    }

    /// Takes the next piece. Returns the part that cannot belong to a secret; the rest comes later.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = Vec::with_capacity(piece.len());
        self.0.push(piece.as_bytes(), &mut |part| out.extend_from_slice(part));
        into_text(out)
    }

    /// Returns the retained text at the end of the text. If it was cut inside of a secret, use [`MaskStream::cut`].
    pub fn finish(mut self) -> String {
        self.end(StreamEnd::Whole)
    }

    /// Returns the retained text when the text broke off: the possible beginning of a secret is masked.
    pub fn cut(mut self) -> String {
        self.end(StreamEnd::Cut)
    }

    fn end(&mut self, end: StreamEnd) -> String {
        let mut out = Vec::new();
        self.0.finish(end, &mut |part| out.extend_from_slice(part));
        into_text(out)
    }
}

/// Secrets and texts are cut between characters only.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl fmt::Debug for MaskStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskStream")
    }
}
