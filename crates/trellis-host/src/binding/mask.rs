//! Secrets in what tools print: masked before it is cut, kept or shown.
//!
//! A stream comes in pieces, and a secret may begin in one and end in another. [`Masker`] holds back what may be the beginning of a secret until enough
//! of the stream has come to tell. So nothing that takes its output, whether it cuts lines or keeps an end, ever has a part of a secret.
//!
//! **Invariant:** what is held back is shorter than the longest secret; everything else is handed on at once.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use trellis_core::{
    Program, Value,
    path::KeyPath,
    syntax::{document::Content, node::InputType},
};

/// What stands for a secret.
const MASK: &str = "***";

/// In bytes. Shorter secrets are not masked: they would be found everywhere.
pub(super) const SHORTEST: usize = 4;

/// Texts that nobody may see, as they are and as they stand in JSON.
#[derive(Clone, Default)]
pub(super) struct Mask(Arc<MaskedSecrets>);

#[derive(Default)]
struct MaskedSecrets {
    /// The longest first.
    texts: Vec<Vec<u8>>,
    /// Whether a text begins with this byte.
    begins: Vec<bool>,
}

impl Mask {
    /// Masks these texts, but for those of fewer than four bytes.
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<Vec<u8>> = texts.into_iter().flat_map(spellings).filter(|text| text.len() >= SHORTEST).collect();
        all.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        all.dedup();
        let mut begins = vec![false; 256];
        for text in &all {
            begins[usize::from(text[0])] = true;
        }
        Self(Arc::new(MaskedSecrets { texts: all, begins }))
    }

    /// A text that is all there, without secrets.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.texts.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = Vec::with_capacity(text.len());
        let mut masker = Masker::new(self.clone());
        masker.push(text.as_bytes(), &mut |part| masked.extend_from_slice(part));
        masker.finish(StreamEnd::Whole, &mut |part| masked.extend_from_slice(part));
        Cow::Owned(String::from_utf8_lossy(&masked).into_owned())
    }
}

/// A text as it is, and as it stands in JSON if that is different.
fn spellings(text: String) -> impl Iterator<Item = Vec<u8>> {
    let json = Value::text(text.as_str()).to_json();
    let escaped = json.as_bytes()[1..json.len() - 1].to_vec();
    [text.into_bytes(), escaped].into_iter()
}

/// The context paths whose values nobody may see: those that `redact` names, and where answers to `input_type: secret` are saved.
pub(super) fn hidden_by(program: &Program) -> Vec<KeyPath> {
    let typed = program.documents().iter().flat_map(|document| {
        let nodes = match &document.content {
            Content::Node(node) => std::slice::from_ref(&**node),
            Content::Nodes(nodes, _) => nodes,
            Content::Project(_) | Content::Library(_) | Content::Broken => &[],
        };
        let secret = nodes.iter().filter(|node| node.input_type.as_ref().is_some_and(|kind| kind.value == InputType::Secret));
        secret.filter_map(|node| node.save_to.as_ref().map(|path| path.value.clone()))
    });
    program.redacted().cloned().chain(typed).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Every text and number in a value.
pub(super) fn texts_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Map(entries) => entries.iter().for_each(|(_, value)| texts_of(value, found)),
        Value::List(items) => items.iter().for_each(|item| texts_of(item, found)),
        Value::Text(text) => found.push(text.to_string()),
        number => found.push(number.to_json()),
    }
}

/// Masks a stream.
pub(super) struct Masker {
    mask: Mask,
    /// The end of the stream so far, which may be the beginning of a secret.
    held: Vec<u8>,
    /// How many bytes of `held` belong to a secret that is masked already.
    covered: usize,
}

/// How a stream came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// All of it came.
    Whole,
    /// There was more, which nobody read. Where it ends inside of a secret, the beginning of that is masked.
    Cut,
}

/// Whether a text begins with a secret.
enum Match {
    /// With one of so many bytes.
    Whole(usize),
    /// It is the beginning of one.
    Begun,
    None,
}

impl Masker {
    pub(super) fn new(mask: Mask) -> Self {
        Self { mask, held: Vec::new(), covered: 0 }
    }

    /// Takes the next piece of the stream and hands on what cannot be part of a secret that is not over yet.
    pub(super) fn push(&mut self, piece: &[u8], take: &mut dyn FnMut(&[u8])) {
        if self.mask.0.texts.is_empty() {
            return take(piece);
        }
        self.held.extend_from_slice(piece);
        let settled = self.settle(None, take);
        self.held.drain(..settled);
        self.covered = self.covered.saturating_sub(settled);
    }

    /// Hands on what was held back.
    pub(super) fn finish(&mut self, end: StreamEnd, take: &mut dyn FnMut(&[u8])) {
        self.settle(Some(end), take);
        self.held.clear();
        self.covered = 0;
    }

    /// Hands on what no later byte can change, all of it at the end; its length.
    fn settle(&mut self, end: Option<StreamEnd>, take: &mut dyn FnMut(&[u8])) -> usize {
        let (mut at, mut plain) = (0, self.covered);
        while at < self.held.len() {
            let rest = &self.held[at..];
            let found = if self.mask.0.begins[usize::from(rest[0])] { self.mask.find(rest, end.is_some()) } else { Match::None };
            let length = match (found, end) {
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
        for secret in &self.0.texts {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a stream in pieces.
    fn masked(mask: &Mask, pieces: &[&[u8]], end: StreamEnd) -> String {
        let (mut masker, mut out) = (Masker::new(mask.clone()), Vec::new());
        for piece in pieces {
            masker.push(piece, &mut |part| out.extend_from_slice(part));
        }
        masker.finish(end, &mut |part| out.extend_from_slice(part));
        String::from_utf8(out).unwrap()
    }

    fn mask(texts: &[&str]) -> Mask {
        Mask::new(texts.iter().map(|text| (*text).to_owned()))
    }

    #[test]
    fn pieces_of_any_length_come_to_the_same() {
        let mask = mask(&["hunter2", "hunter2-and-more", "r2d2", "line\nbreak", "aaaa", "né\"e"]);
        for (text, expected) in [
            ("401 for hunter2!", "401 for ***!"),
            ("hunter2-and-mor hunter2-and-more", "***-and-mor ***"),
            ("hunter2d2", "***"),
            ("aaaaaaa aaa", "*** aaa"),
            ("hunterhunter2", "hunter***"),
            ("line\nbreak, line\\nbreak", "***, ***"),
            ("born né\"e or né\\\"e", "born *** or ***"),
            ("hunter2hunter2", "******"),
            ("", ""),
        ] {
            for size in 1..=text.len().max(1) {
                let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
                assert_eq!(masked(&mask, &pieces, StreamEnd::Whole), expected, "{text:?} by {size}");
            }
            assert_eq!(mask.text(text), expected);
        }
    }

    #[test]
    fn nothing_is_held_back_that_cannot_be_the_beginning_of_a_secret() {
        let (mut masker, mut out) = (Masker::new(mask(&["hunter2"])), Vec::new());
        masker.push(b"50% of hun", &mut |part| out.extend_from_slice(part));
        assert_eq!(out, b"50% of ");
    }

    #[test]
    fn a_stream_that_was_cut_inside_of_a_secret_shows_less_than_four_bytes_of_it() {
        let mask = mask(&["hunter2"]);
        assert_eq!(masked(&mask, &[b"x hunte"], StreamEnd::Cut), "x ***");
        assert_eq!(masked(&mask, &[b"x hun"], StreamEnd::Cut), "x hun");
        assert_eq!(masked(&mask, &[b"x hunte"], StreamEnd::Whole), "x hunte");
    }

    #[test]
    fn what_is_shorter_than_four_bytes_is_not_masked() {
        assert_eq!(mask(&["", "a", "abc"]).text("abc abc a"), "abc abc a");
    }
}
