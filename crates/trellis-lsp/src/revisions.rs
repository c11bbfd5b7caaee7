//! The edits of an open text in the order of its versions, whatever the order in which they come: some editors send two at once.

use std::collections::BTreeMap;

use crate::{
    carry::Replaced,
    text::{Encoding, Text},
    wire::{DidChangeTextDocumentParams, TextDocumentContentChangeEvent as ContentChange},
};

/// Number of edits that are kept while one before them is missing. Editors may leave versions out, and then it never comes.
const KEPT: usize = 64;

/// The version of an open text, and the edits that one is missing before.
#[derive(Debug)]
pub(crate) struct Revisions {
    /// The newest version.
    pub(crate) version: i32,
    gap: Option<Gap>,
}

/// A text before a version that has not come, and the edits behind it.
#[derive(Debug)]
struct Gap {
    after: i32,
    text: Text,
    edits: BTreeMap<i32, Vec<ContentChange>>,
}

impl Revisions {
    pub(crate) fn new(version: i32) -> Self {
        Self { version, gap: None }
    }

    /// Returns a text after the edits of a version. Where an earlier version comes late, it is the text as if they had come in order.
    ///
    /// # Errors
    /// The edits are none of this text: their version was there, or one of their ranges ends before it begins.
    pub(crate) fn edited(
        &mut self,
        text: &Text,
        params: &DidChangeTextDocumentParams,
        encoding: Encoding,
    ) -> Result<(Text, Vec<Replaced>), String> {
        let (version, changes) = (params.text_document.version, &params.content_changes);
        if version <= self.version {
            return self.late(text, version, changes, encoding);
        }
        if self.version.checked_add(1) != Some(version) && self.gap.is_none() {
            self.gap = Some(Gap { after: self.version, text: text.clone(), edits: BTreeMap::new() });
        }
        let mut text = text.clone();
        let replaced = apply(&mut text, changes, encoding)?;
        self.version = version;
        if let Some(gap) = &mut self.gap {
            gap.edits.insert(version, changes.clone());
        }
        self.gap.take_if(|gap| gap.edits.len() > KEPT);
        Ok((text, replaced))
    }

    fn late(&mut self, text: &Text, version: i32, changes: &[ContentChange], encoding: Encoding) -> Result<(Text, Vec<Replaced>), String> {
        let newest = self.version;
        let gap = self.gap.as_mut().filter(|gap| version > gap.after && !gap.edits.contains_key(&version));
        let Some(gap) = gap else { return Err(format!("version {version} came after version {newest}")) };
        gap.edits.insert(version, changes.to_vec());
        let mut now = gap.text.clone();
        for changes in gap.edits.values() {
            apply(&mut now, changes, encoding)?;
        }
        let missing = i64::from(newest) - i64::from(gap.after) - gap.edits.len() as i64;
        self.gap.take_if(|_| missing == 0);
        let replaced = Replaced::between(text.as_str(), now.as_str());
        Ok((now, vec![replaced]))
    }
}

/// Applies edits to a text, one after the other.
fn apply(text: &mut Text, changes: &[ContentChange], encoding: Encoding) -> Result<Vec<Replaced>, String> {
    let mut replaced = Vec::new();
    for change in changes {
        let (range, new) = match change {
            ContentChange::TextDocumentContentChangePartial(change) => (Some(change.range), &change.text),
            ContentChange::TextDocumentContentChangeWholeDocument(change) => (None, &change.text),
        };
        if range.is_some_and(|range| (range.end.line, range.end.character) < (range.start.line, range.start.character)) {
            return Err("a range ends before it begins".to_owned());
        }
        let edit = text.replace(range, new, encoding);
        // Nothing in place of nothing touches no span.
        if edit.start != edit.end || edit.length > 0 {
            replaced.push(edit);
        }
    }
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The edit that appends a letter to a text that is as long as its version.
    fn typed(version: i32, letter: char) -> DidChangeTextDocumentParams {
        let at = json!({ "line": 0, "character": version - 1 });
        let changes = json!([{ "range": { "start": at, "end": at }, "text": letter.to_string() }]);
        let params = json!({ "textDocument": { "uri": "file:///a.md", "version": version }, "contentChanges": changes });
        serde_json::from_value(params).expect("it is one")
    }

    /// The text after edits that come in an order.
    fn after(order: &[i32]) -> Result<String, String> {
        let (mut revisions, mut text) = (Revisions::new(0), Text::new(""));
        for version in order {
            let letter = char::from(b'a' + u8::try_from(version % 26).unwrap_or_default());
            text = revisions.edited(&text, &typed(*version, letter), Encoding::Utf16)?.0;
        }
        assert_eq!(revisions.version, order.iter().copied().max().unwrap_or_default());
        Ok(text.as_str().to_owned())
    }

    #[test]
    fn edits_mean_the_same_in_any_order() {
        for order in [[1, 2, 3, 4], [1, 3, 2, 4], [2, 1, 4, 3], [4, 3, 2, 1], [3, 4, 1, 2]] {
            assert_eq!(after(&order).as_deref(), Ok("bcde"), "{order:?}");
        }
        // A version that was left out may still come, until too many are behind it.
        assert_eq!(after(&[1, 3, 4]).as_deref(), Ok("bde"));
        let behind = |count: i32| (2..count + 2).chain([1]).collect::<Vec<_>>();
        assert!(after(&behind(64)).is_ok());
        assert_eq!(after(&behind(65)), Err("version 1 came after version 66".to_owned()));
    }

    #[test]
    fn a_version_that_was_there_is_refused() {
        for order in [&[1, 1][..], &[1, 2, 1], &[1, 3, 3], &[1, 3, 2, 2], &[1, 3, 0], &[2, 1, 1]] {
            assert!(after(order).is_err_and(|error| error.contains("came after version")), "{order:?}");
        }
    }
}
